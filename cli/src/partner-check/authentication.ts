import {
  createHash,
  createHmac,
  createPrivateKey,
  createPublicKey,
  randomBytes,
  sign,
  timingSafeEqual,
  verify,
} from 'node:crypto';
import type { Access, MacKey, SignedKey } from './description.ts';

/** Requests, answers and callbacks of the partner protocol, authenticated as its description says. */

export type Headers = Readonly<Record<string, string>>;

export type Outgoing = {
  readonly method: string;
  readonly url: URL;
  readonly body: string;
  readonly expiresS: number;
  readonly nowS: number;
};

export type Incoming = { readonly headers: Headers; readonly body: Buffer };

const sha256 = (body: string | Buffer, encoding: 'base64' | 'hex'): string =>
  createHash('sha256').update(body).digest(encoding);
const digestOf = (body: string | Buffer): string => `sha-256=:${sha256(body, 'base64')}:`;

export function authenticate(outgoing: Outgoing, access: Access): Headers {
  if (access.level === 'signed') return signRequest(outgoing, access.signingKey);
  const { method, url, body, expiresS } = outgoing;
  const expires = { 'outlay-expires': String(expiresS) };
  if (access.level === 'tls') return expires;
  const text = ['outlay-request', method, url.pathname, String(expiresS), sha256(body, 'hex')];
  return { ...expires, authorization: formatMac(text, access.key) };
}

function formatMac(lines: readonly string[], { id, key }: MacKey): string {
  return `Outlay-HMAC-SHA256 key=${id}, signature=${computeMac(lines.join('\n'), key).toString('hex')}`;
}

function computeMac(text: string, key: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64')).update(text).digest();
}

function signBytes(base: string, { algorithm, key }: SignedKey): Buffer {
  return algorithm === 'hmac-sha256'
    ? computeMac(base, key)
    : sign(null, Buffer.from(base), createPrivateKey(key));
}

const requestNames = ['"@method"', '"@authority"', '"@path"', '"content-digest"'];
const answerNames = [
  '"@status"',
  '"content-digest"',
  '"@method";req',
  '"@path";req',
  '"content-digest";req',
];

function signRequest({ method, url, body, expiresS, nowS }: Outgoing, key: SignedKey): Headers {
  const digest = digestOf(body);
  const createdS = Math.min(nowS, expiresS);
  const parameters =
    `(${requestNames.join(' ')});created=${createdS};expires=${expiresS}` +
    `;nonce="${randomBytes(18).toString('base64url')}";keyid="${key.id}"` +
    `;alg="${key.algorithm}";tag="outlay-request"`;
  const base = formatBase(requestNames, [method, url.host, url.pathname, digest], parameters);
  return {
    'content-digest': digest,
    'signature-input': `outlay=${parameters}`,
    signature: `outlay=:${signBytes(base, key).toString('base64')}:`,
  };
}

function formatBase(
  names: readonly string[],
  values: readonly string[],
  parameters: string,
): string {
  const lines = names.map((name, index) => `${name}: ${values[index] ?? ''}`);
  return [...lines, `"@signature-params": ${parameters}`].join('\n');
}

/** Why an answer does not count; undefined where it does. */
export function findAnswerFault(
  request: Outgoing & { readonly headers: Headers },
  answer: Incoming & { readonly status: number; readonly nowS: number },
  access: Access,
): string | undefined {
  if (access.level !== 'signed') {
    const time = answer.headers['outlay-time'] ?? '';
    if (!/^\d{1,11}$/.test(time)) return 'the header Outlay-Time must be seconds since 1970';
    return isNear(Number(time), answer.nowS)
      ? undefined
      : "the partner's clock differs by more than 30 s";
  }
  const digest = answer.headers['content-digest'] ?? '';
  if (digest !== digestOf(answer.body)) return 'Content-Digest must be that of the body';
  const values = [
    String(answer.status),
    digest,
    request.method,
    request.url.pathname,
    request.headers['content-digest'] ?? digestOf(request.body),
  ];
  const names = { names: answerNames, values, tag: 'outlay-answer' };
  const fault = findSignatureFault(names, answer.headers, access.partnerKeys);
  if (fault !== undefined) return fault;
  const nonce = readParameter(request.headers['signature-input'] ?? '', 'nonce');
  if (readParameter(answer.headers['signature-input'] ?? '', 'nonce') !== nonce) {
    return 'the answer must repeat the nonce of its request';
  }
  return isNear(readCreated(answer.headers), answer.nowS)
    ? undefined
    : "the partner's clock differs by more than 30 s";
}

