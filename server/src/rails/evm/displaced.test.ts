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
  openTestRun,
  query,
  send,
  settle,
  type TestRun,
  work,
} from '../../../testing/setups/evm.ts';

describe('an evm rail whose transactions are displaced', () => {
  let run: TestRun;
  before(async () => {
    run = await openTestRun({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    run.wire.fetch = fetch;
  });
  after(() => run.close());

  test('a stuck transaction is replaced under its nonce within the fee limits', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 9n });
    await send(run, instruction);
    await work(run);
    const first = await readPool(run);
    run.clock.aheadMs += 61_000;
    await work(run);
    const second = await readPool(run);
    assert.notEqual(second.hash, first.hash);
    assert.equal(second.nonce, first.nonce);
    assert.equal(second.to, first.to);
    assert.equal(second.value, first.value);
    for (const name of ['maxFeePerGas', 'maxPriorityFeePerGas'] as const) {
      assert.ok(BigInt(second[name]) * 10n >= BigInt(first[name]) * 11n, name);
    }
    await settle(run);
    assert.equal((await query(run, instruction)).providerReference, second.hash);
    assert.deepEqual(await listUnits(run, to), [9n * gwei]);
  });

  test('the older of two transactions of a payment may be mined', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 9n });
    await send(run, instruction);
    const lines = run.host.lines.length;
    await work(run);
    const first = await readPool(run);
    run.wire.fetch = refuse('eth_sendRawTransaction');
    run.clock.aheadMs += 61_000;
    await work(run);
    await run.anvil.mine(1);
    run.wire.fetch = fetch;
    await settle(run);
    const answer = await query(run, instruction);
    assert.equal(answer.outcome, 'paid');
    assert.equal(answer.providerReference, first.hash);
    assert.deepEqual(listErrors(run, lines), []);
    assert.deepEqual(await listUnits(run, to), [9n * gwei]);
  });

  test('the same transaction is broadcast again after its block is displaced', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 11n });
    await send(run, instruction);
    await work(run);
    const snapshot = await run.anvil.rpc('evm_snapshot');
    await run.anvil.mine(1);
    await work(run);
    await run.anvil.rpc('evm_revert', [snapshot]);
    await run.anvil.rpc('anvil_dropAllTransactions');
    // Mines other blocks than before.
    await run.anvil.rpc('evm_increaseTime', [5]);
    await run.anvil.mine(2);
    assert.deepEqual(await listUnits(run, to), []);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(run, to), [11n * gwei]);
  });

  test('a paid payment that is displaced gets a higher fee where its own is too low', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 13n });
    await send(run, instruction);
    await work(run);
    const { maxFeePerGas } = await readPool(run);
    const snapshot = await run.anvil.rpc('evm_snapshot');
    await run.anvil.mine(confirmations);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    await run.anvil.rpc('evm_revert', [snapshot]);
    await run.anvil.rpc('anvil_dropAllTransactions');
    await run.anvil.rpc('evm_increaseTime', [5]);
    const baseFee = (BigInt(maxFeePerGas) * 3n) / 2n;
    for (let block = 0; block < 6; block += 1) {
      await run.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${baseFee.toString(16)}`]);
      await run.anvil.mine(1);
      await work(run);
      run.clock.aheadMs += 61_000;
      await work(run);
    }
    assert.deepEqual(await listUnits(run, to), [13n * gwei]);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
  });

  test('a paid payment that is displaced is paid again by the same bytes', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 12n });
    await send(run, instruction);
    await work(run);
    const snapshot = await run.anvil.rpc('evm_snapshot');
    await run.anvil.mine(confirmations);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    await run.anvil.rpc('evm_revert', [snapshot]);
    await run.anvil.rpc('anvil_dropAllTransactions');
    await run.anvil.rpc('evm_increaseTime', [5]);
    await run.anvil.mine(confirmations + 1);
    assert.deepEqual(await listUnits(run, to), []);
    await settle(run);
    assert.deepEqual(await listUnits(run, to), [12n * gwei]);
    assert.equal((await query(run, instruction)).outcome, 'paid');
  });

  test('a paid payment that another transaction replaces for good is reported as returned', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 13n });
    await send(run, instruction);
    await work(run);
    const snapshot = await run.anvil.rpc('evm_snapshot');
    await run.anvil.mine(confirmations);
    await work(run);
    await run.anvil.rpc('evm_revert', [snapshot]);
    await run.anvil.rpc('anvil_dropAllTransactions');
    await spendElsewhere(run, 1n);
    await settle(run);
    assert.deepEqual(await query(run, instruction), {
      outcome: 'returned',
      reason: 'replaced',
      providerReference: run.host.observations.at(-1)?.providerReference,
    });
    assert.equal(run.host.observations.at(-1)?.outcome, 'returned');
    assert.deepEqual(await listUnits(run, to), []);
  });

  test('a nonce used by an unknown transaction is replaced only when that is final', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 14n });
    await send(run, instruction);
    await work(run);
    const own = await readPool(run);
    await run.anvil.rpc('anvil_dropAllTransactions');
    await spendElsewhere(run, 2n);
    for (let depth = 1; depth < finalBlocks; depth += 1) {
      await work(run);
      assert.equal((await query(run, instruction)).providerReference, own.hash);
      await run.anvil.mine(1);
    }
    await settle(run);
    const answer = await query(run, instruction);
    assert.equal(answer.outcome, 'paid');
    assert.notEqual(answer.providerReference, own.hash);
    assert.match(run.host.problems.at(-1)?.id ?? '', /^foreign:0x/);
    assert.deepEqual(await listUnits(run, to), [14n * gwei]);
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

/** The only transaction in the mempool. */
async function readPool({ anvil, payer }: TestRun): Promise<PoolTransaction> {
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

/** Sends a payment with the rail's key outside the rail. */
async function spendElsewhere(run: TestRun, value: bigint): Promise<void> {
  const { anvil, privateKey } = run;
  const raw = await privateKeyToAccount(privateKey).signTransaction({
    type: 'eip1559',
    chainId: anvil.chainId,
    nonce: await countSent(run),
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
