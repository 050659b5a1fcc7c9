import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { HDKey } from '@scure/bip32';
import { WIF } from '@scure/btc-signer';
import { startLitecoind, type TestNode } from '../../../testing/counterparties/utxo/litecoind.ts';
import {
  createBench,
  describeConfig,
  expectOutcome,
  instruct,
  litecoinRegtest,
  openAccount,
  openTestRail,
  type TestBench,
} from '../../../testing/setups/utxo.ts';
import { formatScript } from './addresses.ts';
import { createOwnKeys, type OwnKeysOptions } from './keys.ts';
import type { Outpoint } from './transaction.ts';

/** Coin selection and batching, on Litecoin Core in regtest. */

let node: TestNode;
let bench: TestBench;
before(async () => {
  node = await startLitecoind();
  bench = createBench(node);
});
after(() => node.close());

describe('coins', () => {
  test('without coins a payment waits and is rejected after waitMaxSeconds', async () => {
    const { rail, deposit } = await bench.open('own', []);
    const { address, instruction } = await bench.payTo(20_000_000n);
    await rail.send(instruction);
    await rail.pass();
    await expectOutcome(rail, instruction, 'accepted');
    rail.advanceMs(7 * 3_600_000);
    await rail.pass();
    assert.deepEqual(await expectOutcome(rail, instruction, 'rejected'), {
      outcome: 'rejected',
      reason: 'no_funds',
    });
    assert.equal(rail.host.observations.at(-1)?.outcome, 'rejected');
    await node.fund(deposit, ['1']);
    await node.mine(1);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    await rail.close();
  });

  test('a payment that the coins do not cover does not block smaller ones', async () => {
    const { rail, deposit } = await bench.open('own', ['1']);
    const large = await bench.payTo(150_000_000n);
    const small = await bench.payTo(10_000_000n);
    await rail.send(large.instruction);
    await rail.send(small.instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(small.address), [10_000_000n]);
    assert.deepEqual(await bench.listAmounts(large.address), []);
    await node.fund(deposit, ['2']);
    await node.mine(1);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(large.address), [150_000_000n]);
    await rail.close();
  });

  test('a P2SH-P2WPKH coin of the node is spent', async () => {
    const { rail, wallet } = await bench.open('node', []);
    const deposit = await node.call('getnewaddress', ['', 'p2sh-segwit'], wallet);
    await node.fund(deposit, ['1']);
    await node.mine(1);
    const { address, instruction } = await bench.payTo(10_000_000n);
    await rail.send(instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), [10_000_000n]);
    await rail.close();
  });

  test('a watch-only coin of the node is not spent', async () => {
    const { rail, wallet } = await bench.open('node', ['1']);
    const watched = await node.newAddress();
    const { pubkey } = await node.call<{ pubkey: string }>('getaddressinfo', [watched], 'miner');
    await node.call('importpubkey', [pubkey, '', false], wallet);
    await node.fund(watched, ['5']);
    await node.mine(1);
    const { address, instruction } = await bench.payTo(10_000_000n);
    await rail.send(instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), [10_000_000n]);
    await rail.close();
  });

  test('locked and immature coins are not spent', async () => {
    const { rail, deposit, wallet } = await bench.open('node', ['1']);
    await node.call('generatetoaddress', [1, deposit]);
    const [coin] = await node.call<Outpoint[]>('listunspent', [], wallet);
    await node.call('lockunspent', [false, [{ txid: coin?.txid, vout: coin?.vout }]], wallet);
    const { address, instruction } = await bench.payTo(10_000_000n);
    await rail.send(instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    await node.call('lockunspent', [true], wallet);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), [10_000_000n]);
    await rail.close();
  });

  test('a fee above its share of the amounts is not paid', async () => {
    const { rail } = await bench.open('own', ['1'], {
      fees: { rateMin: '5', rateFallback: '10', shareMaxBasisPoints: 100 },
    });
    const { address, instruction } = await bench.payTo(50_000n);
    await rail.send(instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    const others = [];
    for (let index = 0; index < 10; index += 1) others.push(await bench.payTo(3000n));
    for (const other of others) await rail.send(other.instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), [], 'the fee of ten more is too high, too');
    const rich = await bench.payTo(30_000_000n);
    await rail.send(rich.instruction);
    await rail.pass();
    assert.deepEqual(
      await bench.listAmounts(address),
      [50_000n],
      'together with a large one it is cheap',
    );
    await rail.close();
  });
});

describe('many small payments', () => {
  test('do not block a larger one', async () => {
    const { rail } = await bench.open('own', ['1'], {
      batch: { waitSeconds: 0, payoutsMax: 5 },
      fees: { rateMin: '5', rateFallback: '10', shareMaxBasisPoints: 100 },
    });
    const small = [];
    for (let index = 0; index < 8; index += 1) small.push(await bench.payTo(3000n));
    for (const { instruction } of small) await rail.send(instruction);
    const large = await bench.payTo(500_000n);
    await rail.send(large.instruction);
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(large.address), [500_000n]);
    await rail.close();
  });
});

