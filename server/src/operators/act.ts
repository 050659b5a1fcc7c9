import { type AuditEntry, appendAudit, describeActor } from '../audit/audit.ts';
import type { EnvironmentName } from '../core/access.ts';
import { AppError } from '../core/errors.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { MidRates } from '../fx/rate-book.ts';
import {
  findWaitingRequest,
  type Requested,
  requestApproval,
  withdrawApproval,
} from './approvals.ts';
import { countOwnersEver, type Operator, type OperatorServices } from './operators.ts';
import { getPolicy, needsTwoPersons, type PolicyAction, type ValuedAct } from './policies.ts';
import { isPermitted, listRolesWith, type Permission } from './roles.ts';

/**
 * What surrounds every command of an operator, on the command line and over HTTP: whether the role
 * permits it, whether a second person must want the same, and its entries in the audit log, before and
 * after it.
 */

export type ActContext = {
  readonly name: EnvironmentName;
  readonly db: Database;
  readonly keys: KeyRing;
  readonly operator: Operator;
};

/** A command with the options that it was given. */
export type Act<Context, Values> = {
  readonly name: string;
  readonly permission: Permission;
  readonly values: Values;
  /** As given, for the audit log and for comparison with the second person's. */
  readonly given: Readonly<Record<string, unknown>>;
  readonly reason: string;
  /** Names what may need two people, and the amount where it is about money. */
  approval?(
    context: Context,
    values: Values,
  ): Promise<ApprovalRule | undefined> | ApprovalRule | undefined;
  /** What the command changes, for the audit log. */
  snapshot?(context: Context, values: Values): Promise<unknown>;
  /** Names of what the result made or changed, for the audit log; the rest of it may be secret. */
  readonly resultNames?: readonly string[];
  /** `acting` decides again about the number of people, inside the transaction of the effect. */
  run(context: Context, values: Values, acting: Acting): unknown;
};

export type Acting = {
  /** @throws AppError illegal_move where the command needs a second person and has none. */
  requireSecond(session: Session, rule: ApprovalRule): Promise<void>;
};

export type ApprovalRule = {
  readonly policy: PolicyAction;
  readonly money?: ValuedAct;
  /** The role of an operator who is created. */
  readonly role?: string;
};

export type Circumstances = {
  /** Where the request comes from, and which one it is. */
  readonly address: string;
  readonly requestId?: string;
  /** The request for a second person that the operator approves, where it is known which one. */
  readonly approves?: string;
  readRates(): Promise<MidRates> | MidRates;
};

/** `approval`: the request that waits for a second person. */
export type Waiting = { result: 'waiting'; needs: string; approval: string };

/** @throws AppError role_not_permitted; invalid_request without a reason where two people are needed. */
export async function act<Context extends ActContext, Values>(
  context: Context,
  command: Act<Context, Values>,
  given: Circumstances,
): Promise<unknown> {
  const circumstances = { ...given, readRates: readOnce(given.readRates) };
  const { name, permission, values } = command;
  const { operator } = context;
  const isAllowed = isPermitted(operator.role, permission);
  if (permission === 'read' && isAllowed) {
    return command.run(context, values, { requireSecond: async () => undefined });
  }
  const log = openLog(context, command, circumstances);
  if (!isAllowed) {
    await log('refused');
    const roles = listRolesWith(permission).join(', ');
    throw new AppError(
      'role_not_permitted',
      `${name} needs one of the roles ${roles}; ${operator.name} is ${operator.role}`,
    );
  }
  const requestId = await log('requested');
  let approval: string | undefined;
  let before: unknown;
  let result: unknown;
  try {
    const asked = await askSecond(context, command, circumstances);
    approval = asked?.id;
    if (asked?.state === 'waiting') {
      await log('waiting', { requestId, approval });
      const needs = 'the same command by a second operator within 7 days';
      return { result: 'waiting', needs, approval: asked.id } satisfies Waiting;
    }
    before = await command.snapshot?.(context, values);
    result = await command.run(context, values, openActing(context, circumstances, approval));
  } catch (error) {
    const after = { error: error instanceof AppError ? error.code : nameOf(error) };
    await log('failed', { requestId, approval, before, after });
    throw error;
  }
  // It took effect, so that nothing that fails from here on is entered as a failed act.
  const after =
    (await command.snapshot?.(context, values)) ?? keepNames(result, command.resultNames);
  await log(isWaiting(result) ? 'waiting' : 'done', { requestId, approval, before, after });
  return result;
}

