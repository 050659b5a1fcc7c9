import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  type CommittedPayout,
  createMoneyTest,
  type MoneyTest,
} from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { fundBalance } from '../ledger/ledger.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

function countBy(results: readonly { result: string }[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const { result } of results) counts[result] = (counts[result] ?? 0) + 1;
  return counts;
}

test('64 parallel commits of one payout debit once, and all return the same success', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id } = await money.quote(owner, { deliveryType: 'CASH_PICKUP' });
  const second = money.connect();
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      money.commit(owner, id, index % 2 === 0 ? money.db : second),
    ),
  );
  assert.deepEqual(countBy(answers), { success: 64 });
  assert.equal(new Set(answers.map((answer) => answer.pickup_code)).size, 1);
  assert.match(answers[0]?.pickup_code ?? '', /^\d{8}$/);
  assert.equal(await money.balance(owner.accountId, 'USD'), 1_000_000n - 10_100n);
  const journals = await money.rows(
    'select distinct journal_id from ledger_transfers where payout_id = $1',
    [id],
  );
  assert.equal(journals.length, 1);
  const events = await money.rows(
    `select 1 from events where subject_id = $1 and type = 'payout.processing'`,
    [id],
  );
  assert.equal(events.length, 1);
  await money.assertSound();
});

test('of 60 commits with funds for 30, exactly 30 succeed through two pools', async () => {
  const owner = await money.createOwner({ USD: 30n * 10_100n + 10_099n });
  const payouts = await Promise.all(Array.from({ length: 60 }, () => money.quote(owner)));
  const second = money.connect();
  const answers = await Promise.all(
    payouts.map(({ id }, index) => money.commit(owner, id, index % 2 === 0 ? money.db : second)),
  );
  assert.deepEqual(countBy(answers), { success: 30, insufficient_funds: 30 });
  assert.equal(await money.balance(owner.accountId, 'USD'), 10_099n);
  const pending = await money.rows(
    `select 1 from payouts where account_id = $1 and status = 'PENDING'`,
    [owner.accountId],
  );
  assert.equal(pending.length, 30);
  await money.assertSound();
});

test('a client_transfer_id is committed once, also by concurrent commits of many payouts', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const clientTransferId = 'invoice-1';
  const payouts = await Promise.all(
    Array.from({ length: 16 }, () => money.quote(owner, { clientTransferId })),
  );
  const second = money.connect();
  const answers = await Promise.all(
    payouts.map(({ id }, index) => money.commit(owner, id, index % 2 === 0 ? money.db : second)),
  );
  assert.deepEqual(countBy(answers), { success: 1, duplicate: 15 });
  const winner = payouts[answers.findIndex(({ result }) => result === 'success')];
  for (const answer of answers) {
    if (answer.result === 'duplicate') assert.equal(answer.detail, winner?.id);
  }
  const other = await money.createOwner({ USD: 1_000_000n });
  await money.quoteAndCommit(other, { clientTransferId });
  await money.quoteAndCommit(owner, { clientTransferId: 'Invoice-1' });
  assert.equal(await money.balance(owner.accountId, 'USD'), 1_000_000n - 2n * 10_100n);
  await money.assertSound();
});

test('exact funds suffice, and one minor unit less does not', async () => {
  const owner = await money.createOwner({ USD: 10_099n });
  const { id } = await money.quote(owner);
  assert.equal((await money.commit(owner, id)).result, 'insufficient_funds');
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n });
  assert.equal((await money.commit(owner, id)).result, 'success');
  assert.equal(await money.balance(owner.accountId, 'USD'), 0n);
  await money.assertSound();
});

test('a quote is expired at exactly its expiration', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id, expires_at: expiresAt } = await money.quote(owner, { lockSeconds: 900 });
  const [kept] = await money.rows<{ isInstantKept: boolean }>(
    `select expires_at = date_trunc('second', created_at + interval '900 seconds') as "isInstantKept"
     from payouts where id = $1`,
    [id],
  );
  assert.equal(kept?.isInstantKept, true);
  assert.equal(expiresAt.getTime() % 1000, 0);
  await money.advance(895_000);
  assert.equal((await money.commit(owner, id)).result, 'success');

  const { id: late } = await money.quote(owner, { lockSeconds: 900 });
  await money.advance(900_000);
  assert.equal((await money.commit(owner, late)).result, 'ex_rate_expired');
  assert.equal((await money.payout(late)).status, 'PENDING');
  // A committed payout stays committed after its quote has ended.
  assert.equal((await money.commit(owner, id)).result, 'success');
  await money.assertSound();
});

test('a commit at the microsecond of the expiration is too late, one before it succeeds', async () => {
  // A database of its own, in which the clock stands still.
  await using still = await createMoneyTest();
  const setClock = (instant: string) =>
    still.rows(
      `create or replace function environment_now() returns timestamptz language sql volatile
       return '${instant}'::timestamptz`,
    );
  await setClock('2030-01-01T00:00:00Z');
  await still.rows('select open_months(environment_now())');
  const owner = await still.createOwner({ USD: 1_000_000n });
  const early = await still.quote(owner, { lockSeconds: 900 });
  const late = await still.quote(owner, { lockSeconds: 900 });
  await setClock('2030-01-01T00:14:59.999999Z');
  assert.equal((await still.commit(owner, early.id)).result, 'success');
  await setClock('2030-01-01T00:15:00Z');
  assert.equal((await still.commit(owner, late.id)).result, 'ex_rate_expired');
  await still.assertSound();
});

