import { type AuditEntry, appendAudit } from '../audit/audit.ts';
import { ConfigError, RefusedCommand } from '../config.ts';
import { AppError } from '../core/errors.ts';
import { requestApproval } from '../operators/approvals.ts';
import { countOwners } from '../operators/operators.ts';
import { getPolicy, needsTwoPersons, type PolicyAction } from '../operators/policies.ts';
import { isPermitted, listRolesWith, type Permission } from '../operators/roles.ts';
import type { CommandContext, Host, OperatorContext } from './context.ts';
import { describeOrigin, identifyOperator } from './operator-key.ts';

/**
 * What surrounds every command on an environment: whose it is, whether the role permits it, whether a
 * second person must want the same, and its entries in the audit log, before and after it.
 */

/** A command with the options that it was given. */
export type Act<Values> = {
  readonly name: string;
  readonly permission: Permission;
  readonly values: Values;
  /** As given, for the audit log and for comparison with the second person's. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly reason: string;
  /** Names what may need two persons, and the amount where it is about money. */
  approval?(
    context: OperatorContext,
    values: Values,
  ): Promise<ApprovalRule | undefined> | ApprovalRule;
  /** What the command changes, for the audit log. */
  snapshot?(context: OperatorContext, values: Values): Promise<unknown>;
  /** Instead of `run`, while the environment has no operator. */
  bootstrap?(context: CommandContext, values: Values): Promise<unknown>;
  run(context: OperatorContext, values: Values): unknown;
};

export type ApprovalRule = {
  readonly policy: PolicyAction;
  readonly money?: { readonly currency: string; readonly minor: bigint };
  /** The role of an operator who is created. */
  readonly role?: string;
};

/** @throws ConfigError without an operator, RefusedCommand where the role does not permit it. */
export async function act<Values>(
  host: Host,
  context: CommandContext,
  command: Act<Values>,
): Promise<unknown> {
  const { name, permission, values } = command;
  const operator = context.operator ?? (await identifyOperator(context));
  if (operator === undefined) return actFirst(context, command);
  const acting = { ...context, operator };
  const isAllowed = isPermitted(operator.role, permission);
  if (permission === 'read' && isAllowed) return command.run(acting, values);
  const log = openLog(host, acting, command);
  if (!isAllowed) {
    await log('refused');
    const roles = listRolesWith(permission).join(', ');
    throw new RefusedCommand(
      `${name} needs one of the roles ${roles}; ${operator.name} is ${operator.role}`,
    );
  }
  const requestId = await log('requested');
  if (await waitsForSecond(acting, command)) {
    await log('waiting', { requestId });
    return { result: 'waiting', needs: 'the same command by a second operator within 7 days' };
  }
  const before = await command.snapshot?.(acting, values);
  try {
    const result = await command.run(acting, values);
    const after = await command.snapshot?.(acting, values);
    await log(isWaiting(result) ? 'waiting' : 'done', { requestId, before, after });
    return result;
  } catch (error) {
    const after = { error: error instanceof AppError ? error.code : nameOf(error) };
    await log('failed', { requestId, before, after });
    throw error;
  }
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

const isWaiting = (result: unknown): boolean =>
  typeof result === 'object' &&
  result !== null &&
  'result' in result &&
  result.result === 'waiting';

/** The first command of all creates an owner. */
async function actFirst<Values>(
  context: CommandContext,
  { name, values, bootstrap, given }: Act<Values>,
): Promise<unknown> {
  if (bootstrap === undefined) {
    throw new ConfigError(
      `${context.name} has no operators: begin with outlay admin operator create --name NAME --role owner`,
    );
  }
  const result = await bootstrap(context, values);
  const actor = { kind: 'system' } as const;
  await appendAudit(context.db.system, { actor, action: name, object: given, outcome: 'done' });
  return result;
}

function openLog<Values>(host: Host, context: OperatorContext, command: Act<Values>) {
  const { operator, db } = context;
  const { reason: _reason, account, ...object } = command.given;
  const address = describeOrigin(host.variables);
  return (
    outcome: AuditEntry['outcome'],
    state: Pick<AuditEntry, 'requestId' | 'before' | 'after'> = {},
  ): Promise<string> =>
    appendAudit(db.system, {
      actor: { kind: 'operator', ...operator, address },
      action: command.name,
      object,
      accountId: typeof account === 'string' ? account : undefined,
      reason: command.reason,
      outcome,
      ...state,
    });
}

async function waitsForSecond<Values>(
  context: OperatorContext,
  command: Act<Values>,
): Promise<boolean> {
  const rule = await command.approval?.(context, command.values);
  if (rule === undefined || !(await needsSecond(context, rule))) return false;
  if (command.reason === '') throw new ConfigError('--reason is missing: this needs two persons');
  const { reason: _reason, ...parameters } = command.given;
  const state = await context.db.systemTransaction((session) =>
    requestApproval(session, context.operator, {
      action: command.name,
      parameters,
      reason: command.reason,
    }),
  );
  return state === 'waiting';
}

async function needsSecond(context: OperatorContext, rule: ApprovalRule): Promise<boolean> {
  const { db, keys } = context;
  const policy = await getPolicy({ session: db.system, keys }, rule.policy);
  if (policy.persons === 1) return false;
  // One owner alone can only create the second one.
  if (rule.role === 'owner' && (await countOwners(db.system)) < 2) return false;
  if (rule.money === undefined) return true;
  const { openRates } = await import('../environment/imports.ts');
  const { rates } = await openRates(context);
  return needsTwoPersons(policy, rule.money, rates());
}
