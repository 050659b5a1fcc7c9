import assert from 'node:assert/strict';
import type { Payment } from './driver.ts';
import { hasExpectedOutcome } from './round.ts';
import type { Capability, ExpectedOutcome } from './subject.ts';
import type { TestRun } from './test-run.ts';

/** A row of the scorecard. */
export type Case = {
  readonly name: string;
  /** All of these it takes; what is missing makes it not applicable. */
  readonly needs: readonly Capability[];
  /** One of these it takes, if any are named. */
  readonly needsOne?: readonly Capability[];
  /** Answers how many runs it took. */
  run(stage: TestStage): Promise<number>;
};

export type TestStage = {
  readonly stepsMax: number;
  readonly exchangesMax: number;
  readonly callMsMax: number;
  readonly booking: RegExp | undefined;
  supports(capability: Capability): boolean;
  /** A world of its own, closed at the end. */
  runInTestRun<T>(run: (testRun: TestRun) => Promise<T>): Promise<T>;
};

/** The counterparty's word against what was heard: nothing twice, nothing otherwise than it says. */
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
      assert.equal(standing, expectedOutcome, `ended otherwise than its expectedOutcome: ${story}`);
    const expected = standing === 'rejected' ? [] : [instruction.amountMinor];
    assert.deepEqual(amounts, expected, `${standing}, and the counterparty says: ${story}`);
  }
}

/** Drives what is there to its end, waits for what might follow, and judges. */
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
    name: 'a payment is made once and ends as paid',
    needs: [],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        await finish(testRun, actor, [await testRun.instruct()]);
        return 1;
      }),
  },
  {
    name: 'twenty payments at once are made once each',
    needs: [],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        const payments = [];
        for (let count = 0; count < 20; count += 1) payments.push(await testRun.instruct());
        await Promise.all(payments.map((payment) => testRun.driver.callNext(payment, actor)));
        await finish(testRun, actor, payments);
        return payments.length;
      }),
  },
  {
    name: 'sent twice, one after the other, it is one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: false, areTwoInstances: false }),
  },
  {
    name: 'sent twice at the same moment it is one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: true, areTwoInstances: false }),
  },
  {
    name: 'sent by two instances at once it is one payment',
    needs: [],
    run: (stage) => sendTwice(stage, { areTogether: true, areTwoInstances: true }),
  },
  {
    name: 'what was never sent is not said to be under way',
    needs: ['books'],
    run: (stage) =>
      stage.runInTestRun(async (testRun) => {
        const actor = await start(testRun);
        const payment = await testRun.instruct();
        const answer = await testRun.driver.call('query', payment, actor);
        assert.ok(typeof answer === 'object', 'the query gave no answer');
        assert.ok(['retry', 'unknown'].includes(answer.outcome), `it is ${answer.outcome}`);
        await testRun.runExtraRounds(actor);
        assert.deepEqual(await testRun.counterparty.payments(payment.instruction), []);
        await finish(testRun, actor, [payment]);
        return 1;
      }),
  },
  ...(['paid', 'rejected', 'returned'] as const).map(makeForEverCase),
  {
    name: 'cancelled as soon as it is sent, it is never paid or it is paid',
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
    name: 'cancelled too late it stays paid; cancelled before it is sent it stays cancelled',
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
  const runs = how.areTogether ? 5 : 1;
  await stage.runInTestRun(async (testRun) => {
    const first = await start(testRun);
    const second = how.areTwoInstances ? await testRun.openActor() : first;
    for (let run = 0; run < runs; run += 1) {
      const payment = await testRun.instruct();
      const send = (actor: typeof first) => testRun.driver.call('send', payment, actor);
      if (how.areTogether) {
        // Nobody hears what they say: it counts as unknown, and is asked about.
        await Promise.all([send(first), send(second), send(first)]);
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

/** A pass outside of the rounds, as of a process that woke up beside another one. */
export async function pass({ rail }: Parameters<TestRun['drive']>[0]): Promise<void> {
  // What it throws is for the log.
  await rail.work?.({ signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
}

function makeForEverCase(expectedOutcome: ExpectedOutcome): Case {
  const needs: Record<ExpectedOutcome, readonly Capability[]> = {
    paid: [],
    rejected: ['rejection'],
    returned: ['return'],
  };
  return {
    name: `once ${expectedOutcome}, it is not paid again, however often it is sent`,
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

async function cancelOutOfTime(testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  const paid = await testRun.instruct();
  await finish(testRun, actor, [paid]);
  const late = await testRun.driver.call('cancel', paid, actor);
  assert.ok(typeof late === 'object' && late.outcome !== 'rejected', 'what was paid is paid');
  await testRun.driver.apply(paid, late);
  await assertPayments(testRun, [paid]);

  const unsent = await testRun.instruct();
  const early = await testRun.driver.call('cancel', unsent, actor);
  assert.ok(typeof early === 'object', 'the cancellation gave no answer');
  await testRun.driver.apply(unsent, early);
  if (!hasExpectedOutcome(unsent)) {
    // It was not promised that it never will be paid.
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
