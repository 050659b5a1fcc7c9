import assert from 'node:assert/strict';
import { after, afterEach, before, describe, test } from 'node:test';
import { privateKeyToAccount } from 'viem/accounts';
import {
  calm,
  countSent,
  finalBlocks,
  gwei,
  listUnits,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  refuseRequests,
  release,
  restoreRecords,
  type Scene,
  saveRecords,
  send,
  settle,
  work,
} from '../../../testing/setups/evm.ts';
import type { Instruction } from '../contract/contract.ts';

const behind = { outcome: 'unknown', reason: 'review', code: 'memory_behind' };
const oneEther = 1_000_000_000n;

describe('an evm rail whose memory is behind the chain', () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene();
  });
  afterEach(async () => {
    scene.wire.fetch = fetch;
    await scene.anvil.mine(finalBlocks);
    await release(scene);
    await settle(scene);
  });
  after(() => scene.close());

  async function pay(instruction: Instruction): Promise<void> {
    await send(scene, instruction);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
  }

  test('an empty memory signs nothing before the recovery is released', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 7n * oneEther });
    await pay(instruction);
    await restoreRecords(scene, []);
    assert.deepEqual(await query(scene, instruction), behind);
    assert.deepEqual(await send(scene, instruction), behind);
    assert.deepEqual(await scene.rail.cancel?.(instruction, calm), behind);
    for (let turn = 0; turn < finalBlocks; turn += 1) {
      await work(scene);
      await scene.anvil.mine(1);
    }
    assert.deepEqual(await listUnits(scene, to), [7n * oneEther * gwei]);
    assert.match((await scene.rail.check?.(calm))?.join() ?? '', /memory lacks/);
    assert.equal(scene.host.problems.at(-1)?.kind, 'unmatched');
    const recovered = await scene.rail.recover?.(Date.now() - 3_600_000, calm);
    const [payment] = await scene.anvil.listPayments(scene.payer);
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
    await scene.rail.confirmRecovery?.(calm);
    assert.deepEqual(await scene.rail.check?.(calm), []);
    // The client sends again what the database lost, as a new order of a later time.
    const again = { ...instruction, reference: 'again', committedAtMs: Date.now() + 60 * 60_000 };
    await pay(again);
    assert.deepEqual(await listUnits(scene, to), [7n * oneEther * gwei]);
    await pay(makeInstruction({ to, amountMinor: 7n * oneEther }));
    assert.equal((await listUnits(scene, to)).length, 2);
  });

  test('an older memory does not cancel what the chain has paid', async () => {
    const { rail } = scene;
    assert(rail.cancel !== undefined);
    const [waiting, unknown] = [1n, 2n].map((amountMinor) =>
      makeInstruction({ to: makeAddress(), amountMinor }),
    );
    assert(waiting !== undefined && unknown !== undefined);
    await send(scene, waiting);
    const records = await saveRecords(scene);
    await send(scene, unknown);
    await settle(scene);
    await restoreRecords(scene, records);
    for (const one of [waiting, unknown]) {
      assert.deepEqual(await rail.cancel(one, calm), behind);
      assert.deepEqual(await query(scene, one), behind);
    }
    await release(scene);
    for (const one of [waiting, unknown]) {
      assert.equal((await rail.cancel(one, calm)).outcome, 'unknown');
      await pay(one);
      const to = one.attributes['BankAccountNumber'] ?? '';
      assert.equal((await listUnits(scene, to)).length, 1);
    }
  });

  test('a chain that cannot be asked leaves open whether something was paid', async () => {
    const unsent = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    scene.wire.fetch = () => Promise.reject(new TypeError('fetch failed'));
    const unreachable = { outcome: 'unknown', reason: 'unreachable' };
    assert.deepEqual(await query(scene, unsent), unreachable);
    assert.deepEqual(await scene.rail.cancel?.(unsent, calm), unreachable);
    scene.wire.fetch = fetch;
    assert.equal((await query(scene, unsent)).outcome, 'retry');
  });

  test('an unknown transaction that waits in the network holds up signing and the release', async () => {
    await pay(makeInstruction({ to: makeAddress(), amountMinor: 1n }));
    const raw = await privateKeyToAccount(scene.privateKey).signTransaction({
      type: 'eip1559',
      chainId: scene.anvil.chainId,
      nonce: await countSent(scene),
      to: makeAddress(),
      value: 5n,
      gas: 21_000n,
      maxFeePerGas: 100n * gwei,
      maxPriorityFeePerGas: 50n * gwei,
    });
    await scene.anvil.rpc('eth_sendRawTransaction', [raw]);
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 3n });
    await send(scene, instruction);
    await work(scene);
    await assert.rejects(() => release(scene), /1 transactions of the account wait/);
    await scene.anvil.mine(1);
    await work(scene);
    assert.deepEqual(await query(scene, instruction), behind);
    assert.deepEqual(await listUnits(scene, to), []);
    await release(scene);
    await settle(scene);
    assert.deepEqual(await listUnits(scene, to), [3n * gwei]);
  });

  test('a node without the state of older blocks recovers the same payments', async () => {
    await pay(makeInstruction({ to: makeAddress(), amountMinor: 5n, currency: 'USDC' }));
    const sinceMs = Date.now() - 3_600_000;
    const full = await scene.rail.recover?.(sinceMs, calm);
    const head = await scene.anvil.rpc<string>('eth_blockNumber');
    scene.wire.fetch = refuseRequests(
      (body) =>
        body.includes('eth_getTransactionCount') &&
        !body.includes('"pending"') &&
        !body.includes(head),
    );
    const scanned = await scene.rail.recover?.(sinceMs, calm);
    assert.ok((full?.length ?? 0) > 3);
    assert.deepEqual(scanned, full);
    assert.ok(full?.some(({ reference }) => reference !== ''));
    assert.equal(full?.at(-1)?.currency, 'USDC');
  });
});
