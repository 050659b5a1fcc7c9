import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, type RowOf } from '../db/rows.ts';

const open = defineQuery({
  name: 'find_open_approval',
  text: `
    select id, requested_by, expires_at <= clock_timestamp() as is_expired
    from approvals
    where action = $1 and md5(parameters) = md5($2) and parameters = $2 and ended_at is null
    for update`,
  columns: { id: column.uuid, requested_by: column.uuid, is_expired: column.boolean },
});

const insert: Statement = {
  name: 'insert_approval',
  text: `
    insert into approvals (id, action, parameters, requested_by, reason, requested_at, expires_at)
    values ($1, $2, $3, $4, $5, clock_timestamp(), clock_timestamp() + $6 * interval '1 second')
    on conflict do nothing`,
};

const end: Statement = {
  name: 'end_approval',
  text: `
    update approvals set ended_at = clock_timestamp(), result = $2, approved_by = $3
    where id = $1 and ended_at is null`,
};

const listed = defineQuery({
  name: 'select_open_approvals',
  text: `
    select a.id, a.action, a.parameters, o.name as requested_by, a.reason, a.requested_at,
      a.expires_at
    from approvals a join operators o on o.id = a.requested_by
    where a.ended_at is null and a.expires_at > clock_timestamp()
    order by a.requested_at limit $1`,
  columns: {
    id: column.uuid,
    action: column.text,
    parameters: column.text,
    requested_by: column.text,
    reason: column.text,
    requested_at: column.instant,
    expires_at: column.instant,
  },
});

const byId = defineQuery({
  name: 'find_approval',
  text: `
    select id, action, parameters, expires_at <= clock_timestamp() as is_expired
    from approvals where id = $1 and ended_at is null`,
  columns: {
    id: column.uuid,
    action: column.text,
    parameters: column.text,
    is_expired: column.boolean,
  },
});

export const findOpenApproval = (session: Session, action: string, parameters: string) =>
  maybeOne(session, open, [action, parameters]);

export const findApproval = (session: Session, id: string) => maybeOne(session, byId, [id]);

export type NewApproval = {
  id: string;
  action: string;
  parameters: string;
  requestedBy: string;
  reason: string;
  seconds: number;
};

/** False where the same is requested already. */
export async function insertApproval(session: Session, approval: NewApproval): Promise<boolean> {
  const { id, action, parameters, requestedBy, reason, seconds } = approval;
  return (await exec(session, insert, [id, action, parameters, requestedBy, reason, seconds])) > 0;
}

export async function endApproval(
  session: Session,
  id: string,
  ended: { result: 'approved' | 'withdrawn' | 'expired'; approvedBy?: string },
): Promise<boolean> {
  return (await exec(session, end, [id, ended.result, ended.approvedBy ?? null])) > 0;
}

export type OpenApprovalRow = RowOf<typeof listed.columns>;

export const selectOpenApprovals = (session: Session, count: number) =>
  many(session, listed, [count]);
