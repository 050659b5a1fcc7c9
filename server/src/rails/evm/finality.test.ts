import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  context,
  makeAddress,
  makeInstruction,
  openTestRun,
  query,
  refuseRequests,
  send,
  type TestRun,
  work,
} from '../../../testing/setups/evm.ts';

describe('an evm rail on a chain with a finalized block', () => {
  let run: TestRun;
  /** Blocks on top of a final one. */
  let lag = 0;
  before(async () => {
    run = await openTestRun({ defaultBlocks: undefined, finalBlocks: undefined });
    await run.anvil.mine(200);
    const number = async (tag: string): Promise<number> => {
      const block = await run.anvil.rpc<{ number: string }>('eth_getBlockByNumber', [tag, false]);
      return Number(block.number);
    };
    lag = (await number('latest')) - (await number('finalized'));
    assert.ok(lag > 12);
  });
  after(() => run.close());

  test('a payment counts as paid when its block is final', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(run, instruction);
    await work(run);
    await run.anvil.mine(lag);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'accepted');
    await run.anvil.mine(1);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    assert.equal(await work(run), undefined);
  });

  test('a configured depth counts earlier, and tracking continues until final', async () => {
    const confirmations = { ETH: [{ upTo: null, blocks: 2 }] };
    const rail = await run.openAgain({ confirmations });
    const sooner = { ...run, rail };
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(sooner, instruction);
    await work(sooner);
    await run.anvil.mine(2);
    await work(sooner);
    assert.equal((await query(sooner, instruction)).outcome, 'paid');
    assert.notEqual(await work(sooner), undefined);
    await run.anvil.mine(lag);
    await work(sooner);
    assert.equal(await work(sooner), undefined);
  });

  test('without a finalized block check advises to configure finalBlocks', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(run, instruction);
    run.wire.fetch = refuseRequests((body) => body.includes('"finalized"'));
    await work(run);
    await run.anvil.mine(lag * 2);
    await work(run);
    assert.equal((await query(run, instruction)).outcome, 'accepted');
    assert.match((await run.rail.check?.(context))?.join() ?? '', /configure finalBlocks/);
    const byDepth = await run.openAgain({ finalBlocks: lag });
    assert.deepEqual(await byDepth.check?.(context), []);
    await work({ rail: byDepth });
    assert.equal((await query(run, instruction)).outcome, 'paid');
  });
});
