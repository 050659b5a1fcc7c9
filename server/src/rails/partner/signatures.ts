import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  sign as signBytes,
  timingSafeEqual,
  verify as verifyBytes,
} from 'node:crypto';
import { httpbis, type Request, type Response } from 'http-message-signatures';
import {
  type InnerList,
  isInnerList,
  parseDictionary,
  serializeItem,
  serializeList,
} from 'structured-headers';
import { z } from 'zod';

/**
 * The signatures of the partner protocol: HTTP Message Signatures (RFC 9421) in one narrow profile,
 * with the body held by Content-Digest (RFC 9530). The standard lets the signer choose what is
 * covered; here each role has one list of components and nothing else is accepted, so that no
 * part of a message can be left out of its signature.
 */

export type MessageRole = 'request' | 'answer' | 'callback';

const label = 'outlay';

const requestComponents = ['"@method"', '"@authority"', '"@path"', '"content-digest"'] as const;

/** What is covered, in this order. An answer covers what it answers to (RFC 9421, section 2.4). */
const components: Readonly<Record<MessageRole, readonly string[]>> = {
  request: requestComponents,
  callback: requestComponents,
  answer: ['"@status"', '"content-digest"', '"@method";req', '"@path";req', '"content-digest";req'],
};

/** Keeps a message of one role from being taken for one of another, also under a shared key. */
const tags: Readonly<Record<MessageRole, string>> = {
  request: 'outlay-request',
  answer: 'outlay-answer',
  callback: 'outlay-callback',
};

const parameterNames = ['created', 'expires', 'nonce', 'keyid', 'alg', 'tag'];

export const keyId = z.string().regex(/^[0-9A-Za-z._:-]{1,64}$/);

/** Of 32 bytes and more, so that guessing is hopeless (RFC 2104, section 3). */
export const sharedSecret = z
  .string()
  .max(1000)
  .refine((text) => readSecret(text) !== undefined, {
    error: 'must be the Base64 of at least 32 bytes',
  });

/**
 * A key as an operator writes it: for `hmac-sha256` the shared secret in Base64, for `ed25519` a
 * PEM, private where we sign (PKCS 8), public where we verify (SPKI).
 */
export const signingKeySchema = z.discriminatedUnion('algorithm', [
  z.object({ id: keyId, algorithm: z.literal('hmac-sha256'), key: sharedSecret }),
  z.object({ id: keyId, algorithm: z.literal('ed25519'), key: pem(createPrivateKey, 'private') }),
]);
export const verifyingKeySchema = z.discriminatedUnion('algorithm', [
  z.object({ id: keyId, algorithm: z.literal('hmac-sha256'), key: sharedSecret }),
  z.object({ id: keyId, algorithm: z.literal('ed25519'), key: pem(createPublicKey, 'public') }),
]);
export type KeyDeclaration = z.output<typeof signingKeySchema>;

function pem(read: (text: string) => { asymmetricKeyType?: string }, half: string) {
  return z
    .string()
    .max(4000)
    .refine(
      (text) => {
        try {
          return text.includes(`${half.toUpperCase()} KEY`) && isEd25519(read(text));
        } catch {
          return false;
        }
      },
      { error: `must be the PEM of an Ed25519 ${half} key` },
    );
}

function isEd25519(key: { asymmetricKeyType?: string }): boolean {
  return key.asymmetricKeyType === 'ed25519';
}

export function readSecret(text: string): Buffer | undefined {
  const trimmed = text.trim();
  const bytes = Buffer.from(trimmed, 'base64');
  return bytes.length >= 32 && bytes.toString('base64') === trimmed ? bytes : undefined;
}

export type SigningKey = {
  readonly id: string;
  readonly algorithm: string;
  sign(base: Buffer): Buffer;
};
export type VerifyingKey = {
  readonly algorithm: string;
  verify(base: Buffer, signature: Buffer): boolean;
};
export type VerifyingKeys = ReadonlyMap<string, VerifyingKey>;

export function createSigningKey(declaration: KeyDeclaration): SigningKey {
  const { id, algorithm } = declaration;
  if (algorithm === 'hmac-sha256') return { id, algorithm, sign: createMac(declaration.key) };
  const key = createPrivateKey(declaration.key);
  return { id, algorithm, sign: (base) => signBytes(null, base, key) };
}

/** @throws Error where two keys have one id. */
export function createVerifyingKeys(declarations: readonly KeyDeclaration[]): VerifyingKeys {
  const keys = new Map(declarations.map((each) => [each.id, createVerifyingKey(each)]));
  if (keys.size < declarations.length) throw new Error('two keys of the partner have the same id');
  return keys;
}

function createVerifyingKey(declaration: KeyDeclaration): VerifyingKey {
  const { algorithm } = declaration;
  if (algorithm === 'ed25519') {
    const key = createPublicKey(declaration.key);
    return { algorithm, verify: (base, signature) => verifyBytes(null, base, key, signature) };
  }
  const computeMac = createMac(declaration.key);
  return {
    algorithm,
    verify: (base, signature) => {
      const expected = computeMac(base);
      return signature.length === expected.length && timingSafeEqual(signature, expected);
    },
  };
}

