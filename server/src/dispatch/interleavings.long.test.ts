import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Exploring, exploreNew } from '../../testing/interleavings/explore.ts';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';

/** As interleavings.test.ts, with more moves, and defects that only those find. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const cases: readonly Exploring[] = [
  { faults: { crash: 1, loss: 1, delay: 1, cancel: 1 }, movesMax: 7 },
  { faults: { failover: 1, echo: 1, cancel: 1 }, movesMax: 7 },
  { faults: { contradiction: 1, decision: 2, failover: 1 }, movesMax: 7 },
  { faults: { contradiction: 1, decision: 2, return: 1, echo: 1 }, movesMax: 7 },
  { faults: { day: 2, delay: 1, cancel: 1, decision: 2 }, movesMax: 7 },
  { faults: { return: 1, repeat: 1, decision: 1, loss: 1 }, movesMax: 7 },
  { faults: { freeze: 2, hold: 1, decision: 1, cancel: 1, crash: 1 }, movesMax: 7 },
  { faults: { pickup: 1, amount: 1, part: 2, echo: 1, decision: 1 }, movesMax: 7 },
];

for (const exploring of cases) {
  test(`${Object.keys(exploring.faults).join(', ')}: ${exploring.movesMax} moves`, async (context) => {
    const { states, moves } = await exploreNew(money, exploring);
    assert.ok(states > 500, `${states} states`);
    context.diagnostic(`${states} states, ${moves} moves`);
  });
}

describe('a defect is found:', () => {
  const defects: readonly (Exploring & { name: string; fault: RegExp })[] = [
    {
      name: 'the answer to an outdated claim counts',
      faults: { cancel: 1, delay: 1, loss: 1 },
      movesMax: 9,
      defect: {
        in: 'classify_observations',
        part: 'q.fence is distinct from r.fence as is_stale',
        by: 'false as is_stale',
      },
      fault: /refunded, and a payment lives/,
    },
    {
      name: 'a late rejection of an earlier payer counts',
      faults: { failover: 1, echo: 1 },
      movesMax: 8,
      defect: { in: 'classify_observation', part: "when p_is_past then 'no_effect'", by: '' },
      fault: /payment/,
    },
  ];
  for (const { name, fault, ...exploring } of defects) {
    test(name, () => assert.rejects(exploreNew(money, exploring), fault));
  }
});
