import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import type { MoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import {
  createScheduleTest,
  hourMs,
  rail,
  type ScheduleTest,
  usdMxn,
} from '../../testing/setups/schedules.ts';
import type { Session } from '../db/postgres/pool.ts';
import { readProviderPrice } from '../destinations/provider-pricing.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { getPayoutBefore } from './payout-history.ts';
import { claimSchedules, type NewSchedule } from './schedules.sql.ts';

/** When scheduled payouts run: prices, order, funds and claims. */

let money: MoneyTest;
let open: ScheduleTest['open'];
let schedule: ScheduleTest['schedule'];
let read: ScheduleTest['read'];
before(async () => {
  ({ money, open, schedule, read } = await createScheduleTest());
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

test('a payout runs at the price of its time, and shows the quoted one before that', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const id = await schedule(owner);
  const other = await schedule(owner, { terms: { givenSide: 'destination' } });
  const quoted = await read(owner, id);
  const before = new Date(money.clock.nowMs());
  await money.advance(hourMs);
  await open({ rates: usdMxn('10') }).drain();
  const ran = await read(owner, id);
  assert.equal(ran.status, 'PROCESSING');
  assert.deepEqual(
    [ran.source_amount, ran.fee, ran.destination_amount, ran.exchange_rate],
    [10_000n, 100n, 99_000n, '9.9'],
  );
  assert.ok((ran.estimated_availability.getTime() ?? 0) > money.clock.nowMs());
  const bought = await read(owner, other);
  assert.deepEqual([bought.source_amount, bought.destination_amount], [19_192n, 190_000n]);
  assert.equal(await money.balance(owner.accountId, 'USD'), 100_000n - 10_100n - 19_292n);
  const session = money.db.tenant(owner.accountId);
  const then = await getPayoutBefore(session, { ...owner, payoutId: id, before });
  assert.deepEqual(
    [then.status, then.destination_amount, then.exchange_rate, then.estimated_availability],
    ['SCHEDULED', 190_000n, quoted.exchange_rate, quoted.estimated_availability],
  );
  // The rail gets the amount of the new price, as of the moment at which it ran.
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runDue();
  assert.equal((await read(owner, id)).status, 'COMPLETED');
  assert.equal(await money.balance(owner.accountId, 'MXN', 'settlement:first'), 289_000n);
});

test("a payout runs at the provider's price of its time, which is stored with it", async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const id = await schedule(owner);
  await money.advance(hourMs);
  const quoting = { ...rail, readPrices: async () => [] };
  const price = {
    rail: rail.name,
    payer_key: 'first',
    source_currency: 'USD',
    destination_currency: 'MXN',
    rate: '19',
    fee: [{ upTo: null, fixed: '0.5', basisPoints: 0 }],
    read_at: new Date(money.clock.nowMs()),
    holds_until: null,
    delivery_seconds: null,
  };
  const tooOld = { ...price, read_at: new Date(0) };
  await open({ rail: quoting, prices: [tooOld] }).drain();
  assert.equal((await read(owner, id)).status, 'SCHEDULED');
  await money.rows('update payout_schedules set retry_at = now() where retry_at is not null');
  await open({ rail: quoting, prices: [price] }).drain();
  const ran = await read(owner, id);
  // 19 less the margin of one percent; 0.50 to the provider and 1.00 of the tariff.
  assert.deepEqual([ran.status, ran.exchange_rate, ran.fee], ['PROCESSING', '18.81', 150n]);
  const [row] = await money.rows<{ provider_price: string }>(
    'select provider_price from payouts where id = $1',
    [id],
  );
  assert.equal(readProviderPrice(row?.provider_price ?? '').asOfMs, price.read_at.getTime());
});

test('the earliest payouts that the balance covers run first, and those that it does not let others pass', async () => {
  const owner = await money.createOwner({ USD: 30_000n });
  const at = (minutes: number): { terms: Partial<NewSchedule> } => ({
    terms: { runsAt: new Date(money.clock.nowMs() + minutes * 60_000) },
  });
  const last = await schedule(owner, at(40));
  const large = await schedule(owner, { ...at(10), sourceMinor: 25_000n });
  const second = await schedule(owner, at(30));
  const huge = await schedule(owner, { ...at(20), sourceMinor: 90_000n });
  await money.advance(hourMs);
  await open().drain();
  const statuses = async () =>
    Promise.all([large, huge, second, last].map(async (id) => (await money.payout(id)).status));
  assert.deepEqual(await statuses(), ['PROCESSING', 'SCHEDULED', 'SCHEDULED', 'SCHEDULED']);
  assert.equal((await read(owner, second)).schedule?.shortfall, 10_100n - 4_900n);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 6_000n });
  await open().drain();
  await open().runDue();
  assert.deepEqual(await statuses(), ['PROCESSING', 'SCHEDULED', 'PROCESSING', 'SCHEDULED']);
  assert.equal(await money.balance(owner.accountId, 'USD'), 800n);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1_000_000n });
  assert.equal(await open().runDue(), 2);
  assert.deepEqual(await statuses(), ['PROCESSING', 'PROCESSING', 'PROCESSING', 'PROCESSING']);
});

