import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { rowContext } from '../core/sealing.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import { formatTimeCursor, type Paged, readTimeCursor, takePage } from '../db/time-page.ts';
import {
  endApproval,
  findApproval,
  findOpenApproval,
  insertApproval,
  type ListedRow,
  lockApprovals,
  type NewApproval,
  type OpenRow,
  readNow,
  selectOpenApprovals,
  wasJustApproved,
} from './approvals.sql.ts';
import { findGenuineOperator, type Operator, type OperatorServices } from './operators.ts';
import { isPermitted, listRolesWith } from './roles.ts';

/**
 * Actions that need two people. The first one requests it; it is done when a second, different
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
function formatParameters(parameters: Readonly<Record<string, unknown>>): string {
  const entries = Object.entries(parameters).filter(([, value]) => value !== undefined);
  return JSON.stringify(Object.fromEntries(entries.toSorted(([a], [b]) => (a < b ? -1 : 1))));
}

/** What a request vouches for: a row that was written or changed past the service counts for nothing. */
function describeApproval(row: Omit<NewApproval, 'mac'>): string {
  const { id, action, parameters, requested_by: by, reason, expires_at: expiresAt } = row;
  return rowContext('approvals', id, action, parameters, by, reason, expiresAt.toISOString());
}

export const protectedApprovals = defineProtectedTable({
  table: 'approvals',
  key: { id: 'uuid' },
  values: ['mac'],
  columns: {
    id: column.uuid,
    action: column.text,
    parameters: column.text,
    requested_by: column.uuid,
    reason: column.text,
    expires_at: column.instant,
  },
  renew: renewMac(describeApproval),
});

/** Whether its requester made it, and is still an operator. */
async function isValid(services: OperatorServices, row: NewApproval): Promise<boolean> {
  if (!services.keys.isMac(describeApproval(row), row.mac)) return false;
  return (await findGenuineOperator(services, { id: row.requested_by })) !== undefined;
}

/** The open request, unless it has expired or lapsed; such a one is ended. */
async function findValidRequest(
  services: OperatorServices,
  action: string,
  parameters: string,
): Promise<OpenRow | undefined> {
  const { session } = services;
  const open = await findOpenApproval(session, action, parameters);
  if (open === undefined) return undefined;
  if (!open.is_expired && (await isValid(services, open))) return open;
  await endApproval(session, open.id, { result: open.is_expired ? 'expired' : 'lapsed' });
  return undefined;
}

/** The request that waits for a second person who wants the same; undefined where none does. */
export async function findWaitingRequest(
  services: OperatorServices,
  { action, parameters }: Pick<Approval, 'action' | 'parameters'>,
): Promise<Pick<OpenRow, 'id' | 'requested_by'> | undefined> {
  const open = await findOpenApproval(services.session, action, formatParameters(parameters));
  if (open === undefined || open.is_expired || !(await isValid(services, open))) return undefined;
  return open;
}

/** `id` names the request, also when it has just been approved. */
export type Requested = { readonly state: 'waiting' | 'approved'; readonly id: string };

/**
 * Records that the operator wants the action. `approved`: another one wanted it before, and the caller
 * does it now; a crash in between costs two new requests, and never does it twice. `expected`: the
 * request that the operator was shown, where it is known.
 *
 * @throws AppError illegal_move where another operator has approved the same at the same moment, or
 * `expected` has ended.
 */
export async function requestApproval(
  services: OperatorServices,
  operator: Operator,
  { action, parameters, reason, expected }: Approval & { expected?: string | undefined },
): Promise<Requested> {
  const { session, keys } = services;
  const text = formatParameters(parameters);
  await lockApprovals(session, action, text);
  const open = await findValidRequest(services, action, text);
  if (expected !== undefined && open?.id !== expected) {
    throw new AppError(
      'illegal_move',
      'the request was approved, withdrawn or has lapsed meanwhile',
    );
  }
  if (open !== undefined) {
    if (open.requested_by === operator.id) return { state: 'waiting', id: open.id };
    await endApproval(session, open.id, { result: 'approved', approvedBy: operator.id });
    return { state: 'approved', id: open.id };
  }
  const wanted = { action, parameters: text, operatorId: operator.id };
  if (await wasJustApproved(session, wanted)) {
    const detail =
      'exactly this was approved a moment ago; to do it again, repeat it in ten seconds';
    throw new AppError('illegal_move', detail);
  }
  const expiresAt = new Date((await readNow(session)).getTime() + approvalSeconds * 1000);
  const row = { id: newId(), action, parameters: text, requested_by: operator.id, reason };
  const dated = { ...row, expires_at: expiresAt };
  await insertApproval(session, { ...dated, mac: keys.mac(describeApproval(dated)) });
  return { state: 'waiting', id: row.id };
}

export type OpenApproval = Omit<ListedRow, 'mac' | 'requester' | 'requested_us'>;

/** Oldest first; `requested_by` is the name. */
export async function listOpenApprovals(
  services: OperatorServices,
  { cursor, count }: { cursor?: string | undefined; count: number },
): Promise<Paged<OpenApproval>> {
  const after = readTimeCursor(cursor);
  const found = await selectOpenApprovals(services.session, { after, count: count + 1 });
  const { rows, next } = takePage(found, count, ({ requested_us: us, id: key }) =>
    formatTimeCursor({ us, key }),
  );
  const listed: OpenApproval[] = [];
  for (const row of rows) {
    if (!(await isValid(services, row))) continue;
    const { mac: _, requested_us: __, requester, ...shown } = row;
    listed.push({ ...shown, requested_by: requester });
  }
  return { rows: listed, next };
}

const parametersSchema = z.record(z.string(), z.unknown());

export type RequestedAct = {
  id: string;
  action: string;
  parameters: Readonly<Record<string, unknown>>;
};

/** What a request that waits would do. @throws AppError not_found. */
export async function getRequestedAct(
  services: OperatorServices,
  id: string,
): Promise<RequestedAct> {
  const open = await findApproval(services.session, id);
  if (open === undefined || open.is_expired || !(await isValid(services, open))) {
    throw new AppError('not_found', 'no request with this id waits');
  }
  const parameters = parametersSchema.parse(JSON.parse(open.parameters));
  return { id, action: open.action, parameters };
}

/** Takes back a request that waits. @throws AppError not_found, role_not_permitted. */
export async function withdrawApproval(
  session: OperatorServices['session'],
  id: string,
  operator: Pick<Operator, 'id' | 'name' | 'role'>,
): Promise<void> {
  const open = await findApproval(session, id);
  const isOwn = open?.requested_by === operator.id;
  if (open !== undefined && !isOwn && !isPermitted(operator.role, 'operate')) {
    const roles = listRolesWith('operate').join(', ');
    const detail = `the request is another operator's, which needs one of the roles ${roles}; ${operator.name} is ${operator.role}`;
    throw new AppError('role_not_permitted', detail);
  }
  if (open === undefined || !(await endApproval(session, id, { result: 'withdrawn' }))) {
    throw new AppError('not_found', 'no request with this id waits');
  }
}
