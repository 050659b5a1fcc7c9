import { z } from 'zod';
import { readBounded } from '../../core/bounded-body.ts';
import type { RailHost } from '../contract/contract.ts';
import { parseJson, toText } from './answers.ts';

/**
 * JSON-RPC 2.0 over HTTP; every answer has a time limit, a size limit and a schema. Errors name the
 * method and the number of the endpoint, never its URL (which may contain an API key) nor the answer
 * (which may contain addresses).
 */

/** `unreachable`: no answer. `garbage`: an invalid one. `refused`: a JSON-RPC error. */
export class RpcError extends Error {
  readonly kind: 'unreachable' | 'garbage' | 'refused';
  /** The node's code and message, to distinguish refusals; not for logs. */
  readonly code: number;
  readonly refusal: string;

  constructor(
    message: string,
    about: { kind: RpcError['kind']; code?: number; refusal?: string; cause?: unknown },
  ) {
    super(message, { cause: about.cause });
    this.name = 'RpcError';
    this.kind = about.kind;
    this.code = about.code ?? 0;
    this.refusal = about.refusal ?? '';
  }
}

/** Logs a failure of an endpoint. @throws any other error */
export function logRpcFailure(
  host: Pick<RailHost, 'log'>,
  error: unknown,
  about: Readonly<Record<string, string>> = {},
): void {
  if (!(error instanceof RpcError)) throw error;
  host.log('warn', error.message, { ...about, kind: error.kind });
}

export type RpcOptions = {
  readonly url: string;
  /** Of the endpoint, in messages. */
  readonly name: string;
  readonly fetch: typeof fetch;
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
};

export type Rpc = {
  /** @throws RpcError */
  call<Schema extends z.ZodType>(
    method: string,
    params: readonly unknown[],
    schema: Schema,
  ): Promise<z.infer<Schema>>;
};

/** A block with all its transactions has several hundred kilobytes. */
const answerBytesMax = 16 * 1024 * 1024;

const envelopeSchema = z.union([
  z.object({
    jsonrpc: z.literal('2.0'),
    id: z.int().nullable(),
    error: z.object({ code: z.int(), message: z.string() }),
  }),
  z.object({ jsonrpc: z.literal('2.0'), id: z.int(), result: z.unknown() }),
]);

export function createRpc(options: RpcOptions): Rpc {
  let lastId = 0;
  return {
    call: async (method, params, schema) => {
      lastId += 1;
      const id = lastId;
      const where = `${options.name} at ${method}`;
      const body = JSON.stringify({ jsonrpc: '2.0', id, method, params });
      const { status, text } = await post(options, body, where);
      const envelope = envelopeSchema.safeParse(parseJson(text));
      if (!envelope.success) {
        // Such as 401 after a key was revoked, 429, or a page of a proxy.
        const message = `${where} answered with HTTP status ${status} and no JSON-RPC`;
        throw new RpcError(message, { kind: 'garbage' });
      }
      if ('error' in envelope.data) {
        const { code, message } = envelope.data.error;
        const refusal = message.slice(0, 300).toLowerCase();
        throw new RpcError(`${where} refused with code ${code}`, {
          kind: 'refused',
          code,
          refusal,
        });
      }
      if (envelope.data.id !== id) {
        throw new RpcError(`${where} answered another request`, { kind: 'garbage' });
      }
      const result = schema.safeParse(envelope.data.result);
      if (result.success) return result.data;
      throw new RpcError(`${where} returned an invalid result`, { kind: 'garbage' });
    },
  };
}

async function post(
  options: RpcOptions,
  body: string,
  where: string,
): Promise<{ status: number; text: string }> {
  try {
    const response = await options.fetch(options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    // The status decides nothing, since some nodes send one of their own with an error.
    const { status } = response;
    return { status, text: toText(await readBounded(response, answerBytesMax)) };
  } catch (cause) {
    throw new RpcError(`${where} gave no answer`, { kind: 'unreachable', cause });
  }
}
