import type { Session } from '../db/postgres/pool.ts';
import { screenUsers, type UserToScreen } from '../screening/records.ts';
import { findListFaults, readListsInForce } from '../screening/screening.ts';
import { openPerson } from '../users/users.ts';

export { measureRecipients } from './recipient-rescreening.sql.ts';

import {
  advanceRound,
  claimRecipients,
  type RecipientRow,
  readProgress,
  readRecipients,
  readWaiting,
  readWaitingPayouts,
  type WaitingPayoutRow,
} from './recipient-rescreening.sql.ts';
import type { RulesOptions } from './rules.ts';
import { describePerson } from './screened-payout.ts';

/**
 * When a list or the threshold changes, all stored recipients are screened again, so that a hit waits for
 * a decision before the next payout. The cursor is in the database: any number of processes take turns,
 * and after a crash another one continues where the lease ends. A portion that is screened twice finds the
 * results stored.
 */

export type RecipientRescreeningOptions = Pick<
  RulesOptions,
  'db' | 'keys' | 'screening' | 'cache' | 'realNowMs'
> & {
  /** Called for a recipient whose data cannot be read; the others are screened. */
  onError: (error: unknown) => void;
};

/** Small, because names are compared in one go, and dispatch waits meanwhile. */
const portionRecipients = 50;
const leaseMs = 60_000;
const nilUuid = '00000000-0000-0000-0000-000000000000';

/** Undefined without screening. Each pass does one portion and returns true while there are more. */
export function createRecipientRescreening(
  options: RecipientRescreeningOptions,
): (() => Promise<boolean>) | undefined {
  const { db, keys, screening, cache, realNowMs } = options;
  if (screening === undefined) return undefined;
  const { thresholdPermille } = screening;
  const session = db.system;
  return async () => {
    const lists = await readListsInForce(session);
    if (findListFaults(lists, screening, realNowMs()).length > 0) return false;
    const { fingerprint } = lists;
    const wanted = { fingerprint, thresholdPermille, leaseMs, beginning: nilUuid };
    const round = await claimRecipients(session, wanted);
    if (round === undefined) return false;
    const rows = await readRecipients(session, round, portionRecipients);
    const users = rows.flatMap((row) => readUser(options, row));
    const results = await screenUsers({ session, keys }, users, { thresholdPermille, cache });
    const isFinished = rows.length < portionRecipients;
    const start = { account_id: round.after_account, user_id: round.after_user };
    await advanceRound(session, {
      fence: round.fence,
      last: rows.at(-1) ?? start,
      screened: users.length,
      hits: results.filter(({ state }) => state === 'hit').length,
      isFinished,
    });
    return !isFinished;
  };
}

function readUser(
  { keys, onError }: RecipientRescreeningOptions,
  row: RecipientRow,
): UserToScreen[] {
  try {
    const owner = { accountId: row.account_id, userId: row.user_id };
    const person = openPerson(keys.unwrap(row.data_key, owner), { ...owner, sealed: row.person });
    return [{ ...owner, person: describePerson(person, row.user_country) }];
  } catch (error) {
    onError(error);
    return [];
  }
}

export type RescreeningProgress = {
  readonly startedAt: Date;
  readonly finishedAt: Date | null;
  readonly screened: bigint;
  /** Recipients with a hit that no person has decided about. */
  readonly hits: bigint;
  readonly remaining: bigint;
};

/** Of the last change of the lists; undefined before the first. */
export async function findRescreeningProgress(
  session: Session,
): Promise<RescreeningProgress | undefined> {
  const row = await readProgress(session);
  if (row === undefined) return undefined;
  const { started_at: startedAt, finished_at: finishedAt, screened, hits, remaining } = row;
  const left = finishedAt === null ? remaining : 0n;
  return { startedAt, finishedAt, screened, hits, remaining: left };
}

export type WaitingRecipient = {
  readonly accountId: string;
  readonly userId: string;
  readonly sequence: number;
  /** Such as "ofac_sdn/101", with spaces between them. */
  readonly entries: string;
  readonly screenedAt: Date;
};

/** Scheduled payouts with a hit in their attributes; they are held when their time comes. */
export function listWaitingPayouts(session: Session, count: number): Promise<WaitingPayoutRow[]> {
  return readWaitingPayouts(session, count);
}

/** Recipients with a hit that no person has decided about, oldest first. */
export async function listWaitingRecipients(
  session: Session,
  count: number,
): Promise<WaitingRecipient[]> {
  const rows = await readWaiting(session, count);
  return rows.map((row) => ({
    accountId: row.account_id,
    userId: row.user_id,
    sequence: row.sequence,
    entries: row.entries,
    screenedAt: row.screened_at,
  }));
}
