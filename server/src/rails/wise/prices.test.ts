import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { openHostGround } from '../../../testing/setups/rail.ts';
import { context, openWiseRail } from '../../../testing/setups/wise.ts';
import { getCurrency } from '../../core/currency.ts';
import { getAmountMinor } from '../../core/money.ts';
import { fitFee, type PricePoint } from './prices.ts';

const euro = getCurrency('EUR');

function readFee(points: readonly PricePoint[], amountMinor: bigint): bigint {
  const step = fitFee(points, 'EUR').find(
    ({ upTo }) => upTo === null || getAmountMinor(upTo, euro) >= amountMinor,
  );
  assert.ok(step !== undefined);
  const fixedMinor = step.fixed === '0' ? 0n : getAmountMinor(step.fixed, euro);
  return fixedMinor + (amountMinor * BigInt(step.basisPoints)) / 10_000n;
}

test('the fitted fee is never below a quoted one, even where fees fall', () => {
  const amounts = fc.uniqueArray(fc.bigInt(1n, 10_000_000n), { minLength: 1, maxLength: 5 });
  const fees = fc.array(fc.bigInt(0n, 100_000n), { minLength: 5, maxLength: 5 });
  fc.assert(
    fc.property(amounts, fees, (list, feeList) => {
      const points = list
        .toSorted((a, b) => Number(a - b))
        .map((amountMinor, index) => ({ amountMinor, feeMinor: feeList[index] ?? 0n }));
      for (const { amountMinor, feeMinor } of points) {
        assert.ok(readFee(points, amountMinor) >= feeMinor);
      }
    }),
  );
});

test('beyond the last quoted amount the fee keeps rising', () => {
  const points = [
    { amountMinor: 10_000n, feeMinor: 110n },
    { amountMinor: 100_000n, feeMinor: 650n },
  ];
  assert.equal(readFee(points, 5_000n), 110n);
  assert.equal(readFee(points, 100_000n), 650n);
  assert.equal(readFee(points, 1_000_000n), 6050n);
});

test('prices are never below a quoted fee', async (t) => {
  const ground = await openHostGround();
  t.after(() => ground.close());
  const subject = await openWiseRail(ground);
  t.after(() => subject.close());
  subject.wise.setPricing({ fixedMinor: 50n, basisPoints: 60n, worseBasisPoints: 0 });
  const prices = await subject.rail.readPrices?.(context);
  assert.equal(prices?.length, 3);
  const [price] = prices;
  assert.equal(price?.payerKey, 'wise-gb');
  assert.equal(price.rate, '0.846153');
  assert.equal(price.destinationCurrency, 'GBP');
  assert.equal(price.deliverySeconds, 3600);
  // Quoted: 1.10 for 98.90, 6.47 for 993.53, 60.14 for 9,939.86.
  assert.deepEqual(price.fee, [
    { upTo: '98.9', fixed: '1.1', basisPoints: 0 },
    { upTo: '993.53', fixed: '0.5', basisPoints: 61 },
    { upTo: '9939.86', fixed: '0.51', basisPoints: 60 },
    { upTo: null, fixed: '0.51', basisPoints: 60 },
  ]);
});
