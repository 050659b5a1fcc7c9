import type { IncomingMessage } from 'node:http';
import { newRandomText } from '../core/ids.ts';

/** The id of a request, for answers and logs. Random, so that clients learn nothing of the volume. */
export function newRequestId(): string {
  return `req_${newRandomText()}`;
}

/**
 * The id that a reverse proxy gave the request, so that its log and ours agree. Only a trusted proxy's
 * counts: a client could otherwise write the ids of others into the log.
 */
export function readRequestId(
  { headers, socket }: Pick<IncomingMessage, 'headers' | 'socket'>,
  isTrusted: (address: string) => boolean,
): string | undefined {
  const given = headers['x-request-id'];
  if (typeof given !== 'string' || !/^[A-Za-z0-9._-]{8,64}$/.test(given)) return undefined;
  return isTrusted(socket.remoteAddress ?? '') ? given : undefined;
}
