import { z } from 'zod';
import { readBounded } from '../../core/bounded-body.ts';
import { JsonNumber, parseExactBytes } from '../../core/exact-json.ts';
import { readDecimal } from '../../core/money.ts';

/**
 * JSON-RPC of Bitcoin Core and related nodes. Numbers are read exactly, since amounts are decimal
 * numbers. A refusal with a code is distinguished from a missing or invalid answer, after which the
 * call may have had its effect.
 */

/** The node refused the call. */
export class NodeRefusal extends Error {
  readonly code: number;
  constructor(method: string, code: number, message: string) {
    super(`${method}: ${message}`);
    this.name = 'NodeRefusal';
    this.code = code;
  }
}

/** No answer, or an invalid one: the call may have had its effect. */
export class NodeUnavailable extends Error {
  constructor(method: string, detail: string, cause?: unknown) {
    super(`${method}: ${detail}`, cause === undefined ? undefined : { cause });
    this.name = 'NodeUnavailable';
  }
}

/** Codes of Bitcoin Core (`rpc/protocol.h`). */
export const refusals = {
  /** Also: no such transaction, or not in the wallet. */
  invalidAddressOrKey: -5,
  walletError: -4,
  /** Or not loaded. */
  walletNotFound: -18,
  walletLoaded: -35,
  /** The transaction is already in a block. */
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
  /** undefined: the node itself. */
  readonly wallet?: string;
};

export type NodeRpc = {
  /** @throws NodeRefusal or NodeUnavailable. */
  call<T>(call: RpcCall<T>, signal: AbortSignal): Promise<T>;
};

/** Holds a list of 50,000 coins. */
const answerBytesMax = 64 * 1024 * 1024;
const messageLengthMax = 200;

export const jsonInteger = z
  .instanceof(JsonNumber)
  .transform((number) => Number(number.text))
  .pipe(z.int());

/** Decimals of the coins. */
export const coinScale = 8;

/** Coins with up to eight decimals, as minor units; what leaves a wallet is negative. */
export const jsonCoins = z.instanceof(JsonNumber).transform((number, context) => {
  const decimal = readDecimal(number.text);
  if (decimal === undefined || decimal.scale > coinScale) {
    context.addIssue({ code: 'custom', message: 'must be an amount with at most eight decimals' });
    return z.NEVER;
  }
  return decimal.digits * 10n ** BigInt(coinScale - decimal.scale);
});

const envelope = z.object({
  result: z.unknown(),
  error: z.object({ code: jsonInteger, message: z.string() }).nullish(),
  id: jsonInteger,
});

export function createNodeRpc(options: NodeRpcOptions): NodeRpc {
  const authorization = `Basic ${Buffer.from(options.credentials).toString('base64')}`;
  const base = options.url.replace(/(?<!\/)\/+$/, '');
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
  let response: Response;
  let bytes: Buffer | undefined;
  try {
    response = await options.fetch(url, init);
    bytes = await readBounded(response, answerBytesMax);
  } catch (cause) {
    throw new NodeUnavailable(method, 'no answer', cause);
  }
  if (bytes === undefined) throw new NodeUnavailable(method, 'the answer is too long');
  const { status } = response;
  // Refusals have status 400, 404 or 500 and a JSON body; for a wrong password it is empty.
  if (status === 401 || status === 403)
    throw new NodeUnavailable(method, 'the node refuses the credentials');
  return bytes;
}

function readAnswer<T>({ method, result }: RpcCall<T>, id: number, bytes: Buffer): T {
  let answer: z.infer<typeof envelope>;
  try {
    answer = envelope.parse(parseExactBytes(bytes));
  } catch (cause) {
    throw new NodeUnavailable(method, 'the answer is not JSON-RPC', cause);
  }
  if (answer.id !== id) throw new NodeUnavailable(method, 'the answer is to another call');
  const { error } = answer;
  if (error !== null && error !== undefined) {
    if (error.code === refusals.warmingUp)
      throw new NodeUnavailable(method, 'the node is starting');
    throw new NodeRefusal(method, error.code, error.message.slice(0, messageLengthMax));
  }
  const parsed = result.safeParse(answer.result);
  if (!parsed.success)
    throw new NodeUnavailable(method, 'the result has an unexpected form', parsed.error);
  return parsed.data;
}
