import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  instruct,
  litecoinRegtest,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/utxo.ts';
import { formatScript } from './addresses.ts';

/** Send, query and cancel, which need only the rail's records. */

const address = formatScript(litecoinRegtest, `0014${'ab'.repeat(20)}`) ?? '';

let rail: TestRail;
before(async () => {
  rail = await openTestRail({
    network: 'litecoin',
    chain: 'regtest',
    // No node is there.
    rpc: { url: 'http://127.0.0.1:1', credentials: 'a:b' },
    keys: { mode: 'own', wallet: 'w', secret: '11'.repeat(32), addressCount: 2 },
    batch: { waitSeconds: 30 },
  });
});
after(() => rail.close());

test('a payment is accepted while the node is down, and the pass logs it', async () => {
  const instruction = instruct(address, 1_000_000n);
  const answer = await rail.send(instruction);
  assert.equal(answer.outcome, 'accepted');
  assert.equal(rail.host.wakes.count > 0, true);
  assert.equal(await rail.pass(), undefined);
  assert.equal(rail.host.lines.at(-1)?.message, 'the node cannot be used');
  assert.equal((await rail.query(instruction)).outcome, 'accepted');
});

test('while the node is down the outcome of a payment without a record is unknown', async () => {
  const expected = { outcome: 'unknown', reason: 'unreachable' };
  const instruction = instruct(address, 1_000_000n);
  assert.deepEqual(await rail.query(instruction), expected);
  assert.deepEqual(await rail.cancel(instruction), expected);
  await rail.send(instruction);
  assert.deepEqual(await rail.cancel(instruction), expected);
  assert.equal((await rail.query(instruction)).outcome, 'accepted');
});

test('concurrent sends make one payment', async () => {
  const instruction = instruct(address, 1_000_000n);
  const other = await rail.again();
  const answers = await Promise.all(
    Array.from({ length: 10 }, (_, index) => (index % 2 === 0 ? rail : other).send(instruction)),
  );
  assert.deepEqual(new Set(answers.map(({ outcome }) => outcome)), new Set(['accepted']));
  const records = await rail.host.store.list('payment', { count: 1000 });
  assert.equal(records.filter(({ key }) => key === instruction.reference).length, 1);
});

test('an invalid payment is rejected for good', async () => {
  const main = instruct('ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9', 1_000_000n);
  assert.deepEqual(await rail.send(main), { outcome: 'rejected', reason: 'invalid_details' });
  assert.deepEqual(await rail.query(main), { outcome: 'rejected', reason: 'invalid_details' });
  const dust = instruct(address, 2939n);
  assert.deepEqual(await rail.send(dust), { outcome: 'rejected', reason: 'amount_refused' });
  const bitcoin = { ...instruct(address, 1_000_000n), currency: 'BTC' };
  assert.deepEqual(await rail.send(bitcoin), { outcome: 'rejected', reason: 'currency_refused' });
});

test('a reference cannot be reused for another instruction', async () => {
  const instruction = instruct(address, 1_000_000n);
  await rail.send(instruction);
  const changed = { ...instruction, amountMinor: 2_000_000n };
  for (const answer of [await rail.send(changed), await rail.query(changed)]) {
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'duplicate' });
  }
});
