import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import {
  authorize,
  expiresHeader,
  lightKeySchema,
  timeHeader,
  verifyAuthorization,
} from '../../../src/rails/partner/light-authentication.ts';
import {
  createSigningKey,
  createVerifyingKeys,
  digestBody,
  signingKeySchema,
  signMessage,
  verifyingKeySchema,
  verifyMessage,
} from '../../../src/rails/partner/signatures.ts';
import type { Fault } from './simulator-options.ts';

/** How the simulator authenticates requests, answers and callbacks, at either level of the protocol. */

const pem = z.string().max(20_000);

export const secretsSchema = z.union([
  z.strictObject({
    outlayKeys: z.array(verifyingKeySchema).min(1),
    partnerKey: signingKeySchema,
  }),
  z.strictObject({
    light: z.strictObject({
      /** None where the client certificate is the authentication. */
      outlayKeys: z.array(lightKeySchema),
      callbackKey: lightKeySchema,
      tls: z.strictObject({ certificate: pem, privateKey: pem, clientAuthority: pem }).optional(),
    }),
  }),
]);
export type SimulatorSecrets = z.output<typeof secretsSchema>;

export type PartnerHttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
};

export type Reply = { readonly status: number; readonly json: object; readonly createdS: number };

export type Headers = Record<string, string>;

export type SimulatorLevel = {
  verify(
    received: PartnerHttpRequest,
  ):
    | { readonly ok: true; readonly expiresS: number; readonly createdS: number }
    | { readonly ok: false; readonly detail: string };
  /** Headers of an answer. */
  describeAnswer(
    answer: { received: PartnerHttpRequest; reply: Reply; fault: Fault | undefined },
    body: Buffer,
  ): Promise<Headers>;
  /** Headers of a callback; a forged one has the signature of a stranger. */
  describeCallback(
    call: { url: string; body: string; nowMs: number },
    isForged: boolean,
  ): Promise<Headers>;
};

export function createSimulatorLevel(secrets: SimulatorSecrets): SimulatorLevel {
  return 'light' in secrets ? createLightLevel(secrets.light) : createSignedLevel(secrets);
}

const strangerSecret = randomBytes(32).toString('base64');
const stranger = createSigningKey({
  id: 'stranger',
  algorithm: 'hmac-sha256',
  key: strangerSecret,
});

function createSignedLevel(
  secrets: Extract<SimulatorSecrets, { partnerKey: unknown }>,
): SimulatorLevel {
  const outlayKeys = createVerifyingKeys(secrets.outlayKeys);
  const key = createSigningKey(secrets.partnerKey);
  return {
    verify: ({ method, url, headers, body }) =>
      verifyMessage({ role: 'request', message: { method, url, headers }, body }, outlayKeys),
    describeAnswer: async ({ received, reply, fault }, body) => {
      const headers = {
        'content-type': 'application/json',
        'content-length': String(body.length),
        'content-digest': digestBody(body),
      };
      const { method, url, headers: requestHeaders } = received;
      // Without the digest of the request an answer cannot cover it.
      const hasDigest = requestHeaders['content-digest'] !== undefined;
      if (fault?.kind === 'unsigned' || !hasDigest) return headers;
      const input = requestHeaders['signature-input'] ?? '';
      const nonce = /;nonce="([0-9A-Za-z_-]{16,64})"/.exec(input)?.[1];
      const message = { status: reply.status, headers };
      const request = { method, url, headers: requestHeaders };
      const signer = fault?.kind === 'wrong_signature' ? stranger : key;
      return await signMessage({ role: 'answer', message, request }, signer, {
        createdS: reply.createdS,
        expiresS: reply.createdS + 60,
        nonce: nonce ?? '',
      });
    },
    describeCallback: async ({ url, body, nowMs }, isForged) => {
      const createdS = Math.floor(nowMs / 1000);
      const digest = digestBody(Buffer.from(body));
      const headers = { 'content-type': 'application/json', 'content-digest': digest };
      return await signMessage(
        { role: 'callback', message: { method: 'POST', url, headers } },
        isForged ? stranger : key,
        { createdS, expiresS: createdS + 60, nonce: randomBytes(18).toString('base64url') },
      );
    },
  };
}

function createLightLevel({
  outlayKeys,
  callbackKey,
  tls,
}: Extract<SimulatorSecrets, { light: unknown }>['light']): SimulatorLevel {
  const verify: SimulatorLevel['verify'] = ({ method, path, headers, body }) => {
    // The connection has been refused where there is no valid certificate.
    if (tls !== undefined && outlayKeys.length === 0) {
      const expires = headers[expiresHeader] ?? '';
      return /^\d{1,11}$/.test(expires)
        ? { ok: true, expiresS: Number(expires), createdS: 0 }
        : { ok: false, detail: 'Outlay-Expires must be seconds since 1970' };
    }
    const message = { role: 'request', method, path, body } as const;
    const verified = verifyAuthorization(message, headers, outlayKeys);
    return verified.ok ? { ...verified, createdS: 0 } : verified;
  };
  return {
    verify,
    describeAnswer: async ({ reply, fault }, body) => ({
      'content-type': 'application/json',
      'content-length': String(body.length),
      ...(fault?.kind === 'no_time' ? {} : { [timeHeader]: String(reply.createdS) }),
    }),
    describeCallback: async ({ url, body, nowMs }, isForged) => {
      const expiresS = Math.floor(nowMs / 1000) + 60;
      const path = new URL(url).pathname;
      const call = { role: 'callback', method: 'POST', path, body: Buffer.from(body) } as const;
      const key = isForged ? { ...callbackKey, key: strangerSecret } : callbackKey;
      return {
        'content-type': 'application/json',
        [expiresHeader]: String(expiresS),
        authorization: authorize({ ...call, expiresS }, key),
      };
    },
  };
}
