import { createApp } from '../server/src/app.ts';
import { describeStart } from '../server/src/cli/start-screen.ts';
import { type Role, readConfig } from '../server/src/config.ts';

/** The service in the process of the test: what its process prints, and its end. */
export type RunningHere = { output(): string; stop(): Promise<void> };

/**
 * Does what `outlay all` or `outlay serve` does in a process of its own (`server/src/operator.ts`), but
 * for signals and the refusal of root in live. It saves the second that a process takes to load the program.
 */
export async function runServiceHere(
  variables: Readonly<Record<string, string>>,
  { role, recovers }: { role: Role; recovers: boolean },
): Promise<RunningHere> {
  const printed: string[] = [];
  const write = (text: string): void => void printed.push(text);
  const config = readConfig(variables);
  const app = await createApp(config, {
    role,
    recovers,
    realNowMs: Date.now,
    report: (line) => write(`outlay: ${line}\n`),
    logOutput: { write, onLost: () => undefined },
  });
  const stop = (): Promise<void> => app.close();
  try {
    write(describeStart(config, { role, ...(await app.listen()) }));
  } catch (error) {
    await stop();
    throw error;
  }
  return { output: () => printed.join(''), stop };
}
