import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type BatchTest, createBatchTest } from '../../testing/setups/batches.ts';
import { AppError } from '../core/errors.ts';
import { readProviderPrice } from '../destinations/provider-pricing.ts';
import { commitBatch } from './batches.ts';
import { runCommits } from './committer.ts';
import { quoteBatch } from './quote.ts';

/** Batches to a payer whose provider quotes prices. */

let batches: BatchTest;
before(async () => {
  batches = await createBatchTest();
});
after(() => batches[Symbol.asyncDispose]());

test("rows are priced again when the provider's price moved, and keep the price of the quote", async () => {
  const { money, services } = batches;
  const { accountId, ...owner } = await batches.createOwner(100_000n);
  batches.setPrice('1');
  const lines = batches.describe({ accountId, ...owner }, ['a', 'b']);
  const { batch } = await batches.receive({ accountId, ...owner }, lines);
  const feesOf = async (table: 'batch_rows' | 'payout_quotes') => {
    const rows = await money.rows<{ provider_price: string }>(
      `select provider_price from ${table} where account_id = $1`,
      [accountId],
    );
    return rows.map((row) => readProviderPrice(row.provider_price).steps[0]?.fixedMinor);
  };
  assert.deepEqual(await feesOf('batch_rows'), [100n, 100n]);
  const id = { accountId, batchId: batch.id };
  // The same price, read again.
  batches.setPrice('1', 1_000);
  const first = await quoteBatch(services, id);
  batches.setPrice('2');
  const second = await quoteBatch(services, id);
  assert.ok(second.fence > first.fence, 'the rows were priced again');
  assert.deepEqual(await feesOf('batch_rows'), [200n, 200n]);
  assert.equal(
    (await commitBatch(money.db.tenant(accountId), { ...id, mode: 'all' })).status,
    'success',
  );
  await runCommits({ db: money.db, steadyMs: () => 0, wakeDispatch: () => undefined });
  assert.deepEqual(await feesOf('payout_quotes'), [200n, 200n]);
  await money.assertSound();
});

test('a batch has no quote while the price is too old', async () => {
  const owner = await batches.createOwner(100_000n);
  batches.setPrice('1');
  const { batch } = await batches.receive(owner, batches.describe(owner, ['c']));
  batches.setPrice('1', 3_600_000);
  await assert.rejects(
    quoteBatch(batches.services, { accountId: owner.accountId, batchId: batch.id }),
    (error) => error instanceof AppError && error.code === 'rates_unavailable',
  );
});
