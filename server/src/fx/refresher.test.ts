import assert from 'node:assert/strict';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import type { EnvironmentName } from '../core/access.ts';
import { formatRate, getRate } from '../core/rate.ts';
import { connectDatabase, type Database, findConstraint } from '../db/postgres/pool.ts';
import { readNewestRates, writeRates } from './fx.sql.ts';
import type { RateSources } from './load.ts';
import type { RateQuote } from './rate-book.ts';
import { createRates, type Rates, type RatesOptions } from './refresher.ts';

const nowMs = Date.parse('2026-11-20T15:00:00Z');
const minuteMs = 60_000;
const offline: typeof fetch = async () => {
  throw new Error('no network in this test');
};

let folder: string;
let database: TestDatabase;
let db: Database;
let owner: ReturnType<typeof openOwner>;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-fx-'));
  database = await createTestDatabase();
  db = connectDatabase({ url: database.url, connectionsMax: 8 });
  owner = openOwner(database.url);
});

after(async () => {
  await db?.close();
  await owner?.close();
  await database?.drop();
  await rm(folder, { recursive: true, force: true });
});

beforeEach(async () => {
  await owner.session.query({ name: '', text: 'truncate rates, rate_checkpoints' });
});

function writeEcb(day: string, rates: Record<string, string>): string {
  const rows = Object.entries(rates).map(
    ([code, rate]) => `<Cube currency="${code}" rate="${rate}"/>`,
  );
  return `<Envelope><Cube><Cube time="${day}">${rows.join('')}</Cube></Cube></Envelope>`;
}

async function writeSource(name: string, text: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, text);
  return path;
}

async function openRates(
  environment: EnvironmentName,
  sources: RateSources = {},
  changes: Partial<RatesOptions> = {},
): Promise<Rates> {
  const log = { info: () => undefined, warn: () => undefined };
  const defaults = { db, environment, sources, fetch: offline, nowMs: () => nowMs, log };
  return createRates({ ...defaults, ...changes });
}

function find(rates: Rates, from: string, to: string): string {
  const result = rates.rates().find(from, to);
  return result.ok ? formatRate(result.rate) : result.reason;
}

test('live starts without rates and has imported ones', async () => {
  const ecb = await writeSource(
    'a.xml',
    writeEcb('2026-11-20', { USD: '1.25', MXN: '20', XYZ: '1' }),
  );
  const prices = `{ "as_of": "2026-11-20T14:59:00Z", "prices": { "BTC": 100000.00 } }`;
  const crypto = await writeSource('a.json', prices);
  const rates = await openRates('live', { ecb, crypto });
  assert.equal(find(rates, 'USD', 'MXN'), 'unknown');
  const report = await rates.importAll();
  assert.equal(report.ok, true);
  assert.deepEqual(report.sources[0], {
    source: 'ecb',
    location: ecb,
    ok: true,
    quotes: 2,
    changed: 2,
    asOfMs: Date.parse('2026-11-20T14:00:00Z'),
    unknownCurrencies: ['"XYZ"'],
    warnings: [],
  });
  assert.equal(find(rates, 'USD', 'MXN'), '16');
  assert.equal(find(rates, 'BTC', 'MXN'), '1600000');
  assert.equal(find(rates, 'USD', 'AED'), 'unknown');
});

test('staging takes rates that were not imported from the bundled table', async () => {
  const ecb = await writeSource('b.xml', writeEcb('2026-11-20', { USD: '1.25', MXN: '20' }));
  const rates = await openRates('staging', { ecb });
  assert.equal(find(rates, 'USD', 'MXN'), '18.52');
  await rates.importAll();
  assert.equal(find(rates, 'USD', 'MXN'), '16');
  assert.equal(find(rates, 'EUR', 'USD'), '1.25');
  assert.equal(find(rates, 'USD', 'AED'), '3.6725');
  assert.equal(find(rates, 'MXN', 'AED'), '0.22953125');
});

test('no rate of staging becomes stale when its clock is moved', async () => {
  const ecb = await writeSource('c.xml', writeEcb('2026-11-20', { USD: '1.25' }));
  const laterMs = nowMs + 400 * 24 * 60 * minuteMs;
  const rates = await openRates('staging', { ecb }, { nowMs: () => laterMs });
  await rates.importAll();
  assert.equal(find(rates, 'EUR', 'USD'), '1.25');
});

test('in live, cryptocurrency prices expire after minutes and bank rates after days', async () => {
  let clockMs = nowMs;
  const ecb = await writeSource('d.xml', writeEcb('2026-11-20', { USD: '1.25' }));
  const prices = `{ "as_of": "2026-11-20T15:00:00Z", "prices": { "BTC": "100000" } }`;
  const crypto = await writeSource('d.json', prices);
  const rates = await openRates('live', { ecb, crypto }, { nowMs: () => clockMs });
  await rates.importAll();
  clockMs = nowMs + 16 * minuteMs;
  assert.equal(find(rates, 'BTC', 'EUR'), 'stale');
  clockMs = Date.parse('2026-11-23T15:00:00Z');
  assert.equal(find(rates, 'EUR', 'USD'), '1.25');
  clockMs = Date.parse('2026-11-24T15:00:00Z');
  assert.equal(find(rates, 'EUR', 'USD'), 'stale');
});

