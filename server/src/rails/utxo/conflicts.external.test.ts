import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import {
  createBench,
  describeConfig,
  expectOutcome,
  instruct,
  openTestRail,
  type TestBench,
} from '../../../testing/setups/utxo.ts';
import type { Outpoint } from './transaction.ts';

/** Transactions outside the rail that spend its coins, on Litecoin Core in regtest. */

let node: TestNode;
let bench: TestBench;
before(async () => {
  node = await startLitecoind();
  bench = createBench(node);
});
after(() => node.close());

describe('coins spent outside the rail', () => {
  /** A transaction outside the rail that spends a coin of the rail's wallet, signed by it. */
  async function spendElsewhere(
    wallet: string,
    coin: Outpoint,
    outputs: Record<string, string>,
  ): Promise<string> {
    const raw = await node.call('createrawtransaction', [
      [{ txid: coin.txid, vout: coin.vout }],
      outputs,
    ]);
    const signed = await node.call<{ complete: boolean; hex: string }>(
      'signrawtransactionwithwallet',
      [raw],
      wallet,
    );
    assert.equal(signed.complete, true);
    return signed.hex;
  }

  async function findCoin(wallet: string): Promise<Outpoint> {
    const [coin] = await node.call<Outpoint[]>('listunspent', [], wallet);
    assert.ok(coin !== undefined);
    return coin;
  }

  async function mineOnly(rawHex: string): Promise<void> {
    await node.call('generateblock', [await node.newAddress(), [rawHex]]);
  }

  test('with all coins spent elsewhere, the payment is made again only when that is deep', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await node.listPaid(address);
    const raw = await node.call('getrawtransaction', [first?.txid]);
    await mineOnly(await spendElsewhere(wallet, coin, { [await node.newAddress()]: '0.9999' }));
    await node.fund(deposit, ['2']);
    for (let depth = 2; depth < 5; depth += 1) {
      await node.mine(1);
      await rail.pass();
      await rail.pass();
      await expectOutcome(rail, instruction, 'accepted');
      assert.deepEqual(await bench.listAmounts(address), [], `at depth ${depth}`);
    }
    await node.mine(1);
    await rail.pass();
    await rail.pass();
    const [second, ...others] = await node.listPaid(address);
    assert.deepEqual(others, []);
    assert.notEqual(second?.txid, first?.txid);
    await assert.rejects(node.call('sendrawtransaction', [raw]), /missingorspent/);
    await node.mine(2);
    await rail.pass();
    const answer = await expectOutcome(rail, instruction, 'paid');
    assert.equal(answer.providerReference, second?.txid);
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });

  test('a conflicting transaction that a reorganization removes leaves the first one', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await node.listPaid(address);
    const raw = await node.call('getrawtransaction', [first?.txid]);
    await mineOnly(await spendElsewhere(wallet, coin, { [await node.newAddress()]: '0.9999' }));
    await node.fund(deposit, ['2']);
    const undone = await node.call('getbestblockhash');
    await node.mine(2);
    await rail.pass();
    await node.call('invalidateblock', [undone]);
    // The conflicting one returns to the mempool; the other chain mines the rail's.
    await mineOnly(raw);
    await node.mine(5);
    await rail.pass();
    const answer = await expectOutcome(rail, instruction, 'paid');
    assert.equal(answer.providerReference, first?.txid);
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    await rail.close();
  });

  test('with one of several coins spent elsewhere, a new version replaces the first one', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1', '1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(150_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const [first] = await node.listPaid(address);
    const raw = await node.call('getrawtransaction', [first?.txid]);
    const elsewhere = await node.newAddress();
    await mineOnly(await spendElsewhere(wallet, coin, { [elsewhere]: '0.9999' }));
    await node.fund(deposit, ['1']);
    await node.mine(1);
    await rail.pass();
    await rail.pass();
    const [second, ...others] = await node.listPaid(address);
    assert.deepEqual(others, []);
    assert.notEqual(second?.txid, first?.txid);
    await node.mine(1);
    await rail.pass();
    await node.mine(3);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    await assert.rejects(node.call('sendrawtransaction', [raw]), /missingorspent/);
    assert.deepEqual(await bench.listAmounts(address), [150_000_000n]);
    await rail.close();
  });

  test('without further coins the payment waits for the depth', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1', '1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(150_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await mineOnly(await spendElsewhere(wallet, coin, { [await node.newAddress()]: '0.9999' }));
    await node.mine(4);
    await rail.pass();
    const [set] = await rail.host.store.list('replacement_set', { count: 1 });
    assert.equal(set?.state, 'dead');
    await node.fund(deposit, ['1']);
    await node.mine(1);
    await rail.pass();
    await node.mine(4);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    assert.deepEqual(await bench.listAmounts(address), [150_000_000n]);
    await rail.close();
  });

  test('an unknown transaction with the same payment is left to a person', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await mineOnly(
      await spendElsewhere(wallet, coin, { [address]: '0.2', [await node.newAddress()]: '0.799' }),
    );
    await node.fund(deposit, ['2']);
    await node.mine(10);
    await rail.pass();
    await rail.pass();
    await expectOutcome(rail, instruction, 'accepted');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    assert.ok(rail.host.lines.some(({ level }) => level === 'error'));
    await rail.close();
  });

  test('a paid payment that is displaced is reported as returned for good', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1']);
    const coin = await findCoin(wallet);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    const elsewhere = await spendElsewhere(wallet, coin, { [await node.newAddress()]: '0.9999' });
    await node.mine(1);
    const undone = await node.call('getbestblockhash');
    await node.mine(1);
    await rail.pass();
    await expectOutcome(rail, instruction, 'paid');
    await node.call('invalidateblock', [undone]);
    await mineOnly(elsewhere);
    await node.fund(deposit, ['2']);
    await node.mine(6);
    await rail.pass();
    await rail.pass();
    assert.equal((await expectOutcome(rail, instruction, 'returned')).outcome, 'returned');
    assert.equal(rail.host.observations.at(-1)?.outcome, 'returned');
    assert.equal((await rail.send(instruction)).outcome, 'returned');
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    await rail.close();
  });

  test('a payment missing from restored records is held and not made again', async () => {
    const { rail, account } = await bench.open('own', ['1', '1']);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await node.mine(1);
    const restored = await openTestRail(describeConfig(node, account));
    const other = await bench.payTo(20_000_000n);
    const behind = { outcome: 'unknown', reason: 'review', code: 'memory_behind' };
    assert.deepEqual(await restored.query(instruction), behind);
    assert.deepEqual(await restored.send(instruction), behind);
    const { signal } = new AbortController();
    const recovered = await restored.calls.recover?.(Date.now() - 3_600_000, { signal });
    assert.deepEqual(
      recovered?.map(({ amountMinor, destination }) => [amountMinor, destination]),
      [[20_000_000n, address]],
    );
    await restored.calls.confirmRecovery?.({ signal });
    assert.equal((await restored.query(instruction)).outcome, 'retry');
    await restored.send(instruction);
    await restored.send(other.instruction);
    await restored.pass();
    await expectOutcome(restored, instruction, 'unknown');
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n]);
    assert.deepEqual(await bench.listAmounts(other.address), [20_000_000n]);
    // With a record of the first payment, an identical one is paid.
    const again = instruct(address, 20_000_000n);
    await rail.send(again);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), [20_000_000n, 20_000_000n]);
    assert.equal((await restored.cancel(instruction)).outcome, 'unknown');
    await rail.close();
    await restored.close();
  });
});
