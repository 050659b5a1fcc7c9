import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import fc from 'fast-check';
import type { Coin } from './coin-selection.ts';
import { createOwnKeys } from './keys.ts';
import { getNetwork } from './networks.ts';
import { findAnchors } from './records.ts';
import {
  assertTransaction,
  buildTransaction,
  formatUnsigned,
  type Output,
  readTransaction,
} from './transaction.ts';

const keys = createOwnKeys(getNetwork('litecoin', 'regtest'), {
  secret: '0f'.repeat(32),
  kind: 'wpkh',
  path: undefined,
  addressCount: 2,
});
const taproot = createOwnKeys(getNetwork('litecoin', 'regtest'), {
  secret: '0e'.repeat(32),
  kind: 'tr',
  path: undefined,
  addressCount: 2,
});

function makeCoin(number: number, amountMinor: bigint, script = keys.getDepositScript(0)): Coin {
  const txid = number.toString(16).padStart(64, '0');
  return { txid, vout: number % 5, amountMinor, script, kind: 'wpkh' };
}

const anyOutputs = fc.array(
  fc
    .tuple(fc.nat({ max: 255 }), fc.bigInt({ min: 3000n, max: 10n ** 9n }))
    .map(([byte, amountMinor]): Output => {
      return { script: `0014${byte.toString(16).padStart(2, '0').repeat(20)}`, amountMinor };
    }),
  { minLength: 1, maxLength: 10 },
);

type Plan = { coins: Coin[]; payments: Output[]; change: Output | undefined; rawHex: string };
const anyPlan = fc
  .record({
    payments: anyOutputs,
    hasChange: fc.boolean(),
    feeMinor: fc.bigInt({ min: 1n, max: 10_000n }),
    parts: fc.integer({ min: 1, max: 4 }),
  })
  .map(({ payments, hasChange, feeMinor, parts }): Plan => {
    const change = hasChange ? { script: keys.getChangeScript(0), amountMinor: 5000n } : undefined;
    const outputs = change === undefined ? payments : [...payments, change];
    const total = outputs.reduce((sum, { amountMinor }) => sum + amountMinor, feeMinor);
    const coins = Array.from({ length: parts }, (_, index) =>
      makeCoin(index + 1, index === 0 ? total - BigInt(parts - 1) * 100n : 100n),
    );
    const rawHex = formatUnsigned(buildTransaction(coins, outputs, keys));
    return { coins, payments, change, rawHex };
  });

describe('the last check of a transaction', () => {
  const feeMaxMinor = 10_000n;

  test('accepts the planned transaction, signed or not', () => {
    fc.assert(
      fc.property(anyPlan, ({ coins, payments, change, rawHex }) => {
        assertTransaction(rawHex, { coins, payments, change, feeMaxMinor });
        const outputs = change === undefined ? payments : [...payments, change];
        const transaction = buildTransaction(coins, outputs, keys);
        keys.sign(
          transaction,
          coins.map(({ script }) => script),
        );
        assertTransaction(transaction.hex, { coins, payments, change, feeMaxMinor });
        assert.equal(readTransaction(transaction.hex).txid, readTransaction(rawHex).txid);
      }),
      { numRuns: 30 },
    );
  });

  test('refuses any other amount, destination, number of outputs, coin or fee', () => {
    fc.assert(
      fc.property(anyPlan, fc.nat(), ({ coins, payments, change, rawHex }, place) => {
        const expected = { coins, payments, change, feeMaxMinor };
        const index = place % payments.length;
        const replace = (edit: (output: Output) => Output): Output[] =>
          payments.map((output, at) => (at === index ? edit(output) : output));
        const others = [
          {
            ...expected,
            payments: replace((one) => ({ ...one, amountMinor: one.amountMinor + 1n })),
          },
          {
            ...expected,
            payments: replace((one) => ({ ...one, script: `0014${'fe'.repeat(19)}00` })),
          },
          { ...expected, payments: payments.filter((_, at) => at !== index) },
          { ...expected, payments: [...payments, ...payments.slice(index, index + 1)] },
          { ...expected, coins: coins.slice(1) },
          { ...expected, coins: [...coins.slice(1), makeCoin(99, coins[0]?.amountMinor ?? 0n)] },
          {
            ...expected,
            coins: coins.map((coin) => ({ ...coin, amountMinor: coin.amountMinor - 10_000n })),
          },
          { ...expected, feeMaxMinor: 0n },
        ];
        for (const other of others) assert.throws(() => assertTransaction(rawHex, other));
      }),
      { numRuns: 50 },
    );
  });
});

describe('signing', () => {
  test('works for P2WPKH and Taproot keys and not for coins of others', () => {
    for (const owner of [keys, taproot]) {
      const script = owner.getDepositScript(1);
      const coin = makeCoin(1, 50_000n, script);
      const transaction = buildTransaction([coin], [{ script, amountMinor: 40_000n }], owner);
      owner.sign(transaction, [script]);
      assert.ok(transaction.isFinal);
    }
    const conflicting = taproot.getDepositScript(0);
    const coin = makeCoin(1, 50_000n, conflicting);
    const transaction = buildTransaction(
      [coin],
      [{ script: conflicting, amountMinor: 40_000n }],
      keys,
    );
    assert.throws(() => keys.sign(transaction, [conflicting]));
  });
});

describe('anchors of a replacement set', () => {
  test('are the coins that every version spends', () => {
    const numbers = fc.uniqueArray(fc.nat({ max: 8 }), { minLength: 1 });
    fc.assert(
      fc.property(fc.array(numbers, { minLength: 1, maxLength: 5 }), (sets) => {
        const versions = sets.map((set) => ({ coins: set.map((number) => makeCoin(number, 1n)) }));
        const anchors = findAnchors(versions).map(({ txid }) => Number.parseInt(txid, 16));
        const [first = []] = sets;
        const wanted = first.filter((number) => sets.every((set) => set.includes(number)));
        assert.deepEqual(anchors, wanted);
      }),
    );
  });
});
