import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { createByteCollector } from '../core/bounded-body.ts';
import { AppError } from '../core/errors.ts';
import { createPace } from './body-pace.ts';
import { readMediaType } from './content-type.ts';
import type { KeyRecord, Upload } from './route.ts';
import { refuseCompressed } from './validation.ts';

/** Reads request bodies: in full, up to the route's limit, or as a stream. */

/** How long a body that is read in full may take. */
const bodyMsMax = 60_000;

/**
 * A body that is too large is answered at once while Node reads and discards the rest: closing the
 * connection on a client that is still sending would lose the answer. `watchRest` bounds the time.
 */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', readBody);
}

function readBody(
  request: FastifyRequest,
  payload: IncomingMessage,
): Promise<Buffer | IncomingMessage | undefined> {
  // `routeOptions` builds a new object on each access.
  const { config, bodyLimit: bytesMax } = request.routeOptions;
  if (config.takesBody === false) {
    payload.resume();
    return Promise.resolve(undefined);
  }
  const refuse = (): AppError =>
    new AppError('body_too_large', `The body must have at most ${bytesMax} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(refuse());
  if (config.streamsBody === true) return Promise.resolve(payload);
  // A request without a length has no body.
  if (payload.readableEnded) return Promise.resolve(Buffer.alloc(0));
  const collector = createByteCollector(bytesMax);
  return new Promise((resolve, reject) => {
    const refuseSlow = (): void => {
      end();
      reject(describeSlow());
    };
    const timer = setTimeout(refuseSlow, bodyMsMax).unref();
    const pace = createPace(refuseSlow);
    const end = (): void => {
      clearTimeout(timer);
      pace.end();
    };
    pace.wait();
    payload.on('data', (chunk: Buffer) => {
      pace.receive(chunk.length);
      pace.wait();
      if (collector.add(chunk)) return;
      end();
      reject(refuse());
    });
    payload.on('end', () => {
      end();
      resolve(collector.take());
    });
    payload.on('error', (cause) => {
      end();
      reject(
        new AppError('malformed_http', 'The connection ended before the whole body had arrived', {
          cause,
        }),
      );
    });
  });
}

/** The error handler closes the connection with this answer. */
function describeSlow(): AppError {
  return new AppError('request_timeout', 'The body arrived too slowly');
}

/**
 * The body of a route that reads it itself.
 *
 * @throws AppError unsupported_media_type.
 */
export function openUpload(
  request: FastifyRequest,
  { types, record }: { types: readonly string[]; record: KeyRecord | undefined },
): Upload {
  refuseCompressed(request.headers['content-encoding']);
  const mediaType = readMediaType(request.headers['content-type']);
  if (mediaType === undefined || !types.includes(mediaType)) {
    throw new AppError(
      'unsupported_media_type',
      `Content-Type must be ${types.join(' or ')}, in UTF-8`,
    );
  }
  return { mediaType, bytes: streamBody(request.raw), record };
}

/**
 * The bytes as they arrive. Stopping early does not close the connection, which still carries the
 * answer.
 *
 * @throws AppError malformed_http if the connection breaks, request_timeout if the body arrives too
 * slowly.
 */
async function* streamBody(payload: IncomingMessage): AsyncGenerator<Buffer, void> {
  const chunks = payload.iterator({ destroyOnReturn: false });
  const slow = Promise.withResolvers<never>();
  slow.promise.catch(() => undefined);
  const pace = createPace(() => slow.reject(describeSlow()));
  try {
    for (;;) {
      pace.wait();
      const next = await Promise.race([chunks.next(), slow.promise]);
      if (next.done === true) return;
      const chunk = next.value as Buffer;
      pace.receive(chunk.length);
      yield chunk;
    }
  } catch (cause) {
    if (cause instanceof AppError) throw cause;
    throw new AppError('malformed_http', 'The connection ended before the whole body had arrived', {
      cause,
    });
  } finally {
    pace.end();
    // The rest is discarded as it arrives. Not awaited, since the iterator may still wait for a
    // chunk.
    void chunks
      .return?.()
      .catch(() => undefined)
      .finally(() => payload.resume());
  }
}
