import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { createSession } from '../db/postgres/connection.ts';
import { listPayoutRows } from './payout-lists.sql.ts';
import { findPayoutRow } from './payouts.sql.ts';
import { writeProgress } from './progress-view.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

async function read(owner: Owner, payoutId: string, network = '') {
  const session = money.db.tenant(owner.accountId);
  const row = await findPayoutRow(session, { ...owner, payoutId });
  assert.ok(row !== undefined);
  return writeProgress(row, network);
}

test('a quote has been created, costs amount and fee, and has one entry in its timeline', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const row = await money.quote(owner);
  const made = writeProgress(row, '');
  const stored = await read(owner, row.id);
  assert.deepEqual(made, stored);
  assert.deepEqual(
    stored.timeline.map(({ status }) => status),
    ['PENDING'],
  );
  assert.equal(stored.timeline[0]?.time, stored.created_at);
  assert.equal(stored.committed_at, '');
  assert.equal(stored.total_debit.text, '101');
  assert.deepEqual(
    stored.fees.map(({ type, amount, currency_code }) => [type, amount.text, currency_code]),
    [['payout_fee', '1', 'USD']],
  );
  assert.equal('refund' in stored, false);
});

test('a payout without a fee has no fees', async () => {
  const owner = await money.createOwner();
  const { id } = await money.quote(owner, { feeMinor: 0n });
  assert.deepEqual((await read(owner, id)).fees, []);
});

test('the timeline tells each status with its time, why, and who has to act', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  await money.advance(3_600_000);
  await money.observe(payout, 'hold', { details: { exception: 'unknown_outcome' } });
  await money.advance(3_600_000);
  await money.observe(payout, 'rejected');
  const { timeline, committed_at, canceled_at, refund } = await read(owner, payout.payoutId);
  assert.deepEqual(
    timeline.map(({ status, reason_code, actor }) => [status, reason_code, actor]),
    [
      ['PENDING', '', ''],
      ['PROCESSING', '', ''],
      ['HOLD', 'outcome_unknown', 'operator'],
      ['CANCELLED', 'other', 'payer'],
    ],
  );
  assert.equal(timeline[1]?.time, committed_at);
  assert.equal(timeline[3]?.time, canceled_at);
  const times = timeline.map(({ time }) => Date.parse(time));
  assert.ok((times[2] ?? 0) - (times[1] ?? 0) >= 3_600_000);
  assert.ok((times[3] ?? 0) - (times[2] ?? 0) >= 3_600_000);
  assert.equal(refund?.amount.text, '101', 'amount and fee, because it was never paid');
  assert.equal(refund?.time, canceled_at);
});

test('a return after completion is refunded without the fee, part by part', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  const before = await money.balance(owner.accountId, 'USD');
  await money.observe(payout, 'paid');
  const paid = await read(owner, payout.payoutId);
  assert.notEqual(paid.completed_at, '');
  assert.equal('refund' in paid, false);
  for (const [total, refunded] of [
    ['50000', 2777n],
    ['130000', 7222n],
  ] as const) {
    await money.observe(payout, 'returned', { details: { amount: total } });
    const { refund, completed_at } = await read(owner, payout.payoutId);
    assert.equal(refund?.amount.text, `${refunded / 100n}.${refunded % 100n}`);
    assert.equal((await money.balance(owner.accountId, 'USD')) - before, refunded);
    assert.equal(completed_at, paid.completed_at);
  }
});

test('the transaction hash is the reference of the rail on a chain, and only there', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  const rail = createFakeRail(() => ({ outcome: 'accepted', providerReference: '0xabc' }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runOne(owner.accountId, payout.payoutId);
  const onChain = await read(owner, payout.payoutId, 'ethereum');
  assert.deepEqual([onChain.rail_reference, onChain.transaction_hash], ['0xabc', '0xabc']);
  const atBank = await read(owner, payout.payoutId);
  assert.deepEqual([atBank.rail_reference, atBank.transaction_hash], ['0xabc', '']);
});

test('a list of payouts with their timelines is one query', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payouts = [];
  for (let index = 0; index < 5; index += 1) payouts.push(await money.quoteAndCommit(owner));
  const session = money.db.tenant(owner.accountId);
  let queries = 0;
  const counted = createSession((statement, values) => {
    queries += 1;
    return session.query(statement, values);
  });
  const rows = await listPayoutRows(
    counted,
    { accountId: owner.accountId, beforeId: undefined, count: 10 },
    { metadataHashes: [] },
  );
  assert.equal(queries, 1);
  assert.deepEqual(
    rows.map(({ timeline }) => timeline.map(({ status }) => status)),
    payouts.map(() => ['PENDING', 'PROCESSING']),
  );
});
