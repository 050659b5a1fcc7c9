import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { provePayout, verifyPayoutProof } from './payout-proof.ts';

/** A proof has every journal and event of its payout. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

async function prove({ accountId, payoutId }: { accountId: string; payoutId: string }) {
  const { db, keys } = money;
  const services = { db, keys, environment: 'staging', file: '', realNowMs: Date.now };
  const proof = await provePayout(services, db.tenant(accountId), { accountId, payoutId });
  return verifyPayoutProof(proof, keys.signing.publicPem);
}

test('the parts that came back are in the proof, each in its order', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  await money.observe(payout, 'paid');
  for (const amount of ['100', '200', '300', '400', '500']) {
    await money.observe(payout, 'returned', { details: { amount } });
  }
  const { journals, events } = await prove(payout);
  const kinds = ['commit', 'complete', 'return', 'return', 'return', 'return', 'return'];
  assert.deepEqual(
    journals.map(({ kind }) => kind),
    kinds,
  );
  const types = ['pending', 'processing', 'completed', 'cancelled'];
  assert.deepEqual(
    events.map(({ type }) => type.slice(7)),
    [...types, 'returned', 'returned', 'returned', 'returned', 'returned'],
  );
  const sequences = events.map(({ sequence }) => Number(sequence));
  assert.deepEqual(
    sequences,
    sequences.toSorted((a, b) => a - b),
  );
});

test('a payout whose events are no longer kept is proved by its journals', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  await money.observe(payout, 'paid');
  await money.ownerTransaction(async (session) => {
    const run = (text: string) => session.query({ name: '', text }, []);
    await run('set local session_replication_role = replica');
    await run(`delete from events where account_id = '${owner.accountId}'`);
  });
  const { journals, events } = await prove(payout);
  assert.deepEqual([journals.map(({ kind }) => kind), events], [['commit', 'complete'], []]);
});
