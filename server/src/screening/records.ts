import { AppError } from '../core/errors.ts';
import { type KeyRing, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import {
  findDataKey,
  readHistory,
  readLastRows,
  type ScreeningRow,
  type ScreeningState,
  type UserKey,
  writeDecision,
  writeRows,
} from './records.sql.ts';
import {
  defaultThresholdPermille,
  type Hit,
  type ListsInForce,
  type ListVersion,
  readListsInForce,
  type ScreenedPerson,
  type Screening,
  type ScreeningOptions,
  screenPersons,
} from './screening.ts';

export type { ScreeningState, UserKey } from './records.sql.ts';

/**
 * What came of screening recipients, and what a person decided. A recipient is screened again when
 * a list, the threshold or what is known of the recipient has changed; else the last result holds.
 */

export type UserToScreen = UserKey & { readonly person: ScreenedPerson };

export type UserScreening = UserKey & {
  /** Counts what was written about the user, from 1; a decision names the one that it is about. */
  readonly sequence: number;
  readonly state: ScreeningState;
  /** Nothing may be paid to the user as things are. */
  readonly isBlocked: boolean;
  readonly listVersions: readonly ListVersion[];
  readonly thresholdPermille: number;
  readonly topScorePermille: number;
  readonly hits: readonly Hit[];
  readonly screenedAtMs: number;
  readonly decidedBy: string | undefined;
  readonly decidedAtMs: number | undefined;
};

export type ScreeningServices = { readonly session: Session; readonly keys: KeyRing };

const triesMax = 4;

/**
 * One result per user, in their order; a user may be among them more than once. The session is the
 * system's, and not inside a transaction: each account's rows are written in one of their own.
 */
export async function screenUsers(
  services: ScreeningServices,
  users: readonly UserToScreen[],
  options: ScreeningOptions = {},
): Promise<UserScreening[]> {
  const byKey = new Map(users.map((user) => [keyOf(user), user]));
  const done = new Map<string, UserScreening>();
  for (let tries = 1; done.size < byKey.size; tries += 1) {
    const waiting = [...byKey.values()].filter((user) => !done.has(keyOf(user)));
    if (tries > triesMax)
      throw new Error(`${waiting.length} users are screened by others all the time`);
    for (const row of await screenOnce(services, waiting, options)) {
      done.set(`${row.account_id} ${row.user_id}`, describe(row));
    }
  }
  return users.map((user) => {
    const screening = done.get(keyOf(user));
    if (screening === undefined) throw new Error('impossible: a user without a screening');
    return screening;
  });
}

function keyOf({ accountId, userId }: UserKey): string {
  return `${accountId} ${userId}`;
}

/** A user whose state changes, with all that is known of it. */
type Change = { user: UserToScreen; index: Buffer; last: ScreeningRow | undefined };

async function screenOnce(
  { session, keys }: ScreeningServices,
  users: readonly UserToScreen[],
  options: ScreeningOptions,
): Promise<ScreeningRow[]> {
  const thresholdPermille = options.thresholdPermille ?? defaultThresholdPermille;
  const lists = await readListsInForce(session);
  const lastRows = new Map<number, ScreeningRow>();
  for (const row of await readLastRows(session, users)) lastRows.set(row.ordinal - 1, row);
  const rows: ScreeningRow[] = [];
  const changes: Change[] = [];
  for (const [position, user] of users.entries()) {
    const index = indexSubject(keys, user.person);
    const last = lastRows.get(position);
    const holds =
      last !== undefined &&
      last.list_fingerprint.equals(lists.fingerprint) &&
      last.threshold_permille === thresholdPermille &&
      last.subject_index.equals(index);
    if (holds) rows.push(last);
    else changes.push({ user, index, last });
  }
  if (changes.length === 0) return rows;
  const persons = changes.map(({ user }) => user.person);
  const screenings = await screenPersons(session, persons, options);
  rows.push(...(await write(session, { changes, screenings, thresholdPermille })));
  return rows;
}

/** Rows of one account per statement: no transaction touches two. */
async function write(
  session: Session,
  given: {
    changes: readonly Change[];
    screenings: readonly Screening[];
    thresholdPermille: number;
  },
): Promise<ScreeningRow[]> {
  const { changes, screenings, thresholdPermille } = given;
  type NewRow = Parameters<typeof writeRows>[1]['rows'][number];
  const byAccount = new Map<string, NewRow[]>();
  let lists: ListsInForce | undefined;
  for (const [position, change] of changes.entries()) {
    const screening = screenings[position];
    if (screening === undefined) continue;
    lists = screening.lists;
    const { accountId, userId } = change.user;
    const row = {
      user_id: userId,
      sequence: (change.last?.sequence ?? 0) + 1,
      state: decideState(change, screening),
      subject_index: change.index.toString('hex'),
      top_score_permille: screening.topScorePermille,
      hits: screening.hits,
    };
    byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), row]);
  }
  if (lists === undefined) return [];
  const { fingerprint, versions } = lists;
  const written: ScreeningRow[] = [];
  for (const [accountId, rows] of byAccount) {
    const added = { accountId, fingerprint, versions, thresholdPermille, rows };
    written.push(...(await writeRows(session, added)));
  }
  return written;
}

