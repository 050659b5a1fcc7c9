import type { CommandContext } from '../../src/cli/context.ts';
import { readCommand } from '../../src/cli/program.ts';
import type { KeyRing } from '../../src/core/sealing.ts';
import type { Database } from '../../src/db/postgres/pool.ts';
import { createOperator, type Operator } from '../../src/operators/operators.ts';
import type { OperatorRole } from '../../src/operators/roles.ts';

type Words = Readonly<Record<string, string | true>>;

/** Runs a command line on what a test has opened of an environment; `true` stands for a switch. */
export async function runCommand(
  context: Partial<CommandContext>,
  name: string,
  values: Words = {},
): Promise<unknown> {
  const given = Object.entries(values).flatMap(([option, value]) =>
    value === true ? [`--${option}`] : [`--${option}`, value],
  );
  const command = await readCommand([...name.split(' '), ...given]);
  const unavailable = (): never => {
    throw new Error(`${name} must run on the environment`);
  };
  const shared = {
    operator: owner,
    ...context,
    [Symbol.asyncDispose]: async () => undefined,
  } as CommandContext;
  return command?.run({
    variables: {},
    realNowMs: Date.now,
    openContext: async () => shared,
    note: () => undefined,
    serve: unavailable,
  });
}

/** Acts where a test names no operator. */
const owner: Operator = {
  id: '00000000-0000-7000-8000-0000000000aa',
  name: 'test-owner',
  role: 'owner',
};

/** Creates an operator, and runs commands as this person. */
export async function createCommander(
  context: Partial<CommandContext> & { db: Database; keys: KeyRing },
  { name, role = 'owner' }: { name: string; role?: OperatorRole },
): Promise<(command: string, values?: Words) => Promise<unknown>> {
  const services = { session: context.db.system, keys: context.keys };
  const created = await createOperator(services, { name, role, createdBy: undefined });
  const operator: Operator = { id: created.operator, name, role };
  return (command, values) => runCommand({ ...context, operator }, command, values);
}
