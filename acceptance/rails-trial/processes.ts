import { type ChildProcess, spawn } from 'node:child_process';
import { createWriteStream } from 'node:fs';

export { findFreePort } from '../../server/testing/setups/free-port.ts';

/** Child processes of the trial: all of them in its group, so that none outlives it. */

export type ProcessOptions = {
  readonly args: readonly string[];
  /** What it prints goes here. */
  readonly logFile: string;
  readonly isReady: (printed: string) => boolean;
  readonly env?: Readonly<Record<string, string>>;
};

export type RunningProcess = {
  readonly child: ChildProcess;
  /** Resolves with what it printed so far; rejects when it ends before. */
  readonly ready: Promise<string>;
  readonly ended: Promise<void>;
  hasEnded(): boolean;
};

/** Node with a program of ours. */
export function startProcess(options: ProcessOptions): RunningProcess {
  const { args, logFile, isReady, env } = options;
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
    ...(env === undefined ? {} : { env }),
  });
  const log = createWriteStream(logFile, { flags: 'a' });
  let printed = '';
  const ended = new Promise<void>((resolve) => {
    child.once('close', () => {
      log.end();
      resolve();
    });
    child.once('error', () => resolve());
  });
  const ready = new Promise<string>((resolve, reject) => {
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => {
        log.write(text);
        printed = (printed + text).slice(-20_000);
        if (isReady(printed)) resolve(printed);
      });
    }
    void ended.then(() => reject(new Error(`${args.join(' ')} ended: ${printed.slice(-2000)}`)));
  });
  // The killer does not wait until it is ready.
  ready.catch(() => undefined);
  return {
    child,
    ready,
    ended,
    hasEnded: () => child.exitCode !== null || child.signalCode !== null,
  };
}

/** A process that is killed, and started again as it was. */
export type Revivable = { kill(): Promise<void>; start(): Promise<string> };

export function createRevivable(options: ProcessOptions): Revivable {
  let running: RunningProcess | undefined;
  return {
    start: () => {
      running = startProcess(options);
      return running.ready;
    },
    kill: async () => {
      running?.child.kill('SIGKILL');
      await running?.ended;
    },
  };
}