test('an import of one process reaches another with its next refresh', async () => {
  const ecb = await writeSource('e.xml', writeEcb('2026-11-19', { USD: '1.25' }));
  const importer = await openRates('live', { ecb });
  const other = await openRates('live');
  await importer.importAll();
  assert.equal(find(other, 'EUR', 'USD'), 'unknown');
  await other.refresh();
  assert.equal(find(other, 'EUR', 'USD'), '1.25');
  const held = other.rates();
  await other.refresh();
  assert.equal(other.rates(), held, 'nothing changed, so nothing was read');
  await importer.importAll();
  await other.refresh();
  assert.equal(other.rates(), held, 'the same file again changes nothing');
});

test('a correction replaces the rates of its day, and older days do not supersede newer ones', async () => {
  const path = await writeSource('f.xml', writeEcb('2026-11-20', { USD: '1.25' }));
  const rates = await openRates('live', { ecb: path });
  await rates.importAll();
  await writeSource('f.xml', writeEcb('2026-11-20', { USD: '1.26' }));
  await rates.importAll();
  assert.equal(find(rates, 'EUR', 'USD'), '1.26');
  await writeSource('f.xml', writeEcb('2026-11-19', { USD: '1.24' }));
  const report = await rates.importAll();
  assert.equal(report.ok, true);
  assert.equal(find(rates, 'EUR', 'USD'), '1.26');
});

test('a faulty source is reported, changes nothing, and does not stop the others', async () => {
  const ecb = await writeSource('g.xml', '<html>Service unavailable</html>');
  const prices = `{ "as_of": "2026-11-20T15:00:00Z", "prices": { "BTC": "100000" } }`;
  const crypto = await writeSource('g.json', prices);
  const warnings: string[] = [];
  const log = {
    info: () => undefined,
    warn: (_fields: unknown, message: string) => {
      warnings.push(message);
    },
  };
  const table = 'https://user:secret@rates.example/table.json';
  const rates = await openRates('live', { ecb, crypto, table }, { log });
  const report = await rates.importAll();
  assert.equal(report.ok, false);
  assert.deepEqual(
    report.sources.map((source) => [source.source, source.ok]),
    [
      ['ecb', false],
      ['crypto', true],
      ['table', false],
    ],
  );
  assert.equal(warnings.length, 2);
  assert.doesNotMatch(JSON.stringify(report), /secret/);
  assert.equal(find(rates, 'BTC', 'USD'), '100000');
});

test('a file dated in the future is refused', async () => {
  const ecb = await writeSource('h.xml', writeEcb('2026-11-23', { USD: '1.25' }));
  const [report] = (await (await openRates('live', { ecb })).importAll()).sources;
  assert.ok(report?.ok === false);
  assert.match(report.fault, /in the future/);
});

test('a price that more than doubled needs the consent of the operator', async () => {
  const path = await writeSource('i.xml', writeEcb('2026-11-19', { USD: '1.25', MXN: '20' }));
  const rates = await openRates('live', { ecb: path });
  await rates.importAll();
  await writeSource('i.xml', writeEcb('2026-11-20', { USD: '1.26', MXN: '200' }));
  const [report] = (await rates.importAll()).sources;
  assert.ok(report?.ok === false);
  assert.match(report.fault, /EUR\/MXN went from 20 to 200/);
  assert.equal(find(rates, 'EUR', 'USD'), '1.25', 'the file is taken whole or not at all');
  assert.equal((await rates.importAll({ acceptJumps: true })).ok, true);
  assert.equal(find(rates, 'EUR', 'MXN'), '200');
});

test('all imports within a week together move a rate no further than one may', async () => {
  let clockMs = nowMs;
  const path = await writeSource('w.xml', writeEcb('2026-11-20', { USD: '1', MXN: '18.4' }));
  const rates = await openRates('staging', { ecb: path }, { nowMs: () => clockMs });
  await rates.importAll();
  // The same day again, and the days after it.
  const days = ['2026-11-20', '2026-11-20', '2026-11-21', '2026-11-23', '2026-11-24'];
  const faults: string[] = [];
  for (const [index, mxn] of ['9.3', '4.7', '3.1', '2.4', '1.53'].entries()) {
    const day = days[index] ?? '';
    clockMs = Date.parse(`${day}T15:00:00Z`);
    await writeSource('w.xml', writeEcb(day, { USD: '1', MXN: mxn }));
    const [report] = (await rates.importAll()).sources;
    if (report?.ok === false) faults.push(report.fault);
  }
  assert.equal(faults.length, 4);
  assert.match(faults[0] ?? '', /EUR\/MXN went from 18\.4 to 4\.7 within 7 days/);
  assert.equal(find(rates, 'USD', 'MXN'), '9.3');
});

