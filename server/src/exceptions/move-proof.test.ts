import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { verifyChains } from '../ledger/chain-source.ts';
import { verifyEvents } from '../ledger/event-proof.ts';
import { verifyJournals } from '../ledger/journal-proof.ts';
import { verifyLedger } from '../ledger/ledger.ts';
import { verifyMoves } from './move-proof.ts';

/** What the owner of the database moves with the functions of the schema, so that everything fits. */

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest({ environmentName: 'live' });
});
after(() => money[Symbol.asyncDispose]());
beforeEach(async () => {
  owner = await money.createOwner({ USD: 1_000_000n });
});

/** Of the account; the rest of the ledger is sound. */
async function findWrong(): Promise<string[]> {
  const { db, keys } = money;
  assert.equal((await verifyLedger(db)).isSound, true);
  assert.deepEqual((await verifyChains(db)).findings, []);
  assert.deepEqual([await verifyJournals(db), await verifyEvents(db)], [[], []]);
  const wrong = await verifyMoves(db, { keys, isSandbox: false });
  return wrong
    .filter(({ account_id: id }) => id === owner.accountId)
    .map(({ code, move }) => `${move}: ${code}`);
}

const observe = (payoutId: string, outcome: string, amount?: string) =>
  money.observe({ ...owner, payoutId }, outcome, {
    source: 'callback',
    ...(amount !== undefined && { details: { amount } }),
  });

/** A committed payout that was given to its rail. */
async function send(): Promise<string> {
  const { payoutId } = await money.quoteAndCommit(owner);
  await money.rows(
    `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence,
       started_at)
     select account_id, id, 1, rail, payer_key, id::text, 'accepted', 1, now() from payout_quotes
     where id = $1`,
    [payoutId],
  );
  return payoutId;
}

const asOwner = (text: string, payoutId: string) =>
  money.rows(text.replaceAll('PAYOUT', `'${payoutId}'`));
const move = (to: string) =>
  `select move_payout(p, '${to}', 'x', environment_now()) from payouts p where id = PAYOUT`;
const forgedMac = `sha256('') || '\\x00000001'`;

test('what rails report and persons decide is sound', async () => {
  await observe(await send(), 'paid');
  await observe(await send(), 'rejected');
  const returned = await send();
  await observe(returned, 'paid');
  await observe(returned, 'returned', '500');
  await observe(returned, 'returned', '700');
  assert.deepEqual(await findWrong(), []);
});

test('a payout that was completed or refunded past the service is found', async () => {
  await asOwner(move('COMPLETED'), await send());
  await asOwner(move('CANCELLED'), await send());
  assert.deepEqual((await findWrong()).toSorted(), [
    'complete: not_observed',
    'refund: not_observed',
  ]);
});

test('a payout that was paid does not come back past the service', async () => {
  const payoutId = await send();
  await observe(payoutId, 'paid');
  await asOwner(move('CANCELLED'), payoutId);
  await asOwner(
    `select post_return(p, 500, environment_now()) from payouts p where id = PAYOUT`,
    payoutId,
  );
  assert.deepEqual(await findWrong(), ['return: not_observed']);
});

test('a return of more than the rail reported is found', async () => {
  const payoutId = await send();
  await observe(payoutId, 'paid');
  await observe(payoutId, 'returned', '500');
  await asOwner(
    `select post_return(p, 500, environment_now()) from payouts p where id = PAYOUT`,
    payoutId,
  );
  assert.deepEqual(await findWrong(), ['return: not_observed']);
});

test('an observation that the owner of the database applies is forged', async () => {
  await asOwner(
    `select apply_observation('${owner.accountId}', PAYOUT, gen_random_uuid(), 'callback', 'paid', '',
       null, null, null, ${forgedMac})`,
    await send(),
  );
  assert.deepEqual(await findWrong(), ['paid: forged']);
  // That of another payout.
  const genuine = await send();
  await observe(genuine, 'rejected');
  await asOwner(
    `select apply_observation(account_id, PAYOUT, gen_random_uuid(), source, outcome, reason, null, null,
       null, mac) from observations where payout_id = '${genuine}'`,
    await send(),
  );
  assert.deepEqual((await findWrong()).toSorted(), ['paid: forged', 'rejected: forged']);
});

test('an outcome of the sandbox counts in staging only', async () => {
  const payoutId = await send();
  await money.observe({ ...owner, payoutId }, 'rejected', { source: 'sandbox' });
  assert.deepEqual(await findWrong(), ['refund: not_observed']);
});

test('a decision that the owner of the database makes is forged', async () => {
  const payoutId = await send();
  await asOwner(
    `select decide_payout('${owner.accountId}', PAYOUT, gen_random_uuid(), 'paid', 'ada',
       gen_random_uuid(), 'x', sha256(''), ${forgedMac}, '{}', 1, null, null, null)`,
    payoutId,
  );
  assert.deepEqual(await findWrong(), ['paid: forged']);
});
