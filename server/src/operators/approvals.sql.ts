import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, one, type RowOf } from '../db/rows.ts';
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';

/** With what the code of a row (`mac`) covers. */
const openColumns = {
  id: column.uuid,
  action: column.text,
  parameters: column.text,
  requested_by: column.uuid,
  reason: column.text,
  expires_at: column.instant,
  is_expired: column.boolean,
  mac: column.bytes,
} as const;
const selected = `id, action, parameters, requested_by, reason, expires_at,
  expires_at <= clock_timestamp() as is_expired, mac`;

const open = defineQuery({
  name: 'find_open_approval',
  text: `
    select ${selected} from approvals
    where action = $1 and md5(parameters) = md5($2) and parameters = $2 and ended_at is null
    for update`,
  columns: openColumns,
});

const lock: Statement = {
  name: 'lock_approvals',
  text: `select pg_advisory_xact_lock(hashtext('approvals'), hashtext($1 || $2))`,
};

const lastApproved = defineQuery({
  name: 'find_last_approved',
  text: `
    select ended_at > clock_timestamp() - interval '10 seconds' as is_recent
    from approvals
    where action = $1 and parameters = $2 and result = 'approved' and requested_by <> $3
      and requested_at > clock_timestamp() - interval '8 days'
    order by ended_at desc limit 1`,
  columns: { is_recent: column.boolean },
});

const now = defineQuery({
  name: 'read_approval_clock',
  text: `select date_trunc('milliseconds', clock_timestamp()) as now`,
  columns: { now: column.instant },
});

const insert: Statement = {
  name: 'insert_approval',
  text: `
    insert into approvals (id, action, parameters, requested_by, reason, requested_at, expires_at,
      mac)
    values ($1, $2, $3, $4, $5, clock_timestamp(), $6, $7)
    on conflict do nothing`,
};

const end: Statement = {
  name: 'end_approval',
  text: `
    update approvals set ended_at = clock_timestamp(), result = $2, approved_by = $3, mac = ''
    where id = $1 and ended_at is null`,
};

const endOfOperator: Statement = {
  name: 'end_approvals_of_operator',
  text: `
    update approvals set ended_at = clock_timestamp(), result = 'lapsed', mac = ''
    where requested_by = $1 and ended_at is null`,
};

const listed = defineQuery({
  name: 'select_open_approvals',
  text: `
    select a.id, a.action, a.parameters, a.requested_by, o.name as requester, a.reason,
      a.requested_at, a.expires_at, a.mac, ${microseconds('a.requested_at')} as requested_us
    from approvals a join operators o on o.id = a.requested_by
    where a.ended_at is null and a.expires_at > clock_timestamp() and o.revoked_at is null
      and (a.requested_at, a.id) > (${startOf('$1', 'asc')}, $2::uuid)
    order by a.requested_at, a.id limit $3`,
  columns: {
    id: column.uuid,
    action: column.text,
    parameters: column.text,
    requested_by: column.uuid,
    requester: column.text,
    reason: column.text,
    requested_at: column.instant,
    expires_at: column.instant,
    mac: column.bytes,
    requested_us: column.bigint,
  },
});

const byId = defineQuery({
  name: 'find_approval',
  text: `select ${selected} from approvals where id = $1 and ended_at is null`,
  columns: openColumns,
});

export type OpenRow = RowOf<typeof openColumns>;
export type ListedRow = RowOf<typeof listed.columns>;

/** Serializes the requests for the same action: two that arrive together are one after the other. */
export async function lockApprovals(
  session: Session,
  action: string,
  parameters: string,
): Promise<void> {
  await exec(session, lock, [action, parameters]);
}

export const findOpenApproval = (session: Session, action: string, parameters: string) =>
  maybeOne(session, open, [action, parameters]);

/** Whether the same was approved some seconds ago, at the request of another operator. */
export async function wasJustApproved(
  session: Session,
  request: { action: string; parameters: string; operatorId: string },
): Promise<boolean> {
  const { action, parameters, operatorId } = request;
  const row = await maybeOne(session, lastApproved, [action, parameters, operatorId]);
  return row?.is_recent === true;
}

export const findApproval = (session: Session, id: string) => maybeOne(session, byId, [id]);

/** The time of the database, in whole milliseconds. */
export async function readNow(session: Session): Promise<Date> {
  return (await one(session, now)).now;
}

export type NewApproval = Pick<
  OpenRow,
  'id' | 'action' | 'parameters' | 'requested_by' | 'reason' | 'expires_at' | 'mac'
>;

/** False where the same is requested already. */
export async function insertApproval(session: Session, row: NewApproval): Promise<boolean> {
  const values = [row.id, row.action, row.parameters, row.requested_by, row.reason, row.expires_at];
  return (await exec(session, insert, [...values, row.mac])) > 0;
}

export async function endApproval(
  session: Session,
  id: string,
  ended: { result: 'approved' | 'withdrawn' | 'expired' | 'lapsed'; approvedBy?: string },
): Promise<boolean> {
  return (await exec(session, end, [id, ended.result, ended.approvedBy ?? null])) > 0;
}

/** Ends the open requests of an operator who is revoked. */
export async function endApprovalsOf(session: Session, operatorId: string): Promise<void> {
  await exec(session, endOfOperator, [operatorId]);
}

export const selectOpenApprovals = (session: Session, { after, count }: TimePage) =>
  many(session, listed, [...cursorValues(after), count]);
