import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import { createBench, expectOutcome, type TestBench } from '../../../testing/setups/utxo.ts';

/** The rail on Litecoin Core in regtest, compared with the node's blocks. */

let node: TestNode;
let bench: TestBench;
before(async () => {
  node = await startLitecoind();
  bench = createBench(node);
});
after(() => node.close());

for (const mode of ['own', 'node'] as const) {
  describe(`with ${mode === 'own' ? 'keys of its own' : "the node's wallet"}`, () => {
    test('a payment is made once and counts as paid at its depth', async () => {
      const { rail } = await bench.open(mode, ['3']);
      const { address, instruction } = await bench.payTo(50_000_000n);
      assert.equal((await rail.send(instruction)).outcome, 'accepted');
      assert.equal((await rail.send(instruction)).outcome, 'accepted');
      await rail.pass();
      assert.deepEqual(await bench.listAmounts(address), [50_000_000n]);
      await node.mine(1);
      await rail.pass();
      await expectOutcome(rail, instruction, 'accepted');
      await node.mine(1);
      await rail.pass();
      const answer = await expectOutcome(rail, instruction, 'paid');
      const [paid] = await node.listPaid(address);
      assert.equal(answer.providerReference, paid?.txid);
      assert.deepEqual(
        rail.host.observations.map(({ outcome }) => outcome),
        ['accepted', 'paid'],
      );
      await rail.close();
    });

    test('many payments share a transaction, whose fee is split to the last unit', async () => {
      const { rail } = await bench.open(mode, ['1', '2', '4', '0.1']);
      const signal = new AbortController().signal;
      const funds = await rail.calls.readFunds?.({ signal });
      assert.deepEqual(funds, [{ currency: 'LTC', amount: '7.1' }]);
      const orders = [];
      for (let index = 1; index <= 30; index += 1)
        orders.push(await bench.payTo(BigInt(index) * 1_000_000n));
      for (const { instruction } of orders) await rail.send(instruction);
      await rail.pass();
      await node.mine(2);
      await rail.pass();
      const txids = new Set<string>();
      let charged = 0n;
      for (const { address, instruction } of orders) {
        const [paid, ...others] = await node.listPaid(address);
        assert.equal(paid?.amountMinor, instruction.amountMinor);
        assert.deepEqual(others, []);
        txids.add(paid.txid);
        const { charges = [] } = await expectOutcome(rail, instruction, 'paid');
        assert.equal(charges.length, 1);
        charged += charges[0]?.amountMinor ?? 0n;
      }
      assert.equal(txids.size, 1);
      assert.equal(charged, await getFee([...txids][0] ?? ''));
      await rail.close();
    });
  });
}

describe('a node without replacement', () => {
  test('keeps the first transaction, and no more versions are built', async () => {
    const stubborn = await startLitecoind({ isReplacing: false });
    const other = createBench(stubborn);
    const fees = { rateMin: '1', rateFallback: '10', replaceAfterBlocks: 1 };
    const { rail } = await other.open('own', ['3'], { fees });
    const { address, instruction } = await other.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await stubborn.listPaid(address);
    for (let round = 0; round < 5; round += 1) {
      await stubborn.mineEmpty(1);
      await rail.pass();
      await rail.pass();
    }
    const [set] = await rail.host.store.list('replacement_set', { count: 1 });
    const { versions } = (set?.value ?? {}) as { versions: unknown[] };
    assert.equal(versions.length, 2);
    await stubborn.mine(2);
    await rail.pass();
    const answer = await expectOutcome(rail, instruction, 'paid');
    assert.equal(answer.providerReference, first?.txid);
    assert.deepEqual(await other.listAmounts(address), [20_000_000n]);
    await rail.close();
    await stubborn.close();
  });
});

