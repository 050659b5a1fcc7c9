import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createFakeRail, createMoneyTest } from '../../testing/setups/money.ts';
import { createSendMarker } from './send-marker.ts';

const folder = await mkdtemp(join(tmpdir(), 'outlay-marker-'));
after(() => rm(folder, { recursive: true }));

/** As on a full disk. What was sent meanwhile would not be missed after a restore. */
test('while the marker file cannot be written, nothing is sent and nothing more is claimed', async () => {
  await using money = await createMoneyTest();
  const owner = await money.createOwner({ USD: 100_000_000n });
  const missing = join(folder, 'missing');
  const marker = createSendMarker({
    db: money.db,
    environmentName: 'staging',
    dataDirectory: missing,
    steadyMs: () => performance.now(),
  });
  const rail = createFakeRail(() => ({ outcome: 'paid' }));
  const dispatcher = money.createDispatcherOf([rail], { marker });
  const first = await money.quoteAndCommit(owner);
  await assert.rejects(dispatcher.runDue(), { code: 'ENOENT' });
  const second = await money.quoteAndCommit(owner);
  await assert.rejects(dispatcher.runDue(), { code: 'ENOENT' });
  assert.deepEqual(rail.calls, []);
  assert.deepEqual(await money.attempts(second.payoutId), []);
  assert.ok(marker.isFailing());
  await mkdir(missing);
  await dispatcher.runDue();
  assert.ok(!marker.isFailing());
  assert.equal((await money.payout(second.payoutId)).status, 'COMPLETED');
  // Its claim came before the first failure: its rail is queried when that ends.
  assert.equal((await money.payout(first.payoutId)).status, 'PROCESSING');
  await money.assertSound();
});
