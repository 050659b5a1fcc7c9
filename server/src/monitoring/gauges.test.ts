import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { Registry } from 'prom-client';
import { createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { connectDatabase } from '../db/postgres/pool.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { findNextCutOff } from './cut-offs.ts';
import { createGauges } from './gauges.ts';

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 1_000_000_000n });
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

const nowMs = Date.parse('2026-11-20T12:00:00Z');

function open(db = money.db) {
  const registry = new Registry();
  const steady = { ms: 0 };
  const errors: unknown[] = [];
  const gauges = createGauges({
    registry,
    steadyMs: () => steady.ms,
    realNowMs: () => nowMs,
    onError: (error) => errors.push(error),
    environments: [
      {
        name: 'staging',
        db,
        clock: money.clock,
        catalog: compileCatalog([]),
        rates: () => createRates({}),
        railNames: ['fake', 'idle'],
        rails: [createFakeRail(() => ({ outcome: 'paid' }))],
        healthOf: () => 'degraded',
        railFunds: () =>
          new Map([
            ['chain', [{ currency: 'ETH', amount: '1.5' }]],
            ['bank', [{ currency: 'EUR', amount: '-7', asOfMs: money.clock.nowMs() - 60_000 }]],
          ]),
        loopsSucceededAtMs: () => new Map([['dispatch', -4_000]]),
        newestRates: () => new Map([['ecb', money.clock.nowMs() - 60_000]]),
      },
    ],
  });
  const read = async (): Promise<Map<string, number>> => {
    await gauges.refresh();
    const lines = (await registry.metrics())
      .split('\n')
      .filter((line) => line.startsWith('outlay_'));
    return new Map(
      lines.map((line) => [
        line.slice(0, line.lastIndexOf(' ')).replace('environment="staging",', ''),
        Number(line.slice(line.lastIndexOf(' ') + 1)),
      ]),
    );
  };
  return { read, steady, errors };
}

test('payouts that cannot be sent count as due, accepted ones do not', async () => {
  let answer: RailAnswer = { outcome: 'retry', reason: 'unreachable' };
  const rail = createFakeRail(() => answer);
  const dispatcher = money.createDispatcherOf([rail]);
  const { read, steady } = open();
  for (let count = 0; count < 3; count += 1) await money.quoteAndCommit(owner);
  const labels = `{rail="${rail.name}"}`;
  assert.equal((await read()).get(`outlay_payouts_due${labels}`), 3);
  await dispatcher.runDue();
  steady.ms += 60_000;
  const failing = await read();
  assert.equal(failing.get(`outlay_payouts_due${labels}`), 3);
  assert.equal(failing.get(`outlay_payouts_backing_off${labels}`), 3);
  const ofStatus = `{rail="${rail.name}",status="PROCESSING"}`;
  assert.equal(failing.get(`outlay_payouts_unfinished${ofStatus}`), 3);
  assert.ok((failing.get(`outlay_payout_oldest_unfinished_seconds${ofStatus}`) ?? -1) >= 0);
  assert.equal(failing.get('outlay_payouts_due{rail="idle"}'), 0);
  answer = { outcome: 'accepted' };
  await money.advance(3_600_000);
  await dispatcher.drain();
  steady.ms += 60_000;
  const accepted = await read();
  assert.equal(accepted.get(`outlay_payouts_due${labels}`), 0);
  assert.equal(accepted.get(`outlay_payouts_unfinished${ofStatus}`), 3);
});

test('open exceptions are counted by kind with the age of the oldest, and held payouts stay visible', async () => {
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const hold = {
    check: async (rows: readonly unknown[]) =>
      rows.map(() => ({ exception: 'screening' as const, detail: 'a list' })),
  };
  const dispatcher = money.createDispatcherOf([rail], { rules: hold });
  await money.quoteAndCommit(owner);
  await dispatcher.drain();
  await money.advance(7_200_000);
  const { read } = open();
  const gauges = await read();
  assert.equal(gauges.get('outlay_exceptions_open{kind="screening"}'), 1);
  assert.ok((gauges.get('outlay_exception_oldest_open_seconds{kind="screening"}') ?? 0) >= 7200);
  assert.equal(gauges.get(`outlay_payouts_unfinished{rail="${rail.name}",status="HOLD"}`), 1);
  assert.equal(Math.round(gauges.get('outlay_rates_age_seconds{source="ecb"}') ?? 0), 60);
});

