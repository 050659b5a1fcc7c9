import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createAccount } from '../../src/accounts/accounts.ts';
import { type App, createApp } from '../../src/app.ts';
import { type Config, type Role, readConfig } from '../../src/config.ts';
import { createTestDatabase, type TestDatabase } from './database.ts';

/** Live set-ups for tests: a database, rates from a file, and a rail that pays MXN. */

export type LiveSetup = {
  readonly folder: string;
  readonly database: TestDatabase;
  readonly variables: Record<string, string>;
  config(changes?: Record<string, string | undefined>): Config;
  /** Writes the file of rates; `rates` are units for one euro. */
  writeRates(day: string, rates: Readonly<Record<string, string>>): void;
  writeRails(rails: readonly object[]): void;
  /** Starts a process of this role, on free ports. */
  start(role: Role, changes?: Record<string, string | undefined>): Promise<LiveApp>;
  close(): Promise<void>;
};

export type LiveApp = {
  readonly app: App;
  readonly baseUrl: string;
  readonly logged: string[];
  get(path: string, token?: string): Promise<{ status: number; text: string }>;
  close(): Promise<void>;
};

const signingKey = (id: string) => ({
  id,
  algorithm: 'hmac-sha256',
  key: randomBytes(32).toString('base64'),
});

/** A rail of the kind `partner`; without an address its counterparty is unreachable. */
export const partnerRail = (changes: object = {}, payer: object = {}) => ({
  kind: 'partner',
  name: 'cash_mx',
  config: {
    baseUrl: 'http://127.0.0.1:2',
    signingKey: signingKey('outlay-1'),
    partnerKeys: [signingKey('partner-1')],
  },
  companies: [{ key: 'plaza', name: 'Plaza' }],
  payers: [
    {
      key: 'mx-plaza',
      companyKey: 'plaza',
      payerName: 'Plaza',
      countryCode: 'MEX',
      deliveryType: 'CASH_PICKUP',
      currencies: ['MXN'],
      tariffs: [{ fee: [{ upTo: null, fixed: '2', basisPoints: 0 }] }],
      availability: { delay: { minutes: 15 } },
      ...payer,
    },
  ],
  ...changes,
});

export async function createLiveSetup(given?: TestDatabase): Promise<LiveSetup> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-live-'));
  const database = given ?? (await createTestDatabase());
  const ratesFile = join(folder, 'ecb.xml');
  const railsFile = join(folder, 'rails.json');
  const variables = {
    PORT: '0',
    OUTLAY_WORK_PORT: '0',
    OUTLAY_DATA: join(folder, 'data'),
    OUTLAY_ENVIRONMENTS: 'live',
    OUTLAY_DEFAULT_ENVIRONMENT: 'live',
    OUTLAY_LIVE_DATABASE_URL: database.url,
    OUTLAY_LIVE_MASTER_KEY: randomBytes(32).toString('base64'),
    OUTLAY_LIVE_RAILS: railsFile,
    OUTLAY_RATES_ECB: ratesFile,
    OUTLAY_DATABASE_CONNECTIONS: '4',
    OUTLAY_DRAIN_SECONDS: '1',
  };
  const apps: LiveApp[] = [];
  const setup: LiveSetup = {
    folder,
    database,
    variables,
    config: (changes = {}) => readConfig({ ...variables, ...changes }),
    writeRates: (day, rates) => {
      const rows = Object.entries(rates).map(
        ([code, rate]) => `<Cube currency="${code}" rate="${rate}"/>`,
      );
      writeFileSync(
        ratesFile,
        `<Envelope><Cube><Cube time="${day}">${rows.join('')}</Cube></Cube></Envelope>`,
      );
    },
    writeRails: (rails) => writeFileSync(railsFile, JSON.stringify({ rails })),
    start: async (role, changes = {}) => {
      const app = await startLive(setup.config(changes), role);
      apps.push(app);
      return app;
    },
    close: async () => {
      await Promise.all(apps.map((app) => app.close()));
      await database.drop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  setup.writeRails([partnerRail()]);
  return setup;
}

async function startLive(config: Config, role: Role): Promise<LiveApp> {
  const logged: string[] = [];
  const logOutput = { write: (line: string) => void logged.push(line), onLost: () => undefined };
  const app = await createApp(config, { role, realNowMs: Date.now, logOutput });
  const { baseUrl } = await app.listen();
  let closing: Promise<void> | undefined;
  return {
    app,
    baseUrl,
    logged,
    get: async (path, token) => {
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
      const answer = await fetch(`${baseUrl}${path}`, { headers });
      return { status: answer.status, text: await answer.text() };
    },
    close: () => (closing ??= app.close()),
  };
}

/** The date of rates that live accepts on every day of the year. */
export function yesterday(): string {
  return new Date(Date.now() - 86_400_000).toISOString().slice(0, 10);
}

/** The API key of a new account. */
export async function createKey({ app }: LiveApp): Promise<string> {
  const { live } = app.environments;
  if (live === undefined) throw new Error('the app has no live environment');
  const account = await live.db.systemTransaction((session) =>
    createAccount(session, { name: 'Test', environmentName: 'live', keys: live.keys }),
  );
  return account.api_key;
}

/** Waits until `holds` returns true. @throws Error after `msMax`. */
export async function waitUntil(holds: () => Promise<boolean>, msMax: number): Promise<void> {
  const endMs = performance.now() + msMax;
  while (!(await holds())) {
    if (performance.now() > endMs) throw new Error(`not within ${msMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}
