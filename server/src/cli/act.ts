import { type AuditEntry, appendAudit, describeActor } from '../audit/audit.ts';
import { ConfigError } from '../config.ts';
import { type Act, act } from '../operators/act.ts';
import type { NewOperator, Operator } from '../operators/operators.ts';
import type { CommandContext, Host, OperatorContext } from './context.ts';
import { readMidRates } from './context.ts';
import { describeOrigin, identifyOperator, RevokedKey } from './operator-key.ts';

/** A command of the command line: with the operator whose key the process has. */

export type CommandAct<Values> = Act<OperatorContext, Values> & {
  /** Instead of `run`, while the environment has no operator. */
  bootstrap?(context: CommandContext, values: Values): Promise<NewOperator>;
};

/** @throws ConfigError without an operator, AppError as `act` does. */
export async function actByKey<Values>(
  host: Host,
  context: CommandContext,
  command: CommandAct<Values>,
): Promise<unknown> {
  const operator = context.operator ?? (await identify(host, context, command));
  if (operator === undefined) return actFirst(host, context, command);
  const acting = { ...context, operator };
  return act(acting, command, {
    address: describeOrigin(host.variables),
    readRates: () => readMidRates(acting),
  });
}

/**
 * A command with the key of a revoked operator leaves an entry: the key is still in use. One that only
 * reads leaves none, because its role in the database can write nothing.
 */
async function identify<Values>(
  host: Host,
  context: CommandContext,
  command: CommandAct<Values>,
): Promise<Operator | undefined> {
  try {
    return await identifyOperator(context);
  } catch (error) {
    if (error instanceof RevokedKey && command.permission !== 'read') {
      await logCommand(context, command, {
        actor: describeActor(error.operator, describeOrigin(host.variables)),
        outcome: 'refused',
        after: { error: 'operator_revoked' },
      });
    }
    throw error;
  }
}

/** The first command of all creates an owner, who is its actor. */
async function actFirst<Values>(
  host: Host,
  context: CommandContext,
  command: CommandAct<Values>,
): Promise<NewOperator> {
  if (command.bootstrap === undefined) {
    throw new ConfigError(
      `${context.name} has no operators: begin with outlay admin operator create --name NAME --role owner`,
    );
  }
  const created = await command.bootstrap(context, command.values);
  const { operator: id, name, role } = created;
  await logCommand(context, command, {
    actor: describeActor({ id, name, role }, describeOrigin(host.variables)),
    outcome: 'done',
    after: { operator: id, role },
  });
  return created;
}

async function logCommand<Values>(
  { db, keys }: CommandContext,
  { name: action, given, reason }: CommandAct<Values>,
  entry: Pick<AuditEntry, 'actor' | 'outcome' | 'after'>,
): Promise<void> {
  const { reason: _reason, ...object } = given;
  await appendAudit({ session: db.system, keys }, { action, object, reason, ...entry });
}
