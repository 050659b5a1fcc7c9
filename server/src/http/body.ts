import type { IncomingMessage } from 'node:http';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { AppError } from '../core/errors.ts';

/** How request bodies are read: whole, up to the route's limit, and to their end even past it. */

/**
 * A client that is still sending cannot read an answer, and a connection that is closed under it
 * loses the answer altogether. So what is too large is read on and dropped, up to this much.
 */
const droppedBytesMax = 64 * 1024 * 1024;

export function addBodyReader(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', (request, payload, done) => {
    readBody(request, payload as IncomingMessage).then((body) => done(null, body), done);
  });
}

function readBody(request: FastifyRequest, payload: IncomingMessage): Promise<Buffer> {
  const isIgnored = request.routeOptions.config.takesBody === false;
  const bytesMax = isIgnored ? 0 : request.routeOptions.bodyLimit;
  const chunks: Buffer[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    payload.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= bytesMax) chunks.push(chunk);
      else chunks.length = 0;
      if (size > bytesMax + droppedBytesMax) payload.destroy();
    });
    payload.on('end', () => {
      if (size <= bytesMax) resolve(Buffer.concat(chunks));
      else if (isIgnored) resolve(Buffer.alloc(0));
      else reject(new AppError('body_too_large', `the body has more than ${bytesMax} bytes`));
    });
    payload.on('error', (cause) => {
      reject(new AppError('malformed_http', 'the body did not arrive whole', { cause }));
    });
    payload.on('aborted', () => {
      reject(new AppError('malformed_http', 'the body did not arrive whole'));
    });
  });
}
