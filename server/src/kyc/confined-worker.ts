import { once } from 'node:events';
import { z } from 'zod';
import { forkConfined } from './decoder-confinement.ts';

/** Work in a confined process of its own, which ends with it. */

/** The process ended, hung or failed: the work may be done again later. */
export class WorkerError extends Error {}

export type Worker<Schema extends z.ZodType> = {
  /** Its file. */
  readonly module: string;
  /** The subject of a sentence about its failure. */
  readonly name: string;
  /** What it answers, which has read what a stranger sent. */
  readonly answer: Schema;
  /** Start of the process included; it is killed then. */
  readonly timeMaxMs: number;
  readonly readable: readonly string[];
  readonly bytesMax?: number;
};

const failure = z.object({ isFailed: z.literal(true) });

/** @throws WorkerError */
export async function withWorker<Schema extends z.ZodType, Result>(
  { module, name, answer, timeMaxMs, ...access }: Worker<Schema>,
  work: (ask: (request: object) => Promise<z.output<Schema>>) => Promise<Result>,
  stopping?: AbortSignal,
): Promise<Result> {
  const limit = AbortSignal.timeout(timeMaxMs);
  const signal = stopping === undefined ? limit : AbortSignal.any([limit, stopping]);
  const child = await forkConfined(module, access);
  const ended = once(child, 'exit').catch(() => undefined);
  const failAtEnd = async (): Promise<never> => {
    await ended;
    throw new WorkerError(`${name} ended without an answer`);
  };
  try {
    return await work(async (request) => {
      const answered = once(child, 'message', { signal });
      child.send(request);
      const [message] = (await Promise.race([answered, failAtEnd()])) as unknown[];
      if (failure.safeParse(message).success) throw new WorkerError(`${name} failed`);
      return answer.parse(message);
    });
  } catch (cause) {
    if (cause instanceof WorkerError) throw cause;
    throw new WorkerError(`${name} did not answer`, { cause });
  } finally {
    child.kill('SIGKILL');
    await ended;
  }
}
