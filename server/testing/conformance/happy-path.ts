import assert from 'node:assert/strict';
import type { RailAnswer } from '../../src/rails/contract/contract.ts';
import type { Caller, Payment } from './driver.ts';
import { hasExpectedOutcome } from './round.ts';
import type { Capability, ExpectedOutcome } from './subject.ts';
import type { TestRun } from './test-run.ts';

/** A row of the scorecard. */
export type Case = {
  readonly name: string;
  /** All of these are required; without one the case is not applicable. */
  readonly needs: readonly Capability[];
  /** At least one of these is required, if any are named. */
  readonly needsOne?: readonly Capability[];
  /** It repeats at length what others show, and runs in the long form only. */
  readonly isLong?: boolean;
  /** Returns the number of runs. */
  run(stage: TestStage): Promise<number>;
};

export type TestStage = {
  readonly stepsMax: number;
  /** The walks share the steps among them, and what is repeated is repeated less. */
  readonly isShort: boolean;
  readonly exchangesMax: number;
  readonly callMsMax: number;
  readonly booking: RegExp | undefined;
  supports(capability: Capability): boolean;
  /** Runs in a test run of its own, closed at the end. */
  runInTestRun<T>(run: (testRun: TestRun) => Promise<T>): Promise<T>;
};

/** Compares the counterparty's own record with the payout: nothing paid twice, the same outcome. */
export async function assertPayments(
  testRun: TestRun,
  payments: readonly Payment[],
  options: { readonly mayBeRefused?: boolean } = {},
): Promise<void> {
  for (const payment of payments) {
    const { instruction, expectedOutcome, standing, contradictions, history } = payment;
    const story = history.slice(-20).join(', ');
    const amounts = await testRun.counterparty.payments(instruction);
    assert.ok(amounts.length <= 1, `paid ${amounts.length} times: ${story}`);
    assert.deepEqual(contradictions, [], story);
    const isRefused = standing === 'rejected' && options.mayBeRefused === true;
    if (!isRefused)
      assert.equal(
        standing,
        expectedOutcome,
        `expected ${expectedOutcome}, is ${standing}: ${story}`,
      );
    const expected = standing === 'rejected' ? [] : [instruction.amountMinor];
    assert.deepEqual(amounts, expected, `${standing}, but the counterparty booked: ${story}`);
  }
}

/** Drives the payments to their ends, runs extra rounds, and compares with the counterparty's record. */
export async function finish(
  testRun: TestRun,
  actor: Parameters<TestRun['drive']>[0],
  payments: readonly Payment[],
): Promise<void> {
  assert.equal(await testRun.drive(actor, payments), 'ended');
  await testRun.runExtraRounds(actor);
  await assertPayments(testRun, payments);
}

export const happyPathCases: readonly Case[] = [
  {
    name: 'a payment is made once and is paid',
    needs: [],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        await finish(testRun, actor, [await testRun.instruct()]);
        return 1;
      }),
  },
  {
    name: 'concurrent payments are made once each',
    needs: [],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        const payments = [];
        for (let count = 0; count < (stage.isShort ? 8 : 20); count += 1)
          payments.push(await testRun.instruct());
        await Promise.all(payments.map((payment) => testRun.driver.callNext(payment, actor)));
        await finish(testRun, actor, payments);
        return payments.length;
      }),
  },
  {
    name: 'two sends of a reference in sequence are one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: false, areTwoInstances: false }),
  },
  {
    name: 'concurrent sends of a reference are one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: true, areTwoInstances: false }),
  },
  {
    name: 'concurrent sends by two instances are one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: true, areTwoInstances: true }),
  },
  {
    name: 'a query of a reference that was never sent does not report it in flight',
    needs: ['books'],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        const payment = await testRun.instruct();
        const answer = await askUntilAnswered(testRun, 'query', { payment, caller: actor });
        assert.ok(['retry', 'unknown'].includes(answer.outcome), `it is ${answer.outcome}`);
        await testRun.runExtraRounds(actor);
        assert.deepEqual(await testRun.counterparty.payments(payment.instruction), []);
        await finish(testRun, actor, [payment]);
        return 1;
      }),
  },
  ...(['paid', 'rejected', 'returned'] as const).map(makeForEverCase),
  {
    name: 'a payment canceled right after its send is either paid or never paid',
    needs: ['cancellation'],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        const payments = [await testRun.instruct(), await testRun.instruct()];
        for (const payment of payments) await testRun.driver.callNext(payment, actor);
        const [first] = payments;
        assert.ok(first !== undefined);
        const answer = await testRun.driver.call('cancel', first, actor);
        if (typeof answer === 'object') await testRun.driver.apply(first, answer);
        await testRun.drive(actor, payments);
        await testRun.runExtraRounds(actor);
        await assertPayments(testRun, payments, { mayBeRefused: true });
        assert.equal(payments[1]?.standing, 'paid', 'the other one is paid');
        return 1;
      }),
  },
  {
    name: 'a late cancel leaves a payment paid; a cancel before the send is final',
    needs: ['cancellation'],
    run: (stage) => stage.runInTestRun(cancelOutOfTime),
  },
];