function createMac(text: string): (base: Buffer) => Buffer {
  const secret = readSecret(text);
  if (secret === undefined) throw new Error('a shared secret is not the Base64 of 32 bytes');
  return (base) => createHmac('sha256', secret).update(base).digest();
}

/** The header that holds a body to its signature; of an empty body too. */
export function digestBody(body: Uint8Array): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

type Headers = Record<string, string>;

export type SignedPart = {
  readonly role: MessageRole;
  readonly message: Request | Response;
  /** What an answer answers to, with the headers that it was signed with. */
  readonly request?: Request;
};

/** Times in seconds since 1970, of real time: both sides have to agree on them. */
export type SignatureTimes = {
  readonly createdS: number;
  readonly expiresS: number;
  /** Random in a request or callback; an answer repeats the one of its request. */
  readonly nonce: string;
};

/** The headers of the message with Signature-Input and Signature; Content-Digest is there already. */
export async function signMessage(
  part: SignedPart,
  key: SigningKey,
  times: SignatureTimes,
): Promise<Headers> {
  const config = {
    name: label,
    key: { id: key.id, alg: key.algorithm, sign: async (base: Buffer) => key.sign(base) },
    fields: [...components[part.role]],
    params: parameterNames,
    paramValues: {
      created: new Date(times.createdS * 1000),
      expires: new Date(times.expiresS * 1000),
      nonce: times.nonce,
      tag: tags[part.role],
    },
  };
  const { message, request } = part;
  const signed =
    'method' in message
      ? await httpbis.signMessage(config, message)
      : await httpbis.signMessage(config, message, request);
  return signed.headers as Headers;
}

export type Verification =
  | ({ readonly ok: true } & SignatureTimes)
  | { readonly ok: false; readonly detail: string };

/**
 * Whether a message was sent by a holder of one of the keys, unchanged. Its time is returned and not
 * checked. The library's own `verifyMessage` takes any list of components and any of several
 * signatures, so that only its signature base is used here.
 */
export function verifyMessage(
  part: SignedPart & { readonly body: Uint8Array },
  keys: VerifyingKeys,
): Verification {
  try {
    return verifyParsed(part, keys);
  } catch {
    return { ok: false, detail: 'the signature headers cannot be read' };
  }
}

function verifyParsed(
  part: SignedPart & { readonly body: Uint8Array },
  keys: VerifyingKeys,
): Verification {
  const headers = part.message.headers as Headers;
  const refuse = (detail: string): Verification => ({ ok: false, detail });
  const input = parseDictionary(headers['signature-input'] ?? '').get(label);
  const signature = readMember(headers['signature'] ?? '', label);
  if (input === undefined || signature === undefined) return refuse('there is no signature');
  if (!isInnerList(input) || !(signature instanceof ArrayBuffer)) {
    return refuse('the signature headers cannot be read');
  }
  const covered = input[0].map((item) => serializeItem(item));
  if (covered.join(' ') !== components[part.role].join(' ')) {
    return refuse('the signature does not cover what it has to, in the order of the protocol');
  }
  const parameters = parameterSchema.safeParse(Object.fromEntries(input[1]));
  if (!parameters.success) return refuse('a parameter of the signature is missing or senseless');
  const { keyid, alg, tag, created, expires, nonce } = parameters.data;
  if (tag !== tags[part.role]) return refuse('the signature is for another kind of message');
  const key = keys.get(keyid);
  if (key === undefined) return refuse('the key of the signature is not known');
  if (alg !== key.algorithm) return refuse('the algorithm is not the one of the key');
  if (!key.verify(buildBase(part, input), Buffer.from(signature))) {
    return refuse('the signature is wrong');
  }
  if (!matchesDigest(headers['content-digest'] ?? '', part.body)) {
    return refuse('the body is not the one that was signed');
  }
  return { ok: true, createdS: created, expiresS: expires, nonce };
}

const seconds = z.int().min(0).max(99_999_999_999);
const parameterSchema = z.strictObject({
  created: seconds,
  expires: seconds,
  nonce: z.string().regex(/^[0-9A-Za-z_-]{16,64}$/),
  keyid: keyId,
  alg: z.string(),
  tag: z.string(),
});

function buildBase({ role, message, request }: SignedPart, input: InnerList): Buffer {
  const config = { fields: [...components[role]] };
  const base =
    'method' in message
      ? httpbis.createSignatureBase(config, message)
      : httpbis.createSignatureBase(config, message, request);
  base.push(['"@signature-params"', [serializeList([input])]]);
  return Buffer.from(httpbis.formatSignatureBase(base));
}

function readMember(header: string, name: string): unknown {
  return parseDictionary(header).get(name)?.[0] as unknown;
}

/** Other algorithms may stand beside it, so that the one that the protocol names is looked for. */
function matchesDigest(header: string, body: Uint8Array): boolean {
  const digest = readMember(header, 'sha-256');
  const expected = createHash('sha256').update(body).digest();
  return digest instanceof ArrayBuffer && Buffer.from(digest).equals(expected);
}
