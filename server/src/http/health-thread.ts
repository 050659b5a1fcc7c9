import { once } from 'node:events';
import type { IncomingHttpHeaders } from 'node:http';
import { Worker } from 'node:worker_threads';
import type { FastifyInstance } from 'fastify';
import type { Port } from './listen.ts';

/**
 * Health and metrics at a port of their own, from a thread of their own: they answer whatever the main thread
 * is busy with, so that a moment of overload does not take a process out of service. Liveness is answered by
 * the thread itself; for the others it asks the main thread, and gives its last answer where that is busy.
 */

export type HealthLimits = {
  /** After so long an orchestrator has to start the process again. */
  readonly stalledMsMax: number;
  /** The main thread is waited for so long. */
  readonly waitMsMax: number;
  /** Its last answer counts for so long where it is busy. */
  readonly knownMsMax: number;
};

export const healthLimits: HealthLimits = {
  stalledMsMax: 30_000,
  waitMsMax: 1_000,
  knownMsMax: 10_000,
};

export type WorkerStart = HealthLimits &
  Port & {
    /** When the main thread last turned, by `process.hrtime`. */
    readonly turnedAt: SharedArrayBuffer;
  };
export type Relayed = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly address: string;
};
export type RelayedAnswer = {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
};

export type HealthOptions = Port & {
  /** Called when the thread ends by a fault. The main port has the same paths. */
  onError: (error: Error) => void;
  /** Those of production without it. */
  limits?: HealthLimits;
};

export type HealthThread = { readonly port: number; close(): Promise<void> };

const turnEveryMs = 500;

/** @throws Error with the code EADDRINUSE where another program uses the port. */
export async function startHealthThread(
  app: FastifyInstance,
  { limits = healthLimits, onError, ...place }: HealthOptions,
): Promise<HealthThread> {
  const turnedAt = new SharedArrayBuffer(8);
  const turned = new BigInt64Array(turnedAt);
  const turn = (): void => void Atomics.store(turned, 0, process.hrtime.bigint());
  turn();
  const turning = setInterval(turn, turnEveryMs);
  const workerData: WorkerStart = { ...place, ...limits, turnedAt };
  const worker = new Worker(new URL('./health-worker.ts', import.meta.url), { workerData });
  worker.unref();
  turning.unref();
  const close = async (): Promise<void> => {
    clearInterval(turning);
    await worker.terminate();
  };
  try {
    const [started] = (await once(worker, 'message')) as [{ port: number }];
    worker.on('message', ({ id, ...asked }: Relayed & { id: number }) => {
      relay(app, asked).then(
        (answer) => worker.postMessage({ id, ...answer }),
        // A server that is closing takes no request: the thread gives the last answer.
        () => undefined,
      );
    });
    worker.on('error', onError);
    return { port: started.port, close };
  } catch (error) {
    await close();
    throw error;
  }
}

/** Through the routes of the main port, so that who may read metrics is decided in one place. */
async function relay(app: FastifyInstance, asked: Relayed): Promise<RelayedAnswer> {
  const { path: url, headers, address: remoteAddress } = asked;
  const answer = await app.inject({ method: 'GET', url, headers, remoteAddress });
  const contentType = answer.headers['content-type'] ?? 'application/json';
  return { status: answer.statusCode, contentType, body: answer.body };
}
