import { readBounded } from '../../core/bounded-body.ts';

/** Reading answers of counterparties over HTTP, and failures to get one. */

/** The body as text; empty where it is longer than `bytesMax` bytes, so that it does not parse. */
export async function readText(response: Response, bytesMax: number): Promise<string> {
  const body = await readBounded(response, bytesMax);
  return body?.toString('utf8') ?? '';
}

/** Undefined where the text is not JSON; a schema then refuses it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}

/**
 * Whether `fetch` failed before a byte of the request could leave: no address of the host accepted a
 * connection, or its name has no address. False where the failure does not prove it.
 */
export function isBeforeConnection(error: unknown): boolean {
  const cause = error instanceof Error ? error.cause : undefined;
  const faults: readonly unknown[] = cause instanceof AggregateError ? cause.errors : [cause];
  return faults.length > 0 && faults.every(isConnectionFault);
}

const connectionFaults: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);
const nameFaults: ReadonlySet<unknown> = new Set(['ENOTFOUND', 'EAI_AGAIN']);

function isConnectionFault(fault: unknown): boolean {
  if (!(fault instanceof Error) || !('code' in fault)) return false;
  const syscall = 'syscall' in fault ? fault.syscall : undefined;
  if (nameFaults.has(fault.code)) return syscall === 'getaddrinfo';
  return connectionFaults.has(fault.code) && (syscall === undefined || syscall === 'connect');
}
