import { randomBytes } from 'node:crypto';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { type EmbeddedServer, startEmbedded } from '../../src/db/embedded/embedded.ts';
import { migrate } from '../../src/db/migrate.ts';
import type { Opener } from '../../src/db/postgres/connection.ts';
import { type SilenceLimits, silenceLimits } from '../../src/db/postgres/dead-connections.ts';
import { copyCluster } from './prepared-cluster.ts';
import { openShared, type SharedDatabase } from './shared-databases.ts';

/**
 * PostgreSQL databases for tests: each test file gets a clone of a database that is migrated once.
 * Under `npm test` all files share the server of `global-setup.ts`; a file run by itself starts its own.
 * `TEST_DATABASE_URL` names an external server to use instead; its role must have CREATEDB.
 */

export interface TestDatabase {
  url: string;
  /** Of a shared database: its connections are handed on to the next test. */
  opener?: Opener;
  /** Disconnects all clients and removes the database. May be called twice. */
  drop(): Promise<void>;
}

/** Of connections of tests: on a busy machine a server may be silent for longer than production would wait. */
export const patientLimits: SilenceLimits = {
  ...silenceLimits,
  silentMsMax: 60_000,
  testMsMax: 60_000,
  openMsMax: 60_000,
  probeMsMax: 60_000,
};

export interface TestTemplate {
  /** Any database of the server, to create others from. */
  serverUrl: string;
  /** The migrated database; it must have no connections while it is cloned. */
  name: string;
}

/** Set by `global-setup.ts` for the processes of the test files. */
export const SERVER_URL_VARIABLE = 'OUTLAY_TEST_SERVER_URL';
export const TEMPLATE_VARIABLE = 'OUTLAY_TEST_TEMPLATE';

let ownTemplate: Promise<TestTemplate> | undefined;

/** Emptied databases of ended tests; undefined where each test makes its own. */
let spares: SharedDatabase[] | undefined;
const opened = new Set<SharedDatabase>();

/** From now on tests that run in this process, one after the other, reuse databases. */
export function shareDatabases(): void {
  spares = [];
}

/** The databases themselves go with their server, or with the template. */
export async function closeSharedDatabases(): Promise<void> {
  await Promise.all([...opened].map((shared) => shared.close()));
}

type DatabaseOptions = {
  isEmpty?: boolean;
  /** One that no test has used: its tables have no dead rows, and their statistics are the template's. */
  isFresh?: boolean;
  copyOf?: string;
};

/** Creates a database: migrated, without tables, or as another one is that has no connections now. */
export async function createTestDatabase(
  options: DatabaseOptions = {},
): Promise<TestDatabase & AsyncDisposable> {
  const { isEmpty = false, isFresh = false, copyOf } = options;
  const isShared = spares !== undefined && !isEmpty && !isFresh && copyOf === undefined;
  const spare = isShared ? spares?.pop() : undefined;
  if (spare !== undefined) return lend(spare);
  const { serverUrl, name: template } = await findTemplate();
  const name = `${template}_${randomBytes(6).toString('hex')}`;
  if (copyOf !== undefined) await closeShared(copyOf);
  const copied = copyOf === undefined ? template : new URL(copyOf).pathname.slice(1);
  const source = isEmpty ? 'template0' : copied;
  await runOnServer(serverUrl, `create database ${name} template ${source}`);
  const url = replaceDatabase(serverUrl, name);
  const shared = isShared ? await openShared(url) : undefined;
  if (shared !== undefined) {
    opened.add(shared);
    return lend(shared);
  }
  const drop = (): Promise<void> => dropDatabase(url);
  return { url, drop, [Symbol.asyncDispose]: drop };
}

function lend(shared: SharedDatabase): TestDatabase & AsyncDisposable {
  let returned: Promise<void> | undefined;
  const takeBack = async (): Promise<void> => {
    if (opened.has(shared)) {
      if (await shared.empty()) {
        spares?.push(shared);
        return;
      }
      await closeShared(shared.url);
    }
    await dropDatabase(shared.url);
  };
  const drop = (): Promise<void> => (returned ??= takeBack());
  const { url, opener } = shared;
  return { url, opener, drop, [Symbol.asyncDispose]: drop };
}

/** It is not reused from now on, and can be copied. */
async function closeShared(url: string): Promise<void> {
  const shared = [...opened].find((one) => one.url === url);
  if (shared === undefined) return;
  opened.delete(shared);
  await shared.close();
}

async function dropDatabase(url: string): Promise<void> {
  const { serverUrl } = await findTemplate();
  const name = new URL(url).pathname.slice(1);
  await runOnServer(serverUrl, `drop database if exists ${name} with (force)`);
}

/** The same server with another database. */
function replaceDatabase(serverUrl: string, name: string): string {
  const url = new URL(serverUrl);
  url.pathname = `/${name}`;
  return url.href;
}

/**
 * Starts a server in the system's temporary folder, with the same durability as in production. Without
 * autovacuum plans do not depend on the moment, and its processes do not visit hundreds of small databases.
 */
export async function startTestServer(): Promise<EmbeddedServer> {
  const dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-test-'));
  await copyCluster(dataDirectory);
  const server = await startEmbedded({ dataDirectory, temporary: true });
  const url = server.connectionUrl('postgres');
  await runOnServer(url, 'alter system set autovacuum = off');
  await runOnServer(url, 'select pg_reload_conf()');
  return server;
}

/** Creates and migrates the database to be cloned. */
export async function createTemplate(serverUrl: string): Promise<TestTemplate> {
  const name = `outlay_test_${randomBytes(4).toString('hex')}`;
  await runOnServer(serverUrl, `create database ${name}`);
  await migrate({ url: replaceDatabase(serverUrl, name) });
  return { serverUrl, name };
}

/** Removes the template and the clones that crashed tests left, on an external server. */
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

/** For a test file run without `global-setup.ts`. */
async function createOwnTemplate(): Promise<TestTemplate> {
  const external = process.env['TEST_DATABASE_URL'];
  if (external !== undefined && external !== '') {
    const template = await createTemplate(external);
    let isDropped = false;
    // Emitted again after the asynchronous work of its handler.
    process.on('beforeExit', () => {
      if (isDropped) return;
      isDropped = true;
      void dropTemplate(template);
    });
    return template;
  }
  const server = await startTestServer();
  // The guard of the server stops it and removes its folder, even if this process crashes.
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
