import { z } from 'zod';
import { JsonNumber, parseExactBytes } from '../../core/exact-json.ts';
import { readDecimal } from '../../core/money.ts';

/**
 * JSON-RPC as Bitcoin Core and its relatives speak it. Numbers are read exactly, since amounts come
 * as decimal numbers. Two ways of failing are kept apart: the node refused (it said so, with a
 * code), or nobody knows (no answer, or none that can be understood).
 */

/** The node's definite no. */
export class NodeRefusal extends Error {
  readonly code: number;
  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`);
    this.name = 'NodeRefusal';
    this.code = code;
  }
}

/** No answer, or none that can be understood: the call may have had its effect. */
export class NodeSilence extends Error {
  constructor(method: string, detail: string, cause?: unknown) {
    super(`${method}: ${detail}`, cause === undefined ? undefined : { cause });
    this.name = 'NodeSilence';
  }
}

/** Codes of Bitcoin Core (`rpc/protocol.h`) that this rail acts upon. */
export const refusals = {
  /** Also: no such transaction, or not the wallet's. */
  invalidAddressOrKey: -5,
  walletError: -4,
  /** No such wallet, or not loaded. */
  walletNotFound: -18,
  walletLoaded: -35,
  /** The transaction is in a block already. */
  alreadyInChain: -27,
  warmingUp: -28,
} as const;

export type NodeRpcOptions = {
  readonly url: string;
  /** `user:password`. */
  readonly credentials: string;
  readonly timeoutMs: number;
  readonly fetch: typeof fetch;
};

export type RpcCall<T> = {
  readonly method: string;
  readonly params: readonly unknown[];
  readonly result: z.ZodType<T>;
  /** The wallet that is asked; undefined: the node itself. */
  readonly wallet?: string;
};

export type NodeRpc = {
  /** @throws NodeRefusal or NodeSilence. */
  call<T>(call: RpcCall<T>, signal: AbortSignal): Promise<T>;
};

/** A wallet of 50,000 coins still lists them within this. */
const answerBytesMax = 64 * 1024 * 1024;
const messageLengthMax = 200;

export const jsonInteger = z
  .instanceof(JsonNumber)
  .transform((number) => Number(number.text))
  .pipe(z.int());

/** Coins with up to eight decimals, as minor units. */
export const jsonCoins = z.instanceof(JsonNumber).transform((number, context) => {
  const decimal = readDecimal(number.text);
  if (decimal === undefined || decimal.scale > 8) {
    context.addIssue({ code: 'custom', message: 'no amount of coins' });
    return z.NEVER;
  }
  return decimal.digits * 10n ** BigInt(8 - decimal.scale);
});

const envelope = z.object({
  result: z.unknown(),
  error: z.object({ code: jsonInteger, message: z.string() }).nullish(),
  id: jsonInteger,
});

export function createNodeRpc(options: NodeRpcOptions): NodeRpc {
  const authorization = `Basic ${Buffer.from(options.credentials).toString('base64')}`;
  const base = options.url.replace(/\/+$/, '');
  let nextId = 0;
  return {
    call: async (call, signal) => {
      nextId += 1;
      const id = nextId;
      const { method, params, wallet } = call;
      const path = wallet === undefined ? '/' : `/wallet/${encodeURIComponent(wallet)}`;
      const bytes = await exchange(options, method, {
        url: `${base}${path}`,
        init: {
          method: 'POST',
          redirect: 'error',
          headers: { authorization, 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '1.0', id, method, params }),
          signal: AbortSignal.any([signal, AbortSignal.timeout(options.timeoutMs)]),
        },
      });
      return readAnswer(call, id, bytes);
    },
  };
}

type Request = { url: string; init: RequestInit };

async function exchange(
  options: NodeRpcOptions,
  method: string,
  { url, init }: Request,
): Promise<Buffer> {
  let status: number;
  let bytes: Buffer;
  try {
    const response = await options.fetch(url, init);
    status = response.status;
    if (Number(response.headers.get('content-length') ?? 0) > answerBytesMax) {
      await response.body?.cancel();
      throw new Error('the answer is too long');
    }
    bytes = Buffer.from(await response.arrayBuffer());
  } catch (cause) {
    throw new NodeSilence(method, 'no answer', cause);
  }
  // Refusals come with status 400, 404 or 500 and a JSON body; a wrong password has an empty one.
  if (status === 401 || status === 403)
    throw new NodeSilence(method, 'the credentials are refused');
  return bytes;
}

function readAnswer<T>({ method, result }: RpcCall<T>, id: number, bytes: Buffer): T {
  let answer: z.infer<typeof envelope>;
  try {
    answer = envelope.parse(parseExactBytes(bytes));
  } catch (cause) {
    throw new NodeSilence(method, 'the answer is no JSON-RPC', cause);
  }
  if (answer.id !== id) throw new NodeSilence(method, 'the answer is to another call');
  const { error } = answer;
  if (error !== null && error !== undefined) {
    if (error.code === refusals.warmingUp) throw new NodeSilence(method, 'the node is starting');
    throw new NodeRefusal(method, error.code, error.message.slice(0, messageLengthMax));
  }
  const parsed = result.safeParse(answer.result);
  if (!parsed.success) throw new NodeSilence(method, 'the result has another form', parsed.error);
  return parsed.data;
}
