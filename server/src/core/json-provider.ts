import type { z } from 'zod';
import { readBounded } from './bounded-body.ts';

/**
 * A company's service behind JSON over HTTP, whose form the operator's own adapter writes. Answers are
 * bounded, and redirects are not followed.
 */

/** There is no usable answer. The message names no person. */
export class ProviderError extends Error {}

export type ProviderAddress = {
  readonly url: string;
  /** The bearer token. */
  readonly token: string;
  readonly fetch: typeof fetch;
};

export type ProviderRequest = {
  /** After the address; "" for the address itself. */
  readonly path?: string;
  /** A POST with this object, and the key under which the provider takes it once; else a GET. */
  readonly post?: { readonly body: string; readonly key: string };
  readonly signal?: AbortSignal;
};

export type JsonProvider = {
  /** Its host. */
  readonly name: string;
  /** @throws ProviderError */
  ask<Schema extends z.ZodType>(
    schema: Schema,
    request: ProviderRequest,
  ): Promise<z.output<Schema>>;
};

export function openJsonProvider(
  { url, token, fetch }: ProviderAddress,
  { answerBytesMax, callMsMax }: { answerBytesMax: number; callMsMax: number },
): JsonProvider {
  const name = new URL(url).hostname;
  const call = async ({ path = '', post, signal }: ProviderRequest): Promise<string> => {
    const limit = AbortSignal.timeout(callMsMax);
    const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };
    const init = post && {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json', 'idempotency-key': post.key },
      body: post.body,
    };
    const response = await fetch(url + path, {
      headers,
      ...init,
      redirect: 'error',
      signal: signal === undefined ? limit : AbortSignal.any([signal, limit]),
    });
    const raw = await readBounded(response, answerBytesMax);
    if (raw === undefined) throw new ProviderError('the answer is too long');
    if (!response.ok) throw new ProviderError(`${name} answered ${response.status}`);
    return raw.toString();
  };
  return {
    name,
    ask: async (schema, request) => {
      let text: string;
      try {
        text = await call(request);
      } catch (cause) {
        if (cause instanceof ProviderError) throw cause;
        throw new ProviderError(`${name} gave no answer`, { cause });
      }
      const answer = parse(schema, text);
      // The fault would quote the answer, which is about a person.
      if (answer === undefined) throw new ProviderError(`${name} gave an answer of another form`);
      return answer;
    },
  };
}

function parse<Schema extends z.ZodType>(schema: Schema, text: string) {
  try {
    return schema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