describe('keys of the rail', () => {
  const scriptOf: Record<string, OwnKeysOptions> = {
    'Taproot keys of a seed': {
      secret: '0123456789abcdef'.repeat(4),
      kind: 'tr',
      path: undefined,
      addressCount: 2,
    },
    'an extended key': {
      secret: HDKey.fromMasterSeed(new Uint8Array(32).fill(7), litecoinRegtest.extendedKey).derive(
        "m/84'/1'/3'",
      ).privateExtendedKey,
      kind: 'wpkh',
      path: undefined,
      addressCount: 2,
    },
    'single keys': {
      secret: [1, 2]
        .map((byte) =>
          WIF({ ...litecoinRegtest, scriptHash: 0 }).encode(new Uint8Array(32).fill(byte)),
        )
        .join(' '),
      kind: 'wpkh',
      path: undefined,
      addressCount: 2,
    },
  };
  for (const [name, options] of Object.entries(scriptOf)) {
    test(`${name} spend what they receive`, async () => {
      const keys = createOwnKeys(litecoinRegtest, options);
      const { secret, kind, addressCount } = options;
      const deposit = formatScript(litecoinRegtest, keys.getDepositScript(1)) ?? '';
      const wallet = `keys-${kind}-${secret.slice(0, 8)}`;
      const account = {
        keys: { mode: 'own', wallet, secret, kind, addressCount },
        wallet,
        deposit,
      };
      const rail = await openTestRail(describeConfig(node, account));
      await rail.pass();
      await node.fund(deposit, ['0.3', '0.4']);
      await node.mine(1);
      for (const amountMinor of [60_000_000n, 5_000_000n]) {
        const { address, instruction } = await bench.payTo(amountMinor);
        await rail.send(instruction);
        await rail.pass();
        assert.deepEqual(await bench.listAmounts(address), [amountMinor]);
        await node.mine(2);
        await rail.pass();
        await expectOutcome(rail, instruction, 'paid');
      }
      await rail.close();
    });
  }
});

describe('rejections', () => {
  test('a waiting payment can be canceled for good', async () => {
    const { rail } = await bench.open('own', ['1'], { batch: { waitSeconds: 60 } });
    const { address, instruction } = await bench.payTo(10_000_000n);
    await rail.send(instruction);
    await rail.pass();
    assert.deepEqual(await rail.cancel(instruction), { outcome: 'rejected', reason: 'cancelled' });
    rail.advanceMs(3_600_000);
    assert.equal((await rail.send(instruction)).outcome, 'rejected');
    await rail.pass();
    assert.deepEqual(await bench.listAmounts(address), []);
    await rail.close();
  });

  test('address of another network, dust, and a reused reference', async () => {
    const { rail } = await bench.open('own', ['1']);
    const conflicting = instruct('bc1qw508d6qejxtdg4y5r3zarvary0c5xw7kv8f3t4', 1_000_000n);
    assert.deepEqual(await rail.send(conflicting), {
      outcome: 'rejected',
      reason: 'invalid_details',
    });
    const { instruction } = await bench.payTo(1_000_000n);
    const dust = { ...instruct(instruction.attributes['BankAccountNumber'] ?? '', 2939n) };
    assert.deepEqual(await rail.send(dust), { outcome: 'rejected', reason: 'amount_refused' });
    await rail.send(instruction);
    const changed = await rail.send({ ...instruction, amountMinor: 2_000_000n });
    assert.deepEqual(changed, { outcome: 'unknown', reason: 'duplicate' });
    await rail.close();
  });

  test('the node accepts the smallest amounts for every kind of address', async () => {
    const { rail } = await bench.open('own', ['1'], { fees: { shareMaxBasisPoints: 10_000 } });
    const taproot = formatScript(
      litecoinRegtest,
      '512079be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798',
    );
    const scripts = await node.newAddress('p2sh-segwit');
    const orders = [
      instruct(await node.newAddress(), 2940n),
      instruct(taproot ?? '', 3300n),
      instruct(await node.newAddress('legacy'), 5460n),
      instruct(scripts, 5400n),
      instruct(await node.newAddress(), 60_000n),
    ];
    for (const order of orders) assert.equal((await rail.send(order)).outcome, 'accepted');
    await rail.pass();
    for (const { attributes, amountMinor } of orders) {
      assert.deepEqual(await bench.listAmounts(attributes['BankAccountNumber'] ?? ''), [
        amountMinor,
      ]);
    }
    for (const { attributes, amountMinor } of orders.slice(0, 4)) {
      const under = instruct(attributes['BankAccountNumber'] ?? '', amountMinor - 1n);
      assert.equal((await rail.send(under)).outcome, 'rejected');
    }
    await rail.close();
  });

  test('a node of another network is not used', async () => {
    const account = await openAccount(node, 'own');
    const secret = 'ff'.repeat(32);
    const rail = await openTestRail(
      describeConfig(node, account, {
        network: 'bitcoin',
        keys: { mode: 'own', wallet: account.wallet, secret },
      }),
    );
    const signal = new AbortController().signal;
    assert.deepEqual(await rail.calls.check?.({ signal }), [
      'the node does not follow bitcoin regtest',
    ]);
    assert.equal(await rail.pass(), undefined);
    await rail.close();
  });
});