test('during a database outage the last values stay, with their age', async () => {
  const db = connectDatabase({ url: money.url, connectionsMax: 2 });
  const { read, steady, errors } = open(db);
  const before = await read();
  assert.equal(before.get('outlay_database_gauges_age_seconds{environment="staging"}'), 0);
  await db.close();
  steady.ms += 90_000;
  const during = await read();
  assert.equal(errors.length, 1);
  assert.equal(during.get('outlay_database_gauges_age_seconds{environment="staging"}'), 90);
  assert.equal(
    during.get('outlay_exceptions_open{kind="screening"}'),
    before.get('outlay_exceptions_open{kind="screening"}'),
  );
});

test('a database that was never read leaves only its own gauges absent, but for their age', async () => {
  const db = connectDatabase({ url: 'postgresql://nobody@127.0.0.1:9/none', connectionsMax: 2 });
  const { read, steady, errors } = open(db);
  steady.ms += 90_000;
  const gauges = await read();
  await db.close();
  assert.equal(errors.length, 1);
  assert.equal(gauges.has('outlay_payouts_due{rail="idle"}'), false);
  // Since the start of the process, so that the alert about it fires.
  assert.equal(gauges.get('outlay_database_gauges_age_seconds{environment="staging"}'), 90);
  assert.ok(gauges.has('outlay_rates_age_seconds{source="ecb"}'));
  assert.ok(gauges.has('outlay_database_connections{pool="system",state="in_use"}'));
});

test('a scrape shows dispatch lag, background work, funds, health and cut-offs of rails', async () => {
  const rail = createFakeRail(() => ({ outcome: 'retry', reason: 'unreachable' }));
  await money.quoteAndCommit(owner);
  await money.advance(120_000);
  const { read, steady } = open();
  const gauges = await read();
  const lag = gauges.get(`outlay_dispatch_lag_seconds{rail="${rail.name}"}`);
  steady.ms += 9_000;
  // Not read again yet: nothing says that the payout still waits.
  assert.equal((await read()).get(`outlay_dispatch_lag_seconds{rail="${rail.name}"}`), lag);
  assert.ok((gauges.get(`outlay_dispatch_lag_seconds{rail="${rail.name}"}`) ?? 0) >= 120);
  assert.equal(gauges.get('outlay_dispatch_lag_seconds{rail="idle"}'), 0);
  assert.equal(gauges.get('outlay_loop_success_age_seconds{loop="dispatch"}'), 4);
  assert.equal(gauges.get('outlay_rail_funds{rail="chain",currency="ETH"}'), 1.5);
  const ofBank = '{rail="bank",currency="EUR"}';
  assert.equal(gauges.get(`outlay_rail_funds${ofBank}`), -7);
  assert.equal(Math.round(gauges.get(`outlay_rail_funds_age_seconds${ofBank}`) ?? 0), 60);
  assert.equal(gauges.get('outlay_rail_funds_age_seconds{rail="chain",currency="ETH"}'), undefined);
  assert.equal(gauges.get(`outlay_rail_health{rail="${rail.name}"}`), 0.5);
  assert.ok((gauges.get('outlay_ledger_unsigned_seconds{environment="staging"}') ?? 0) >= 120);
});

test('the next cut-off is that of the next file, or the first of the payers', () => {
  const payers = [
    createPayer('late', { availability: cutOffAt('17:00') }),
    createPayer('early', { availability: cutOffAt('15:30') }),
    createPayer('none'),
  ];
  assert.equal(findNextCutOff({ payers }, nowMs), Date.parse('2026-11-20T15:30:00Z'));
  const afterFive = Date.parse('2026-11-20T18:00:00Z');
  // A Friday: the next banking day is Monday.
  assert.equal(findNextCutOff({ payers }, afterFive), Date.parse('2026-11-23T15:30:00Z'));
  assert.equal(findNextCutOff({ payers, findNextCutOff: () => 7 }, nowMs), 7);
  assert.equal(findNextCutOff({ payers: [] }, nowMs), undefined);
});

const cutOffAt = (cutOff: string) => ({
  timeZone: 'UTC',
  calendar: null,
  weekend: [0, 6],
  cutOff,
  delay: { businessDays: 1, arrival: '09:00' },
});