/** A transaction that decides again waits for no other connection. */
function readOnce<Value>(read: () => Promise<Value> | Value): () => Promise<Value> | Value {
  let value: Promise<Value> | Value | undefined;
  return () => (value ??= read());
}

/** What was true when the command asked for a second person may have changed before its effect. */
function openActing(
  context: ActContext,
  circumstances: Circumstances,
  approval: string | undefined,
): Acting {
  return {
    requireSecond: async (session, rule) => {
      if (approval !== undefined) return;
      if (!(await needsSecond({ session, keys: context.keys }, rule, circumstances))) return;
      throw new AppError(
        'illegal_move',
        'another command of yours at the same moment used up what one person may do: repeat this one',
      );
    },
  };
}

/** What a result says of itself in every command. Undefined where it has none of the names. */
function keepNames(result: unknown, names: readonly string[] = []): unknown {
  if (typeof result !== 'object' || result === null) return undefined;
  const kept = Object.entries(result).filter(([name]) => name === 'result' || names.includes(name));
  return kept.length === 0 ? undefined : Object.fromEntries(kept);
}

const nameOf = (error: unknown): string => (error instanceof Error ? error.name : typeof error);

/** Whether the result is that of a command that waits for a second person. */
export function isWaiting(result: unknown): boolean {
  return (
    typeof result === 'object' &&
    result !== null &&
    'result' in result &&
    result.result === 'waiting'
  );
}

/** Over HTTP the request is that of the HTTP request; on the command line, its first entry. */
function openLog<Context extends ActContext, Values>(
  { db, keys, operator }: Context,
  command: Act<Context, Values>,
  { address, requestId }: Circumstances,
) {
  const { reason: _reason, account, ...object } = command.given;
  return (
    outcome: AuditEntry['outcome'],
    {
      approval,
      ...state
    }: Pick<AuditEntry, 'requestId' | 'before' | 'after'> & { approval?: string | undefined } = {},
  ): Promise<string> =>
    appendAudit(
      { session: db.system, keys },
      {
        actor: describeActor(operator, address),
        action: command.name,
        // By which the entries of both persons belong together.
        object: { ...object, ...(approval !== undefined && { approval }) },
        accountId: typeof account === 'string' ? account : undefined,
        reason: command.reason,
        outcome,
        ...state,
        ...(requestId !== undefined && { requestId }),
      },
    );
}

/** The request of both persons; undefined where one suffices. */
async function askSecond<Context extends ActContext, Values>(
  context: Context,
  command: Act<Context, Values>,
  circumstances: Circumstances,
): Promise<Requested | undefined> {
  const rule = await command.approval?.(context, command.values);
  if (rule === undefined) return undefined;
  const { reason: _reason, ...parameters } = command.given;
  const request = { action: command.name, parameters, reason: command.reason };
  const { db, keys, operator } = context;
  const services = { session: db.system, keys };
  const isNeeded = await needsSecond(services, rule, circumstances);
  if (!isNeeded) {
    const open = await findWaitingRequest(services, request);
    if (open === undefined) return undefined;
    if (open.requested_by === operator.id) {
      // From when one person did not suffice: by approving it, another one would do the same again.
      await withdrawApproval(db.system, open.id, operator);
      return undefined;
    }
    // Two persons want it, so that the other one's request does not stay open.
  }
  if (command.reason === '') {
    const detail = 'reason is required: this needs two people';
    const fault = { pointer: '/reason', code: 'required', detail } as const;
    throw new AppError('invalid_request', detail, { faults: [fault] });
  }
  const expected = circumstances.approves;
  return db.systemTransaction((session) =>
    requestApproval({ session, keys }, operator, { ...request, expected }),
  );
}

async function needsSecond(
  services: OperatorServices,
  rule: ApprovalRule,
  { readRates }: Pick<Circumstances, 'readRates'>,
): Promise<boolean> {
  const policy = await getPolicy(services, rule.policy);
  if (policy.persons === 1) return false;
  // The first owner alone creates the second one, once: revoked owners count too, or an owner could
  // revoke the other one and appoint a second person alone.
  if (rule.role === 'owner' && (await countOwnersEver(services.session)) < 2) return false;
  if (rule.money === undefined) return true;
  return needsTwoPersons(policy, rule.money, await readRates());
}
