import assert from 'node:assert/strict';
import { randomInt } from 'node:crypto';
import { after, before, test } from 'node:test';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import { createBench, type TestRail } from '../../../testing/setups/utxo.ts';

/**
 * Random order of payments, passes of two processes whose calls to the node fail before or after they
 * arrive, blocks with and without transactions, reorganizations, and coins spent outside the rail. In
 * the end every payment is in the chain once. A failure prints the seed; `UTXO_STORM_SEED` repeats it
 * and `UTXO_STORM_STEPS` lengthens the run.
 */

let node: TestNode;
before(async () => {
  node = await startLitecoind();
});
after(() => node.close());

/** A small generator (mulberry32), so that a seed repeats the order. */
function createChance(seed: number): (below: number) => number {
  let state = seed >>> 0;
  return (below) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % below;
  };
}

test('under random failures every payment is made once', async () => {
  const seed = Number(process.env['UTXO_STORM_SEED'] ?? randomInt(2 ** 31));
  const steps = Number(process.env['UTXO_STORM_STEPS'] ?? 120);
  const chance = createChance(seed);
  const bench = createBench(node);
  const { rail, deposit, wallet } = await bench.open('node', ['1', '1', '1', '2', '2', '3'], {
    // Deeper than the reorganizations below, so that paid payments stay paid.
    confirmations: [{ upTo: null, count: 4 }],
  });
  let isStormy = true;
  const openUnsteady = (): Promise<TestRail> =>
    rail.again({
      fetch: async (url, init) => {
        if (isStormy && chance(25) === 0) throw new Error('lost before it arrived');
        const response = await fetch(url, init);
        if (isStormy && chance(25) === 0) throw new Error('lost after it arrived');
        return response;
      },
    });
  const processes = [await openUnsteady(), await openUnsteady()] as const;
  const orders: Awaited<ReturnType<typeof bench.payTo>>[] = [];

  const spendElsewhere = async (): Promise<void> => {
    const coins = await node.call<{ txid: string; vout: number; amount: number }[]>(
      'listunspent',
      [1],
      wallet,
    );
    const coin = coins[chance(Math.max(1, coins.length))];
    if (coin === undefined || coin.amount < 0.001) return;
    const outputs = { [deposit]: (coin.amount - 0.0005).toFixed(8) };
    const raw = await node.call('createrawtransaction', [
      [{ txid: coin.txid, vout: coin.vout }],
      outputs,
    ]);
    const signed = await node.call<{ hex: string }>('signrawtransactionwithwallet', [raw], wallet);
    await node.call('generateblock', [await node.newAddress(), [signed.hex]]);
  };
  const actions: readonly (() => Promise<unknown>)[] = [
    async () => {
      const order = await bench.payTo(BigInt(1_000_000 + chance(9_000_000)));
      orders.push(order);
      await processes[chance(2) === 0 ? 0 : 1].send(order.instruction);
    },
    () => processes[0].pass(),
    () => processes[1].pass(),
    () => Promise.all([processes[0].pass(), processes[1].pass()]),
    () => node.mine(1),
    () => node.mineEmpty(1 + chance(4)),
    async () => {
      const depth = 1 + chance(3);
      const height = await node.call<number>('getblockcount');
      await node.call('invalidateblock', [await node.call('getblockhash', [height - depth + 1])]);
      await node.mineEmpty(depth + 1);
      await node.resendFunds();
    },
    () => (chance(3) === 0 ? spendElsewhere() : node.mine(1)),
    async () => {
      const order = orders[chance(Math.max(1, orders.length))];
      if (order !== undefined) await processes[0].send(order.instruction);
    },
  ];
  for (let step = 0; step < steps; step += 1) await actions[chance(actions.length)]?.();

  isStormy = false;
  await node.fund(deposit, ['10', '10']);
  const isOver = async (): Promise<boolean> => {
    for (const { instruction } of orders) {
      if ((await rail.query(instruction)).outcome !== 'paid') return false;
    }
    return true;
  };
  for (let round = 0; round < 60 && !(await isOver()); round += 1) {
    await node.mine(1);
    await processes[0].pass();
  }
  for (const { address, instruction } of orders) {
    const paid = await bench.listAmounts(address);
    const { outcome } = await rail.query(instruction);
    const lines = processes.flatMap(({ host }) => host.lines.slice(-5));
    const message = `seed ${seed}: ${outcome}, ${paid.join()} ${JSON.stringify(lines)}`;
    assert.deepEqual(paid, [instruction.amountMinor], message);
    assert.equal(outcome, 'paid', message);
  }
  await rail.close();
});
