import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { connectDatabase, type Database } from '../server/src/db/postgres/pool.ts';
import { verifyChains } from '../server/src/ledger/chain-source.ts';
import { verifyLedger } from '../server/src/ledger/ledger.ts';
import { listMagicValues, type MagicOutcome } from '../server/src/rails/sandbox/magic.ts';
import { createTestDatabase } from '../server/testing/setups/database.ts';
import { openOwner } from '../server/testing/setups/owner-session.ts';
import { readRows } from '../server/testing/setups/read-rows.ts';
import { type Account, type Api, type Service, startService } from './service.ts';

/** What the tests of crashes, truncated requests and several processes share. */

/** Seeded random numbers (mulberry32). The seed is printed, so that a failure can be repeated. */
export function createRandom(seed: number) {
  let state = seed >>> 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return {
    /** A whole number from 0 to below `end`. */
    below: (end: number): number => Math.floor(next() * end),
    pick: <T>(items: readonly T[]): T => items[Math.floor(next() * items.length)] as T,
  };
}

/** `OUTLAY_TEST_SEED` repeats a run; otherwise each run has a seed of its own. */
export function chooseSeed(): number {
  const given = process.env['OUTLAY_TEST_SEED'];
  return given === undefined ? randomBytes(4).readUInt32LE() : Number(given);
}

/** The database of the service, as its owner: for what the interface does not show. */
export type Books = {
  rows<Row>(text: string, values?: readonly unknown[]): Promise<Row[]>;
  /** @throws Error with the proof where the ledger is not sound. */
  assertSound(): Promise<void>;
  close(): Promise<void>;
};

export function openBooks(url: string): Books {
  const db: Database = connectDatabase({ url, connectionsMax: 2 });
  const owner = openOwner(url);
  return {
    rows: (text, values = []) => readRows(owner.session, { name: '', text }, values),
    assertSound: async () => {
      const { isSound, ...proof } = await verifyLedger(db);
      if (!isSound) throw new Error(JSON.stringify(proof).slice(0, 2000));
      const { findings } = await verifyChains(db);
      if (findings.length > 0) throw new Error(JSON.stringify(findings).slice(0, 2000));
    },
    close: async () => {
      await Promise.all([db.close(), owner.close()]);
    },
  };
}

/** The address of the database of a service that the tests started. */
export async function findDatabaseUrl({ settings, dataDirectory = '' }: Service): Promise<string> {
  return settings['DATABASE_URL'] ?? findEmbeddedUrl(dataDirectory);
}

/** The address of a data folder's embedded server: its socket is in the fifth line of its pid file. */
export async function findEmbeddedUrl(dataDirectory: string): Promise<string> {
  const [, socketDirectory] = await readPostmaster(dataDirectory);
  const password = (await readFile(join(dataDirectory, 'postgres.password'), 'utf8')).trim();
  const user = `outlay:${encodeURIComponent(password)}`;
  const host = encodeURIComponent(socketDirectory);
  return `postgresql://${user}@localhost/outlay_staging?host=${host}`;
}

/** The process of the embedded server, and the folder of its socket. */
export async function readPostmaster(dataDirectory: string): Promise<[number, string]> {
  const text = await readFile(join(dataDirectory, 'postgres/postmaster.pid'), 'utf8');
  const lines = text.split('\n');
  return [Number(lines[0]), lines[4] ?? ''];
}

/** Waits until the service has restarted its database, as another process. */
export async function waitForRestart(
  service: Service,
  dataDirectory: string,
  former: number,
): Promise<void> {
  for (const endMs = performance.now() + 60_000; ; await sleep(20)) {
    if (performance.now() > endMs) throw new Error('the database was not started again');
    const [present] = await readPostmaster(dataDirectory).catch(() => [former] as const);
    if (present === former) continue;
    if ((await fetch(`${service.baseUrl}/health/ready`)).status === 200) return;
  }
}

export type Pair = {
  first: Service;
  second: Service;
  books: Books;
  /** Starts a third process on the same database. */
  startAnother(): Promise<Service>;
  /** Creates an empty database on the same server, and settings to start with it. */
  createEmpty(): Promise<{ settings: Record<string, string>; url: string }>;
  stop(): Promise<void>;
};

