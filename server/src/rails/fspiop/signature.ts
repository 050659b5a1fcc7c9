import { type KeyObject, sign, verify } from 'node:crypto';
import { z } from 'zod';

/**
 * Signatures of messages as in "API Signature", version 1.1: a JSON Web Signature (RFC 7515) over
 * the body as it is on the wire, whose protected header repeats the HTTP headers that matter. It is
 * carried as JSON in FSPIOP-Signature. The scheme's algorithm is RS256 and no other is taken.
 */

export type SignedHead = {
  readonly method: string;
  /** The path below the API's root, such as `/transfers/...`. */
  readonly uri: string;
  readonly source: string;
  /** "" where nobody is addressed, as in a look-up. */
  readonly destination: string;
  /** As in the HTTP header Date; undefined: it is not signed. */
  readonly date: string | undefined;
};

const algorithm = 'RS256';

/** The value of FSPIOP-Signature. */
export function signMessage(head: SignedHead, body: string, key: KeyObject): string {
  const fields = {
    alg: algorithm,
    'FSPIOP-URI': head.uri,
    'FSPIOP-HTTP-Method': head.method,
    'FSPIOP-Source': head.source,
    ...(head.destination !== '' && { 'FSPIOP-Destination': head.destination }),
    Date: head.date,
  };
  const protectedHeader = Buffer.from(JSON.stringify(fields)).toString('base64url');
  const payload = Buffer.from(body).toString('base64url');
  const signature = sign('sha256', Buffer.from(`${protectedHeader}.${payload}`), key);
  return JSON.stringify({ signature: signature.toString('base64url'), protectedHeader });
}

const signatureSchema = z.object({
  signature: z.string().max(2_000),
  protectedHeader: z.string().max(8_000),
});
const protectedSchema = z.object({
  alg: z.literal(algorithm),
  'FSPIOP-URI': z.string(),
  'FSPIOP-HTTP-Method': z.string(),
  'FSPIOP-Source': z.string(),
  'FSPIOP-Destination': z.string().optional(),
  Date: z.string().optional(),
});

export type ReceivedMessage = {
  readonly method: string;
  /** The forms of its path that a sender may have signed. */
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
      /** As it was signed; undefined where it was not. */
      readonly date: string | undefined;
    }
  | { readonly kind: 'unproven'; readonly detail: string };

/** Who really says it. What is said in the protected header and in the HTTP headers must agree. */
export function readSignature(
  message: ReceivedMessage,
  keys: ReadonlyMap<string, KeyObject>,
): SignatureReading {
  const { headers } = message;
  const source = headers['fspiop-source'] ?? '';
  const key = keys.get(source);
  if (key === undefined) return unproven('no key of that FSPIOP-Source is known');
  const parts = signatureSchema.safeParse(parseJson(headers['fspiop-signature'] ?? ''));
  if (!parts.success) return unproven('FSPIOP-Signature is missing or cannot be read');
  const { signature, protectedHeader } = parts.data;
  const text = Buffer.from(protectedHeader, 'base64url').toString('utf8');
  const fields = protectedSchema.safeParse(parseJson(text));
  if (!fields.success) return unproven('the protected header is not complete, or not of RS256');
  const payload = Buffer.from(message.body).toString('base64url');
  const isValid = verify(
    'sha256',
    Buffer.from(`${protectedHeader}.${payload}`),
    key,
    Buffer.from(signature, 'base64url'),
  );
  if (!isValid) return unproven('the signature is not that of the source over this body');
  const detail = findDifference(message, fields.data);
  return detail === undefined
    ? {
        kind: 'proven',
        source,
        destination: fields.data['FSPIOP-Destination'] ?? '',
        date: fields.data.Date,
      }
    : unproven(detail);
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

/** Undefined where it is no JSON; a schema then refuses it. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
