import { appendAudit, describeActor } from '../audit/audit.ts';
import { ConfigError } from '../config.ts';
import { type Act, act } from '../operators/act.ts';
import type { NewOperator } from '../operators/operators.ts';
import type { CommandContext, Host, OperatorContext } from './context.ts';
import { readMidRates } from './context.ts';
import { describeOrigin, identifyOperator } from './operator-key.ts';

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
  const operator = context.operator ?? (await identifyOperator(context));
  if (operator === undefined) return actFirst(host, context, command);
  const acting = { ...context, operator };
  return act(acting, command, {
    address: describeOrigin(host.variables),
    readRates: () => readMidRates(acting),
  });
}

/** The first command of all creates an owner, who is its actor. */
async function actFirst<Values>(
  host: Host,
  context: CommandContext,
  { name, values, bootstrap, given, reason }: CommandAct<Values>,
): Promise<unknown> {
  if (bootstrap === undefined) {
    throw new ConfigError(
      `${context.name} has no operators: begin with outlay admin operator create --name NAME --role owner`,
    );
  }
  const created = await bootstrap(context, values);
  const { reason: _reason, ...object } = given;
  await appendAudit(
    { session: context.db.system, keys: context.keys },
    {
      actor: describeActor(
        { id: created.operator, name: created.name, role: created.role },
        describeOrigin(host.variables),
      ),
      action: name,
      object,
      reason,
      outcome: 'done',
      after: { operator: created.operator, role: created.role },
    },
  );
  return created;
}
