import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { type Coin, type SelectionTask, selectCoins } from './coin-selection.ts';
import { getFeeMinor } from './fees.ts';

const script = `0014${'11'.repeat(20)}`;

function makeCoins(amounts: readonly bigint[], kind: Coin['kind'] = 'wpkh'): Coin[] {
  return amounts.map((amountMinor, vout) => ({
    txid: 'ab'.repeat(32),
    vout,
    amountMinor,
    script,
    kind,
  }));
}

function makeTask(parts: Partial<SelectionTask>): SelectionTask {
  return {
    coins: [],
    mustSpend: [],
    payments: [],
    changeScript: script,
    changeKind: 'wpkh',
    dustMinor: 294n,
    rate: 10_000n,
    feeMin: () => 0n,
    inputsMax: 200,
    consolidation: { rate: 0n, inputs: 0 },
    ...parts,
  };
}

function sum(entries: readonly { amountMinor: bigint }[]): bigint {
  return entries.reduce((total, { amountMinor }) => total + amountMinor, 0n);
}

const amount = fc.bigInt({ min: 300n, max: 10n ** 10n });
const anyTask = fc
  .record({
    coins: fc.array(amount, { maxLength: 40 }),
    kept: fc.array(amount, { maxLength: 3 }),
    paid: fc.array(amount, { minLength: 1, maxLength: 20 }),
    rate: fc.bigInt({ min: 1n, max: 500_000n }),
    cheapRate: fc.bigInt({ min: 0n, max: 500_000n }),
    swept: fc.integer({ min: 0, max: 20 }),
    feeMin: fc.bigInt({ min: 0n, max: 100_000n }),
  })
  .map(({ coins, kept, paid, rate, cheapRate, swept, feeMin }) => {
    const all = makeCoins([...kept, ...coins]);
    return makeTask({
      mustSpend: all.slice(0, kept.length),
      coins: all.slice(kept.length),
      payments: paid.map((amountMinor) => ({ script, amountMinor })),
      rate,
      consolidation: { rate: cheapRate, inputs: swept },
      feeMin: () => feeMin,
    });
  });

test('a selection pays exactly, reaches the rate and spends no coin twice', () => {
  fc.assert(
    fc.property(anyTask, (task) => {
      const selection = selectCoins(task);
      if (selection === undefined) return;
      const { coins, feeMinor, changeMinor, weight } = selection;
      assert.equal(sum(coins), sum(task.payments) + feeMinor + changeMinor);
      assert.ok(feeMinor >= getFeeMinor(weight, task.rate), 'the rate is reached');
      assert.ok(feeMinor >= task.feeMin(weight), 'a replacement pays what it must');
      assert.ok(changeMinor === 0n || changeMinor >= task.dustMinor, 'no dust');
      assert.equal(new Set(coins.map(({ vout }) => vout)).size, coins.length);
      for (const coin of task.mustSpend) assert.ok(coins.includes(coin));
      assert.ok(coins.length <= Math.max(task.inputsMax, task.mustSpend.length));
    }),
    { numRuns: 300 },
  );
});

test('nothing is selected only for insufficient funds', () => {
  fc.assert(
    fc.property(anyTask, (task) => {
      if (selectCoins(task) !== undefined) return;
      const every = [...task.mustSpend, ...task.coins];
      const worth = every.reduce(
        (total, coin) => total + coin.amountMinor - getFeeMinor(273, task.rate),
        0n,
      );
      const useful = task.coins.filter((coin) => coin.amountMinor <= getFeeMinor(273, task.rate));
      // Without coins that cost more than they are worth.
      const best = worth - useful.reduce((all, { amountMinor }) => all + amountMinor, 0n);
      const frame = getFeeMinor(58 + task.payments.length * 124, task.rate);
      const least = task.feeMin(0);
      const slack = BigInt(useful.length) * getFeeMinor(273, task.rate) + BigInt(every.length) + 2n;
      assert.ok(best < sum(task.payments) + frame + least + slack);
    }),
    { numRuns: 300 },
  );
});

test('coins that match exactly are selected without change', () => {
  // Two units for rounding the fee of each coin.
  const fee = getFeeMinor(58 + 124 + 2 * 273, 10_000n) + 2n;
  const selection = selectCoins(
    makeTask({
      coins: makeCoins([900_000n, 70_000n + fee, 30_000n, 5000n]),
      payments: [{ script, amountMinor: 100_000n }],
    }),
  );
  assert.deepEqual(
    selection?.coins.map(({ amountMinor }) => amountMinor),
    [70_000n + fee, 30_000n],
  );
  assert.equal(selection?.changeMinor, 0n);
});

test('small coins are consolidated while fees are low, up to the limit', () => {
  const coins = makeCoins([10_000_000n, ...Array.from({ length: 50 }, () => 5000n)]);
  const payments = [{ script, amountMinor: 1_000_000n }];
  const consolidation = { rate: 2000n, inputs: 10 };
  const swept = selectCoins(makeTask({ coins, payments, rate: 1000n, consolidation }));
  assert.equal(swept?.coins.length, 10);
  const highRate = selectCoins(makeTask({ coins, payments, rate: 3000n, consolidation }));
  assert.equal(highRate?.coins.length, 1);
});

test('a coin that costs more than it is worth is not selected', () => {
  const task = makeTask({
    coins: makeCoins([600n, 700n, 650n]),
    payments: [{ script, amountMinor: 300n }],
  });
  assert.equal(selectCoins(task), undefined);
});

test('the search ends in time with many coins and no exact set', () => {
  const amounts = Array.from({ length: 2000 }, (_, index) => 1_000_003n + BigInt(index * 7919));
  const selection = selectCoins(
    makeTask({ coins: makeCoins(amounts), payments: [{ script, amountMinor: 77_777_777n }] }),
  );
  assert.ok((selection?.coins.length ?? 0) > 0);
});
