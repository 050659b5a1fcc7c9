import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import type { Session } from '../db/postgres/pool.ts';
import { endApproval, findApproval, findOpenApproval, insertApproval } from './approvals.sql.ts';
import type { Operator } from './operators.ts';

export { type OpenApprovalRow, selectOpenApprovals as listOpenApprovals } from './approvals.sql.ts';

/**
 * Actions that need two persons. The first one requests it; it is done when a second, different
 * operator requests exactly the same within a week.
 */

const approvalSeconds = 7 * 86_400;

export type Approval = {
  action: string;
  /** What would be done; the second person must want the same. */
  parameters: Readonly<Record<string, unknown>>;
  reason: string;
};

/** Keys in order, so that the same parameters are the same text. */
export function formatParameters(parameters: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/**
 * Records that the operator wants the action. `approved`: another one wanted it before, and the caller
 * does it now; a crash in between costs two new requests, and never does it twice.
 */
export async function requestApproval(
  session: Session,
  operator: Operator,
  { action, parameters, reason }: Approval,
): Promise<'waiting' | 'approved'> {
  const text = formatParameters(parameters);
  let open = await findOpenApproval(session, action, text);
  if (open?.is_expired === true) {
    await endApproval(session, open.id, { result: 'expired' });
    open = undefined;
  }
  if (open === undefined) {
    const request = { id: newId(), action, parameters: text, reason };
    const isNew = await insertApproval(session, {
      ...request,
      requestedBy: operator.id,
      seconds: approvalSeconds,
    });
    if (isNew) return 'waiting';
    // Another process inserted it in the meantime.
    open = await findOpenApproval(session, action, text);
  }
  if (open === undefined || open.requested_by === operator.id) return 'waiting';
  const ended = { result: 'approved', approvedBy: operator.id } as const;
  return (await endApproval(session, open.id, ended)) ? 'approved' : 'waiting';
}

/** The id of the request that waits for a second person. */
export async function findOpenRequest(
  session: Session,
  { action, parameters }: Omit<Approval, 'reason'>,
): Promise<string | undefined> {
  return (await findOpenApproval(session, action, formatParameters(parameters)))?.id;
}

export type RequestedAct = {
  id: string;
  action: string;
  parameters: Readonly<Record<string, unknown>>;
};

/** What a request that waits would do. @throws AppError not_found. */
export async function getRequestedAct(session: Session, id: string): Promise<RequestedAct> {
  const open = await findApproval(session, id);
  if (open === undefined || open.is_expired) {
    throw new AppError('not_found', 'no request with this id waits');
  }
  const parameters = JSON.parse(open.parameters) as Record<string, unknown>;
  return { id, action: open.action, parameters };
}

/** Takes back a request that waits. @throws AppError not_found. */
export async function withdrawApproval(session: Session, id: string): Promise<void> {
  const open = await findApproval(session, id);
  if (open === undefined || !(await endApproval(session, id, { result: 'withdrawn' }))) {
    throw new AppError('not_found', 'no request with this id waits');
  }
}
