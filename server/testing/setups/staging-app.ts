import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type App, createApp } from '../../src/app.ts';
import { readConfig } from '../../src/config.ts';
import { createOperator } from '../../src/operators/operators.ts';
import { createTestDatabase } from './database.ts';

type Role = Parameters<typeof createOperator>[1]['role'];

/** The whole service over HTTP in the test's process, in staging on a database of its own. */
export type StagingApp = AsyncDisposable & {
  readonly app: App;
  readonly baseUrl: string;
  readonly databaseUrl: string;
  /** Of Demo. */
  readonly account: string;
  readonly apiKey: string;
  /** Creates an operator, and returns the key. */
  createOperator(name: string, role: Role): Promise<string>;
};

type Options = {
  /** Called before anything is opened on the database. */
  prepare?(databaseUrl: string): Promise<void>;
  settings?: Readonly<Record<string, string>>;
};

export async function openStagingApp({ prepare, settings }: Options = {}): Promise<StagingApp> {
  await using parts = new AsyncDisposableStack();
  // Plans that a test looks at must not depend on what others left in the tables.
  const isFresh = prepare !== undefined;
  const database = parts.use(await createTestDatabase({ isFresh }));
  await prepare?.(database.url);
  const folder = mkdtempSync(join(tmpdir(), 'outlay-app-'));
  parts.defer(() => rmSync(folder, { recursive: true }));
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: folder,
    OUTLAY_LOG_LEVEL: 'silent',
    PORT: '0',
    ...settings,
  });
  const app = await createApp(config, { role: 'serve', realNowMs: Date.now });
  parts.defer(() => app.close());
  const { baseUrl } = await app.listen();
  const credentials = JSON.parse(readFileSync(join(folder, 'staging.json'), 'utf8')) as {
    account: string;
    api_key: string;
  };
  const env = app.environments.staging ?? assert.fail('staging is open');
  const services = { session: env.db.system, keys: env.keys };
  const opened = parts.move();
  return {
    app,
    baseUrl,
    databaseUrl: database.url,
    account: credentials.account,
    apiKey: credentials.api_key,
    createOperator: async (name, role) =>
      (await createOperator(services, { name, role, createdBy: undefined })).key,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
