import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { stepBack } from '../../testing/setups/clock-step.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { verifyChains } from './chain-source.ts';
import { verifyJournals } from './journal-proof.ts';
import { verifyLedger } from './ledger.ts';

/** Journals that the owner of the database inserts, with the triggers that post and link them. */

let money: MoneyTest;
let owner: Owner;
let payoutId: string;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());
beforeEach(async () => {
  owner = await money.createOwner({ USD: 1_000_000n });
  ({ payoutId } = await money.quoteAndCommit(owner));
});

/** Of the account; the chains are sound. */
async function findWrong(): Promise<string[]> {
  assert.deepEqual((await verifyChains(money.db)).findings, []);
  const wrong = await verifyJournals(money.db);
  return wrong
    .filter(({ account_id: id }) => id === owner.accountId)
    .map(({ kind, code }) => `${kind}: ${code}`)
    .toSorted();
}

/** Of the payout's terms, with its wallet after it. */
const post = (kind: string, amounts = 'source_amount, fee, destination_amount', rail = 'rail') =>
  money.rows(
    `insert into ledger_journals (account_id, id, kind, payout_id, source_currency, destination_currency,
       rail, source_amount, fee, destination_amount, wallet_balance, created_at)
     select p.account_id, journal_id(journal_time(), 0, gen_random_uuid()), $1, p.id, p.source_currency,
       p.destination_currency, ${rail}, ${amounts},
       case when $1 in ('commit', 'refund', 'return') then w.balance end, environment_now()
     from payouts p
     join ledger_accounts w on w.account_id = p.account_id and w.currency = p.source_currency
       and w.name = 'wallet'
     where p.id = $2`,
    [kind, payoutId],
  );

const suspense = (kind: string) =>
  money.rows(
    `select post_amount(p, $1, rail, destination_currency, 500, environment_now()) from payouts p
     where id = $2`,
    [kind, payoutId],
  );

test('journals of payouts in every state are sound', async () => {
  const paid = await money.quoteAndCommit(owner);
  await money.observe(paid, 'paid', {
    details: { charges: [{ id: 'c', kind: 'bank', currency: 'MXN', amount: '5' }] },
  });
  await money.observe(paid, 'returned', { details: { amount: '500' } });
  await money.observe(await money.quoteAndCommit(owner), 'rejected');
  await money.quote(owner);
  assert.deepEqual(await findWrong(), []);
});

test('a refund and a commit that add up to nothing are found', async () => {
  await post('refund');
  await post('commit');
  assert.equal((await verifyLedger(money.db)).isSound, true, 'all sums are right');
  assert.deepEqual(await findWrong(), [
    'commit: repeated',
    'refund: no_event',
    'refund: other_state',
  ]);
});

test('a completion before the payout has completed, and other terms, are found', async () => {
  await post('complete');
  assert.deepEqual(await findWrong(), ['complete: no_event', 'complete: other_state']);
  await money.quoteAndCommit(owner);
  await post('complete', 'source_amount, fee, destination_amount - 1');
  assert.ok((await findWrong()).includes('complete: other_amount'));
});

test('a part that came back is worth its part of the payout', async () => {
  const name = { ...owner, payoutId };
  await money.observe(name, 'paid');
  await money.observe(name, 'returned', { details: { amount: '500' } });
  await post('return', '9000, 0, 500');
  assert.deepEqual(await findWrong(), ['return: other_amount']);
});

test('money that goes to another rail and back without a reason is found', async () => {
  await post('unroute', 'destination_amount, 0, destination_amount');
  await post('route', 'destination_amount, 0, destination_amount', `'other'`);
  await post('unroute', 'destination_amount, 0, destination_amount', `'other'`);
  await post('route', 'destination_amount, 0, destination_amount');
  const wrong = await findWrong();
  assert.ok(wrong.includes('route: no_event') && wrong.includes('unroute: no_event'));
});

test('a payout whose rail changes before and after a step back of the clock is sound', async () => {
  const reroute = (rail: string) =>
    money.rows(
      `select reroute_payout(p, $1, payer_key, null, environment_now()) from payouts p where id = $2`,
      [rail, payoutId],
    );
  await money.advance(86_400_000);
  await reroute('other');
  await stepBack(money, 2, () => reroute('third'));
  assert.deepEqual(await findWrong(), []);
});

test('a charge, an excess and amounts written off or back without their rows are found', async () => {
  // From a settlement that has money.
  await money.observe({ ...owner, payoutId }, 'paid');
  for (const kind of ['charge', 'excess', 'write_back', 'write_off']) await suspense(kind);
  assert.deepEqual(await findWrong(), [
    'charge: no_cause',
    'excess: no_cause',
    'write_back: no_cause',
    'write_off: no_cause',
  ]);
  await money.rows(
    `insert into payout_charges (account_id, payout_id, rail, id, kind, currency, amount, created_at)
     select account_id, id, rail, 'x', 'bank', 'MXN', 7, now() from payouts where id = $1`,
    [payoutId],
  );
  assert.ok((await findWrong()).includes('charge: no_journal'));
});

test('money that was released from no batch is found', async () => {
  const postOfBatch = (kind: string) =>
    money.rows(
      `insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
         wallet_balance, created_at)
       select account_id, journal_id(journal_time(), 0, gen_random_uuid()), $1, account_id, 'USD', 5,
         balance, environment_now()
       from ledger_accounts where account_id = $2 and name = 'wallet'`,
      [kind, owner.accountId],
    );
  await postOfBatch('reserve');
  await postOfBatch('release');
  assert.deepEqual(await findWrong(), ['release: other_batch', 'reserve: other_batch']);
});
