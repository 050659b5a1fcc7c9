import { appendAudit, describeActor } from '../audit/audit.ts';
import { AppError } from '../core/errors.ts';
import type { OperatorWrite } from '../http/callers.ts';
import type { BaseServices } from '../http/route.ts';

/** The audit log of what operators change for accounts through the operations of clients. */

/** Without the body, which holds personal data. Returns what records the outcome. */
export async function recordWrite({ db, keys }: BaseServices, write: OperatorWrite) {
  const { principal, method, path, params, address, requestId } = write;
  const { operator, accountId } = principal;
  if (operator === undefined) throw new Error('unreachable: only operators are recorded');
  const { version: _version, ...named } = params as Record<string, string>;
  const entry = {
    actor: describeActor(operator, address),
    action: `api ${method} ${path}`,
    object: named,
    accountId,
    requestId,
  } as const;
  const log = { session: db.system, keys };
  await appendAudit(log, { ...entry, outcome: 'requested' });
  return async (outcome: 'done' | 'failed', error?: unknown): Promise<void> => {
    const after = error === undefined ? undefined : { error: nameOf(error) };
    await appendAudit(log, { ...entry, outcome, after });
  };
}

function nameOf(error: unknown): string {
  if (error instanceof AppError) return error.code;
  return error instanceof Error ? error.name : typeof error;
}
