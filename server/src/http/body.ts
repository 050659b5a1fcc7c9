import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';

/** How request bodies are read: whole, up to the route's limit, each refused as soon as it is past it. */

/**
 * What is too large is answered at once, and read on and dropped by Node: a connection that is
 * closed on a client that is still sending loses the answer. How long that may take is bounded by
 * the server's request timeout.
 */
export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', readBody);
}

function readBody(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer | undefined> {
  if (request.routeOptions.config.takesBody === false) {
    payload.resume();
    return Promise.resolve(undefined);
  }
  const bytesMax = request.routeOptions.bodyLimit;
  const refuse = (): AppError =>
    new AppError('body_too_large', `the body has more than ${bytesMax} bytes`);
  if (Number(request.headers['content-length'] ?? 0) > bytesMax) return Promise.reject(refuse());
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    payload.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= bytesMax) {
        chunks.push(chunk);
        return;
      }
      chunks.length = 0;
      reject(refuse());
    });
    payload.on('end', () => resolve(Buffer.concat(chunks)));
    payload.on('error', (cause) => {
      reject(new AppError('malformed_http', 'the body did not arrive whole', { cause }));
    });
  });
}
