import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import {
  calm,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  refuseRequests,
  type Scene,
  send,
  work,
} from '../../../testing/setups/evm.ts';

describe('an evm rail on a chain that says what is final', () => {
  let scene: Scene;
  /** How many blocks the chain wants on top of a final one. */
  let lag = 0;
  before(async () => {
    scene = await openScene({ defaultBlocks: undefined, finalBlocks: undefined });
    await scene.anvil.mine(200);
    const number = async (tag: string): Promise<number> => {
      const block = await scene.anvil.rpc<{ number: string }>('eth_getBlockByNumber', [tag, false]);
      return Number(block.number);
    };
    lag = (await number('latest')) - (await number('finalized'));
    assert.ok(lag > 12);
  });
  after(() => scene.close());

  test('a payment counts as paid when its block is final, not after twelve blocks', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(scene, instruction);
    await work(scene);
    await scene.anvil.mine(lag);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'accepted');
    await scene.anvil.mine(1);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    assert.equal(await work(scene), undefined);
  });

  test('a depth that is configured for an amount pays sooner, and is watched until final', async () => {
    const confirmations = { ETH: [{ upTo: null, blocks: 2 }] };
    const rail = await scene.openAgain({ confirmations });
    const sooner = { ...scene, rail };
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(sooner, instruction);
    await work(sooner);
    await scene.anvil.mine(2);
    await work(sooner);
    assert.equal((await query(sooner, instruction)).outcome, 'paid');
    assert.notEqual(await work(sooner), undefined);
    await scene.anvil.mine(lag);
    await work(sooner);
    assert.equal(await work(sooner), undefined);
  });

  test('without the tag nothing is final, and the operator is told to configure a depth', async () => {
    const instruction = makeInstruction({ to: makeAddress(), amountMinor: 5n });
    await send(scene, instruction);
    scene.wire.fetch = refuseRequests((body) => body.includes('"finalized"'));
    await work(scene);
    await scene.anvil.mine(lag * 2);
    await work(scene);
    assert.equal((await query(scene, instruction)).outcome, 'accepted');
    assert.match((await scene.rail.check?.(calm))?.join() ?? '', /configure finalBlocks/);
    const byDepth = await scene.openAgain({ finalBlocks: lag });
    assert.deepEqual(await byDepth.check?.(calm), []);
    await work({ rail: byDepth });
    assert.equal((await query(scene, instruction)).outcome, 'paid');
  });
});
