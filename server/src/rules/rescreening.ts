import type { Dispatcher } from '../dispatch/dispatch.ts';
import { type PayoutToScreen, screenPayouts } from '../screening/payout-screenings.ts';
import { findListFaults, readListsInForce } from '../screening/screening.ts';
import {
  type LiveCursor,
  type LiveRow,
  openScreeningException,
  readLivePayouts,
} from './rescreening.sql.ts';
import type { RulesOptions } from './rules.ts';
import { describeScreening, readScreenedPayout } from './screened-payout.ts';

/**
 * When another version of a list comes into force, unfinished payouts are screened again: those that
 * wait to be sent, and those that a rail has accepted, for instance into a file that is not written
 * yet. A hit stops the payout if that is still possible, and opens an exception in any case.
 */

export type RescreeningOptions = Pick<
  RulesOptions,
  'db' | 'keys' | 'screening' | 'cache' | 'realNowMs'
> & {
  dispatcher: Pick<Dispatcher, 'cancelOne'>;
  /** Called for a payout that cannot be read; the others are screened. */
  onError: (error: unknown) => void;
};

const portionPayouts = 250;
/** A payout under another claim is tried again; leases expire long before this many rounds. */
const roundsMax = 30;
const nilUuid = '00000000-0000-0000-0000-000000000000';
const beginning: LiveCursor = { account_id: nilUuid, payout_id: nilUuid };

/**
 * Undefined without screening. Each pass does one portion and returns true while there are more; after
 * the last one it does nothing until a list changes.
 */
export function createRescreening(
  options: RescreeningOptions,
): (() => Promise<boolean>) | undefined {
  const { db, screening, cache, realNowMs } = options;
  if (screening === undefined) return undefined;
  const { thresholdPermille, blockedCountries = [] } = screening;
  let round = beginRound(Buffer.alloc(0));
  return async () => {
    const lists = await readListsInForce(db.system);
    // Without usable lists nothing is sent, and nothing can be compared.
    if (findListFaults(lists, screening, realNowMs()).length > 0) return false;
    const { fingerprint } = lists;
    if (!round.fingerprint.equals(fingerprint)) {
      round = beginRound(fingerprint);
    }
    if (round.isDone) return false;
    const { after } = round;
    const query = { after, count: portionPayouts, fingerprint, thresholdPermille };
    const rows = await readLivePayouts(db.system, query);
    const outdated = rows.filter((row) => row.is_outdated);
    if (!(await rescreen(options, outdated, { thresholdPermille, blockedCountries, cache })))
      round.isBusy = true;
    const last = rows.at(-1);
    if (last !== undefined && rows.length === portionPayouts) {
      round.after = { account_id: last.account_id, payout_id: last.payout_id };
      return true;
    }
    const number = round.number + 1;
    const isDone = !round.isBusy || number > roundsMax;
    round = { ...beginRound(fingerprint), number, isDone };
    return false;
  };
}

type Round = {
  fingerprint: Buffer;
  number: number;
  after: LiveCursor;
  isBusy: boolean;
  isDone: boolean;
};

function beginRound(fingerprint: Buffer): Round {
  return { fingerprint, number: 1, after: beginning, isBusy: false, isDone: false };
}

/** False where a payout could not be stopped because another process has claimed it. */
async function rescreen(
  options: RescreeningOptions,
  rows: readonly LiveRow[],
  screeningOptions: Parameters<typeof screenPayouts>[2],
): Promise<boolean> {
  const { db, keys, dispatcher } = options;
  const [readable, payouts] = readAll(options, rows);
  if (payouts.length === 0) return true;
  const services = { session: db.system, keys };
  const screenings = await screenPayouts(services, payouts, screeningOptions);
  let isStopped = true;
  for (const [index, row] of readable.entries()) {
    const screening = screenings[index];
    const hit = screening === undefined ? undefined : describeScreening(screening);
    if (hit === undefined) continue;
    // First, so that the exception is open whether or not the payout can be stopped.
    await openScreeningException(db.system, row, hit.detail);
    if (row.status !== 'PROCESSING') continue;
    const isClaimed = await dispatcher.cancelOne(row.account_id, row.payout_id, hit);
    isStopped &&= isClaimed;
  }
  return isStopped;
}

function readAll(
  { keys, onError }: RescreeningOptions,
  rows: readonly LiveRow[],
): [LiveRow[], PayoutToScreen[]] {
  const readable: LiveRow[] = [];
  const payouts: PayoutToScreen[] = [];
  for (const row of rows) {
    try {
      payouts.push(readScreenedPayout(keys, row));
      readable.push(row);
    } catch (error) {
      onError(error);
    }
  }
  return [readable, payouts];
}
