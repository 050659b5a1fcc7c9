import { z } from 'zod';

/**
 * JSON-RPC 2.0 over HTTP, of which nothing is believed: every answer has a time limit, a size limit
 * and a schema. Errors name the method and the number of the endpoint, never its URL (it may hold
 * the provider's key) nor what came back (it may hold addresses).
 */

/** `unreachable`: no answer. `garbage`: one that is not as agreed. `refused`: an error as agreed. */
export class RpcError extends Error {
  readonly kind: 'unreachable' | 'garbage' | 'refused';
  /** The node's own code and words of a refusal, for telling refusals apart; not for logs. */
  readonly code: number;
  readonly words: string;

  constructor(
    message: string,
    about: { kind: RpcError['kind']; code?: number; words?: string; cause?: unknown },
  ) {
    super(message, { cause: about.cause });
    this.name = 'RpcError';
    this.kind = about.kind;
    this.code = about.code ?? 0;
    this.words = about.words ?? '';
  }
}

export type RpcOptions = {
  readonly url: string;
  /** What the endpoint is called in messages. */
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

/** A block with all its transactions has some hundred kilobytes. */
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
      const text = await post(
        options,
        JSON.stringify({ jsonrpc: '2.0', id, method, params }),
        where,
      );
      const envelope = envelopeSchema.safeParse(parseJson(text));
      if (!envelope.success) {
        throw new RpcError(`${where} answered no JSON-RPC`, { kind: 'garbage' });
      }
      if ('error' in envelope.data) {
        const { code, message } = envelope.data.error;
        const words = message.slice(0, 300).toLowerCase();
        throw new RpcError(`${where} refused with code ${code}`, { kind: 'refused', code, words });
      }
      if (envelope.data.id !== id) {
        throw new RpcError(`${where} answered another question`, { kind: 'garbage' });
      }
      const result = schema.safeParse(envelope.data.result);
      if (result.success) return result.data;
      throw new RpcError(`${where} answered what it should not`, { kind: 'garbage' });
    },
  };
}

async function post(options: RpcOptions, body: string, where: string): Promise<string> {
  try {
    const response = await options.fetch(options.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json' },
      body,
      redirect: 'error',
      signal: AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]),
    });
    return await readText(response);
  } catch (cause) {
    if (cause instanceof RpcError) throw cause;
    throw new RpcError(`${where} gave no answer`, { kind: 'unreachable', cause });
  }
}

/** Some nodes say an error with a status of its own, so the status decides nothing. */
async function readText(response: Response): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  const body: AsyncIterable<Uint8Array> | null = response.body;
  for await (const chunk of body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > answerBytesMax) {
      throw new RpcError('the answer of a node is too long', { kind: 'garbage' });
    }
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    if (cause instanceof SyntaxError) return undefined;
    throw cause;
  }
}
