import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { parseEther } from 'viem';
import {
  calm,
  confirmations,
  countSent,
  gwei,
  listUnits,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  type Scene,
  send,
  settle,
  tokenSupply,
  work,
} from '../../../testing/setups/evm.ts';
import { allowsFailover } from '../../dispatch/next-step.ts';
import type { Instruction } from '../contract/contract.ts';

describe('a rail of Ethereum that cannot pay', () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    scene.wire.fetch = fetch;
  });
  after(() => scene.close());

  test('a token that turns the transfer down when it is mined pays nothing, for good', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 17n, currency: 'USDC' });
    await send(scene, instruction);
    await work(scene);
    await scene.anvil.setTokenMode(scene.token, 1);
    await scene.anvil.mine(confirmations);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'accepted');
    await settle(scene);
    await scene.anvil.setTokenMode(scene.token, 0);
    const answer = await query(scene, instruction);
    assert.equal(answer.outcome, 'rejected');
    assert.equal(answer.code, 'reverted');
    assert.equal(answer.charges?.length, 1);
    assert.equal((await send(scene, instruction)).outcome, 'rejected');
    await settle(scene);
    assert.deepEqual(await listUnits(scene, to), []);
  });

  test('a transfer that fails when it is tried is refused, and costs nothing', async () => {
    const sentBefore = await countSent(scene);
    for (const mode of [1, 2] as const) {
      await scene.anvil.setTokenMode(scene.token, mode);
      const instruction = makeInstruction({ to: makeAddress(), amountMinor: 1n, currency: 'USDC' });
      await send(scene, instruction);
      await settle(scene);
      const expected = { outcome: 'rejected', reason: 'payer_refused' };
      assert.deepEqual(await query(scene, instruction), expected);
    }
    await scene.anvil.setTokenMode(scene.token, 0);
    const contract = await scene.anvil.deployToken(6);
    const toContract = makeInstruction({ to: contract, amountMinor: 1n });
    await send(scene, toContract);
    await settle(scene);
    const expected = { outcome: 'rejected', reason: 'recipient_refused' };
    assert.deepEqual(await query(scene, toContract), expected);
    assert.equal(await countSent(scene), sentBefore);
  });

  test('a token that keeps a share or says false in the block is unclear, and not paid again', async () => {
    for (const mode of [2, 3] as const) {
      const to = makeAddress();
      const instruction = makeInstruction({ to, amountMinor: 1000n, currency: 'USDC' });
      await send(scene, instruction);
      // False is noticed when the transfer is tried, a share that is kept is not.
      if (mode === 3) await scene.anvil.setTokenMode(scene.token, mode);
      await work(scene);
      await scene.anvil.setTokenMode(scene.token, mode);
      await settle(scene);
      await scene.anvil.setTokenMode(scene.token, 0);
      const answer = await query(scene, instruction);
      assert.equal(answer.outcome, 'unknown');
      assert.equal(answer.code, 'transfer_event');
      assert.equal((await send(scene, instruction)).outcome, 'unknown');
      await settle(scene);
      assert.deepEqual(await listUnits(scene, to), mode === 2 ? [] : [990n]);
    }
  });

  test('without funds nothing is signed, and what can be paid is paid meanwhile', async () => {
    const rich = makeInstruction({ to: makeAddress(), amountMinor: 1_000_000_000_000n });
    const richInTokens = makeInstruction({
      to: makeAddress(),
      amountMinor: tokenSupply + 1n,
      currency: 'USDC',
    });
    const poor = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    const sentBefore = await countSent(scene);
    for (const one of [rich, richInTokens, poor]) await send(scene, one);
    for (let turn = 0; turn < 10; turn += 1) {
      await work(scene);
      await scene.anvil.mine(1);
    }
    for (const one of [rich, richInTokens]) {
      const { outcome, code } = await query(scene, one);
      assert.deepEqual([outcome, code], ['accepted', 'no_funds']);
    }
    assert.equal((await query(scene, poor)).outcome, 'paid');
    assert.equal(await countSent(scene), sentBefore + 1);
    await scene.anvil.giveEther(scene.payer, '2000');
    await scene.anvil.giveTokens(scene.token, scene.payer, tokenSupply);
    await settle(scene);
    for (const one of [rich, richInTokens]) assert.equal((await query(scene, one)).outcome, 'paid');
  });

  test('a contract that is no token holds up nothing else', async () => {
    const tokens = [{ currency: 'USDC', address: makeAddress(), decimals: 6 }];
    const rail = await scene.openAgain({ tokens });
    const stuck = makeInstruction({ to: makeAddress(), amountMinor: 1n, currency: 'USDC' });
    const other = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    for (const one of [stuck, other]) await send({ ...scene, rail }, one);
    for (let turn = 0; turn <= confirmations; turn += 1) {
      await work({ rail });
      await scene.anvil.mine(1);
    }
    assert.equal((await query(scene, other)).outcome, 'paid');
    assert.equal((await query(scene, stuck)).outcome, 'accepted');
    await scene.rail.cancel?.(stuck, calm);
    await settle(scene);
  });

  test('however many payments wait for funds, the rail pauses between two looks', async () => {
    const rich = Array.from({ length: 100 }, () =>
      makeInstruction({ to: makeAddress(), amountMinor: 1_000_000_000_000n }),
    );
    for (const one of rich) await send(scene, one);
    await work(scene);
    const atMs = scene.host.nowMs();
    const againMs = await work(scene);
    for (const one of rich) await scene.rail.cancel?.(one, calm);
    assert.ok(againMs !== undefined && againMs >= atMs + 12_000);
  });

  test('payments in flight are not spent a second time', async () => {
    const account = { balance: parseEther('1') };
    await scene.anvil.giveEther(scene.payer, '1');
    const halves = [0, 1].map(() =>
      makeInstruction({ to: makeAddress(), amountMinor: ((account.balance / gwei) * 6n) / 10n }),
    );
    const [first, second] = halves;
    assert(first !== undefined && second !== undefined);
    await send(scene, first);
    await work(scene);
    await send(scene, second);
    await work(scene);
    await work(scene);
    const { outcome, code } = await query(scene, second);
    assert.deepEqual([outcome, code], ['accepted', 'no_funds']);
    await scene.anvil.giveEther(scene.payer, '100');
    await settle(scene);
    for (const one of halves) assert.equal((await query(scene, one)).outcome, 'paid');
  });

  test('a recipient whom the token blocks is refused for good, and no other payer is tried', async () => {
    for (const mode of [0, 4] as const) {
      await scene.anvil.setTokenMode(scene.token, mode);
      const [early, late] = [makeAddress(), makeAddress()].map((to) =>
        makeInstruction({ to, amountMinor: 1_000_000n, currency: 'USDC' }),
      );
      assert(early !== undefined && late !== undefined);
      const block = (one: Instruction) =>
        scene.anvil.blockHolder(scene.token, one.attributes['BankAccountNumber'] ?? '');
      // One is found when the transfer is tried, the other one fails in its block.
      await block(early);
      for (const one of [early, late]) await send(scene, one);
      await work(scene);
      await block(late);
      await settle(scene);
      for (const one of [early, late]) {
        const answer = await query(scene, one);
        assert(answer.outcome === 'rejected');
        assert.equal(answer.reason, mode === 0 ? 'account_blocked' : 'recipient_refused');
        assert.equal(allowsFailover(answer.reason), false);
      }
    }
    await scene.anvil.setTokenMode(scene.token, 0);
  });

  test('a fee above its share of the amount is not paid, and refused in the end', async () => {
    const fees = { shareMaxBasisPoints: 1000, nativePerUnit: { USDC: '0.0003' } };
    const rail = await scene.openAgain({ fees: { ...fees, waitMaxSeconds: 600 } });
    const bounded = { ...scene, rail };
    const sentBefore = await countSent(scene);
    // A base fee of 180 gwei, at which a token transfer costs about 0.01 ETH.
    const expensive = async () => {
      await scene.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(180n * gwei).toString(16)}`]);
      await scene.anvil.mine(1);
    };
    const tiny = makeInstruction({ to: makeAddress(), amountMinor: 10_000n, currency: 'USDC' });
    const small = makeInstruction({
      to: makeAddress(),
      amountMinor: 20_000_000n,
      currency: 'USDC',
    });
    const coin = makeInstruction({ to: makeAddress(), amountMinor: 1_000_000n });
    for (const one of [tiny, small, coin]) await send(bounded, one);
    await expensive();
    await work(bounded);
    // At no price of gas could a cent be paid within its share.
    assert.deepEqual(await query(bounded, tiny), { outcome: 'rejected', reason: 'amount_refused' });
    for (const one of [small, coin]) {
      const { outcome, code } = await query(bounded, one);
      assert.deepEqual([outcome, code], ['accepted', 'fee_share']);
    }
    scene.clock.aheadMs += 601_000;
    await expensive();
    await work(bounded);
    for (const one of [small, coin]) {
      assert.deepEqual(await query(bounded, one), {
        outcome: 'rejected',
        reason: 'amount_refused',
      });
    }
    assert.equal(await countSent(scene), sentBefore);
    // Time passes without transactions, and gas is cheap again.
    await scene.anvil.mine(60);
    const later = makeInstruction({
      to: makeAddress(),
      amountMinor: 100_000_000n,
      currency: 'USDC',
    });
    await send(bounded, later);
    await settle(bounded);
    const answer = await query(bounded, later);
    assert.equal(answer.outcome, 'paid');
    const [charge] = answer.charges ?? [];
    assert.ok(charge !== undefined && charge.amountMinor <= 3_000_000n);
  });

  test('over the limit of the fees nothing is signed', async () => {
    const limited = await scene.openAgain({
      fees: { perGasMaxGwei: '0.000001', priorityMinGwei: '0' },
    });
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    await send(scene, instruction);
    await work({ rail: limited });
    const { outcome, code } = await query(scene, instruction);
    assert.deepEqual([outcome, code], ['accepted', 'gas_price']);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
  });
});
