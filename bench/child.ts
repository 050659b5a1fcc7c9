import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

/** A child process of the run, which is controlled by messages and ends with its parent. */
export type Child = {
  readonly processId: number;
  /** What the child said when it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Sends a message and resolves with the next one from the child. */
  ask(message: unknown): Promise<unknown>;
  stop(): Promise<void>;
};

/**
 * @param file Below this folder.
 * @param options.execArgv What Node is started with; as `npm start` does for the service.
 */
export async function startChild(
  file: string,
  options: { env: Readonly<Record<string, string>>; execArgv?: readonly string[] },
): Promise<Child> {
  const child = fork(join(import.meta.dirname, file), {
    env: { ...process.env, ...options.env },
    execArgv: ['--disable-warning=ExperimentalWarning', ...(options.execArgv ?? [])],
  });
  const ready = await hear(child);
  return {
    processId: child.pid ?? 0,
    ready: ready as Record<string, unknown>,
    ask: (message) => {
      const answer = hear(child);
      child.send(message as object);
      return answer;
    },
    stop: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      const ended = once(child, 'exit');
      child.disconnect();
      await ended;
    },
  };
}

async function hear(child: ChildProcess): Promise<unknown> {
  const gone = new AbortController();
  const onExit = (): void => gone.abort(new Error('a process of the run ended'));
  child.once('exit', onExit);
  try {
    const [message] = (await once(child, 'message', { signal: gone.signal })) as unknown[];
    return message;
  } finally {
    child.off('exit', onExit);
  }
}
