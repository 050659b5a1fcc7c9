import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import { parseEther } from 'viem';
import {
  confirmations,
  context,
  countSent,
  gwei,
  listUnits,
  makeAddress,
  makeInstruction,
  openTestRun,
  query,
  send,
  settle,
  type TestRun,
  tokenSupply,
  work,
} from '../../../testing/setups/evm.ts';
import { allowsFailover } from '../../dispatch/next-step.ts';
import type { Instruction } from '../contract/contract.ts';

describe('an evm rail that cannot pay', () => {
  let run: TestRun;
  before(async () => {
    run = await openTestRun({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    run.wire.fetch = fetch;
  });
  after(() => run.close());

  test('a transfer that reverts when mined is rejected for good', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 17n, currency: 'USDC' });
    await send(run, instruction);
    await work(run);
    await run.anvil.setTokenMode(run.token, 1);
    await run.anvil.mine(confirmations);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'accepted');
    await settle(run);
    await run.anvil.setTokenMode(run.token, 0);
    const answer = await query(run, instruction);
    assert.equal(answer.outcome, 'rejected');
    assert.equal(answer.code, 'reverted');
    assert.equal(answer.charges?.length, 1);
    assert.equal((await send(run, instruction)).outcome, 'rejected');
    await settle(run);
    assert.deepEqual(await listUnits(run, to), []);
  });

  test('a transfer that fails in the simulation is rejected without a fee', async () => {
    const sentBefore = await countSent(run);
    for (const mode of [1, 2] as const) {
      await run.anvil.setTokenMode(run.token, mode);
      const instruction = makeInstruction({ to: makeAddress(), amountMinor: 1n, currency: 'USDC' });
      await send(run, instruction);
      await settle(run);
      const expected = { outcome: 'rejected', reason: 'payer_refused' };
      assert.deepEqual(await query(run, instruction), expected);
    }
    await run.anvil.setTokenMode(run.token, 0);
    const contract = await run.anvil.deployToken(6);
    const toContract = makeInstruction({ to: contract, amountMinor: 1n });
    await send(run, toContract);
    await settle(run);
    const expected = { outcome: 'rejected', reason: 'recipient_refused' };
    assert.deepEqual(await query(run, toContract), expected);
    assert.equal(await countSent(run), sentBefore);
  });

  test('a transfer without a matching event stays unknown and is not repeated', async () => {
    for (const mode of [2, 3] as const) {
      const to = makeAddress();
      const instruction = makeInstruction({ to, amountMinor: 1000n, currency: 'USDC' });
      await send(run, instruction);
      // The simulation shows a returned false, but not a deducted share.
      if (mode === 3) await run.anvil.setTokenMode(run.token, mode);
      await work(run);
      await run.anvil.setTokenMode(run.token, mode);
      await settle(run);
      await run.anvil.setTokenMode(run.token, 0);
      const answer = await query(run, instruction);
      assert.equal(answer.outcome, 'unknown');
      assert.equal(answer.code, 'transfer_event');
      assert.equal((await send(run, instruction)).outcome, 'unknown');
      await settle(run);
      assert.deepEqual(await listUnits(run, to), mode === 2 ? [] : [990n]);
    }
  });

  test('a payment without funds waits and does not block payable ones', async () => {
    const unfunded = makeInstruction({ to: makeAddress(), amountMinor: 1_000_000_000_000n });
    const unfundedTokens = makeInstruction({
      to: makeAddress(),
      amountMinor: tokenSupply + 1n,
      currency: 'USDC',
    });
    const payable = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    const sentBefore = await countSent(run);
    for (const one of [unfunded, unfundedTokens, payable]) await send(run, one);
    for (let turn = 0; turn < 10; turn += 1) {
      await work(run);
      await run.anvil.mine(1);
    }
    for (const one of [unfunded, unfundedTokens]) {
      const { outcome, code } = await query(run, one);
      assert.deepEqual([outcome, code], ['accepted', 'no_funds']);
    }
    assert.equal((await query(run, payable)).outcome, 'paid');
    assert.equal(await countSent(run), sentBefore + 1);
    await run.anvil.giveEther(run.payer, '2000');
    await run.anvil.giveTokens(run.token, run.payer, tokenSupply);
    await settle(run);
    for (const one of [unfunded, unfundedTokens])
      assert.equal((await query(run, one)).outcome, 'paid');
  });

  test('a contract that is not a token blocks only its own payments', async () => {
    const tokens = [{ currency: 'USDC', address: makeAddress(), decimals: 6 }];
    const rail = await run.openAgain({ tokens });
    const stuck = makeInstruction({ to: makeAddress(), amountMinor: 1n, currency: 'USDC' });
    const other = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    for (const one of [stuck, other]) await send({ ...run, rail }, one);
    for (let turn = 0; turn <= confirmations; turn += 1) {
      await work({ rail });
      await run.anvil.mine(1);
    }
    assert.equal((await query(run, other)).outcome, 'paid');
    assert.equal((await query(run, stuck)).outcome, 'accepted');
    await run.rail.cancel?.(stuck, context);
    await settle(run);
  });

  test('the rail pauses between passes however many payments wait for funds', async () => {
    const waiting = Array.from({ length: 100 }, () =>
      makeInstruction({ to: makeAddress(), amountMinor: 1_000_000_000_000n }),
    );
    for (const one of waiting) await send(run, one);
    await work(run);
    const atMs = run.host.nowMs();
    const againMs = await work(run);
    for (const one of waiting) await run.rail.cancel?.(one, context);
    assert.ok(againMs !== undefined && againMs >= atMs + 12_000);
  });

  test('funds of payments in flight are not spent twice', async () => {
    const account = { balance: parseEther('1') };
    await run.anvil.giveEther(run.payer, '1');
    const halves = [0, 1].map(() =>
      makeInstruction({ to: makeAddress(), amountMinor: ((account.balance / gwei) * 6n) / 10n }),
    );
    const [first, second] = halves;
    assert(first !== undefined && second !== undefined);
    await send(run, first);
    await work(run);
    await send(run, second);
    await work(run);
    await work(run);
    const { outcome, code } = await query(run, second);
    assert.deepEqual([outcome, code], ['accepted', 'no_funds']);
    await run.anvil.giveEther(run.payer, '100');
    await settle(run);
    for (const one of halves) assert.equal((await query(run, one)).outcome, 'paid');
  });

  test('a recipient on the blacklist of the token is rejected without failover', async () => {
    for (const mode of [0, 4] as const) {
      await run.anvil.setTokenMode(run.token, mode);
      const [early, late] = [makeAddress(), makeAddress()].map((to) =>
        makeInstruction({ to, amountMinor: 1_000_000n, currency: 'USDC' }),
      );
      assert(early !== undefined && late !== undefined);
      const block = (one: Instruction) =>
        run.anvil.blockHolder(run.token, one.attributes['BankAccountNumber'] ?? '');
      // One is found by the simulation, the other one reverts when mined.
      await block(early);
      for (const one of [early, late]) await send(run, one);
      await work(run);
      await block(late);
      await settle(run);
      for (const one of [early, late]) {
        const answer = await query(run, one);
        assert(answer.outcome === 'rejected');
        assert.equal(answer.reason, mode === 0 ? 'account_blocked' : 'recipient_refused');
        assert.equal(allowsFailover(answer.reason), false);
      }
    }
    await run.anvil.setTokenMode(run.token, 0);
  });

  test('a payment whose fee exceeds its share waits and is rejected in the end', async () => {
    const fees = { shareMaxBasisPoints: 1000, nativePerUnit: { USDC: '0.0003' } };
    const rail = await run.openAgain({ fees: { ...fees, waitMaxSeconds: 600 } });
    const bounded = { ...run, rail };
    const sentBefore = await countSent(run);
    // A base fee of 180 gwei, at which a token transfer costs about 0.01 ETH.
    const expensive = async () => {
      await run.anvil.rpc('anvil_setNextBlockBaseFeePerGas', [`0x${(180n * gwei).toString(16)}`]);
      await run.anvil.mine(1);
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
    // One cent cannot cover its fee at any price of gas.
    assert.deepEqual(await query(bounded, tiny), { outcome: 'rejected', reason: 'amount_refused' });
    for (const one of [small, coin]) {
      const { outcome, code } = await query(bounded, one);
      assert.deepEqual([outcome, code], ['accepted', 'fee_share']);
    }
    run.clock.aheadMs += 601_000;
    await expensive();
    await work(bounded);
    for (const one of [small, coin]) {
      assert.deepEqual(await query(bounded, one), {
        outcome: 'rejected',
        reason: 'amount_refused',
      });
    }
    assert.equal(await countSent(run), sentBefore);
    // Empty blocks lower the base fee.
    await run.anvil.mine(60);
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

  test('nothing is signed while the base fee is above the limit', async () => {
    const limited = await run.openAgain({
      fees: { perGasMaxGwei: '0.000001', priorityMinGwei: '0' },
    });
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 1n });
    await send(run, instruction);
    await work({ rail: limited });
    const { outcome, code } = await query(run, instruction);
    assert.deepEqual([outcome, code], ['accepted', 'gas_price']);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
  });
});
