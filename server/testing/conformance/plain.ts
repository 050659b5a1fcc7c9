import assert from 'node:assert/strict';
import type { Payment } from './driver.ts';
import { hasMetFate } from './round.ts';
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
  run(stage: Stage): Promise<number>;
};

export type Stage = {
  readonly stepsMax: number;
  /** The walks share the steps among them, and what is repeated is repeated less. */
  readonly isShort: boolean;
  readonly exchangesMax: number;
  readonly callMsMax: number;
  readonly booking: RegExp | undefined;
  can(ability: Capability): boolean;
  /** A world of its own, closed at the end. */
  within<T>(run: (scene: TestRun) => Promise<T>): Promise<T>;
};

/** The counterpart's word against what was heard: nothing twice, nothing otherwise than it says. */
export async function judge(
  scene: TestRun,
  payments: readonly Payment[],
  options: { readonly mayBeRefused?: boolean } = {},
): Promise<void> {
  for (const payment of payments) {
    const { instruction, fate, standing, contradictions, history } = payment;
    const story = history.slice(-20).join(', ');
    const amounts = await scene.counterpart.payments(instruction);
    assert.ok(amounts.length <= 1, `paid ${amounts.length} times: ${story}`);
    assert.deepEqual(contradictions, [], story);
    const isRefused = standing === 'rejected' && options.mayBeRefused === true;
    if (!isRefused) assert.equal(standing, fate, `ended otherwise than its fate: ${story}`);
    const expected = standing === 'rejected' ? [] : [instruction.amountMinor];
    assert.deepEqual(amounts, expected, `${standing}, and the counterpart says: ${story}`);
  }
}

/** Drives what is there to its end, waits for what might follow, and judges. */
export async function finish(
  scene: TestRun,
  actor: Parameters<TestRun['drive']>[0],
  payments: readonly Payment[],
): Promise<void> {
  assert.equal(await scene.drive(actor, payments), 'ended');
  await scene.linger(actor);
  await judge(scene, payments);
}

export const plainCases: readonly Case[] = [
  {
    name: 'a payment is made once and ends as paid',
    needs: [],
    run: (stage) =>
      stage.within(async (scene) => {
        const actor = await start(scene);
        await finish(scene, actor, [await scene.instruct()]);
        return 1;
      }),
  },
  {
    name: 'twenty payments at once are made once each',
    needs: [],
    run: (stage) =>
      stage.within(async (scene) => {
        const actor = await start(scene);
        const payments = [];
        for (let count = 0; count < 20; count += 1) payments.push(await scene.instruct());
        await Promise.all(payments.map((payment) => scene.driver.ask(payment, actor)));
        await finish(scene, actor, payments);
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
      stage.within(async (scene) => {
        const actor = await start(scene);
        const payment = await scene.instruct();
        const answer = await scene.driver.call('query', payment, actor);
        assert.ok(typeof answer === 'object', 'the query gave no answer');
        assert.ok(['retry', 'unknown'].includes(answer.outcome), `it is ${answer.outcome}`);
        await scene.linger(actor);
        assert.deepEqual(await scene.counterpart.payments(payment.instruction), []);
        await finish(scene, actor, [payment]);
        return 1;
      }),
  },
  ...(['paid', 'rejected', 'returned'] as const).map(makeForEverCase),
  {
    name: 'cancelled as soon as it is sent, it is never paid or it is paid',
    needs: ['cancellation'],
    run: (stage) =>
      stage.within(async (scene) => {
        const actor = await start(scene);
        const payments = [await scene.instruct(), await scene.instruct()];
        for (const payment of payments) await scene.driver.ask(payment, actor);
        const [first] = payments;
        assert.ok(first !== undefined);
        const answer = await scene.driver.call('cancel', first, actor);
        if (typeof answer === 'object') await scene.driver.apply(first, answer);
        await scene.drive(actor, payments);
        await scene.linger(actor);
        await judge(scene, payments, { mayBeRefused: true });
        assert.equal(payments[1]?.standing, 'paid', 'the other one is paid');
        return 1;
      }),
  },
  {
    name: 'cancelled too late it stays paid; cancelled before it is sent it stays cancelled',
    needs: ['cancellation'],
    run: (stage) => stage.within(cancelOutOfTime),
  },
];

export async function start(scene: TestRun): ReturnType<TestRun['openActor']> {
  const actor = await scene.openActor();
  scene.listen(actor);
  return actor;
}

async function sendTwice(
  stage: Stage,
  how: { areTogether: boolean; areTwoInstances: boolean },
): Promise<number> {
  const times = stage.isShort ? 2 : 5;
  const runs = how.areTogether ? times : 1;
  await stage.within(async (scene) => {
    const first = await start(scene);
    const second = how.areTwoInstances ? await scene.openActor() : first;
    for (let run = 0; run < runs; run += 1) {
      const payment = await scene.instruct();
      const send = (actor: typeof first) => scene.driver.call('send', payment, actor);
      if (how.areTogether) {
        // Nobody hears what they say: it counts as unknown, and is asked about.
        await Promise.all([send(first), send(second), send(first)]);
        if (how.areTwoInstances) await Promise.all([pass(first), pass(second)]);
      } else {
        await send(first);
        await send(first);
      }
      await scene.driver.apply(payment, { outcome: 'unknown', reason: 'no_answer' });
      payment.dueAtMs = scene.nowMs();
      await finish(scene, second, [payment]);
    }
  });
  return runs;
}

/** A pass outside of the rounds, as of a process that woke up beside another one. */
export async function pass({ rail }: Parameters<TestRun['drive']>[0]): Promise<void> {
  // What it throws is for the log.
  await rail.work?.({ signal: AbortSignal.timeout(5_000) }).catch(() => undefined);
}

function makeForEverCase(fate: ExpectedOutcome): Case {
  const needs: Record<ExpectedOutcome, readonly Capability[]> = {
    paid: [],
    rejected: ['rejection'],
    returned: ['return'],
  };
  return {
    name: `once ${fate}, it is not paid again, however often it is sent`,
    needs: needs[fate],
    run: (stage) =>
      stage.within(async (scene) => {
        let actor = await start(scene);
        const payment = await scene.instruct(fate);
        await finish(scene, actor, [payment]);
        for (const isNew of [false, true]) {
          if (isNew) actor = await start(scene);
          const answer = await scene.driver.call('send', payment, actor);
          if (typeof answer === 'object') await scene.driver.apply(payment, answer);
          await scene.linger(actor);
          await judge(scene, [payment]);
        }
        return 2;
      }),
  };
}

async function cancelOutOfTime(scene: TestRun): Promise<number> {
  const actor = await start(scene);
  const paid = await scene.instruct();
  await finish(scene, actor, [paid]);
  const late = await scene.driver.call('cancel', paid, actor);
  assert.ok(typeof late === 'object' && late.outcome !== 'rejected', 'what was paid is paid');
  await scene.driver.apply(paid, late);
  await judge(scene, [paid]);

  const unsent = await scene.instruct();
  const early = await scene.driver.call('cancel', unsent, actor);
  assert.ok(typeof early === 'object', 'the cancellation gave no answer');
  await scene.driver.apply(unsent, early);
  if (!hasMetFate(unsent)) {
    // It was not promised that it never will be paid.
    unsent.dueAtMs = scene.nowMs();
    await finish(scene, actor, [unsent]);
    return 2;
  }
  const answer = await scene.driver.call('send', unsent, actor);
  if (typeof answer === 'object') await scene.driver.apply(unsent, answer);
  await scene.linger(actor);
  await judge(scene, [unsent], { mayBeRefused: true });
  return 2;
}
