import type { CommandContext } from '../../src/cli/context.ts';
import { readCommand } from '../../src/cli/program.ts';

/** Runs a command line on what a test has opened of an environment; `true` stands for a switch. */
export async function runCommand(
  context: Partial<CommandContext>,
  name: string,
  values: Readonly<Record<string, string | true>> = {},
): Promise<unknown> {
  const given = Object.entries(values).flatMap(([option, value]) =>
    value === true ? [`--${option}`] : [`--${option}`, value],
  );
  const command = readCommand([...name.split(' '), ...given]);
  const unavailable = (): never => {
    throw new Error(`${name} must run on the environment`);
  };
  const shared = { ...context, [Symbol.asyncDispose]: async () => undefined } as CommandContext;
  return command?.run({
    variables: {},
    realNowMs: Date.now,
    openContext: async () => shared,
    serve: unavailable,
  });
}
