import { randomUUID } from 'node:crypto';
import pg from 'pg';

export type TestDatabase = { settings: Record<string, string>; drop(): Promise<void> };

/** One for staging and one for live. */
export async function createDatabases(): Promise<TestDatabase> {
  const [staging, live] = [await createDatabase(), await createDatabase()];
  const { DATABASE_URL: liveUrl } = live.settings;
  return {
    settings: {
      ...staging.settings,
      ...(liveUrl !== undefined && { OUTLAY_LIVE_DATABASE_URL: liveUrl }),
    },
    drop: async () => {
      await staging.drop();
      await live.drop();
    },
  };
}

/**
 * On the server that `npm test` starts for all files, which spares each service to make one. Without
 * that server there are no settings, and a service starts its own.
 */
export async function createDatabase(): Promise<TestDatabase> {
  const { OUTLAY_TEST_SERVER_URL: serverUrl, OUTLAY_TEST_TEMPLATE: template } = process.env;
  if (serverUrl === undefined || template === undefined) {
    return { settings: {}, drop: () => Promise.resolve() };
  }
  const name = `${template}_${randomUUID().replaceAll('-', '')}`;
  const run = async (statement: string): Promise<void> => {
    const client = new pg.Client({ connectionString: serverUrl });
    await client.connect();
    await client.query(statement);
    await client.end();
  };
  await run(`create database ${name} template ${template}`);
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return {
    settings: { DATABASE_URL: url.href },
    drop: () => run(`drop database if exists ${name} with (force)`),
  };
}
