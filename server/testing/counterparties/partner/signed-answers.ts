import { randomBytes } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import {
  createSigningKey,
  digestBody,
  signMessage,
} from '../../../src/rails/partner/signatures.ts';
import type { PartnerHttpRequest, PartnerState, Reply } from './handlers.ts';
import type { Fault } from './simulator-options.ts';

/** The simulator's signed answers, with the faults of an answer. */

type Answering = {
  readonly partner: PartnerState;
  readonly received: PartnerHttpRequest;
  readonly reply: Reply;
  readonly fault: Fault | undefined;
};

const strangerKey = createSigningKey({
  id: 'stranger',
  algorithm: 'hmac-sha256',
  key: randomBytes(32).toString('base64'),
});

export async function sendAnswer(answering: Answering, response: ServerResponse): Promise<void> {
  const { fault, reply } = answering;
  switch (fault?.kind) {
    case 'error_after':
      response.writeHead(500).end('failed');
      return;
    case 'reset_after':
      response.socket?.resetAndDestroy();
      return;
    case 'silent_after':
      return;
    case 'garbage':
      response.writeHead(200, { 'content-type': 'application/json' }).end(randomBytes(200));
      return;
    default: {
      const body = Buffer.from(JSON.stringify(distort(reply.json, fault)));
      response.writeHead(reply.status, await signReply(answering, body));
      await writeBody(response, { body, fault });
    }
  }
}

function distort(json: object, fault: Fault | undefined): object {
  if (fault?.kind === 'wrong_amount') return { ...json, amount: '7777.77' };
  if (fault?.kind === 'wrong_reference') return { ...json, reference: 'another-one' };
  return json;
}

async function signReply(
  { partner, received, reply, fault }: Answering,
  body: Buffer,
): Promise<Record<string, string>> {
  const headers = {
    'content-type': 'application/json',
    'content-length': String(body.length),
    'content-digest': digestBody(body),
  };
  const { method, url, headers: requestHeaders } = received;
  // Without the digest of the request an answer cannot cover it.
  if (fault?.kind === 'unsigned' || requestHeaders['content-digest'] === undefined) return headers;
  const nonce = /;nonce="([0-9A-Za-z_-]{16,64})"/.exec(
    requestHeaders['signature-input'] ?? '',
  )?.[1];
  const message = { status: reply.status, headers };
  const request = { method, url, headers: requestHeaders };
  const key = fault?.kind === 'wrong_signature' ? strangerKey : partner.key;
  return await signMessage({ role: 'answer', message, request }, key, {
    createdS: reply.createdS,
    expiresS: reply.createdS + 60,
    nonce: nonce ?? '',
  });
}

async function writeBody(
  response: ServerResponse,
  { body, fault }: { body: Buffer; fault: Fault | undefined },
): Promise<void> {
  if (fault?.kind === 'cut') {
    response.write(body.subarray(0, body.length / 2), () => response.socket?.resetAndDestroy());
    return;
  }
  if (fault?.kind !== 'drip') {
    response.end(body);
    return;
  }
  for (const byte of body) {
    response.write(Buffer.of(byte));
    await new Promise((resolve) => {
      setTimeout(resolve, fault.delayMs / body.length);
    });
  }
  response.end();
}