describe('replacement, reorganization and crashes', () => {
  test('a stuck transaction is replaced with a higher fee and pays once', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await node.listPaid(address);
    await node.mineEmpty(3);
    await rail.pass();
    await rail.pass();
    const [second, ...others] = await node.listPaid(address);
    assert.deepEqual(others, []);
    assert.notEqual(second?.txid, first?.txid);
    await assert.rejects(node.call('getmempoolentry', [first?.txid]));
    await node.mine(2);
    await rail.pass();
    const answer = await expectOutcome(rail, instruction, 'paid');
    assert.equal(answer.providerReference, second?.txid);
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    const reported = rail.host.observations.map((one) => [one.outcome, one.providerReference]);
    assert.deepEqual(reported, [
      ['accepted', first?.txid],
      ['accepted', second?.txid],
      ['paid', second?.txid],
    ]);
    await rail.close();
  });

  test('replacements end at rateMax', async () => {
    const fees = { rateMin: '1', rateFallback: '10', rateMax: '14', replaceAfterBlocks: 1 };
    const { rail } = await bench.open('own', ['3'], { fees });
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    const txids = new Set<string>();
    for (let round = 0; round < 8; round += 1) {
      await rail.pass();
      for (const { txid } of await node.listPaid(address)) txids.add(txid);
      await node.mineEmpty(1);
    }
    assert.equal(txids.size, 3, 'at rates of 10, 12.5 and 14');
    await node.mine(2);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });

  test('an older version in the chain counts as the payment', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await node.listPaid(address);
    const raw = await node.call('getrawtransaction', [first?.txid]);
    await node.mineEmpty(3);
    await rail.pass();
    await node.call('generateblock', [await node.newAddress(), [raw]]);
    await node.mine(1);
    await rail.pass();
    const answer = await expectOutcome(rail, instruction, 'paid');
    assert.equal(answer.providerReference, first?.txid);
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });

  test('after a reorganization the same transaction confirms again', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await node.mine(1);
    await rail.pass();
    const undone = await node.call('getbestblockhash');
    await node.call('invalidateblock', [undone]);
    await node.mineEmpty(2);
    await rail.pass();
    await expectOutcome(rail, instruction, 'accepted');
    assert.deepEqual(
      (await node.listPaid(address)).map(({ depth }) => depth),
      [0],
    );
    await node.mine(2);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });

  test('a paid transaction that a deep reorganization removes is broadcast again', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await node.mine(1);
    const undone = await node.call('getbestblockhash');
    await node.mine(2);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    await node.call('invalidateblock', [undone]);
    await node.mineEmpty(5);
    // Even if the node no longer has it.
    await node.stop('stop');
    await node.start();
    await rail.pass();
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await node.mine(25);
    await rail.pass();
    const [set] = await rail.host.store.list('replacement_set', { count: 10 });
    assert.equal(set?.state, 'closed');
    await rail.close();
  });

  test('a crash between recording and sending leaves a transaction to be sent', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    const dying = await rail.again({
      fetch: async (url, init) => {
        if (typeof init?.body === 'string' && init.body.includes('sendrawtransaction')) {
          throw new Error('the process is dead');
        }
        return fetch(url, init);
      },
    });
    await dying.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    const answer = await expectOutcome(rail, instruction, 'accepted');
    await rail.pass();
    const [paid, ...others] = await node.listPaid(address);
    assert.equal(paid?.txid, answer.providerReference);
    assert.deepEqual(others, []);
    assert.equal((await rail.cancel(instruction)).outcome, 'accepted');
    await rail.close();
  });

  test('two concurrent processes make every payment once', async () => {
    const { rail } = await bench.open('own', ['1', '1', '1', '1']);
    const other = await rail.again();
    const orders = [];
    for (let index = 0; index < 12; index += 1) orders.push(await bench.payTo(5_000_000n));
    for (let round = 0; round < 6; round += 1) {
      const pair = orders.slice(round * 2, round * 2 + 2);
      await Promise.all(
        pair.flatMap(({ instruction }) => [rail.send(instruction), other.send(instruction)]),
      );
      await Promise.all([rail.pass(), other.pass(), rail.pass(), other.pass()]);
    }
    for (let round = 0; round < 20; round += 1) {
      await node.mine(1);
      await Promise.all([rail.pass(), other.pass()]);
    }
    for (const { address, instruction } of orders) {
      await expectOutcome(rail, instruction, 'paid');
      assert.deepEqual(await bench.listAmounts(address), [5_000_000n]);
    }
    await rail.close();
  });

  test('payments wait while the node is down and are made afterwards', async () => {
    const { rail } = await bench.open('own', ['3']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await node.stop('kill');
    assert.equal((await rail.send(instruction)).outcome, 'accepted');
    assert.equal(await rail.pass(), undefined);
    await expectOutcome(rail, instruction, 'accepted');
    await node.start();
    await rail.pass();
    await node.mine(2);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });
});

/** Inputs less outputs, by the node's blocks. */
async function getFee(txid: string): Promise<bigint> {
  const toMinor = (coins: number): bigint => BigInt(Math.round(coins * 1e8));
  const find = async (id: string): Promise<BlockTransaction> => {
    for (let at = await node.call<number>('getblockcount'); at >= 0; at -= 1) {
      const hash = await node.call('getblockhash', [at]);
      const block = await node.call<{ tx: BlockTransaction[] }>('getblock', [hash, 2]);
      const found = block.tx.find((transaction) => transaction.txid === id);
      if (found !== undefined) return found;
    }
    throw new Error(`no transaction ${id}`);
  };
  const transaction = await find(txid);
  let fee = 0n;
  for (const input of transaction.vin) {
    fee += toMinor((await find(input.txid)).vout[input.vout]?.value ?? 0);
  }
  for (const output of transaction.vout) fee -= toMinor(output.value);
  return fee;
}

type BlockTransaction = {
  txid: string;
  vin: { txid: string; vout: number }[];
  vout: { value: number }[];
};
