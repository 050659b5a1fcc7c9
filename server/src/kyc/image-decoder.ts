import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { AppError } from '../core/errors.ts';
import { forkConfined } from './decoder-confinement.ts';
import {
  type DecodeAnswer,
  type DecodePurpose,
  type DecodeRequest,
  decodeTimesMaxMs,
} from './image-limits.ts';

export type ImageDecoder = {
  /** Throws `unavailable` when the decoder ended without an answer. */
  decode(bytes: Buffer, purpose?: DecodePurpose): Promise<DecodeAnswer>;
};

/**
 * Runs the work with a decoder in a child process, which starts with the first image and ends with the
 * work. A decoder takes hundreds of megabytes that an allocator does not release, and reads untrusted files:
 * in its own process neither outlives the upload, and one that hangs can be killed. What the process may do:
 * decoder-confinement.ts.
 */
export async function withImageDecoder<Result>(
  work: (decoder: ImageDecoder) => Promise<Result>,
): Promise<Result> {
  let starting: ReturnType<typeof startDecoder> | undefined;
  try {
    return await work({
      decode: async (bytes, purpose = 'photograph') => {
        starting ??= startDecoder();
        const { child } = await starting;
        return decodeIn(child, { bytes, purpose });
      },
    });
  } finally {
    const started = await starting?.catch(() => undefined);
    started?.child.kill('SIGKILL');
    await started?.ended;
  }
}

async function startDecoder() {
  const child = await forkConfined(join(import.meta.dirname, 'image-worker.ts'));
  return { child, ended: once(child, 'exit').catch(() => undefined) };
}

function decodeIn(child: ChildProcess, request: DecodeRequest): Promise<DecodeAnswer> {
  return new Promise((resolve, reject) => {
    const fail = (cause?: unknown): void => {
      finish();
      const detail = 'images cannot be decoded now';
      reject(new AppError('unavailable', detail, { retryAfterSeconds: 2, cause }));
    };
    const timer = setTimeout(() => {
      finish();
      resolve({ isDamaged: true });
    }, decodeTimesMaxMs[request.purpose]);
    const onMessage = (answer: DecodeAnswer): void => {
      finish();
      resolve(answer);
    };
    const finish = (): void => {
      clearTimeout(timer);
      child.off('message', onMessage).off('exit', fail).off('error', fail);
    };
    child.on('message', onMessage).on('exit', fail).on('error', fail);
    child.send(request, (error) => {
      if (error !== null) fail(error);
    });
  });
}
