import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import type { UserId } from './kyc.sql.ts';

/** The SQL of checks by machines: their queue, and their results. */

const checkKinds = ['document', 'face', 'provider'] as const;
export type CheckKind = (typeof checkKinds)[number];
const checkStates = ['waiting', 'done', 'failed', 'skipped'] as const;
export type CheckState = (typeof checkStates)[number];

const claimColumns = {
  account_id: column.uuid,
  session_id: column.uuid,
  submission: column.integer,
  tries: column.integer,
  tries_left: column.integer,
  reference: nullable(column.text),
  user_id: column.uuid,
  data_key: column.bytes,
};
export type ClaimedCheck = RowOf<typeof claimColumns>;

/**
 * One at a time: a reading takes seconds of a core. A claim uses up a try. A check whose last try ended
 * with its process has failed.
 */
const claimQuery = defineQuery({
  name: 'kyc_claim_check',
  text: `
    with exhausted as (
      update verification_checks
      set state = 'failed', lease_until = null, ended_at = clock_timestamp()
      where kind = $1 and state = 'waiting' and tries_left = 0
        and (lease_until is null or lease_until < clock_timestamp())
    ), due as (
      select account_id, session_id, submission, kind from verification_checks
      where kind = $1 and state = 'waiting' and tries_left > 0 and due_at <= clock_timestamp()
        and (lease_until is null or lease_until < clock_timestamp())
      order by due_at limit 1
      for update skip locked
    ), claimed as (
      update verification_checks c
      set tries = c.tries + 1, tries_left = c.tries_left - 1,
        lease_until = clock_timestamp() + $2 * interval '1 millisecond'
      from due
      where c.account_id = due.account_id and c.session_id = due.session_id
        and c.submission = due.submission and c.kind = due.kind
      returning c.*
    )
    select c.account_id, c.session_id, c.submission, c.tries, c.tries_left, c.reference, s.user_id,
      u.data_key
    from claimed c
    join verification_sessions s on s.account_id = c.account_id and s.id = c.session_id
    join users u on u.account_id = s.account_id and u.id = s.user_id`,
  columns: claimColumns,
});

const finishStatement: Statement = {
  name: 'kyc_finish_check',
  text: `
    update verification_checks
    set state = $6, sealed = $7, lease_until = null, ended_at = clock_timestamp()
    where account_id = $1 and session_id = $2 and submission = $3 and kind = $4 and tries = $5
      and state = 'waiting'`,
};

const delayStatement: Statement = {
  name: 'kyc_delay_check',
  text: `
    update verification_checks
    set due_at = clock_timestamp() + $6 * interval '1 millisecond', lease_until = null,
      reference = coalesce($7, reference)
    where account_id = $1 and session_id = $2 and submission = $3 and kind = $4 and tries = $5
      and state = 'waiting'`,
};

const releaseStatement: Statement = {
  name: 'kyc_release_check',
  text: `
    update verification_checks set tries_left = tries_left + 1, lease_until = null
    where account_id = $1 and session_id = $2 and submission = $3 and kind = $4 and tries = $5
      and state = 'waiting'`,
};

const requestStatement: Statement = {
  name: 'kyc_request_check',
  text: `
    insert into verification_checks (account_id, session_id, submission, kind, tries_left,
      created_at)
    values ($1, $2, $3, $4, $5, environment_now())
    on conflict do nothing`,
};

/** A document is read again, and faces are compared again, as after an installation. */
const repeatStatement: Statement = {
  name: 'kyc_repeat_reading',
  text: `
    update verification_checks
    set state = 'waiting', tries_left = 5, sealed = null, ended_at = null, lease_until = null,
      due_at = clock_timestamp()
    where account_id = $1 and session_id = $2 and submission = $3 and kind in ('document', 'face')
      and state in ('done', 'failed')`,
};

const checkColumns = {
  session_id: column.uuid,
  submission: column.integer,
  kind: column.oneOf(...checkKinds),
  state: column.oneOf(...checkStates),
  sealed: nullable(column.bytes),
  ended_at: nullable(column.instant),
};
export type CheckRow = RowOf<typeof checkColumns>;

const listQuery = defineQuery({
  name: 'kyc_list_checks',
  text: `
    select c.session_id, c.submission, c.kind, c.state, c.sealed, c.ended_at
    from verification_checks c
    join verification_sessions s on s.account_id = c.account_id and s.id = c.session_id
    where c.account_id = $1 and s.user_id = $2
    order by c.session_id desc, c.submission desc, c.kind
    limit 100`,
  columns: checkColumns,
});

const subjectQuery = defineQuery({
  name: 'kyc_find_subject',
  text: `
    select data_key, country, with_version(version, sealed) as sealed,
      erased_at is not null as is_erased
    from users where account_id = $1 and id = $2`,
  columns: {
    data_key: column.bytes,
    country: column.text,
    sealed: column.bytes,
    is_erased: column.boolean,
  },
});

const setsQuery = defineQuery({
  name: 'kyc_list_attribute_sets',
  text: `
    select id, latest_version from attribute_sets
    where account_id = $1 and user_id = $2 and latest_version > 0
    order by touched_at desc limit 20`,
  columns: { id: column.uuid, latest_version: column.integer },
});

export type CheckId = Pick<ClaimedCheck, 'account_id' | 'session_id' | 'submission' | 'tries'> & {
  readonly kind: CheckKind;
};

const idOf = ({ account_id, session_id, submission, kind, tries }: CheckId) => [
  account_id,
  session_id,
  submission,
  kind,
  tries,
];

export function claimCheck(
  session: Session,
  kind: CheckKind,
  leaseMs: number,
): Promise<ClaimedCheck | undefined> {
  return maybeOne(session, claimQuery, [kind, leaseMs]);
}

/** Ends a check, unless another process has claimed it since. */
export async function finishCheck(
  session: Session,
  check: CheckId,
  end: { state: 'done' | 'failed' | 'skipped'; sealed?: Buffer },
): Promise<void> {
  await exec(session, finishStatement, [...idOf(check), end.state, end.sealed ?? null]);
}

export async function delayCheck(
  session: Session,
  check: CheckId,
  delay: { ms: number; reference?: string | undefined },
): Promise<void> {
  await exec(session, delayStatement, [...idOf(check), delay.ms, delay.reference ?? null]);
}

type Submission = { accountId: string; sessionId: string; submission: number };

/** Gives a claim back, with its try, because the process stops. */
export async function releaseCheck(session: Session, check: CheckId): Promise<void> {
  await exec(session, releaseStatement, idOf(check));
}

export async function requestCheck(
  session: Session,
  { accountId, sessionId, submission }: Submission,
  { kind, triesMax }: { kind: CheckKind; triesMax: number },
): Promise<void> {
  await exec(session, requestStatement, [accountId, sessionId, submission, kind, triesMax]);
}

export async function repeatReading(
  session: Session,
  { accountId, sessionId, submission }: Submission,
): Promise<void> {
  await exec(session, repeatStatement, [accountId, sessionId, submission]);
}

export function listCheckRows(
  session: Session,
  { accountId, userId }: UserId,
): Promise<CheckRow[]> {
  return many(session, listQuery, [accountId, userId]);
}

export function findSubject(
  session: Session,
  { accountId, userId }: UserId,
): Promise<RowOf<typeof subjectQuery.columns> | undefined> {
  return maybeOne(session, subjectQuery, [accountId, userId]);
}

export function listAttributeSets(
  session: Session,
  { accountId, userId }: UserId,
): Promise<RowOf<typeof setsQuery.columns>[]> {
  return many(session, setsQuery, [accountId, userId]);
}