/**
 * Two services on one database, each with its own data folder and the same master key: in the test's
 * process unless the processes are the subject.
 */
export async function startPair({ isProcess = false } = {}): Promise<Pair> {
  const database = await createTestDatabase();
  const masterKey = randomBytes(32).toString('base64');
  const settings = { DATABASE_URL: database.url, OUTLAY_MASTER_KEY: masterKey };
  const services: Service[] = [];
  const start = async (options: { isProcess: boolean }): Promise<Service> => {
    const service = await startService({ isOwn: true, settings, ...options });
    services.push(service);
    return service;
  };
  const [first, second] = await Promise.all([start({ isProcess }), start({ isProcess })]);
  const books = openBooks(database.url);
  return {
    first,
    second,
    books,
    startAnother: () => start({ isProcess: true }),
    createEmpty: async () => {
      const name = `outlay_empty_${randomBytes(6).toString('hex')}`;
      await books.rows(`create database ${name}`);
      const url = new URL(database.url);
      url.pathname = `/${name}`;
      return { settings: { ...settings, DATABASE_URL: url.href }, url: url.href };
    },
    stop: async () => {
      await books.close();
      await Promise.all(services.map((service) => service.stop()));
      await database.drop();
    },
  };
}

/** Of processes that began together, the one that created the owner, whose folder has the key. */
export function findKeyHolder({ first, second }: Pick<Pair, 'first' | 'second'>): Service {
  const holder = [first, second].find(({ dataDirectory = '' }) =>
    existsSync(join(dataDirectory, 'staging.operator')),
  );
  assert.ok(holder !== undefined, 'one of them created the owner');
  return holder;
}

/** The same account, seen through another process. */
export function runThrough(service: Service, account: Account): Api {
  return service.demo.withToken(account.credentials.api_key);
}

/** The account number in Mexico for which the sandbox simulates this outcome. */
export function getMagicClabe(outcome: MagicOutcome): string {
  for (const row of listMagicValues()) {
    const value = row.values[outcome];
    const isClabe = row.destinations.includes('MEX MXN') && /^\d{18}$/.test(value ?? '');
    if (isClabe && row.type === 'BankAccountNumber' && value !== undefined) return value;
  }
  throw new Error(`no value for ${outcome}`);
}

/** Waits until no session of a dead process is in a transaction. */
export async function waitUntilIdle(books: Books): Promise<void> {
  for (;;) {
    const busy = await books.rows(
      `select 1 from pg_stat_activity
       where datname = current_database() and xact_start is not null and pid <> pg_backend_pid()
         and query not like '%claim_dispatches%'`,
    );
    if (busy.length === 0) return;
    await sleep(5);
  }
}

export type RawRequest = {
  api: Api;
  method: string;
  path: string;
  key: string;
  body?: string;
};

/** Where a truncated request ends: after this share of its bytes, or with the first answer bytes. */
export type Truncation = { sentShare: number; waitsForAnswer: boolean };

/**
 * Sends a request, or its beginning, over a connection of its own and resets the connection (RST), as
 * a client that dies does.
 */
export function sendTruncated(request: RawRequest, truncation: Truncation): Promise<void> {
  const { api, method, path, key, body = '' } = request;
  const { hostname, port } = new URL(api.baseUrl);
  const target = path.startsWith('/sandbox') ? path : `/${api.version}${path}`;
  const head = [
    `${method} ${target} HTTP/1.1`,
    `host: ${hostname}:${port}`,
    `authorization: Bearer ${api.token}`,
    `idempotency-key: ${key}`,
    ...(body === '' ? [] : ['content-type: application/json']),
    `content-length: ${Buffer.byteLength(body)}`,
  ].join('\r\n');
  const bytes = Buffer.from(`${head}\r\n\r\n${body}`);
  return new Promise((resolve) => {
    const socket = connect({ host: hostname, port: Number(port) }, () => {
      const part = bytes.subarray(0, Math.floor(bytes.length * truncation.sentShare));
      socket.write(part, () => {
        if (!truncation.waitsForAnswer) socket.resetAndDestroy();
      });
    });
    socket.once('data', () => socket.resetAndDestroy());
    socket.once('error', () => resolve());
    socket.once('close', () => resolve());
  });
}
