import { randomBytes } from 'node:crypto';
import { request as requestPlain } from 'node:http';
import { request as requestSecure } from 'node:https';
import { authenticate, findAnswerFault, type Headers, type Outgoing } from './authentication.ts';
import type { Access } from './description.ts';
import { readStrictJson } from './strict-json.ts';

/** Requests to the partner under check, and what came back. */

export type Exchange = {
  readonly method: string;
  readonly path: string;
  readonly sent: string;
  /** 0: no answer. */
  readonly status: number;
  readonly received: string;
  readonly json: unknown;
  /** Why the answer does not count, no matter what it says. */
  readonly fault: string | undefined;
};

export type Call = {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly path: string;
  readonly body?: unknown;
  /** Sent as it is, instead of `body`. */
  readonly text?: string;
  /** From now; negative: expired. */
  readonly expiresInS?: number;
  /** What is wrong with the authentication on purpose. */
  readonly spoil?: 'missing' | 'wrong_key' | 'changed_body';
};

export type Partner = {
  readonly access: Access;
  call(call: Call): Promise<Exchange>;
};

const timeoutMs = 20_000;
const answerBytesMax = 4 * 1024 * 1024;

export function openPartner(
  baseUrl: string,
  access: Access,
  { nowMs, signal }: { readonly nowMs: () => number; readonly signal: AbortSignal },
): Partner {
  const base = baseUrl.replace(/(?<!\/)\/+$/, '');
  return {
    access,
    call: async (call) => {
      const url = new URL(base + call.path);
      const text = call.text ?? (call.body === undefined ? '' : JSON.stringify(call.body));
      const nowS = Math.floor(nowMs() / 1000);
      const expiresS = nowS + (call.expiresInS ?? 60);
      const outgoing = { method: call.method, url, body: text, expiresS, nowS };
      const headers = spoilHeaders(outgoing, { access, spoil: call.spoil });
      // Still the same JSON, so that only the authentication is wrong.
      const sent = call.spoil === 'changed_body' ? `${text} ` : text;
      const asked = { method: call.method, path: url.pathname, sent };
      const usesCertificate = call.spoil === undefined;
      try {
        const answer = await send(
          { ...outgoing, body: sent, headers },
          { access, usesCertificate, signal },
        );
        const received = { ...answer, nowS: nowMs() / 1000 };
        const answerFault = findAnswerFault({ ...outgoing, body: sent, headers }, received, access);
        const { json, fault = answerFault } = readStrictJson(answer.body);
        const body = answer.body.toString('utf8');
        return { ...asked, status: answer.status, received: body, json, fault };
      } catch (error) {
        if (signal.aborted) throw error;
        const detail = error instanceof Error ? error.message : 'no answer';
        return { ...asked, status: 0, received: '', json: undefined, fault: detail };
      }
    },
  };
}

function spoilHeaders(
  outgoing: Outgoing,
  { access, spoil }: { access: Access; spoil: Call['spoil'] },
): Headers {
  if (spoil === 'missing') return {};
  return authenticate(outgoing, spoil === 'wrong_key' ? replaceKey(access) : access);
}

function replaceKey(access: Access): Access {
  const key = randomBytes(32).toString('base64');
  switch (access.level) {
    case 'signed': {
      const { id } = access.signingKey;
      return { ...access, signingKey: { id, algorithm: 'hmac-sha256', key } };
    }
    case 'hmac':
      return { ...access, key: { id: access.key.id, key } };
    case 'tls':
      return access;
  }
}

type Answer = { status: number; headers: Headers; body: Buffer };

async function send(
  { method, url, headers, body }: Outgoing & { headers: Headers },
  {
    access,
    usesCertificate,
    signal,
  }: { access: Access; usesCertificate: boolean; signal: AbortSignal },
): Promise<Answer> {
  const certificate =
    access.level !== 'tls'
      ? {}
      : {
          ...(access.authority === undefined ? {} : { ca: access.authority }),
          ...(usesCertificate ? { cert: access.certificate, key: access.privateKey } : {}),
        };
  const options = {
    method,
    signal,
    timeout: timeoutMs,
    agent: false,
    headers: {
      accept: 'application/json',
      ...(body === ''
        ? {}
        : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
      ...headers,
    },
    ...certificate,
  } as const;
  return new Promise<Answer>((resolve, reject) => {
    const open = url.protocol === 'https:' ? requestSecure : requestPlain;
    const request = open(url, options, (incoming) => {
      const parts: Buffer[] = [];
      let length = 0;
      incoming.on('data', (part: Buffer) => {
        length += part.length;
        if (length > answerBytesMax) incoming.destroy(new Error('the answer is too long'));
        else parts.push(part);
      });
      incoming.once('error', reject);
      incoming.once('end', () => {
        const received = Object.fromEntries(
          Object.entries(incoming.headers).map(([name, value]) => [
            name,
            [value ?? ''].flat().join(', '),
          ]),
        );
        resolve({
          status: incoming.statusCode ?? 0,
          headers: received,
          body: Buffer.concat(parts),
        });
      });
    });
    request.once('timeout', () => request.destroy(new Error(`no answer in ${timeoutMs / 1000} s`)));
    request.once('error', reject);
    request.end(body);
  });
}
