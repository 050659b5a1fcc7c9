import pg from 'pg';
import { listSchema } from '../server/src/db/schema-listing.ts';
import { createTestDatabase } from '../server/testing/setups/database.ts';

/** The picture of the schema, made from a database that was migrated just now. */
export async function generateSchemaListing(): Promise<Map<string, string>> {
  const database = await createTestDatabase();
  const client = new pg.Client({ connectionString: database.url });
  client.on('error', () => undefined);
  try {
    await client.connect();
    return new Map([['server/src/db/schema.sql', await listSchema(client)]]);
  } finally {
    await client.end();
    await database.drop();
  }
}
