import { createHash } from 'node:crypto';
import { parseJson } from '../kit/answers.ts';

/**
 * The part of Interledger that a payer needs: whether a fulfilment matches a condition, and the
 * transaction in the packet of the payee's provider. The packet is returned to it unchanged.
 */

/** The condition is the SHA-256 of the 32 bytes of the fulfilment; both are Base64url. */
export function isFulfilled(condition: string, fulfilment: string): boolean {
  const preimage = Buffer.from(fulfilment, 'base64url');
  if (preimage.length !== 32) return false;
  return createHash('sha256').update(preimage).digest('base64url') === condition;
}

const paymentType = 1;
const prepareType = 12;
/** Of a prepare packet, between its amount and its destination: time (17) and condition (32). */
const prepareFixedBytes = 49;
const amountBytes = 8;

/** The transaction that a packet of ILP version 1 or 4 carries as Base64url of JSON, if readable. */
export function readTransaction(packet: string): Record<string, unknown> | undefined {
  const bytes = Buffer.from(packet, 'base64url');
  const type = bytes[0];
  if (type !== paymentType && type !== prepareType) return undefined;
  const content = readField(bytes, 1)?.content;
  if (content === undefined) return undefined;
  const headBytes = amountBytes + (type === prepareType ? prepareFixedBytes : 0);
  const address = readField(content, headBytes);
  const data = address === undefined ? undefined : readField(content, address.end);
  if (data === undefined) return undefined;
  const text = Buffer.from(data.content.toString('latin1'), 'base64url').toString('utf8');
  const parsed = parseJson(text);
  return typeof parsed === 'object' && parsed !== null
    ? (parsed as Record<string, unknown>)
    : undefined;
}

/** A field after its length: one byte, or the number of length bytes that follow. */
function readField(bytes: Buffer, start: number): { content: Buffer; end: number } | undefined {
  const first = bytes[start];
  if (first === undefined) return undefined;
  const sizeBytes = first < 0x80 ? 0 : first & 0x7f;
  if (sizeBytes > 4 || start + 1 + sizeBytes > bytes.length) return undefined;
  const length = sizeBytes === 0 ? first : bytes.readUIntBE(start + 1, sizeBytes);
  const from = start + 1 + sizeBytes;
  if (from + length > bytes.length) return undefined;
  return { content: bytes.subarray(from, from + length), end: from + length };
}
