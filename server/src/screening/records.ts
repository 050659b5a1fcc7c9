import { AppError } from '../core/errors.ts';
import { type KeyRing, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { describeCover, findCover } from './clearance-cover.ts';
import { type ClearanceRow, endClearancesOf, readClearancesInForce } from './clearances.sql.ts';
import { sealEvidence } from './evidence.ts';
import { entryVersionOf } from './hit.ts';
import {
  findDataKey,
  findNewest,
  type LastRow,
  type NewRow,
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
 * The results of screening recipients, and decisions about them. A recipient is screened again when a
 * list, the threshold or the recipient's data has changed; otherwise the last result holds.
 */

export type UserToScreen = UserKey & { readonly person: ScreenedPerson };

export type UserScreening = UserKey & {
  /** Counts the rows about the user, from 1; a decision names the row that it is about. */
  readonly sequence: number;
  readonly state: ScreeningState;
  /** No payout may be sent to the user in this state. */
  readonly isBlocked: boolean;
  readonly listVersions: readonly ListVersion[];
  readonly thresholdPermille: number;
  readonly topScorePermille: number;
  readonly hits: readonly Hit[];
  readonly screenedAtMs: number;
  readonly decidedBy: string | undefined;
  readonly decidedAtMs: number | undefined;
  /** Where it rests on the list of clearances: until when. */
  readonly clearedUntilMs: number | undefined;
};

export type ScreeningServices = { readonly session: Session; readonly keys: KeyRing };

const triesMax = 4;

/**
 * One result per user, in their order; users may repeat. The session is the system's, outside a
 * transaction, because each account's rows are written in a transaction of their own.
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
    if (tries > triesMax) {
      throw new Error(`${waiting.length} users were screened by other processes each time`);
    }
    for (const row of await screenOnce(services, waiting, options)) {
      done.set(`${row.account_id} ${row.user_id}`, describeRow(row));
    }
  }
  return users.map((user) => {
    const screening = done.get(keyOf(user));
    if (screening === undefined) throw new Error('unreachable: every user has a screening');
    return screening;
  });
}

function keyOf({ accountId, userId }: UserKey): string {
  return `${accountId} ${userId}`;
}

/** A user who must be screened again, with the last result. */
type Change = {
  user: UserToScreen;
  index: Buffer;
  last: ScreeningRow | undefined;
  /** Those in force, of whatever data and entries. */
  clearances: readonly ClearanceRow[];
};

async function screenOnce(
  { session, keys }: ScreeningServices,
  users: readonly UserToScreen[],
  options: ScreeningOptions,
): Promise<ScreeningRow[]> {
  const thresholdPermille = options.thresholdPermille ?? defaultThresholdPermille;
  const lists = await readListsInForce(session);
  const lastRows = new Map<number, LastRow>();
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
      last.subject_index.equals(index) &&
      !last.is_expired;
    if (holds) rows.push(last);
    else changes.push({ user, index, last, clearances: [] });
  }
  if (changes.length === 0) return rows;
  await addClearances(session, changes);
  const persons = changes.map(({ user }) => user.person);
  const screenings = await screenPersons(session, persons, options);
  const evidence = await sealEvidence(
    { session, keys },
    changes.map(({ user }, index) => ({
      ...user,
      evidence: screenings[index]?.evidence ?? [],
    })),
  );
  rows.push(...(await write(session, { changes, screenings, evidence, thresholdPermille })));
  return rows;
}

/** Only of users with earlier hits: a person clears what was found. */
async function addClearances(session: Session, changes: readonly Change[]): Promise<void> {
  const known = changes.filter(({ last }) => last !== undefined);
  if (known.length === 0) return;
  const users = known.map(({ user }) => user);
  for (const { ordinal, ...row } of await readClearancesInForce(session, users)) {
    const change = known[ordinal - 1];
    if (change !== undefined) change.clearances = [...change.clearances, row];
  }
}

/** One statement per account, because a transaction must touch only one. */
async function write(
  session: Session,
  given: {
    changes: readonly Change[];
    screenings: readonly Screening[];
    evidence: readonly (Buffer | null)[];
    thresholdPermille: number;
  },
): Promise<ScreeningRow[]> {
  const { changes, screenings, evidence, thresholdPermille } = given;
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
      ...decideState(change, screening),
      subject_index: change.index.toString('hex'),
      top_score_permille: screening.topScorePermille,
      hits: screening.hits,
      evidence: evidence[position]?.toString('hex') ?? null,
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
 * A user whom a person confirmed to be on a list stays confirmed until a person decides otherwise, so
 * that another spelling does not evade it. A cleared user stays cleared while the data is the same
 * and all hits are among the cleared ones, with the content that their entries had then.
 */
function decideState(
  { last, index, clearances }: Change,
  { hits, isHit }: Screening,
): Pick<NewRow, 'state' | 'clearance'> {
  if (last?.state === 'confirmed_by_person') return { state: last.state, clearance: null };
  if (!isHit) return { state: 'clear', clearance: null };
  if (last !== undefined && isCleared(last) && last.subject_index.equals(index)) {
    const cleared = new Set(last.hits.map(entryVersionOf));
    if (hits.every((hit) => cleared.has(entryVersionOf(hit)))) {
      return { state: last.state, clearance: null };
    }
  }
  const covering = findCover(clearances, hits, index);
  if (covering === undefined) return { state: 'hit', clearance: null };
  return { state: 'cleared_by_person', clearance: describeCover(covering) };
}

/** By a decision about the result; what rests on the list of clearances is looked up each time. */
const isCleared = ({ state, cleared_until: until }: ScreeningRow): boolean =>
  state === 'cleared_by_person' && until === null;

/** A hash that shows only whether the compared data is still the same. */
export function indexSubject(keys: Pick<KeyRing, 'blindIndex'>, person: ScreenedPerson): Buffer {
  const { firstName, middleName, lastName, businessName, dateOfBirth, countryCode } = person;
  const compared = [firstName, middleName, lastName, businessName, dateOfBirth, countryCode];
  return keys.blindIndex('screening', JSON.stringify(compared));
}

/** The last result of a user, decisions included; undefined where there is none. */
export async function findScreening(
  session: Session,
  user: UserKey,
): Promise<UserScreening | undefined> {
  const row = await findNewest(session, user);
  return row === undefined ? undefined : describeRow(row);
}

export type Decision = UserKey & {
  /** The result that the person has seen; with a newer one the decision is `stale`. */
  readonly sequence: number;
  /** `cleared`: not the listed person; `confirmed`: the listed person. */
  readonly decision: 'cleared' | 'confirmed';
  /** The name or number of a member of the operator's staff, at most 200 characters. */
  readonly decidedBy: string;
  /** At most 2,000 characters; sealed under the user's key. */
  readonly reason: string;
};

export type DecisionResult =
  | { readonly kind: 'recorded'; readonly screening: UserScreening }
  | { readonly kind: 'stale' }
  | { readonly kind: 'nothing_to_decide' };

/** @throws AppError not_found for an unknown user, invalid_request without a reason. */
export async function recordDecision(
  { session, keys }: ScreeningServices,
  given: Decision,
): Promise<DecisionResult> {
  const { sequence, decidedBy, reason } = given;
  if (reason.trim() === '' || reason.length > reasonLengthMax) {
    throw new AppError('invalid_request', `reason must have 1 to ${reasonLengthMax} characters`);
  }
  if (decidedBy.trim() === '' || decidedBy.length > decidedByLengthMax) {
    throw new AppError(
      'invalid_request',
      `decided_by must have 1 to ${decidedByLengthMax} characters`,
    );
  }
  const userKey = await getUserKey({ session, keys }, given);
  const sealed = sealBytes(userKey, Buffer.from(reason), reasonContext(given));
  const state = given.decision === 'cleared' ? 'cleared_by_person' : 'confirmed_by_person';
  const row = await writeDecision(session, given, { sequence, state, decidedBy, reason: sealed });
  if (row !== undefined) {
    if (state === 'confirmed_by_person') await endClearancesOf(session, given, decidedBy);
    return { kind: 'recorded', screening: describeRow(row) };
  }
  const last = await findScreening(session, given);
  return { kind: last === undefined || last.sequence === sequence ? 'nothing_to_decide' : 'stale' };
}

const reasonLengthMax = 2_000;
const decidedByLengthMax = 200;

export async function getUserKey(
  { session, keys }: ScreeningServices,
  user: UserKey,
): Promise<Buffer> {
  const dataKey = await findDataKey(session, user);
  if (dataKey === undefined) throw new AppError('not_found', 'User not found');
  return keys.unwrap(dataKey, user);
}

/** Not bound to a row, because later rows of the user repeat the decision. */
export function reasonContext({ accountId, userId }: UserKey): string {
  return rowContext('screenings.decision_reason', accountId, userId);
}

export function describeRow(row: ScreeningRow): UserScreening {
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
    clearedUntilMs: row.cleared_until?.getTime(),
  };
}