/**
 * Whom a person confirmed to be on a list stays so, whatever changes, until a person says otherwise:
 * another spelling of the name must not be the way out. Whom a person cleared stays cleared as long
 * as the user is the same and resembles only entries that were cleared, and none more than then.
 */
function decideState({ last, index }: Change, screening: Screening): ScreeningState {
  if (last?.state === 'confirmed_by_person') return last.state;
  if (!screening.isHit) return 'clear';
  if (last?.state !== 'cleared_by_person' || !last.subject_index.equals(index)) return 'hit';
  const cleared = new Map(last.hits.map((hit) => [entryOf(hit), hit.scorePermille]));
  const isKnown = screening.hits.every(
    (hit) => hit.scorePermille <= (cleared.get(entryOf(hit)) ?? -1),
  );
  return isKnown ? last.state : 'hit';
}

function entryOf(hit: Hit): string {
  return `${hit.list} ${hit.entryId}`;
}

/** Tells whether what was compared is still the same, and nothing else about it. */
function indexSubject(keys: KeyRing, person: ScreenedPerson): Buffer {
  const { firstName, middleName, lastName, businessName, dateOfBirth, countryCode } = person;
  const compared = [firstName, middleName, lastName, businessName, dateOfBirth, countryCode];
  return keys.blindIndex('screening', JSON.stringify(compared));
}

/** The last result of a user, decisions included, or undefined where there was none. */
export async function findScreening(
  session: Session,
  user: UserKey,
): Promise<UserScreening | undefined> {
  const [row] = await readHistory(session, user, 1);
  return row === undefined ? undefined : describe(row);
}

/** All that was ever found and decided about a user, the newest first. */
export async function listScreenings(
  session: Session,
  user: UserKey,
  countMax = 100,
): Promise<UserScreening[]> {
  const rows = await readHistory(session, user, countMax);
  return rows.map(describe);
}

export type Decision = UserKey & {
  /** What the person has seen; where something newer is there, the decision is not taken. */
  readonly sequence: number;
  /** `cleared`: somebody else than the entries found; `confirmed`: the one on the list. */
  readonly decision: 'cleared' | 'confirmed';
  /** Who decides: a name or number of the operator's own staff, at most 200 characters. */
  readonly decidedBy: string;
  /** At most 2,000 characters; sealed under the user's key. */
  readonly reason: string;
};

export type DecisionResult =
  | { readonly kind: 'recorded'; readonly screening: UserScreening }
  | { readonly kind: 'stale' }
  | { readonly kind: 'nothing_to_decide' };

/** @throws AppError not_found where there is no such user, invalid_request without a reason. */
export async function recordDecision(
  { session, keys }: ScreeningServices,
  given: Decision,
): Promise<DecisionResult> {
  const { sequence, decidedBy, reason } = given;
  if (reason.trim() === '' || reason.length > reasonLengthMax) {
    throw new AppError('invalid_request', `a reason has 1 to ${reasonLengthMax} characters`);
  }
  if (decidedBy.trim() === '' || decidedBy.length > decidedByLengthMax) {
    throw new AppError('invalid_request', `who decides has 1 to ${decidedByLengthMax} characters`);
  }
  const userKey = await getUserKey({ session, keys }, given);
  const sealed = sealBytes(userKey, Buffer.from(reason), reasonContext(given));
  const state = given.decision === 'cleared' ? 'cleared_by_person' : 'confirmed_by_person';
  const row = await writeDecision(session, given, { sequence, state, decidedBy, reason: sealed });
  if (row !== undefined) return { kind: 'recorded', screening: describe(row) };
  const last = await findScreening(session, given);
  return { kind: last === undefined || last.sequence === sequence ? 'nothing_to_decide' : 'stale' };
}

const reasonLengthMax = 2_000;
const decidedByLengthMax = 200;

/** The reason of the decision that holds for a user, or undefined where none does. */
export async function findDecisionReason(
  services: ScreeningServices,
  user: UserKey,
): Promise<string | undefined> {
  const [row] = await readHistory(services.session, user, 1);
  if (row === undefined || row.decision_reason === null) return undefined;
  const userKey = await getUserKey(services, user);
  return openBytes(userKey, row.decision_reason, reasonContext(user)).toString();
}

async function getUserKey({ session, keys }: ScreeningServices, user: UserKey): Promise<Buffer> {
  const row = await findDataKey(session, user);
  if (row === undefined) throw new AppError('not_found', 'no such user');
  return keys.unwrap(row.data_key, user);
}

/** A decision is taken over into later rows, so that its number is no part of it. */
/** A decision is carried over to the later rows of its user, so it is not bound to one of them. */
function reasonContext({ accountId, userId }: UserKey): string {
  return rowContext('screenings.decision_reason', accountId, userId);
}

function describe(row: ScreeningRow): UserScreening {
  return {
    accountId: row.account_id,
    userId: row.user_id,
    sequence: row.sequence,
    state: row.state,
    isBlocked: row.state === 'hit' || row.state === 'confirmed_by_person',
    listVersions: row.list_versions,
    thresholdPermille: row.threshold_permille,
    topScorePermille: row.top_score_permille,
    hits: row.hits,
    screenedAtMs: row.screened_at.getTime(),
    decidedBy: row.decided_by ?? undefined,
    decidedAtMs: row.decided_at?.getTime(),
  };
}