test('a payout to a locked user or of another user cannot be committed', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { id } = await money.quote(owner);
  const stranger = await money.createUser(owner.accountId);
  assert.equal((await money.commit({ ...owner, userId: stranger }, id)).result, 'not_found');
  const other = await money.createOwner({ USD: 1_000_000n });
  assert.equal((await money.commit(other, id)).result, 'not_found');
  await money.rows(`update users set status = 'LOCKED' where id = $1`, [owner.userId]);
  assert.equal((await money.commit(owner, id)).result, 'user_not_active');
  await money.rows(`update users set status = 'ACTIVE' where id = $1`, [owner.userId]);
  assert.equal((await money.commit(owner, id)).result, 'success');
  await money.assertSound();
});

test('a verification concurrent with commits is atomic: each commit is before or after it', async () => {
  for (let round = 0; round < 8; round += 1) {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const { id } = await money.quote(owner, { needsVerification: true });
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => money.commit(owner, id)),
      money
        .rows(`update users set kyc_status = 'approved' where id = $1`, [owner.userId])
        .then(() => money.commit(owner, id)),
    ]);
    assert.equal(answers.at(-1)?.result, 'success');
    for (const { result, detail } of answers) {
      if (result !== 'success')
        assert.deepEqual([result, detail], ['addtl_attr_req', 'verification']);
    }
    assert.equal(await money.balance(owner.accountId, 'USD'), 1_000_000n - 10_100n);
  }
  await money.assertSound();
});

test('attributes completed during commits are pinned by the successful commit', async () => {
  for (let round = 0; round < 8; round += 1) {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const payout = await money.quote(owner, { needsAttributes: true });
    const setId = newId();
    const complete = async () => {
      await money.rows(
        `with made as (
           insert into attribute_sets (account_id, id, user_id, destination_token, currency,
             latest_version, touched_at, created_at)
           values ($1, $2, $3, $4, 'MXN', 1, environment_now(), environment_now()))
         insert into attribute_set_versions (account_id, set_id, version, profile_version,
           fingerprint, sealed, is_complete, created_at)
         values ($1, $2, 1, '1', sha256('x'), 'x', true, environment_now())`,
        [owner.accountId, setId, owner.userId, payout.destination_token],
      );
      return money.commit(owner, payout.id);
    };
    const answers = await Promise.all([
      ...Array.from({ length: 6 }, () => money.commit(owner, payout.id)),
      complete(),
    ]);
    assert.equal(answers.at(-1)?.result, 'success');
    for (const { result, detail } of answers) {
      if (result !== 'success')
        assert.deepEqual([result, detail], ['addtl_attr_req', 'attributes']);
    }
    const [pinned] = await money.rows<{ attr_set_id: string; attr_version: number }>(
      'select attr_set_id, attr_version from payouts where id = $1',
      [payout.id],
    );
    assert.deepEqual(pinned, { attr_set_id: setId, attr_version: 1 });
  }
  await money.assertSound();
});

test('concurrent funding, commits and refunds of one account neither deadlock nor lose money', async () => {
  const owner = await money.createOwner({ USD: 400_000n });
  const first = await Promise.all(Array.from({ length: 10 }, () => money.quoteAndCommit(owner)));
  const fresh = await Promise.all(Array.from({ length: 10 }, () => money.quote(owner)));
  const work = fresh.flatMap(({ id }, index) => [
    () => money.commit(owner, id),
    () => money.observe(first[index] as CommittedPayout, index % 2 === 0 ? 'rejected' : 'paid'),
    () => fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 7n }),
    () => money.quote(owner),
    () => money.createUser(owner.accountId),
  ]);
  await Promise.all(work.map((run) => run()));
  const spent = 15n * 10_100n;
  assert.equal(await money.balance(owner.accountId, 'USD'), 400_000n + 70n - spent);
  const sequences = await money.rows<{ sequence: bigint }>(
    'select sequence from events where account_id = $1 order by sequence',
    [owner.accountId],
  );
  assert.deepEqual(
    sequences.map(({ sequence }) => sequence),
    sequences.map((_, index) => BigInt(index + 1)),
  );
  await money.assertSound();
});

test('a commit of an ended payout returns its state', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const paid = await money.quoteAndCommit(owner);
  await money.observe(paid, 'paid');
  assert.equal((await money.commit(owner, paid.payoutId)).result, 'success');
  const refused = await money.quoteAndCommit(owner);
  await money.observe(refused, 'rejected');
  const again = await money.commit(owner, refused.payoutId);
  assert.deepEqual([again.result, again.detail], ['ended', 'a test says rejected']);
  await money.observe(paid, 'returned');
  assert.equal((await money.commit(owner, paid.payoutId)).result, 'ended');
  assert.match((await money.payout(paid.payoutId)).status_reason, /^returned: /);
  // The fee of a returned payout is kept, that of a refused one is refunded.
  assert.equal(await money.balance(owner.accountId, 'USD'), 1_000_000n - 100n);
  await money.assertSound();
});
