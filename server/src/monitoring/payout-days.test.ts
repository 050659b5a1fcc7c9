import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createMoneyTest } from '../../testing/setups/money.ts';
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