function readCreated(headers: Headers): number {
  return Number(/;created=(\d+)/.exec(headers['signature-input'] ?? '')?.[1]);
}

function isNear(seconds: number, nowS: number): boolean {
  return Math.abs(seconds - nowS) <= 30;
}

function readParameter(input: string, name: string): string | undefined {
  return new RegExp(`;${name}="([^"]*)"`).exec(input)?.[1];
}

function findSignatureFault(
  covered: { names: readonly string[]; values: readonly string[]; tag: string },
  headers: Headers,
  keys: readonly SignedKey[],
): string | undefined {
  const [, parameters] = /(?:^|,)\s*outlay=(\(.*)/.exec(headers['signature-input'] ?? '') ?? [];
  const [, text] = /(?:^|,\s*)outlay=:([0-9A-Za-z+/=]+):/.exec(headers['signature'] ?? '') ?? [];
  if (parameters === undefined || text === undefined) return 'there is no signature';
  if (!parameters.startsWith(`(${covered.names.join(' ')});`)) {
    return `the signature must cover ${covered.names.join(' ')}, in this order`;
  }
  const parameterFault = findParameterFault(parameters);
  if (parameterFault !== undefined) return parameterFault;
  if (readParameter(parameters, 'tag') !== covered.tag) return `tag must be ${covered.tag}`;
  const key = keys.find(({ id }) => id === readParameter(parameters, 'keyid'));
  if (key === undefined) return 'keyid must be one of partnerKeys';
  if (readParameter(parameters, 'alg') !== key.algorithm) return `alg must be ${key.algorithm}`;
  const base = formatBase(covered.names, covered.values, parameters);
  const signature = Buffer.from(text, 'base64');
  const isRight =
    key.algorithm === 'hmac-sha256'
      ? isSame(computeMac(base, key.key), signature)
      : verify(null, Buffer.from(base), createPublicKey(key.key), signature);
  return isRight ? undefined : 'the signature is wrong';
}

function findParameterFault(parameters: string): string | undefined {
  const given = [...parameters.replace(/^\([^)]*\)/, '').matchAll(/;([^;=]+)=("[^"]*"|[^;]*)/g)];
  const values = new Map(given.map(([, name = '', value = '']) => [name, value]));
  for (const name of ['created', 'expires']) {
    if (!/^\d{1,11}$/.test(values.get(name) ?? '')) return `${name} must be seconds since 1970`;
  }
  if (!/^"[0-9A-Za-z_-]{16,64}"$/.test(values.get('nonce') ?? '')) {
    return 'nonce must have 16 to 64 of the characters 0-9 A-Z a-z _ -';
  }
  const known = new Set(['created', 'expires', 'nonce', 'keyid', 'alg', 'tag']);
  const other = [...values.keys()].find((name) => !known.has(name));
  return other === undefined ? undefined : `the signature must not have the parameter ${other}`;
}

function isSame(expected: Buffer, given: Buffer): boolean {
  return expected.length === given.length && timingSafeEqual(expected, given);
}

/** Why a callback would be refused; undefined where it would not. */
export function findCallbackFault(
  { headers, body, url, nowS }: Incoming & { readonly url: URL; readonly nowS: number },
  access: Access,
): string | undefined {
  if (access.level === 'signed') {
    const digest = headers['content-digest'] ?? '';
    if (digest !== digestOf(body)) return 'Content-Digest must be that of the body';
    const values = ['POST', url.host, url.pathname, digest];
    const covered = { names: requestNames, values, tag: 'outlay-callback' };
    const fault = findSignatureFault(covered, headers, access.partnerKeys);
    if (fault !== undefined) return fault;
    return isNear(readCreated(headers), nowS) ? undefined : 'each attempt must be signed anew';
  }
  const expires = headers['outlay-expires'] ?? '';
  const form = /^Outlay-HMAC-SHA256 key=([0-9A-Za-z._:-]{1,64}), signature=([0-9a-f]{64})$/;
  const [, id, signature = ''] = form.exec(headers['authorization'] ?? '') ?? [];
  const key = access.callbackKeys.find((one) => one.id === id);
  if (key === undefined) return 'Authorization must have the id of one of callbackKeys';
  const text = ['outlay-callback', 'POST', url.pathname, expires, sha256(body, 'hex')].join('\n');
  if (!isSame(computeMac(text, key.key), Buffer.from(signature, 'hex'))) {
    return 'the signature is wrong';
  }
  const leftS = Number(expires) - nowS;
  return leftS > 0 && leftS <= 600
    ? undefined
    : 'Outlay-Expires must be within the next 600 seconds';
}
