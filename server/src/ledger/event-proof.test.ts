import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { bookBalance } from './bookings.ts';
import { verifyChains } from './chain-source.ts';
import { verifyEvents } from './event-proof.ts';

/** Events that the owner of the database writes, with the trigger that links them. */

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());
beforeEach(async () => {
  owner = await money.createOwner({ USD: 1_000_000n });
});

/** Writes an event as the service would; the chain stays sound. Answers its sequence. */
async function write(
  type: string,
  subject: string,
  { detail = '', payload }: { detail?: string; payload?: string } = {},
): Promise<string> {
  const { accountId } = owner;
  await money.rows(`select write_event($1, $2, $3, $4, environment_now(), $5)`, [
    accountId,
    type,
    subject,
    payload ?? null,
    detail,
  ]);
  const [row] = await money.rows<{ newest: bigint }>(
    'select event_sequence as newest from accounts where id = $1',
    [accountId],
  );
  assert.deepEqual((await verifyChains(money.db)).findings, []);
  return String(row?.newest);
}

/** Of the account: code and sequence. */
async function findWrong(): Promise<string[]> {
  const wrong = await verifyEvents(money.db);
  return wrong
    .filter(({ account_id: id }) => id === owner.accountId)
    .map(({ code, sequence, type }) => `${sequence} ${type}: ${code}`);
}

test('events of payouts, balances, users and credentials are sound', async () => {
  const paid = await money.quoteAndCommit(owner);
  await money.observe(paid, 'paid');
  const back = await money.quoteAndCommit(owner);
  await money.observe(back, 'paid');
  const part = (amount: string) =>
    money.observe(back, 'returned', { details: { amount }, source: 'sandbox' });
  await part('500');
  await part('1000');
  const rejected = await money.quoteAndCommit(owner);
  await money.observe(rejected, 'rejected');
  await money.quote(owner);
  await bookBalance(
    money,
    { ...owner, kind: 'adjust', reference: 'r', currency: 'USD', amountMinor: -5n },
    { by: 'ada', reason: 'Test' },
  );
  await money.rows(`select fund_balance($1, 'EUR', 0, gen_random_uuid(), gen_random_uuid())`, [
    owner.accountId,
  ]);
  assert.deepEqual(await findWrong(), []);
});

test('a payout that has not completed and has an event that says so is found', async () => {
  const { payoutId } = await money.quoteAndCommit(owner);
  const sequence = await write('payout.completed', payoutId);
  assert.deepEqual(await findWrong(), [`${sequence} payout.completed: other_state`]);
});

test('an event that no move leads to is found, also between others', async () => {
  const { payoutId } = await money.quoteAndCommit(owner);
  const ready = await write('payout.scheduled', payoutId);
  const processing = await write('payout.processing', payoutId);
  assert.deepEqual(await findWrong(), [`${ready} payout.scheduled: no_move`]);
  const again = await write('payout.processing', payoutId);
  assert.deepEqual(await findWrong(), [
    `${ready} payout.scheduled: no_move`,
    `${again} payout.processing: no_move`,
  ]);
  assert.notEqual(processing, again);
});

test('an event of a payout that is none, and a beginning that is none, are found', async () => {
  const sequence = await write('payout.pending', owner.userId);
  assert.deepEqual(await findWrong(), [`${sequence} payout.pending: no_object`]);
});

test('a state that was changed past the service is found by the events', async () => {
  const { payoutId } = await money.quoteAndCommit(owner);
  await money.rows(`update payout_states set status = 'HOLD' where payout_id = $1`, [payoutId]);
  assert.match((await findWrong()).join(), /^\d+ payout\.processing: other_state$/);
});

test('a return that no journal posts is found', async () => {
  const { payoutId } = await money.quoteAndCommit(owner);
  const returned = await write('payout.returned', payoutId, {
    payload: '{"returned_amount" : "5"}',
  });
  assert.deepEqual(await findWrong(), [`${returned} payout.returned: no_journal`]);
});

test('money that no journal posts, or without its event, is found', async () => {
  const [wallet] = await money.rows<{ token: string }>(
    `select token from ledger_accounts where account_id = $1 and name = 'wallet'`,
    [owner.accountId],
  );
  const payload = '{"currency" : "USD", "balance" : "99900"}';
  const funded = await write('balance.funded', wallet?.token ?? '', { payload });
  assert.deepEqual(await findWrong(), [`${funded} balance.funded: no_journal`]);
  await money.rows(
    `insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
       wallet_balance, created_at)
     select account_id, gen_random_uuid(), 'fund', 'USD', 5, balance + 5, clock_timestamp()
     from ledger_accounts where account_id = $1 and name = 'wallet'`,
    [owner.accountId],
  );
  assert.deepEqual(await findWrong(), [
    `${funded} balance.funded: no_journal`,
    ' balance.funded: no_event',
  ]);
});

test('events about objects that are not as they say are found', async () => {
  const [credential] = await money.rows<{ id: string }>(
    'select id from credentials where account_id = $1',
    [owner.accountId],
  );
  const revoked = await write('credential.revoked', credential?.id ?? '', { payload: '{}' });
  const erased = await write('user.erased', owner.userId, { payload: '{}' });
  const batch = await write('batch.committed', owner.userId, { payload: '{}' });
  const wrong = await findWrong();
  assert.deepEqual(
    wrong.toSorted(),
    [
      `${revoked} credential.revoked: other_state`,
      `${erased} user.erased: other_state`,
      `${batch} batch.committed: no_object`,
    ].toSorted(),
  );
});
