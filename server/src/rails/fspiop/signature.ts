import type { KeyObject } from 'node:crypto';
import { errors, FlattenedSign, flattenedVerify } from 'jose';
import { z } from 'zod';
import { parseJson } from '../kit/answers.ts';

/**
 * Message signatures by "API Signature" 1.1: a JSON Web Signature (RFC 7515) over the body as sent,
 * whose protected header repeats the HTTP headers that matter, as JSON in FSPIOP-Signature. Only the
 * scheme's algorithm, RS256, is accepted.
 */

export type SignedHead = {
  readonly method: string;
  /** The path below the API's root, such as `/transfers/...`. */
  readonly uri: string;
  readonly source: string;
  /** "" in a look-up. */
  readonly destination: string;
  /** The HTTP header Date; undefined: not signed. */
  readonly date: string | undefined;
};

const algorithm = 'RS256';

/** The value of FSPIOP-Signature. */
export async function signMessage(head: SignedHead, body: string, key: KeyObject): Promise<string> {
  const { signature, protected: protectedHeader } = await new FlattenedSign(Buffer.from(body))
    .setProtectedHeader({
      alg: algorithm,
      'FSPIOP-URI': head.uri,
      'FSPIOP-HTTP-Method': head.method,
      'FSPIOP-Source': head.source,
      ...(head.destination !== '' && { 'FSPIOP-Destination': head.destination }),
      Date: head.date,
    })
    .sign(key);
  return JSON.stringify({ signature, protectedHeader });
}

const signatureSchema = z.object({
  signature: z.string().max(2_000),
  protectedHeader: z.string().max(8_000),
});
const protectedSchema = z.object({
  'FSPIOP-URI': z.string(),
  'FSPIOP-HTTP-Method': z.string(),
  'FSPIOP-Source': z.string(),
  'FSPIOP-Destination': z.string().optional(),
  Date: z.string().optional(),
});

export type ReceivedMessage = {
  readonly method: string;
  /** Forms of the path that a sender may have signed. */
  readonly uris: readonly string[];
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

export type SignatureReading =
  | {
      readonly kind: 'proven';
      readonly source: string;
      readonly destination: string;
      /** undefined: not signed. */
      readonly date: string | undefined;
    }
  | { readonly kind: 'unproven'; readonly detail: string };

/** Who sent a message, if its signature proves it and agrees with the HTTP headers. */
export async function readSignature(
  message: ReceivedMessage,
  keys: ReadonlyMap<string, KeyObject>,
): Promise<SignatureReading> {
  const { headers } = message;
  const source = headers['fspiop-source'] ?? '';
  const key = keys.get(source);
  if (key === undefined) return unproven('no public key is configured for this FSPIOP-Source');
  const parts = signatureSchema.safeParse(parseJson(headers['fspiop-signature'] ?? ''));
  if (!parts.success) return unproven('FSPIOP-Signature is missing or malformed');
  const header = await verify(parts.data, message.body, key);
  if (header === undefined) {
    return unproven(`the ${algorithm} signature over the body is not valid for the source's key`);
  }
  const fields = protectedSchema.safeParse(header);
  if (!fields.success) return unproven('the protected header is incomplete');
  const detail = findDifference(message, fields.data);
  if (detail !== undefined) return unproven(detail);
  const { 'FSPIOP-Destination': destination = '', Date: date } = fields.data;
  return { kind: 'proven', source, destination, date };
}

/** The protected header; undefined where the signature is not valid. */
async function verify(
  { protectedHeader, signature }: z.output<typeof signatureSchema>,
  body: Uint8Array,
  key: KeyObject,
) {
  const payload = Buffer.from(body).toString('base64url');
  const jws = { protected: protectedHeader, payload, signature };
  try {
    return (await flattenedVerify(jws, key, { algorithms: [algorithm] })).protectedHeader;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}

function findDifference(
  { method, uris, headers }: ReceivedMessage,
  fields: z.output<typeof protectedSchema>,
): string | undefined {
  if (fields['FSPIOP-HTTP-Method'].toUpperCase() !== method.toUpperCase()) {
    return 'another method was signed';
  }
  if (!uris.includes(fields['FSPIOP-URI'])) return 'another path was signed';
  if (fields['FSPIOP-Source'] !== headers['fspiop-source']) return 'another source was signed';
  if ((fields['FSPIOP-Destination'] ?? '') !== (headers['fspiop-destination'] ?? '')) {
    return 'another destination was signed';
  }
  if (fields.Date !== undefined && fields.Date !== headers['date'])
    return 'another date was signed';
  return undefined;
}

function unproven(detail: string): SignatureReading {
  return { kind: 'unproven', detail };
}
