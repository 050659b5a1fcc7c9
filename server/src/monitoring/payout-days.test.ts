import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createMoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { overviewCharts } from './overview.sql.ts';
import { readOverview } from './overview.ts';
import { countPayouts } from './payout-days.ts';

const money = await createMoneyTest();
after(() => money[Symbol.asyncDispose]());

/** What the states of payouts say themselves. */
async function countStates(accountId: string | undefined) {
  return money.rows<{ day: string; status: string; count: number }>(
    `select to_char(q.created_at at time zone 'UTC', 'YYYY-MM-DD') as day, s.status,
       count(*)::integer as count
     from payout_states s join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
     where $1::uuid is null or s.account_id = $1 group by 1, 2 order by 1, 2`,
    [accountId ?? null],
  );
}

const look = (accountId?: string) => readOverview(money.db, { accountId, days: 30 });

test('the overview counts what the payouts say, of one account and of all', async () => {
  const first = await money.createOwner({ USD: 1_000_000n });
  const second = await money.createOwner({ USD: 1_000_000n });
  assert.deepEqual((await look()).payouts_by_day, []);
  const payouts = [];
  for (const owner of [first, first, first, second])
    payouts.push(await money.quoteAndCommit(owner));
  await money.advance(2 * 86_400_000);
  payouts.push(await money.quoteAndCommit(first));
  for (const accountId of [first.accountId, second.accountId, undefined]) {
    assert.deepEqual((await look(accountId)).payouts_by_day, await countStates(accountId));
  }
  const [one, two] = payouts;
  assert.ok(one !== undefined && two !== undefined);
  await money.observe(one, 'paid');
  await money.observe(two, 'rejected');
  for (const accountId of [first.accountId, second.accountId, undefined]) {
    assert.deepEqual((await look(accountId)).payouts_by_day, await countStates(accountId));
  }
  const { corridors, rails } = await look(first.accountId);
  for (const [row] of [corridors, rails]) {
    assert.equal(row?.committed, 4);
    assert.equal(row.completed, 1);
    assert.equal(row.canceled, 1);
    assert.equal(row.success, 0.5);
    // Two days, to a tenth.
    assert.ok(Math.abs((row.median_seconds ?? 0) / (2 * 86_400) - 1) < 0.1);
  }
});

test('a count that finds nothing new changes nothing', async () => {
  await countPayouts(money.db);
  const before = await money.rows('select * from payout_day_progress order by 1');
  assert.equal(await countPayouts(money.db), false);
  assert.deepEqual(await money.rows('select * from payout_day_progress order by 1'), before);
});

test('a chart reads the days of its period only, whatever else is counted', async () => {
  const { accountId } = await money.createOwner();
  for (const id of [accountId, '00000000-0000-0000-0000-000000000000']) {
    await money.rows(
      `insert into payout_days (account_id, day, country, delivery_type, currency, rail, status,
         count, fee_bps, margin_bps)
       select $1, (now() - d * interval '1 day')::date, 'MEX', 'BANK_DEPOSIT', 'MXN', 'rail ' || r,
         'COMPLETED', 1, 0, 0
       from generate_series(100, 399) d, generate_series(1, 20) r`,
      [id],
    );
  }
  await money.rows('analyze payout_days');
  for (const [name, { text }] of Object.entries(overviewCharts)) {
    // With a generic plan, as in the service.
    const plan = await money.db.systemTransaction(async (session) => {
      const run = (statement: string) =>
        readRows<Record<string, string>>(session, { name: '', text: statement });
      await run(`prepare explained_${name} as ${text}`);
      const rows = await run(
        `explain (analyze, costs off, timing off) execute explained_${name}('${accountId}', 110)`,
      );
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    const [, read = ''] = /payout_days_(?:pkey|day)[^\n]*\(actual rows=(\d+)/.exec(plan) ?? [];
    // Of 12,000 rows, those of its days.
    assert.ok(Number(read) > 0 && Number(read) <= 11 * 2 * 20, `${name}\n${plan}`);
  }
});

test('processes that count at the same time neither wait for each other nor fail', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.quoteAndCommit(owner);
  const others = [money.db, money.connect(), money.connect()];
  await Promise.all([...others, ...others].map((db) => countPayouts(db)));
  await countPayouts(money.db);
  assert.deepEqual(
    (await look(owner.accountId)).payouts_by_day,
    await countStates(owner.accountId),
  );
});
