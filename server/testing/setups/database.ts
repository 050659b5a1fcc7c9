import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedServer, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import { replaceDatabase } from '../../src/db/postgres/database-url.ts';

/**
 * Databases for tests: a real PostgreSQL, and for each test file a clone of a database that was
 * migrated once. Under `npm test` all files share one server, which `test-global-setup.ts` starts; a file
 * run by itself starts its own. `TEST_DATABASE_URL` names an external server (with the right to
 * create databases) to use instead.
 */

export interface TestDatabase {
  url: string;
  /** Ends whatever is still connected, and removes the database. May be called twice. */
  drop(): Promise<void>;
}

export interface TestTemplate {
  /** Any database of the server, to create others from. */
  serverUrl: string;
  /** The migrated database; nobody may be connected to it while it is cloned. */
  name: string;
}

/** How `test-global-setup.ts` tells the test files, which are processes of their own. */
export const SERVER_URL_VARIABLE = 'OUTLAY_TEST_SERVER_URL';
export const TEMPLATE_VARIABLE = 'OUTLAY_TEST_TEMPLATE';

let ownTemplate: Promise<TestTemplate> | undefined;

/** Creates a database that only the caller uses: migrated, or without any table. */
export async function createTestDatabase({
  isEmpty = false,
} = {}): Promise<TestDatabase & AsyncDisposable> {
  const { serverUrl, name: template } = await findTemplate();
  const name = `${template}_${randomBytes(6).toString('hex')}`;
  const source = isEmpty ? 'template0' : template;
  await runOnServer(serverUrl, `create database ${name} template ${source}`);
  const drop = async (): Promise<void> => {
    await runOnServer(serverUrl, `drop database if exists ${name} with (force)`);
  };
  return { url: replaceDatabase(serverUrl, name), drop, [Symbol.asyncDispose]: drop };
}

/** Starts a server for tests in the system's temporary folder, durable like the real one. */
export async function startTestServer(): Promise<EmbeddedServer> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-test-'));
  return startEmbedded({ dataDirectory, temporary: true });
}

/** Creates and migrates the database that the others are cloned from. */
export async function createTemplate(serverUrl: string): Promise<TestTemplate> {
  const name = `outlay_test_${randomBytes(4).toString('hex')}`;
  await runOnServer(serverUrl, `create database ${name}`);
  await migrate({ url: replaceDatabase(serverUrl, name) });
  return { serverUrl, name };
}

/** Removes the template and every clone that a crashed test left; for servers that stay. */
export async function dropTemplate({ serverUrl, name }: TestTemplate): Promise<void> {
  const { rows } = await runOnServer(
    serverUrl,
    `select datname from pg_database where starts_with(datname, '${name}')`,
  );
  for (const { datname } of rows) {
    await runOnServer(serverUrl, `drop database if exists ${datname} with (force)`);
  }
}

function findTemplate(): Promise<TestTemplate> {
  const serverUrl = process.env[SERVER_URL_VARIABLE];
  const name = process.env[TEMPLATE_VARIABLE];
  if (serverUrl !== undefined && name !== undefined) return Promise.resolve({ serverUrl, name });
  ownTemplate ??= createOwnTemplate();
  return ownTemplate;
}

/** For a test file that was run without `test-global-setup.ts`. */
async function createOwnTemplate(): Promise<TestTemplate> {
  const external = process.env['TEST_DATABASE_URL'];
  if (external !== undefined && external !== '') {
    const template = await createTemplate(external);
    let isDropped = false;
    // Emitted when nothing is left to do, and again after this work, which is then done.
    process.on('beforeExit', () => {
      if (isDropped) return;
      isDropped = true;
      void dropTemplate(template);
    });
    return template;
  }
  const server = await startTestServer();
  // The server ends with this process: its guard stops it and removes its folder, even after a crash.
  server.unref();
  return createTemplate(server.connectionUrl('postgres'));
}

async function runOnServer(serverUrl: string, statement: string): Promise<pg.QueryResult> {
  const client = new pg.Client({ connectionString: serverUrl });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return await client.query(statement);
  } finally {
    await client.end();
  }
}