test('after an accepted jump later rates are compared with the accepted one', async () => {
  const path = await writeSource('v.xml', writeEcb('2026-11-20', { USD: '1', MXN: '18.4' }));
  const rates = await openRates('live', { ecb: path });
  await rates.importAll();
  await writeSource('v.xml', writeEcb('2026-11-20', { USD: '1', MXN: '1.84' }));
  assert.equal((await rates.importAll()).ok, false);
  assert.equal((await rates.importAll({ acceptJumps: true })).ok, true);
  assert.equal((await rates.importAll()).ok, true);
  await writeSource('v.xml', writeEcb('2026-11-20', { USD: '1', MXN: '18.4' }));
  assert.equal((await rates.importAll()).ok, false);
});

test('the first rate of a pair is compared with the other sources, else with the table', async () => {
  const ecb = await writeSource('u.xml', writeEcb('2026-11-20', { USD: '1.25', MXN: '2.5' }));
  const table = await writeSource(
    'u.json',
    `{ "as_of": "2026-11-20T14:59:00Z", "prices": { "MXN": "0.05" } }`,
  );
  const rates = await openRates('live', { ecb, table });
  const { sources } = await rates.importAll();
  assert.ok(sources[0]?.ok === true);
  assert.deepEqual(sources[0].warnings.length, 1);
  assert.match(sources[0].warnings[0] ?? '', /EUR\/MXN is 2\.5 in its first import/);
  assert.ok(sources[1]?.ok === false);
  assert.match(
    sources[1].fault,
    /MXN\/USD is 0\.05 in its first import .* but 0\.5 by earlier imports/,
  );
  assert.equal((await rates.importAll({ acceptJumps: true })).ok, true);
});

test('the database returns every digit, and only the newest quote of each pair and source', async () => {
  const quote = (base: string, rate: string, from: Partial<RateQuote>): RateQuote => ({
    base,
    quote: 'USD',
    rate: getRate(rate),
    source: 'table',
    asOfMs: nowMs - 5 * minuteMs,
    ...from,
  });
  const quotes = [
    quote('BTC', '101234.567890123456', { source: 'crypto', asOfMs: nowMs }),
    quote('BTC', '1', { source: 'crypto', asOfMs: nowMs - minuteMs }),
    quote('BTC', '2', {}),
    quote('AED', '0.000000000001', {}),
    quote('ZAR', '999999999999', {}),
  ];
  await db.systemTransaction((session) => writeRates(session, quotes));
  const stored = await readNewestRates(db.system);
  const byText = (list: readonly RateQuote[]): string[] =>
    list.map((row) => `${row.base} ${formatRate(row.rate)} ${row.source} ${row.asOfMs}`).toSorted();
  assert.deepEqual(byText(stored), byText(quotes.filter((row) => formatRate(row.rate) !== '1')));
});

test('history older than ninety days is deleted with the next import of its pair', async () => {
  const write = (days: number, rate: string): Promise<number> =>
    db.systemTransaction((session) =>
      writeRates(session, [
        {
          base: 'BTC',
          quote: 'USD',
          rate: getRate(rate),
          source: 'crypto',
          asOfMs: nowMs + days * 86_400_000,
        },
      ]),
    );
  for (const days of [-100, -91, -89, 0]) await write(days, '100000');
  const count = { name: 'test_count', text: 'select count(*) as count from rates' };
  assert.deepEqual((await db.system.query(count)).rows, [{ count: 2n }]);
});

test('the table refuses invalid rates', async () => {
  const insert = {
    name: 'test_insert',
    text: `insert into rates (base, quote, source, as_of, digits, scale)
      values ($1, $2, $3, $4::timestamptz, $5::bigint, $6::smallint)`,
  };
  const good = ['EUR', 'USD', 'ecb', '2026-11-20T14:00:00Z', '125', 2] as const;
  const faults: [number, unknown][] = [
    [0, 'eur'],
    [1, 'EUR'],
    [2, ''],
    [3, 'infinity'],
    [4, '0'],
    [4, '-1'],
    [4, '1000000000000000000'],
    [5, -1],
    [5, 25],
  ];
  for (const [index, value] of faults) {
    const values = good.with(index, value as never);
    await assert.rejects(db.system.query(insert, values), (error) => {
      assert.match(findConstraint(error) ?? '', /check/, `${index} ${String(value)}`);
      return true;
    });
  }
});

test('concurrent imports of two processes both succeed', async () => {
  const ecb = await writeSource(
    'j.xml',
    writeEcb('2026-11-20', { USD: '1.25', MXN: '20', GBP: '0.87' }),
  );
  const importers = await Promise.all(Array.from({ length: 6 }, () => openRates('live', { ecb })));
  const reports = await Promise.all(importers.map((importer) => importer.importAll()));
  assert.ok(reports.every((report) => report.ok));
  const changed = reports.flatMap((report) =>
    report.sources.map((row) => (row.ok ? row.changed : 0)),
  );
  assert.equal(
    changed.reduce((sum, count) => sum + count, 0),
    3,
  );
});
