import type { Payment } from './driver.ts';
import { type Case, finish, judge, type Stage, start } from './plain.ts';
import type { Ending } from './process-run.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * The process dies at each step of a payment, or is stopped there while another one takes over, or
 * is refused its step. The walk goes on until a payment ends without coming to the step.
 */

type Walk = { readonly how: Ending; readonly wakes?: 'early' | 'late' };

const walks: readonly (Walk & { readonly name: string })[] = [
  { name: 'killed before each step, the successor brings it to its end', how: 'dies_before' },
  { name: 'killed after each step, the successor brings it to its end', how: 'dies_after' },
  { name: 'stopped at each step, it goes on beside its successor', how: 'sleeps', wakes: 'early' },
  { name: 'stopped at each step, it goes on when all is done', how: 'sleeps', wakes: 'late' },
  { name: 'the database is away for each step', how: 'fails_before' },
  { name: 'the database is lost after each step', how: 'fails_after' },
];

export const deathCases: readonly Case[] = walks.map((walk, index) => ({
  name: walk.name,
  needs: ['steps'],
  run: (stage) => stage.within((scene) => goThroughSteps(stage, scene, { ...walk, index })),
}));

async function goThroughSteps(
  stage: Stage,
  scene: TestRun,
  { index, ...walk }: Walk & { index: number },
): Promise<number> {
  const bookingStep = await probe(scene);
  const lastStep = Math.max(stage.stepsMax, bookingStep + stepsAfterBooking);
  let runs = 0;
  for (let atStep = 1; atStep <= lastStep; atStep += 1) {
    const isShared = Math.abs(atStep - bookingStep) > 1 && (atStep - 1) % walks.length !== index;
    if (stage.isShort && isShared) continue;
    // Said of a case that goes wrong: at which step it did.
    try {
      if (!(await interruptAt(stage, scene, { ...walk, atStep }))) {
        if (atStep === 1) throw new Error('a payment took no step that could be seen');
        break;
      }
      runs += 1;
    } catch (error) {
      throw new Error(`at step ${atStep}: ${String(error)}`, { cause: error });
    }
  }
  return runs;
}

/** However long the way there is, what happens around the booking is walked through. */
const stepsAfterBooking = 8;

/** At which step a flow without interruption books for the last time; 0 where that is not known. */
async function probe(scene: TestRun): Promise<number> {
  const actor = await start(scene);
  await finish(scene, actor, await instructSome(scene, actor));
  const { bookingStep } = actor.life;
  await actor.close();
  return bookingStep;
}

/** Passes work on several at once, and may die between two of them. */
async function instructSome(scene: TestRun, actor: Actor | undefined): Promise<Payment[]> {
  const payments = [await scene.instruct()];
  if (actor?.rail.work !== undefined) payments.push(await scene.instruct());
  return payments;
}

/** False when the payment ended before the step came. */
async function interruptAt(
  stage: Stage,
  scene: TestRun,
  { how, wakes, atStep }: Walk & { atStep: number },
): Promise<boolean> {
  const actor = await scene.open({ how, atStep });
  const payments = await instructSome(scene, actor);
  if (actor !== undefined) {
    scene.listen(actor);
    const end = await scene.drive(actor, payments);
    if (end === 'ended' && !actor.life.isGone) {
      await scene.linger(actor);
      await judge(scene, payments);
      await actor.close();
      return actor.life.isReached;
    }
  }
  const successor = await start(scene);
  if (actor !== undefined && wakes !== undefined) {
    if (wakes === 'early') await scene.goRound(successor, payments);
    else await scene.drive(successor, payments);
    actor.life.wakeUp();
    await Promise.all([
      scene.drive(successor, payments),
      // What it does without anybody listening is to be over when the counterpart is asked.
      actor.settle(4 * stage.callMsMax),
    ]);
  }
  await finish(scene, successor, payments);
  await actor?.close();
  await successor.close();
  return true;
}
