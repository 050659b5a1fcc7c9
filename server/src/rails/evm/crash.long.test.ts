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
  openTestRun,
  query,
  release,
  restoreRecords,
  saveRecords,
  send,
  settle,
  type TestRun,
  work,
} from '../../../testing/setups/evm.ts';
import type { RailHost } from '../contract/contract.ts';

describe('an evm rail with crashes, lost records or corrupt answers', () => {
  let run: TestRun;
  before(async () => {
    run = await openTestRun({ fees: { replaceAfterSeconds: 60 } });
  });
  beforeEach(() => {
    run.wire.fetch = fetch;
  });
  after(() => run.close());

  test('a crash at any step pays each payment once', async () => {
    // The short form takes every third step.
    const stride = process.env['OUTLAY_TEST_LONG'] === '1' ? 1 : 3;
    let deaths = 0;
    for (const side of ['before', 'after'] as const) {
      for (let step = side === 'before' ? 1 : 2; ; step += stride) {
        const order = { to: makeAddress(), amountMinor: 7n };
        const instruction = makeInstruction(
          step % 2 === 0 ? order : { ...order, currency: 'USDC' },
        );
        const doom = dieAt(run.host, step, side);
        const doomed = await run.openAgain({}, doom.host);
        const doomedScene = { ...run, rail: doomed };
        await send(doomedScene, instruction).catch(ignoreDeath);
        for (let turn = 0; turn < 6 && !doom.isDead(); turn += 1) {
          await work(doomedScene).catch(ignoreDeath);
          await run.anvil.mine(1);
        }
        // The dispatcher repeats a send without an answer.
        await send(run, instruction);
        await settle(run);
        assert.equal((await query(run, instruction)).outcome, 'paid');
        const units = instruction.currency === 'ETH' ? 7n * gwei : 7n;
        assert.deepEqual(await listUnits(run, order.to), [units], `${side} step ${step}`);
        if (!doom.isDead()) break;
        deaths += 1;
      }
    }
    assert.ok(deaths > 20 / stride, `${deaths} deaths`);
    assert.deepEqual(listErrors(run, 0), []);
    const reported = run.host.observations.map(({ reference }) => reference);
    assert.equal(new Set(reported).size, reported.length);
  });

  test('records restored from a backup do not cause a second payment', async () => {
    const to = makeAddress();
    const other = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 15n, currency: 'USDC' });
    const later = makeInstruction({ to: other, amountMinor: 16n });
    const before = await saveRecords(run);
    await send(run, instruction);
    await settle(run);
    assert.deepEqual(await listUnits(run, to), [15n]);
    await restoreRecords(run, before);
    assert.equal((await query(run, instruction)).outcome, 'unknown');
    await release(run);
    await send(run, instruction);
    await send(run, later);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    assert.equal((await query(run, later)).outcome, 'paid');
    assert.deepEqual(await listUnits(run, to), [15n]);
    assert.deepEqual(await listUnits(run, other), [16n * gwei]);
  });

  test('restored records do not cause a second payment when the clock is ahead', async () => {
    const to = makeAddress();
    // From here on the next nonce is on record.
    await send(run, makeInstruction({ to: makeAddress(), amountMinor: 1n }));
    await settle(run);
    run.clock.aheadMs += 86_400_000;
    const instruction = {
      ...makeInstruction({ to, amountMinor: 25n }),
      committedAtMs: run.host.nowMs() - 1000,
    };
    const before = await saveRecords(run);
    await send(run, instruction);
    await settle(run);
    await restoreRecords(run, before);
    await release(run);
    await send(run, instruction);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(run, to), [25n * gwei]);
  });

  test('an unknown transaction that is displaced later does not stop passes', async () => {
    const to = makeAddress();
    const before = await saveRecords(run);
    const instruction = makeInstruction({ to, amountMinor: 26n });
    let raw = '';
    run.wire.fetch = (...request) => {
      const body = request[1]?.body;
      const isSent = typeof body === 'string' && body.includes('eth_sendRawTransaction');
      if (isSent) raw = /0x02[0-9a-f]+/.exec(body)?.[0] ?? '';
      return fetch(...request);
    };
    await send(run, instruction);
    await work(run);
    const snapshot = await run.anvil.rpc('evm_snapshot');
    await run.anvil.mine(finalBlocks);
    await restoreRecords(run, before);
    await release(run);
    await send(run, instruction);
    await work(run);
    await run.anvil.rpc('evm_revert', [snapshot]);
    await run.anvil.rpc('anvil_dropAllTransactions');
    await run.anvil.mine(1);
    run.clock.aheadMs += 61_000;
    await work(run);
    assert.deepEqual(await listUnits(run, to), []);
    await run.anvil.rpc('eth_sendRawTransaction', [raw]);
    await settle(run);
    assert.equal((await query(run, instruction)).outcome, 'paid');
    assert.deepEqual(await listUnits(run, to), [26n * gwei]);
  });

  test('an endpoint of another chain is not used', async () => {
    const to = makeAddress();
    const instruction = makeInstruction({ to, amountMinor: 21n });
    const sentBefore = await countSent(run);
    await send(run, instruction);
    const elsewhere = await run.openAgain({ chainId: 1 });
    await work({ rail: elsewhere });
    await run.anvil.mine(1);
    assert.equal(await countSent(run), sentBefore);
    assert.equal((await query(run, instruction)).outcome, 'accepted');
    const line = run.host.lines.findLast(({ level }) => level === 'error');
    assert.match(line?.message ?? '', /another chain/);
    const withSpare = await run.openAgain({ rpcUrls: ['http://127.0.0.1:1', run.anvil.url] });
    await settle({ ...run, rail: withSpare });
    assert.deepEqual(await listUnits(run, to), [21n * gwei]);
  });

  test('with corrupt answers each payment is paid once', async () => {
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
      await send(run, makeInstruction({ to, amountMinor: 22n }));
      for (let turn = 0; turn < 8; turn += 1) {
        run.wire.fetch = (...request) => {
          state = (state * 1103515245 + 12345) % 2147483648;
          const isBad = (state >> 16) % 4 === 0;
          const answer = answers[(state >> 20) % answers.length];
          if (!isBad || answer === undefined) return fetch(...request);
          // Half of the corrupted requests still reach the node.
          const delivered = (state >> 18) % 2 === 0 ? fetch(...request) : Promise.resolve();
          return delivered.then(answer);
        };
        await work(run);
        await run.anvil.mine(1);
      }
    }
    run.wire.fetch = fetch;
    await settle(run);
    for (const to of orders) assert.deepEqual(await listUnits(run, to), [22n * gwei]);
  });

  test('the log contains no key, endpoint or recipient', () => {
    const text = JSON.stringify(run.host.lines).toLowerCase();
    assert.ok(run.host.lines.length > 10);
    assert.ok(!text.includes(run.privateKey.slice(2)));
    assert.ok(!text.includes('127.0.0.1'));
  });
});

class Death extends Error {}

function ignoreDeath(error: unknown): void {
  if (!(error instanceof Death)) throw error;
}

/** A host whose process ends right before or right after its n-th effect. */
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