export async function start(testRun: TestRun): ReturnType<TestRun['openActor']> {
  const actor = await testRun.openActor();
  testRun.listen(actor);
  return actor;
}

async function sendTwice(
  stage: TestStage,
  how: { areTogether: boolean; areTwoInstances: boolean },
): Promise<number> {
  const times = stage.isShort ? 2 : 5;
  const runs = how.areTogether ? times : 1;
  await stage.runInTestRun(async (testRun) => {
    const first = await start(testRun);
    const second = how.areTwoInstances ? await testRun.openActor() : first;
    for (let run = 0; run < runs; run += 1) {
      const payment = await testRun.instruct();
      const send = (actor: typeof first) => testRun.driver.call('send', payment, actor);
      if (how.areTogether) {
        // The answers are lost: the outcome counts as unknown, and is queried.
        await testRun.interleaving.readBeforeWrites(3, () =>
          Promise.all([send(first), send(second), send(first)]),
        );
        if (how.areTwoInstances) await Promise.all([pass(first), pass(second)]);
      } else {
        await send(first);
        await send(first);
      }
      await testRun.driver.apply(payment, { outcome: 'unknown', reason: 'no_answer' });
      payment.dueAtMs = testRun.nowMs();
      await finish(testRun, second, [payment]);
    }
  });
  return runs;
}

/** A pass outside of the rounds, as of a process that resumed beside another one. */
export async function pass({ rail }: Parameters<TestRun['drive']>[0]): Promise<void> {
  // The service logs what a pass throws.
  await rail.work?.({ signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
}

function makeForEverCase(expectedOutcome: ExpectedOutcome): Case {
  const needs: Record<ExpectedOutcome, readonly Capability[]> = {
    paid: [],
    rejected: ['rejection'],
    returned: ['return'],
  };
  return {
    name: `a payment that is ${expectedOutcome} is not paid again by another send`,
    needs: needs[expectedOutcome],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        let actor = await start(testRun);
        const payment = await testRun.instruct(expectedOutcome);
        await finish(testRun, actor, [payment]);
        for (const isNew of [false, true]) {
          if (isNew) actor = await start(testRun);
          const answer = await testRun.driver.call('send', payment, actor);
          if (typeof answer === 'object') await testRun.driver.apply(payment, answer);
          await testRun.runExtraRounds(actor);
          await assertPayments(testRun, [payment]);
        }
        return 2;
      }),
  };
}

/** Until it is answered in time: a busy machine can be late, and the service or an operator asks again. */
async function askUntilAnswered(
  testRun: TestRun,
  kind: 'query' | 'cancel',
  { payment, caller }: { payment: Payment; caller: Caller },
): Promise<RailAnswer> {
  for (let time = 0; time < 10; time += 1) {
    const answer = await testRun.driver.call(kind, payment, caller);
    if (typeof answer === 'object') return answer;
  }
  assert.fail(`the ${kind} returned no answer`);
}

async function cancelOutOfTime(testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  const paid = await testRun.instruct();
  await finish(testRun, actor, [paid]);
  const late = await askUntilAnswered(testRun, 'cancel', { payment: paid, caller: actor });
  assert.notEqual(late.outcome, 'rejected', 'a paid payment must not be rejected');
  await testRun.driver.apply(paid, late);
  await assertPayments(testRun, [paid]);

  const unsent = await testRun.instruct();
  const early = await askUntilAnswered(testRun, 'cancel', { payment: unsent, caller: actor });
  await testRun.driver.apply(unsent, early);
  if (!hasExpectedOutcome(unsent)) {
    // The answer did not exclude that it will be paid.
    unsent.dueAtMs = testRun.nowMs();
    await finish(testRun, actor, [unsent]);
    return 2;
  }
  const answer = await testRun.driver.call('send', unsent, actor);
  if (typeof answer === 'object') await testRun.driver.apply(unsent, answer);
  await testRun.runExtraRounds(actor);
  await assertPayments(testRun, [unsent], { mayBeRefused: true });
  return 2;
}
