import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';

/** The service in a process of its own, for tests that end or inspect it. */

export const serverMain = join(import.meta.dirname, '../server/src/main.ts');

/** Without threads of the garbage collector, a start takes a tenth less processor time. */
export const nodeWords = ['--disable-warning=ExperimentalWarning', '--single-threaded-gc'];

/** Where page faults are slow and other starts run, one took more than a minute. */
const startMsMax = 180_000;

/** Live refuses root, as whom tests may run; this starts the same service without the refusal. */
const serviceAsRootMain = join(import.meta.dirname, 'service-as-root.ts');

function isRootInLive({ OUTLAY_ENVIRONMENTS = '' }: Readonly<Record<string, string>>): boolean {
  return process.getuid?.() === 0 && OUTLAY_ENVIRONMENTS.includes('live');
}

export type RunningApart = {
  readonly process: ChildProcess;
  output(): string;
  stop(): Promise<void>;
};

/** @throws Error with the output of a process that does not start. */
export async function runServiceApart(
  variables: Readonly<Record<string, string>>,
  { role, recovers }: { role: 'all' | 'serve'; recovers: boolean },
): Promise<RunningApart> {
  const main = isRootInLive(variables) ? serviceAsRootMain : serverMain;
  const further = recovers ? ['--recover'] : [];
  const child = spawn(process.execPath, [...nodeWords, main, role, ...further], {
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = await waitUntilReady(child);
  return { process: child, output, stop: () => stopProcess(child) };
}

async function waitUntilReady(child: ChildProcess): Promise<() => string> {
  let printed = '';
  await new Promise<void>((resolve, reject) => {
    const fail = (reason: string): void => reject(new Error(`${reason}\n${printed}`));
    const timer = setTimeout(() => {
      child.kill('SIGKILL');
      fail('the service did not start in time');
    }, startMsMax);
    for (const stream of [child.stdout, child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => {
        printed += text;
        if (!printed.includes('Outlay is ready')) return;
        clearTimeout(timer);
        resolve();
      });
    }
    child.once('exit', (code) => {
      clearTimeout(timer);
      fail(`the service ended with ${code}`);
    });
  });
  return () => printed;
}

/** Resolves when the process has ended. */
export async function stopProcess(
  child: ChildProcess,
  signal: NodeJS.Signals = 'SIGTERM',
): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const ended = new Promise((resolve) => child.once('exit', resolve));
  child.kill(signal);
  await ended;
}
