import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { recoverPayments } from '../../testing/setups/recovered.ts';
import { expireApprovals } from '../approvals/approvals.ts';
import { newId } from '../core/ids.ts';
import { holdForApproval } from '../payouts/approval-hold.sql.ts';
import type { Instruction, RecoveredPayment } from '../rails/contract/contract.ts';
import { findRecoveredTwin } from './recovery.ts';

/** How the payments that rails list in a recovery are stored. */

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 1_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const payment: RecoveredPayment = {
  reference: '',
  currency: 'BTC',
  amountMinor: 180_000n,
  outcome: 'paid',
  providerReference: 'f00d',
  atMs: Date.now(),
  detail: '3 confirmations',
};

const recover = (listed: readonly RecoveredPayment[]) => recoverPayments(money, listed);

test('every payment of a transaction that pays several is kept, and holds a payout to its address', async () => {
  const addresses = ['bc1qfirst', 'bc1qsecond', 'bc1qsecond'];
  const { rail, payments } = await recover(
    addresses.map((destination) => ({ ...payment, destination })),
  );
  assert.deepEqual(
    payments.map(({ result, provider_reference: transaction }) => [result, transaction]),
    addresses.map(() => ['unmatched', 'f00d']),
  );
  for (const address of [...addresses, 'bc1qthird']) {
    const payout = { accountId: owner.accountId, payoutId: newId(), rail: rail.name };
    const attributes = { BankAccountNumber: address };
    const instruction = { deliveryType: 'CRYPTOCURRENCY', attributes } as unknown as Instruction;
    const twin = await findRecoveredTwin(money.db, payout, instruction);
    assert.equal(twin, addresses.includes(address) ? 'f00d' : undefined, address);
  }
});

test('the same payments have the same names when they are listed again in another order', async () => {
  const listed = ['bc1qfourth', 'bc1qfifth'].map((destination) => {
    return { ...payment, providerReference: 'cafe', destination };
  });
  assert.equal((await recover(listed)).payments.length, 2);
  assert.equal((await recover(listed.toReversed())).payments.length, 0, 'known since before');
});

test('two payments that a rail lists under one reference are both kept', async () => {
  const payout = await money.quoteAndCommit(owner);
  const once = { ...payment, currency: 'MXN', reference: payout.reference };
  const { rail, payments } = await recover([once, { ...once, providerReference: 'again' }]);
  assert.deepEqual(payments.map((one) => [one.provider_reference, one.payout_id]).toSorted(), [
    ['again', payout.payoutId],
    ['f00d', payout.payoutId],
  ]);
  await money.createDispatcher(rail).runDue();
  assert.equal(rail.sends(), 0);
});

test('a payout that waits for approval and is listed as paid is queried, and not refunded', async () => {
  const unclear = await money.quoteAndCommit(owner);
  const paid = await money.quoteAndCommit(owner);
  const hold = { detail: 'a test', approvers: 1, seconds: 60 };
  for (const payout of [unclear, paid]) {
    const waiting = { ...payout, fence: undefined };
    await money.db.tenantTransaction(owner.accountId, (session) =>
      holdForApproval(session, waiting, hold),
    );
  }
  const listed = [unclear, paid].map(({ reference }) => ({
    ...payment,
    currency: 'MXN',
    reference,
  }));
  const { rail } = await recover(listed);
  const dispatcher = money.createDispatcher({
    ...rail,
    query: async ({ reference }: Instruction) =>
      reference === paid.reference
        ? { outcome: 'paid' as const }
        : { outcome: 'unknown' as const, reason: 'no_answer' as const },
  });
  await dispatcher.runDue();
  assert.equal((await money.payout(paid.payoutId)).status, 'COMPLETED');
  await money.advance(61_000);
  await expireApprovals(money.db.system);
  assert.equal((await money.payout(unclear.payoutId)).status, 'HOLD');
  assert.equal(rail.sends(), 0);
});

test('no approval expires while a recovery is open', async () => {
  const payout = await money.quoteAndCommit(owner);
  const hold = { detail: 'a test', approvers: 1, seconds: 60 };
  await money.db.tenantTransaction(owner.accountId, (session) =>
    holdForApproval(session, { ...payout, fence: undefined }, hold),
  );
  await money.advance(61_000);
  await money.rows(
    `insert into recoveries (id, reason, since, started_at) values ($1, 'a test', now(), now())`,
    [newId()],
  );
  await expireApprovals(money.db.system);
  assert.equal((await money.payout(payout.payoutId)).status, 'HOLD');
  await money.rows(
    `update recoveries set listed_at = now(), released_at = now(), closed_at = now()
     where closed_at is null`,
  );
  await expireApprovals(money.db.system);
  assert.equal((await money.payout(payout.payoutId)).status, 'CANCELLED');
});
