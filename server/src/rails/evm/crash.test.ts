import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, test } from 'node:test';
import {
  countSent,
  finalBlocks,
  gwei,
  listErrors,
  listUnits,
  makeAddress,
  makeInstruction,
  openScene,
  query,
  release,
  restoreRecords,
  type Scene,
  saveRecords,
  send,
  settle,
  work,
} from '../../../testing/setups/evm.ts';
import type { RailHost } from '../contract/contract.ts';

describe('a rail of Ethereum that dies, forgets or is told nonsense', () => {
  let scene: Scene;
  before(async () => {
    scene = await openScene({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    scene.wire.fetch = fetch;
  });
  after(() => scene.close());

  test('a process that dies at any step leaves each payment to be paid once', async () => {
    // The short form takes every third step.
    const stride = process.env['OUTLAY_TEST_LONG'] === '1' ? 1 : 3;
    let deaths = 0;
    for (const side of ['before', 'after'] as const) {
      for (let step = side === 'before' ? 1 : 2; ; step += stride) {
        const order = { to: makeAddress(), amountMinor: 7n };
        const instruction = makeInstruction(
          step % 2 === 0 ? order : { ...order, currency: 'USDC' },
        );
        const doom = dieAt(scene.host, step, side);
        const doomed = await scene.openAgain({}, doom.host);
        const doomedScene = { ...scene, rail: doomed };
        await send(doomedScene, instruction).catch(ignoreDeath);
        for (let turn = 0; turn < 6 && !doom.isDead(); turn += 1) {
          await work(doomedScene).catch(ignoreDeath);
          await scene.anvil.mine(1);
        }
        // The dispatcher sends again what it has no answer for.
        await send(scene, instruction);
        await settle(scene);
        assert.equal((await query(scene, instruction)).outcome, 'paid');
        const units = instruction.currency === 'ETH' ? 7n * gwei : 7n;
        assert.deepEqual(await listUnits(scene, order.to), [units], `${side} step ${step}`);
        if (!doom.isDead()) break;
        deaths += 1;
      }
    }
    assert.ok(deaths > 20 / stride, `${deaths} deaths`);
    assert.deepEqual(listErrors(scene, 0), []);
    const told = scene.host.observations.map(({ reference }) => reference);
    assert.equal(new Set(told).size, told.length);
  });

  test('a memory restored from an older copy does not pay again what the chain has', async () => {
    const to = makeAddress();
    const other = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 15n, currency: 'USDC' });
    const later = makeInstruction({ to: other, amountMinor: 16n });
    const before = await saveRecords(scene);
    await send(scene, instruction);
    await settle(scene);
    assert.deepEqual(await listUnits(scene, to), [15n]);
    await restoreRecords(scene, before);
    assert.equal((await query(scene, instruction)).outcome, 'unknown');
    await release(scene);
    await send(scene, instruction);
    await send(scene, later);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    assert.equal((await query(scene, later)).outcome, 'paid');
    assert.deepEqual(await listUnits(scene, to), [15n]);
    assert.deepEqual(await listUnits(scene, other), [16n * gwei]);
  });

  test('the restored memory of an environment whose clock is ahead does not pay again', async () => {
    const to = makeAddress();
    // From here on the memory knows the next nonce.
    await send(scene, makeInstruction({ to: makeAddress(), amountMinor: 1n }));
    await settle(scene);
    scene.clock.aheadMs += 86_400_000;
    const instruction = {
      ...makeInstruction({ to, amountMinor: 25n }),
      committedAtMs: scene.host.nowMs() - 1000,
    };
    const before = await saveRecords(scene);
    await send(scene, instruction);
    await settle(scene);
    await restoreRecords(scene, before);
    await release(scene);
    await send(scene, instruction);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(scene, to), [25n * gwei]);
  });

  test('a transaction that was found and then displaced holds up no pass', async () => {
    const to = makeAddress();
    const before = await saveRecords(scene);
    const instruction = makeInstruction({ to, amountMinor: 26n });
    let raw = '';
    scene.wire.fetch = (...request) => {
      const body = request[1]?.body;
      const isSent = typeof body === 'string' && body.includes('eth_sendRawTransaction');
      if (isSent) raw = /0x02[0-9a-f]+/.exec(body)?.[0] ?? '';
      return fetch(...request);
    };
    await send(scene, instruction);
    await work(scene);
    const snapshot = await scene.anvil.rpc('evm_snapshot');
    await scene.anvil.mine(finalBlocks);
    await restoreRecords(scene, before);
    await release(scene);
    await send(scene, instruction);
    await work(scene);
    await scene.anvil.rpc('evm_revert', [snapshot]);
    await scene.anvil.rpc('anvil_dropAllTransactions');
    await scene.anvil.mine(1);
    scene.clock.aheadMs += 61_000;
    await work(scene);
    assert.deepEqual(await listUnits(scene, to), []);
    await scene.anvil.rpc('eth_sendRawTransaction', [raw]);
    await settle(scene);
    assert.equal((await query(scene, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(scene, to), [26n * gwei]);
  });

  test('a node of another chain is not used, and nothing is lost', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 21n });
    const sentBefore = await countSent(scene);
    await send(scene, instruction);
    const elsewhere = await scene.openAgain({ chainId: 1 });
    await work({ rail: elsewhere });
    await scene.anvil.mine(1);
    assert.equal(await countSent(scene), sentBefore);
    assert.equal((await query(scene, instruction)).outcome, 'accepted');
    const line = scene.host.lines.findLast(({ level }) => level === 'error');
    assert.match(line?.message ?? '', /another chain/);
    const withSpare = await scene.openAgain({ rpcUrls: ['http://127.0.0.1:1', scene.anvil.url] });
    await settle({ ...scene, rail: withSpare });
    assert.deepEqual(await listUnits(scene, to), [21n * gwei]);
  });

  test('whatever a node answers, each payment is paid once', async () => {
    const answers = [
      () => new Response('<html>busy</html>', { status: 503 }),
      () => new Response('{"jsonrpc":"2.0","id":1,"result":null}'),
      () => new Response('{"jsonrpc":"2.0","id":1,"result":"0x0"}'),
      () => new Response('{"jsonrpc":"2.0","id":77,"result":"0x7a69"}'),
      () => new Response('{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"no"}}'),
      () => {
        throw new TypeError('fetch failed');
      },
    ];
    const orders: string[] = [];
    let state = 7;
    for (let round = 0; round < 6; round += 1) {
      const to = makeAddress();
      orders.push(to);
      await send(scene, makeInstruction({ to, amountMinor: 22n }));
      for (let turn = 0; turn < 8; turn += 1) {
        scene.wire.fetch = (...request) => {
          state = (state * 1103515245 + 12345) % 2147483648;
          const isBad = (state >> 16) % 4 === 0;
          const answer = answers[(state >> 20) % answers.length];
          if (!isBad || answer === undefined) return fetch(...request);
          // Half of the spoilt requests are heard all the same, only their answers are lost.
          const heard = (state >> 18) % 2 === 0 ? fetch(...request) : Promise.resolve();
          return heard.then(answer);
        };
        await work(scene);
        await scene.anvil.mine(1);
      }
    }
    scene.wire.fetch = fetch;
    await settle(scene);
    for (const to of orders) assert.deepEqual(await listUnits(scene, to), [22n * gwei]);
  });

  test('no key, address of a node or recipient is in the log', () => {
    const text = JSON.stringify(scene.host.lines).toLowerCase();
    assert.ok(scene.host.lines.length > 10);
    assert.ok(!text.includes(scene.privateKey.slice(2)));
    assert.ok(!text.includes('127.0.0.1'));
  });
});

class Death extends Error {}

function ignoreDeath(error: unknown): void {
  if (!(error instanceof Death)) throw error;
}

/** A host whose process dies at its so manieth effect: right before it, or right after it. */
function dieAt(
  host: RailHost,
  step: number,
  side: 'before' | 'after',
): { host: RailHost; isDead: () => boolean } {
  let count = 0;
  const doom = async <Result>(effect: () => Promise<Result>): Promise<Result> => {
    count += 1;
    if (count > step || (count === step && side === 'before')) throw new Death();
    const result = await effect();
    if (count === step) throw new Death();
    return result;
  };
  return {
    isDead: () => count >= step,
    host: {
      ...host,
      receive: (message) => doom(() => host.receive(message)),
      fetch: (...request) => doom(() => host.fetch(...request)),
      store: { ...host.store, write: (changes) => doom(() => host.store.write(changes)) },
    },
  };
}
