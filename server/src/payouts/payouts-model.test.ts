import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { fundBalance } from '../ledger/ledger.ts';

/** Random histories, held against a model of a few lines. */

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

/** What the service should do, in a few lines: the model that random histories are held against. */
type Model = {
  wallet: bigint;
  nowMs: number;
  payouts: {
    id: string;
    cost: bigint;
    fee: bigint;
    status: string;
    expiresAtMs: number;
    transfer: number;
  }[];
};

const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('quote' as const),
      source: fc.integer({ min: 1, max: 90_000 }),
      fee: fc.integer({ min: 0, max: 500 }),
      transfer: fc.integer({ min: 0, max: 5 }),
    }),
  },
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('commit' as const), index: fc.nat(20) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('observe' as const),
      index: fc.nat(20),
      outcome: fc.constantFrom(
        'paid',
        'rejected',
        'returned',
        'ready_for_pickup',
        'unknown',
        'hold',
        'accepted',
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('fund' as const),
      amount: fc.integer({ min: 0, max: 100_000 }),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('clock' as const),
      seconds: fc.integer({ min: 0, max: 600 }),
    }),
  },
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

const moves: Record<string, Record<string, string>> = {
  PROCESSING: {
    paid: 'COMPLETED',
    rejected: 'CANCELLED',
    returned: 'CANCELLED',
    ready_for_pickup: 'READY_FOR_PICKUP',
    unknown: 'PROCESSING',
    hold: 'HOLD',
    accepted: 'PROCESSING',
  },
  READY_FOR_PICKUP: {
    paid: 'COMPLETED',
    rejected: 'CANCELLED',
    returned: 'CANCELLED',
    unknown: 'READY_FOR_PICKUP',
    accepted: 'READY_FOR_PICKUP',
  },
  HOLD: {
    paid: 'COMPLETED',
    rejected: 'CANCELLED',
    returned: 'CANCELLED',
    ready_for_pickup: 'READY_FOR_PICKUP',
    unknown: 'HOLD',
    accepted: 'PROCESSING',
  },
  COMPLETED: { returned: 'CANCELLED' },
};

function decideCommit(model: Model, payout: Model['payouts'][number]): string {
  if (payout.status === 'CANCELLED') return 'ended';
  if (payout.status !== 'PENDING') return 'success';
  if (model.nowMs >= payout.expiresAtMs) return 'ex_rate_expired';
  const isTaken = model.payouts.some(
    (one) => one.transfer === payout.transfer && one.status !== 'PENDING',
  );
  if (isTaken) return 'duplicate';
  return payout.cost > model.wallet ? 'insufficient_funds' : 'success';
}

async function runStep(
  owner: { accountId: string; userId: string },
  model: Model,
  one: Step,
): Promise<void> {
  if (one.kind === 'fund') {
    await fundBalance(money.db.system, {
      ...owner,
      currency: 'USD',
      amountMinor: BigInt(one.amount),
    });
    model.wallet += BigInt(one.amount);
  } else if (one.kind === 'clock') {
    await money.advance(one.seconds * 1000);
    model.nowMs += one.seconds * 1000;
  } else if (one.kind === 'quote') {
    const source = BigInt(one.source);
    const fee = BigInt(one.fee);
    // Half a minute away from every stop of the model's clock, so that the real tick decides nothing.
    const made = await money.quote(owner, {
      sourceMinor: source,
      feeMinor: fee,
      destinationMinor: source * 18n,
      lockSeconds: 630,
      clientTransferId: `transfer-${one.transfer}`,
    });
    model.payouts.push({
      id: made.id,
      cost: source + fee,
      fee,
      status: 'PENDING',
      expiresAtMs: model.nowMs + 615_000,
      transfer: one.transfer,
    });
  } else {
    const payout = model.payouts[one.index % Math.max(1, model.payouts.length)];
    if (payout === undefined) return;
    if (one.kind === 'commit') {
      const expected = decideCommit(model, payout);
      assert.equal((await money.commit(owner, payout.id)).result, expected);
      if (expected === 'success' && payout.status === 'PENDING') {
        payout.status = 'PROCESSING';
        model.wallet -= payout.cost;
      }
    } else {
      const next = moves[payout.status]?.[one.outcome];
      const result = await money.observe({ ...owner, payoutId: payout.id }, one.outcome);
      assert.equal(
        result,
        next === undefined ? 'illegal' : 'applied',
        `${payout.status} ${one.outcome}`,
      );
      if (next === undefined) return;
      if (next === 'CANCELLED')
        model.wallet += payout.cost - (one.outcome === 'returned' ? payout.fee : 0n);
      payout.status = next;
    }
  }
}

test('every history of quotes, commits, funding, outcomes and clock moves agrees with the model', async () => {
  // Stops of the clock are whole multiples of 30 s: no quote ends within 15 s of one.
  const history = fc
    .array(step, { minLength: 5, maxLength: 40 })
    .map((steps) =>
      steps.map((one) =>
        one.kind === 'clock' ? { ...one, seconds: one.seconds - (one.seconds % 30) } : one,
      ),
    );
  await fc.assert(
    fc.asyncProperty(history, async (steps) => {
      const owner = await money.createOwner();
      const model: Model = { wallet: 0n, nowMs: 0, payouts: [] };
      for (const one of steps) {
        await runStep(owner, model, one);
        assert.equal(await money.balance(owner.accountId, 'USD'), model.wallet);
      }
      for (const payout of model.payouts) {
        assert.equal((await money.payout(payout.id)).status, payout.status);
      }
      await money.assertSound();
    }),
    { numRuns: 30 },
  );
});
