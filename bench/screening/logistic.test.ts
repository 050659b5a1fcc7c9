import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createChance } from './cases.ts';
import { addUp, fitLogistic, type Observation } from './logistic.ts';

test('the weights behind drawn outcomes are found', () => {
  const chance = createChance(1);
  const truth = [2, -1, 0.5];
  const observations = Array.from({ length: 20_000 }, (): Observation => {
    const features = [chance() * 2 - 1, chance() * 2 - 1];
    const probability = 1 / (1 + Math.exp(-addUp(features, truth)));
    return { features, isPositive: chance() < probability, weight: 1 };
  });
  const weights = fitLogistic(observations, 0);
  for (const [index, weight] of weights.entries()) {
    assert.ok(Math.abs(weight - (truth[index] ?? 0)) < 0.1, `${index}: ${weight}`);
  }
});

test('separable outcomes and a constant feature have finite weights', () => {
  const observations = [-2, -1, 1, 2].map((value) => ({
    features: [value, 3],
    isPositive: value > 0,
    weight: 1,
  }));
  const weights = fitLogistic(observations, 0.01);
  assert.ok(weights.every(Number.isFinite), String(weights));
  assert.ok((weights[0] ?? 0) > 0);
});

test('an observation of weight 2 counts as two', () => {
  const one = { features: [1], isPositive: true, weight: 1 };
  const other = { features: [0.5], isPositive: false, weight: 1 };
  const twice = fitLogistic([one, one, other, other], 0.1);
  const weighted = fitLogistic(
    [
      { ...one, weight: 2 },
      { ...other, weight: 2 },
    ],
    0.2,
  );
  for (const [index, weight] of twice.entries()) {
    assert.ok(Math.abs(weight - (weighted[index] ?? 0)) < 1e-6);
  }
});
