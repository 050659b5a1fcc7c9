import type { Payment } from './driver.ts';
import { assertPayments, type Case, finish, start, type TestStage } from './happy-path.ts';
import type { CrashKind } from './process-run.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * The process is killed at each step of a payment, or paused there while another one takes over, or
 * its database fails. Steps are tried in turn until a payment ends before the step is reached.
 */

type Walk = { readonly how: CrashKind; readonly wakes?: 'early' | 'late' };

const walks: readonly (Walk & { readonly name: string })[] = [
  {
    name: 'killed before each step, a successor completes the payment',
    how: 'killed_before_step',
  },
  { name: 'killed after each step, a successor completes the payment', how: 'killed_after_step' },
  { name: 'paused at each step, it resumes beside its successor', how: 'paused', wakes: 'early' },
  {
    name: 'paused at each step, it resumes when the payment has ended',
    how: 'paused',
    wakes: 'late',
  },
  { name: 'the database fails before each step', how: 'database_fails_before' },
  { name: 'the database fails after each step', how: 'database_fails_after' },
];

export const crashCases: readonly Case[] = walks.map((walk, index) => ({
  name: walk.name,
  needs: ['steps'],
  isLong: !walk.how.startsWith('killed'),
  run: (stage) =>
    stage.runInTestRun((testRun) => goThroughSteps(stage, testRun, { ...walk, index })),
}));

async function goThroughSteps(
  stage: TestStage,
  testRun: TestRun,
  { index, ...walk }: Walk & { index: number },
): Promise<number> {
  const bookingStep = await probe(testRun);
  const lastStep = Math.max(stage.stepsMax, bookingStep + stepsAfterBooking);
  let runs = 0;
  for (let atStep = 1; atStep <= lastStep; atStep += 1) {
    const isShared =
      Math.abs(atStep - bookingStep) > 1 &&
      (atStep - 1) % (stepsApart * walks.length) !== stepsApart * index;
    if (stage.isShort && isShared) continue;
    // The message of a failed case names the step.
    try {
      if (!(await interruptAt(stage, testRun, { ...walk, atStep }))) {
        if (atStep === 1) throw new Error('no step of a payment was visible');
        break;
      }
      runs += 1;
    } catch (error) {
      throw new Error(`at step ${atStep}: ${String(error)}`, { cause: error });
    }
  }
  return runs;
}

/** In the short form, between the steps that the walks take turns at. */
const stepsApart = 6;

/** The steps around the booking are always covered, however many come before. */
const stepsAfterBooking = 8;

/** The last booking step of an undisturbed run; 0 where that is not known. */
async function probe(testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  await finish(testRun, actor, await instructSome(testRun, actor));
  const { bookingStep } = actor.processRun;
  await actor.close();
  return bookingStep;
}

/** Two payments for a rail with passes, which may be killed between them. */
async function instructSome(testRun: TestRun, actor: Actor | undefined): Promise<Payment[]> {
  const payments = [await testRun.instruct()];
  if (actor?.rail.work !== undefined) payments.push(await testRun.instruct());
  return payments;
}

/** False where the payment ended before the step was reached. */
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
      // Its pending calls must have ended before the counterparty's record is compared.
      actor.settle(4 * stage.callMsMax),
    ]);
  }
  await finish(testRun, successor, payments);
  await actor?.close();
  await successor.close();
  return true;
}
