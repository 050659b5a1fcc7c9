import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import {
  createBench,
  describeConfig,
  openTestRail,
  type TestBench,
  type TestRail,
} from '../../../testing/setups/utxo.ts';

/** Of a transaction and its replacements, one is a payment, whatever the wallet lists. */

let node: TestNode;
let bench: TestBench;
before(async () => {
  node = await startLitecoind();
  bench = createBench(node);
});
after(() => node.close());

const { signal } = new AbortController();
const fees = { rateMin: '1', rateFallback: '10', replaceAfterBlocks: 1 };

async function recover(rail: TestRail) {
  const found = (await rail.calls.recover?.(Date.now() - 3_600_000, { signal })) ?? [];
  return found.map(({ reference, amountMinor, destination, providerReference, outcome }) => ({
    reference,
    amountMinor,
    destination,
    providerReference,
    outcome,
  }));
}

async function pay(mode: 'own' | 'node') {
  const { rail, account } = await bench.open(mode, ['3'], { fees });
  const { address, instruction } = await bench.payTo(20_000_000n);
  await rail.send(instruction);
  const txids: string[] = [];
  const raws: string[] = [];
  for (let version = 0; version < 3; version += 1) {
    await rail.pass();
    const [listed] = await node.listPaid(address);
    assert.ok(listed !== undefined);
    txids.push(listed.txid);
    raws.push(await node.call('getrawtransaction', [listed.txid]));
    if (version < 2) await node.mineEmpty(1);
    await rail.pass();
  }
  assert.equal(new Set(txids).size, 3);
  const { reference } = instruction;
  const payment = { reference, amountMinor: 20_000_000n, destination: address };
  return { rail, account, txids, raws, payment };
}

for (const mode of ['own', 'node'] as const) {
  describe(`with ${mode === 'own' ? 'keys of its own' : "the node's wallet"}`, () => {
    test('the version in the mempool is listed', async () => {
      const { rail, txids, payment } = await pay(mode);
      const expected = { ...payment, providerReference: txids[2], outcome: 'accepted' };
      assert.deepEqual(await recover(rail), [expected]);
      await rail.close();
    });

    test('the version in the chain is listed, also where it is an older one', async () => {
      const { rail, txids, raws, payment } = await pay(mode);
      await node.call('generateblock', [await node.newAddress(), [raws[0]]]);
      await node.mine(1);
      const expected = { ...payment, providerReference: txids[0], outcome: 'paid' };
      assert.deepEqual(await recover(rail), [expected]);
      await rail.close();
    });

    test('records without any version have one payment to decide about', async () => {
      const { rail, account, payment } = await pay(mode);
      const restored = await openTestRail(describeConfig(node, account, { fees }));
      await restored.pass();
      assert.match(restored.host.problems[0]?.detail ?? '', /has sent 1 transactions/);
      const [found, ...others] = await recover(restored);
      assert.deepEqual(others, []);
      assert.deepEqual([found?.amountMinor, found?.reference], [payment.amountMinor, '']);
      await restored.close();
      await rail.close();
    });
  });
}

test('a transaction that another one has displaced is not listed', async () => {
  const { rail, wallet } = await bench.open('node', ['1']);
  const unspent = await node.call<{ txid: string; vout: number }[]>('listunspent', [1], wallet);
  const { instruction } = await bench.payTo(20_000_000n);
  await rail.send(instruction);
  await rail.pass();
  const elsewhere = await node.newAddress();
  const [coin] = unspent;
  assert.ok(coin !== undefined);
  const inputs = [{ txid: coin.txid, vout: coin.vout }];
  const raw = await node.call('createrawtransaction', [inputs, { [elsewhere]: '0.9999' }]);
  const signed = await node.call<{ hex: string }>('signrawtransactionwithwallet', [raw], wallet);
  await node.call('generateblock', [await node.newAddress(), [signed.hex]]);
  const found = await recover(rail);
  assert.deepEqual(
    found.map(({ destination }) => destination),
    [elsewhere],
  );
  await rail.close();
});