test('a waiting payout is tried when something changes, and nothing is written meanwhile', async () => {
  const owner = await money.createOwner();
  const id = await schedule(owner);
  await money.advance(hourMs);
  const scheduler = open();
  await scheduler.drain();
  const { schedule: waiting } = await read(owner, id);
  assert.equal(waiting?.shortfall, 10_100n);
  const [before] = await money.rows<{ xmin: string }>(
    'select xmin::text from payout_schedules where payout_id = $1',
    [id],
  );
  assert.equal(await scheduler.runDue(), 0);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 10_099n });
  assert.equal(await scheduler.runDue(), 0);
  const [now] = await money.rows<{ xmin: string }>(
    'select xmin::text from payout_schedules where payout_id = $1',
    [id],
  );
  assert.deepEqual(now, before);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n });
  assert.equal(await scheduler.runDue(), 1);
  assert.equal((await money.payout(id)).status, 'PROCESSING');
});

test('four processes run 60 payouts once each', async () => {
  const owners = await Promise.all([0, 1].map(() => money.createOwner({ USD: 10_000_000n })));
  const ids: string[] = [];
  for (let count = 0; count < 30; count += 1) {
    ids.push(...(await Promise.all(owners.map((owner) => schedule(owner)))));
  }
  await money.advance(hourMs);
  const processes = [0, 1, 2, 3].map(() => open({ through: money.connect() }));
  await Promise.all(processes.map((one) => one.drain()));
  const journals = await money.rows<{ count: bigint }>(
    `select count(*) from ledger_journals where kind = 'commit' and payout_id = any ($1)
     group by payout_id`,
    [ids],
  );
  assert.deepEqual(
    journals.map(({ count }) => count),
    ids.map(() => 1n),
  );
  for (const { accountId } of owners) {
    assert.equal(await money.balance(accountId, 'USD'), 10_000_000n - 30n * 10_100n);
  }
  for (const { errors } of processes) assert.deepEqual(errors, []);
});

test('a process that stops after its claim leaves the payout to another one, and cannot run it late', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const id = await schedule(owner);
  await money.advance(hourMs);
  const [stopped] = await claimSchedules(money.db.system, { count: 10, leaseMs: 0 });
  assert.equal(stopped?.payout_id, id);
  const tries = [
    {
      payout_id: id,
      fence: stopped?.fence.toString(),
      source_amount: '10000',
      fee: '100',
      destination_amount: '1',
      exchange_rate: '1',
      rounding_nano: '0',
      estimated_availability: new Date(),
      needs_verification: false,
      obstacle: null,
    },
  ];
  const [claimed] = await claimSchedules(money.db.system, { count: 10, leaseMs: 0 });
  assert.equal(claimed?.payout_id, id);
  const late = await money.rows<{ count: number }>(
    `select run_schedules($1, $2, '{}', 1000) as count`,
    [owner.accountId, JSON.stringify(tries)],
  );
  assert.deepEqual(late, [{ count: 0 }]);
  assert.equal((await money.payout(id)).status, 'SCHEDULED');
  await open().drain();
  assert.equal((await read(owner, id)).destination_amount, 198_000n);
});

test('a commit of today reads and writes nothing of schedules', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const quotes = await Promise.all([0, 1, 2].map(() => money.quote(owner)));
  const later = await schedule(owner);
  const list = (ids: readonly string[]): string => `{${ids.join(',')}}`;
  const readUse = (session: Session) =>
    readRows<{ used: bigint }>(session, {
      name: '',
      text: `select seq_scan + idx_scan + n_tup_ins + n_tup_upd as used
        from pg_stat_xact_user_tables where relname = 'payout_schedules'`,
    });
  await money.db.systemTransaction(async (session) => {
    const before = await readUse(session);
    const all = quotes.map(() => owner);
    const results = await readRows<{ result: string }>(
      session,
      {
        name: '',
        text: 'select result from commit_payouts($1, $2, $3, $4, array_fill(null::bytea, $5), $4, true)',
      },
      [
        list(all.map(({ accountId }) => accountId)),
        list(all.map(({ userId }) => userId)),
        list(quotes.map(({ id }) => id)),
        list(all.map(() => 'null')),
        `{${all.length}}`,
      ],
    );
    assert.deepEqual(
      results.map(({ result }) => result),
      ['committed', 'committed', 'committed'],
    );
    assert.deepEqual(await readUse(session), before);
  });
  assert.equal((await money.payout(later)).status, 'SCHEDULED');
});

test('the price of a payout changes when it runs, and at no other time', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  const { id: pending } = await money.quote(owner);
  const { payoutId: committed } = await money.quoteAndCommit(owner);
  const ran = await schedule(owner);
  const waiting = await schedule(owner, { terms: { runsAt: new Date('2030-01-01') } });
  await money.advance(hourMs);
  await open().drain();
  const states = ['23001'];
  for (const [id, what] of [
    [pending, 'of a quote'],
    [committed, 'of a committed payout'],
    [ran, 'of a payout that ran'],
  ]) {
    const text = `update payout_quotes set fee = 0, ran_at = now() where id = $1`;
    await money.refuse(text, [id], { states, what: `the price ${what}` });
  }
  for (const change of ['fee = 0', `runs_at = now(), ran_at = now()`, `rail = 'other'`]) {
    const text = `update payout_quotes set ${change} where id = $1`;
    await money.refuse(text, [waiting], { states, what: `${change} of a scheduled payout` });
  }
  await money.refuse(
    `update payout_schedules set deadline_at = now() where payout_id = $1`,
    [waiting],
    { states, what: 'another deadline' },
  );
});
