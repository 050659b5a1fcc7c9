import { setTimeout as sleep } from 'node:timers/promises';
import type { Books } from '../reliability-kit.ts';
import { daySeconds } from '../service.ts';
import { countOpen, findSecondsUntilDue, hasUnheard } from './books.ts';
import type { TrialClock } from './clock.ts';
import type { Counterpart } from './counterpart.ts';

/** After the last kill: everything comes to its end, days included, before anything is judged. */

export type Settling = {
  readonly books: Books;
  readonly accountId: string;
  readonly clock: TrialClock;
  readonly counterparts: readonly Counterpart[];
  readonly say: (line: string) => void;
};

/** Rails whose payments take days by the calendar, however fast their counterpart is. */
const slowRails: ReadonlySet<string> = new Set(['bank_us', 'sandbox']);
/** A minute, by which what is not clear is asked again. */
const stepSeconds = 61;
/** The longest step towards the next try of a payout: waits double with each try in vain. */
const stepSecondsMax = 3_600;
const roundMs = 1500;
/** After this many rounds without a change, none is expected within minutes. */
const stillRoundsMax = 40;
const roundsMax = 400;
/** Past every return, settlement and query of an unknown outcome. */
const daysCount = 14;

const clockPatienceMs = 120_000;

export async function settle(settling: Settling): Promise<void> {
  const { counterparts, say } = settling;
  await settleMinutes(settling);
  say(`settling: days (open: ${await describeOpen(settling)})`);
  await moveDays(settling, { isShort: false });
  for (const counterpart of counterparts) await counterpart.letCome?.();
  await waitUntilStill(settling);
  // What came last may have brought new payouts on their way through another payer.
  await moveDays(settling, { isShort: true });
  await waitUntilStill(settling);
}

/**
 * Ends when no payout of a fast rail is open, without faults of the counterparts from now on. The clock
 * moves only when nothing happens without it, so that no quote runs out for its haste.
 */
export async function settleMinutes(settling: Settling): Promise<void> {
  const { books, accountId, clock, counterparts } = settling;
  for (const counterpart of counterparts) await counterpart.holdBack?.();
  let before = '';
  let stillRounds = 0;
  for (let round = 0; round < roundsMax && stillRounds < stillRoundsMax; round += 1) {
    await sleep(roundMs);
    const open = await countOpen(books, accountId);
    const moving = [...open].filter(([rail]) => !slowRails.has(rail));
    const isUnheard = await hasUnheard(books);
    if (moving.length === 0 && !isUnheard) return;
    const now = JSON.stringify(moving);
    stillRounds = now === before ? stillRounds + 1 : 0;
    before = now;
    if (stillRounds % 2 === 1) await clock.advance(await findStep(settling), clockPatienceMs);
    if (round % 10 === 9) settling.say(`settling: minutes (open: ${await describeOpen(settling)})`);
  }
}

/** Seconds to the next try of a payout of a fast rail, within bounds. */
async function findStep({ books, accountId }: Settling): Promise<number> {
  const seconds = await findSecondsUntilDue(books, accountId, [...slowRails]);
  return Math.min(Math.max(Math.ceil(seconds) + 1, stepSeconds), stepSecondsMax);
}

/** `isShort`: only as many as it takes until nothing is on its way. */
async function moveDays(
  { books, accountId, clock }: Settling,
  { isShort }: { isShort: boolean },
): Promise<void> {
  for (let day = 0; day < daysCount; day += 1) {
    if (isShort && (await countOpen(books, accountId)).size === 0) return;
    const isMoved = await clock.advance(daySeconds, clockPatienceMs);
    if (!isMoved) throw new Error('the clock could not be moved');
    // A pass of every rail under the new day.
    await sleep(roundMs);
  }
}

/** Until no counterparty has anything left to report, and every report has had its effect. */
async function waitUntilStill(settling: Settling): Promise<void> {
  const { books, counterparts, clock } = settling;
  let quietRounds = 0;
  for (let round = 0; round < roundsMax && quietRounds < 4; round += 1) {
    // A refused observation is tried again after a minute.
    await clock.advance(stepSeconds, clockPatienceMs);
    await sleep(roundMs);
    const quiet = await Promise.all(counterparts.map((one) => one.isQuiet()));
    const isQuiet = quiet.every(Boolean) && !(await hasUnheard(books));
    quietRounds = isQuiet ? quietRounds + 1 : 0;
  }
}

async function describeOpen({ books, accountId }: Settling): Promise<string> {
  const open = [...(await countOpen(books, accountId))];
  return open.length === 0 ? 'none' : open.map(([rail, count]) => `${rail} ${count}`).join(', ');
}
