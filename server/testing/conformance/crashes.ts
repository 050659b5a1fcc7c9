import type { Payment } from './driver.ts';
import { assertPayments, type Case, finish, start, type TestStage } from './happy-path.ts';
import type { CrashKind } from './process-run.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * The process dies at each step of a payment, or is stopped there while another one takes over, or
 * is refused its step. The walk goes on until a payment ends without coming to the step.
 */

type Walk = { readonly how: CrashKind; readonly wakes?: 'early' | 'late' };

const walks: readonly (Walk & { readonly name: string })[] = [
  {
    name: 'killed before each step, the successor brings it to its end',
    how: 'killed_before_step',
  },
  { name: 'killed after each step, the successor brings it to its end', how: 'killed_after_step' },
  { name: 'stopped at each step, it goes on beside its successor', how: 'paused', wakes: 'early' },
  { name: 'stopped at each step, it goes on when all is done', how: 'paused', wakes: 'late' },
  { name: 'the database is away for each step', how: 'database_fails_before' },
  { name: 'the database is lost after each step', how: 'database_fails_after' },
];

export const crashCases: readonly Case[] = walks.map((walk) => ({
  name: walk.name,
  needs: ['steps'],
  run: (stage) => stage.runInTestRun((testRun) => goThroughSteps(stage, testRun, walk)),
}));

async function goThroughSteps(stage: TestStage, testRun: TestRun, walk: Walk): Promise<number> {
  const lastStep = Math.max(stage.stepsMax, (await probe(testRun)) + stepsAfterBooking);
  for (let atStep = 1; atStep <= lastStep; atStep += 1) {
    // Said of a case that goes wrong: at which step it did.
    try {
      if (!(await interruptAt(stage, testRun, { ...walk, atStep }))) {
        if (atStep === 1) throw new Error('a payment took no step that could be seen');
        return atStep - 1;
      }
    } catch (error) {
      throw new Error(`at step ${atStep}: ${String(error)}`, { cause: error });
    }
  }
  return lastStep;
}

/** However long the way there is, what happens runContext the booking is walked through. */
const stepsAfterBooking = 8;

/** At which step a flow without interruption books for the last time; 0 where that is not known. */
async function probe(testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  await finish(testRun, actor, await instructSome(testRun, actor));
  const { bookingStep } = actor.processRun;
  await actor.close();
  return bookingStep;
}

/** Passes work on several at once, and may die between two of them. */
async function instructSome(testRun: TestRun, actor: Actor | undefined): Promise<Payment[]> {
  const payments = [await testRun.instruct()];
  if (actor?.rail.work !== undefined) payments.push(await testRun.instruct());
  return payments;
}

/** False when the payment ended before the step came. */
async function interruptAt(
  stage: TestStage,
  testRun: TestRun,
  { how, wakes, atStep }: Walk & { atStep: number },
): Promise<boolean> {
  const actor = await testRun.open({ how, atStep });
  const payments = await instructSome(testRun, actor);
  if (actor !== undefined) {
    testRun.listen(actor);
    const end = await testRun.drive(actor, payments);
    if (end === 'ended' && !actor.processRun.isGone) {
      await testRun.runExtraRounds(actor);
      await assertPayments(testRun, payments);
      await actor.close();
      return actor.processRun.isReached;
    }
  }
  const successor = await start(testRun);
  if (actor !== undefined && wakes !== undefined) {
    if (wakes === 'early') await testRun.runRound(successor, payments);
    else await testRun.drive(successor, payments);
    actor.processRun.resume();
    await Promise.all([
      testRun.drive(successor, payments),
      // What it does without anybody listening is to be over when the counterparty is asked.
      actor.settle(4 * stage.callMsMax),
    ]);
  }
  await finish(testRun, successor, payments);
  await actor?.close();
  await successor.close();
  return true;
}
