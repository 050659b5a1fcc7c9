import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { type Hex, parseTransaction } from 'viem';
import { privateKeyToAccount } from 'viem/accounts';
import {
  confirmations,
  countSent,
  finalBlocks,
  gwei,
  listErrors,
  listUnits,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  type Scene,
  send,
  settle,
  work,
} from '../../../testing/setups/evm.ts';

describe('a rail of Ethereum whose transactions are displaced', () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    scene.wire.fetch = fetch;
  });
  after(() => scene.close());

  test('a transaction that is not mined is replaced under its nonce, within the limits', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 9n });
    await send(scene, instruction);
    await work(scene);
    const first = await readPool(scene);
    scene.clock.aheadMs += 61_000;
    await work(scene);
    const second = await readPool(scene);
    assert.notEqual(second.hash, first.hash);
    assert.equal(second.nonce, first.nonce);
    assert.equal(second.to, first.to);
    assert.equal(second.value, first.value);
    for (const name of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
      assert.ok(BigInt(second[name]) * 10n >= BigInt(first[name]) * 11n, name);
    }
    await settle(scene);
    assert.equal((await query(scene, instruction)).providerReference, second.hash);
    assert.deepEqual(await listUnits(scene, to), [9n * gwei]);
  });

  test('the older of two transactions of a payment counts as well', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 9n });
    await send(scene, instruction);
    const lines = scene.host.lines.length;
    await work(scene);
    const first = await readPool(scene);
    scene.wire.fetch = refuse('eth_sendRawTransaction');
    scene.clock.aheadMs += 61_000;
    await work(scene);
    await scene.anvil.mine(1);
    scene.wire.fetch = fetch;
    await settle(scene);
    const answer = await query(scene, instruction);
    assert.equal(answer.outcome, 'paid');
    assert.equal(answer.providerReference, first.hash);
    assert.deepEqual(listErrors(scene, lines), []);
    assert.deepEqual(await listUnits(scene, to), [9n * gwei]);
  });

  test('a chain that displaces a block is told the same transaction again', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 11n });
    await send(scene, instruction);
    await work(scene);
    const snapshot = await scene.anvil.rpc('evm_snapshot');
    await scene.anvil.mine(1);
    await work(scene);
    await scene.anvil.rpc('evm_revert', [snapshot]);
    await scene.anvil.rpc('anvil_dropAllTransactions');
    // Other blocks than before.
    await scene.anvil.rpc('evm_increaseTime', [5]);
    await scene.anvil.mine(2);
    assert.deepEqual(await listUnits(scene, to), []);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(scene, to), [11n * gwei]);
  });

  test('a payment that was told as paid is watched on, and paid again by the same bytes', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 12n });
    await send(scene, instruction);
    await work(scene);
    const snapshot = await scene.anvil.rpc('evm_snapshot');
    await scene.anvil.mine(confirmations);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    await scene.anvil.rpc('evm_revert', [snapshot]);
    await scene.anvil.rpc('anvil_dropAllTransactions');
    await scene.anvil.rpc('evm_increaseTime', [5]);
    await scene.anvil.mine(confirmations + 1);
    assert.deepEqual(await listUnits(scene, to), []);
    await settle(scene);
    assert.deepEqual(await listUnits(scene, to), [12n * gwei]);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
  });

  test('a paid payment that another transaction displaces for good is told as returned', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 13n });
    await send(scene, instruction);
    await work(scene);
    const snapshot = await scene.anvil.rpc('evm_snapshot');
    await scene.anvil.mine(confirmations);
    await work(scene);
    await scene.anvil.rpc('evm_revert', [snapshot]);
    await scene.anvil.rpc('anvil_dropAllTransactions');
    await spendElsewhere(scene, 1n);
    await settle(scene);
    assert.deepEqual(await query(scene, instruction), {
      outcome: 'returned',
      reason: 'replaced',
      providerReference: scene.host.observations.at(-1)?.providerReference,
    });
    assert.equal(scene.host.observations.at(-1)?.outcome, 'returned');
    assert.deepEqual(await listUnits(scene, to), []);
  });

  test('a nonce that somebody else used is given up only when that is final', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 14n });
    await send(scene, instruction);
    await work(scene);
    const own = await readPool(scene);
    await scene.anvil.rpc('anvil_dropAllTransactions');
    await spendElsewhere(scene, 2n);
    for (let depth = 1; depth < finalBlocks; depth += 1) {
      await work(scene);
      assert.equal((await query(scene, instruction)).providerReference, own.hash);
      await scene.anvil.mine(1);
    }
    await settle(scene);
    const answer = await query(scene, instruction);
    assert.equal(answer.outcome, 'paid');
    assert.notEqual(answer.providerReference, own.hash);
    assert.match(scene.host.problems.at(-1)?.id ?? '', /^foreign:0x/);
    assert.deepEqual(await listUnits(scene, to), [14n * gwei]);
  });
});

type PoolTransaction = {
  hash: Hex;
  nonce: Hex;
  to: Hex;
  value: Hex;
  maxFeePerGas: Hex;
  maxPriorityFeePerGas: Hex;
};

/** The only transaction that waits in the node. */
async function readPool({ anvil, payer }: Scene): Promise<PoolTransaction> {
  const pool = await anvil.rpc<{ pending: Record<string, Record<string, PoolTransaction>> }>(
    'txpool_content',
  );
  const entry = Object.entries(pool.pending).find(
    ([account]) => account.toLowerCase() === payer.toLowerCase(),
  );
  const [transaction, ...others] = Object.values(entry?.[1] ?? {});
  assert(transaction !== undefined && others.length === 0, 'one transaction waits');
  return transaction;
}

/** Uses the rail's key outside the rail, for a payment of its own. */
async function spendElsewhere(scene: Scene, value: bigint): Promise<void> {
  const { anvil, privateKey } = scene;
  const raw = await privateKeyToAccount(privateKey).signTransaction({
    type: 'eip1559',
    chainId: anvil.chainId,
    nonce: await countSent(scene),
    to: makeAddress(),
    value,
    gas: 21_000n,
    maxFeePerGas: 100n * gwei,
    maxPriorityFeePerGas: 50n * gwei,
  });
  assert.equal(parseTransaction(raw).value, value);
  await anvil.rpc('eth_sendRawTransaction', [raw]);
  await anvil.mine(1);
}

function refuse(method: string): typeof fetch {
  return (...request) => {
    const body = request[1]?.body;
    if (typeof body === 'string' && body.includes(method)) return Promise.reject(new TypeError());
    return fetch(...request);
  };
}
