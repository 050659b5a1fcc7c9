import { createTestDatabase } from '../server/testing/setups/database.ts';

export type TestDatabase = { settings: Record<string, string>; drop(): Promise<void> };

/** The setting that names a database of its own for a service that a test starts. */
export async function createDatabase(): Promise<TestDatabase> {
  const { url, drop } = await createTestDatabase();
  return { settings: { DATABASE_URL: url }, drop };
}

/** One for staging and one for live. */
export async function createDatabases(): Promise<TestDatabase> {
  const [staging, live] = [await createTestDatabase(), await createTestDatabase()];
  return {
    settings: { DATABASE_URL: staging.url, OUTLAY_LIVE_DATABASE_URL: live.url },
    drop: async () => {
      await staging.drop();
      await live.drop();
    },
  };
}
