import type { z } from 'zod';
import { type ExactJson, JsonFault, parseExactBytes } from '../../core/exact-json.ts';

/** Reading answers of counterparties over HTTP, and failures to get one. */

/** Empty where the body was longer than allowed (undefined), so that it does not parse. */
export function toText(body: Buffer | undefined): string {
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

/** Numbers keep every digit. Undefined where the bytes are not exact JSON. */
export function parseExact(bytes: Uint8Array): ExactJson | undefined {
  try {
    return parseExactBytes(Buffer.from(bytes));
  } catch (error) {
    if (error instanceof JsonFault) return undefined;
    throw error;
  }
}

/** The member that breaks a schema, without its value, which could be personal; "" for the whole. */
export function nameMember(error: z.ZodError): string {
  return error.issues[0]?.path.map(String).join('.') ?? '';
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

/**
 * What failed, for a log line: the code of the socket, the name look-up or the certificate, such as
 * ECONNRESET, ENOTFOUND or CERT_HAS_EXPIRED, else the class. Messages may hold anything.
 */
export function nameFailure(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const fault: unknown = cause instanceof AggregateError ? cause.errors[0] : cause;
  const code = fault instanceof Error && 'code' in fault ? String(fault.code) : '';
  if (/^[A-Z][A-Z0-9_]{1,60}$/.test(code)) return code;
  return error instanceof Error ? error.name : typeof error;
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
