import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Exploring, exploreNew } from '../../testing/interleavings/explore.ts';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';

/** In every order of a few events, a payout is paid once at most and ends, or a person is asked. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const cases: readonly Exploring[] = [
  { faults: { crash: 1, loss: 1, delay: 1 }, movesMax: 5 },
  { faults: { cancel: 1, delay: 1 }, movesMax: 5 },
  { faults: { failover: 1, echo: 1 }, movesMax: 5 },
  { faults: { contradiction: 1, decision: 1, return: 1 }, movesMax: 5 },
  { faults: { day: 1, decision: 1, loss: 1 }, movesMax: 5 },
  { faults: { freeze: 1, hold: 1, decision: 1 }, movesMax: 5 },
  { faults: { pickup: 1, amount: 1, part: 1, decision: 1 }, movesMax: 5 },
];

for (const exploring of cases) {
  test(`${Object.keys(exploring.faults).join(', ')}: ${exploring.movesMax} moves`, async (context) => {
    const { states, moves } = await exploreNew(money, exploring);
    assert.ok(states > 30, `${states} states`);
    context.diagnostic(`${states} states, ${moves} moves`);
  });
}

describe('a defect is found:', () => {
  const defects: readonly (Exploring & { name: string; fault: RegExp })[] = [
    {
      name: 'a contradiction opens no exception',
      faults: { contradiction: 1 },
      movesMax: 6,
      defect: {
        in: 'classify_observation',
        part: "then 'paid_after_refusal'",
        by: "then 'no_effect'",
      },
      fault: /payments of a CANCELLED payout/,
    },
    {
      name: 'a person may state an outcome while a process is about to send',
      faults: { decision: 1 },
      movesMax: 4,
      defect: { in: 'is_claimed', part: 'lease_until > clock_timestamp()', by: 'false' },
      fault: /refunded, and a payment lives/,
    },
    {
      name: 'a refund keeps the fee',
      faults: {},
      movesMax: 4,
      defect: {
        in: 'journal_lines',
        part: "('refund', 3, 'source', 'fees', 'wallet', 'fee', 0),",
        by: '',
      },
      fault: /the wallet of a payout that is CANCELLED/,
    },
  ];
  for (const { name, fault, ...exploring } of defects) {
    test(name, () => assert.rejects(exploreNew(money, exploring), fault));
  }
});
