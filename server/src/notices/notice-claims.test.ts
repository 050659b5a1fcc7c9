import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { watchPlans } from '../../testing/setups/executed-plans.ts';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { claimNotices } from './notices.sql.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

test('a channel does not read what waits for another one', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId, userId, payoutId } = await money.quoteAndCommit(owner);
  // The server of the SMS has been down for a while, and the first e-mail is due later.
  await money.rows(
    `insert into notices (account_id, id, month, payout_id, user_id, channel, payout_status, due_at,
       created_at, expires_at)
     select $1, gen_random_uuid(), month_of(now()), case n when 1 then $2 else gen_random_uuid() end,
       $3, case n when 1 then 'email' else 'sms' end,
       'PROCESSING', now() - n * interval '1 millisecond', now(), now() + interval '3 days'
     from generate_series(1, 5000) n`,
    [accountId, payoutId, userId],
  );
  await money.rows('analyze notices');
  await using plans = await watchPlans(money.url);
  const db = money.connect();
  const claimed = await claimNotices(db.system, { channel: 'email', count: 40, leaseMs: 1000 });
  assert.equal(claimed.length, 1);
  const reads = (await plans.takeReads()).filter(({ relation }) => relation.startsWith('notices'));
  assert.ok(reads.length > 0);
  assert.deepEqual(
    reads.filter(({ rows }) => rows > 40).map(({ relation, rows }) => [relation, rows]),
    [],
  );
});
