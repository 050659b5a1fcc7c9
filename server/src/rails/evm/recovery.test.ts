import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { privateKeyToAccount } from 'viem/accounts';
import {
  context,
  countSent,
  finalBlocks,
  gwei,
  listUnits,
  makeAddress,
  makeInstruction,
  openTestRun,
  query,
  refuseRequests,
  release,
  restoreRecords,
  saveRecords,
  send,
  settle,
  type TestRun,
  work,
} from '../../../testing/setups/evm.ts';
import type { Instruction } from '../contract/contract.ts';

const behind = { outcome: 'unknown', reason: 'review', code: 'memory_behind' };
const oneEther = 1_000_000_000n;

describe('an evm rail whose records are behind the chain', () => {
  let run: TestRun;
  before(async () => {
    run = await openTestRun();
  });
  afterEach(async () => {
    run.wire.fetch = fetch;
    await run.anvil.mine(finalBlocks);
    await release(run);
    await settle(run);
  });
  after(() => run.close());

  async function pay(instruction: Instruction): Promise<void> {
    await send(run, instruction);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
  }

  test('empty records: nothing is signed until the recovery is released', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 7n * oneEther });
    await pay(instruction);
    await restoreRecords(run, '[]');
    assert.deepEqual(await query(run, instruction), behind);
    assert.deepEqual(await send(run, instruction), behind);
    assert.deepEqual(await run.rail.cancel?.(instruction, context), behind);
    for (let turn = 0; turn < finalBlocks; turn += 1) {
      await work(run);
      await run.anvil.mine(1);
    }
    assert.deepEqual(await listUnits(run, to), [7n * oneEther * gwei]);
    assert.match((await run.rail.check?.(context))?.join() ?? '', /records lack/);
    assert.equal(run.host.problems.at(-1)?.kind, 'unmatched');
    const recovered = await run.rail.recover?.(Date.now() - 3_600_000, context);
    const [payment] = await run.anvil.listPayments(run.payer);
    assert.deepEqual(
      recovered?.map(({ atMs: _, ...rest }) => rest),
      [
        {
          reference: '',
          currency: 'ETH',
          amountMinor: 7n * oneEther,
          outcome: 'paid',
          providerReference: payment?.hash,
          destination: to.toLowerCase(),
          detail: recovered?.[0]?.detail,
        },
      ],
    );
    await run.rail.confirmRecovery?.(context);
    assert.deepEqual(await run.rail.check?.(context), []);
    // The client repeats the lost payout later, under a new reference.
    const again = { ...instruction, reference: 'again', committedAtMs: Date.now() + 60 * 60_000 };
    await pay(again);
    assert.deepEqual(await listUnits(run, to), [7n * oneEther * gwei]);
    await pay(makeInstruction({ to, amountMinor: 7n * oneEther }));
    assert.equal((await listUnits(run, to)).length, 2);
  });

  test('restored records do not cancel a payment that the chain has made', async () => {
    const { rail } = run;
    assert(rail.cancel !== undefined);
    const [waiting, unknown] = [1n, 2n].map((amountMinor) =>
      makeInstruction({ to: makeAddress(), amountMinor }),
    );
    assert(waiting !== undefined && unknown !== undefined);
    await send(run, waiting);
    const records = await saveRecords(run);
    await send(run, unknown);
    await settle(run);
    await restoreRecords(run, records);
    for (const one of [waiting, unknown]) {
      assert.deepEqual(await rail.cancel(one, context), behind);
      assert.deepEqual(await query(run, one), behind);
    }
    await release(run);
    for (const one of [waiting, unknown]) {
      assert.equal((await rail.cancel(one, context)).outcome, 'unknown');
      await pay(one);
      const to = one.attributes['BankAccountNumber'] ?? '';
      assert.equal((await listUnits(run, to)).length, 1);
    }
  });

  test('without an endpoint the outcome of an unknown payment stays open', async () => {
    const unsent = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    run.wire.fetch = () => Promise.reject(new TypeError('fetch failed'));
    const unreachable = { outcome: 'unknown', reason: 'unreachable' };
    assert.deepEqual(await query(run, unsent), unreachable);
    assert.deepEqual(await run.rail.cancel?.(unsent, context), unreachable);
    run.wire.fetch = fetch;
    assert.equal((await query(run, unsent)).outcome, 'retry');
  });

  test('an unknown transaction in the mempool blocks signing and the release', async () => {
    await pay(makeInstruction({ to: makeAddress(), amountMinor: 1n }));
    const raw = await privateKeyToAccount(run.privateKey).signTransaction({
      type: 'eip1559',
      chainId: run.anvil.chainId,
      nonce: await countSent(run),
      to: makeAddress(),
      value: 5n,
      gas: 21_000n,
      maxFeePerGas: 100n * gwei,
      maxPriorityFeePerGas: 50n * gwei,
    });
    await run.anvil.rpc('eth_sendRawTransaction', [raw]);
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 3n });
    await send(run, instruction);
    await work(run);
    await assert.rejects(() => release(run), /1 transactions of the account wait/);
    await run.anvil.mine(1);
    await work(run);
    assert.deepEqual(await query(run, instruction), behind);
    assert.deepEqual(await listUnits(run, to), []);
    await release(run);
    await settle(run);
    assert.deepEqual(await listUnits(run, to), [3n * gwei]);
  });

  test('recovery finds the same payments on a node without state of older blocks', async () => {
    await pay(makeInstruction({ to: makeAddress(), amountMinor: 5n, currency: 'USDC' }));
    const sinceMs = Date.now() - 3_600_000;
    const full = await run.rail.recover?.(sinceMs, context);
    const head = await run.anvil.rpc<string>('eth_blockNumber');
    run.wire.fetch = refuseRequests(
      (body) =>
        body.includes('eth_getTransactionCount') &&
        !body.includes('"pending"') &&
        !body.includes(head),
    );
    const scanned = await run.rail.recover?.(sinceMs, context);
    assert.ok((full?.length ?? 0) > 3);
    assert.deepEqual(scanned, full);
    assert.ok(full?.some(({ reference }) => reference !== ''));
    // The chain has real time, and the environment's clock may be ahead.
    const aheadMs = 40 * 86_400_000;
    run.clock.aheadMs += aheadMs;
    assert.deepEqual(await run.rail.recover?.(sinceMs + aheadMs, context), full);
    run.clock.aheadMs -= aheadMs;
    assert.equal(full?.at(-1)?.currency, 'USDC');
  });
});
