import type { z } from 'zod';
import type { ExactJson } from '../../core/exact-json.ts';
import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { nameMember, parseExact } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';
import { approve, type Challenge, readChallenge } from './approval.ts';
import type { WiseConfig } from './config.ts';
import { refusalSchema } from './protocol.ts';
import { createTokens } from './tokens.ts';

/** Requests to the Wise Platform API. */

export type ApiRequest = {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH';
  /** After the base address, beginning with a slash. */
  readonly path: string;
  readonly body?: object;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent again with our signature, where Wise refuses it until it is approved. */
  readonly isApproved?: true;
};

/**
 * - `answered`: a success (2xx) whose body has the schema's form.
 * - `refused`: a definite refusal of this request: 400, 409 or 422, with the code of its first error.
 * - `missing`: 404, which an intermediary can answer as well: it proves nothing by itself.
 * - `unauthorized`: 401 or 403.
 * - `unclear`: anything else; the request may have been carried out.
 */
export type ApiResult<Value> =
  | { readonly kind: 'answered'; readonly value: Value }
  | {
      readonly kind: 'refused';
      readonly status: number;
      readonly code: string;
      readonly path: string;
    }
  | { readonly kind: 'missing' }
  | { readonly kind: 'unauthorized' }
  | Unclear;

export type Unclear = {
  readonly kind: 'unclear';
  readonly reason: Reason;
  readonly retryAfterMs?: number;
};

export type Api = <Schema extends z.ZodType>(
  request: ApiRequest,
  schema: Schema,
  context: CallContext,
) => Promise<ApiResult<z.output<Schema>>>;

type RawAnswer = {
  readonly status: number;
  readonly json: ExactJson | undefined;
  readonly retryAfterMs: number;
  readonly challenge?: Challenge | undefined;
};

/** Account requirements with long lists of banks, and pages of transfers, are the longest. */
const answerBytesMax = 4 * 1024 * 1024;

export function createApi(config: WiseConfig, host: RailHost): Api {
  const tokens = createTokens(config, host);
  const exchange = async (request: ApiRequest, { signal }: CallContext) => {
    const token = await tokens.get();
    if (token === undefined) return { status: 401, json: undefined, retryAfterMs: 0 };
    const through = { config, host, token, signal };
    const answer = await callOnce(request, through);
    // A user token may have been revoked before its time; the next call gets a new one.
    if (answer?.status === 401) tokens.forget(token);
    if (request.isApproved !== true || answer?.challenge === undefined) return answer;
    if (config.signingKey === undefined) {
      host.log('error', 'Wise asks for strong customer authentication; set signingKey', {});
      return answer;
    }
    // The refused request has done nothing: the answer to this one gives the outcome.
    const headers = { ...request.headers, ...approve(answer.challenge, config.signingKey) };
    return callOnce({ ...request, headers }, through);
  };
  return async (request, schema, context) => {
    const answer = await exchange(request, context);
    if (answer === undefined) return { kind: 'unclear', reason: 'no_answer' };
    const { status, json, retryAfterMs } = answer;
    if (status >= 200 && status < 300) {
      const parsed = schema.safeParse(json);
      if (parsed.success) return { kind: 'answered', value: parsed.data };
      host.log('warn', 'an answer of Wise does not have the described form', {
        path: nameOperation(request),
        field: nameMember(parsed.error),
      });
      return { kind: 'unclear', reason: 'not_understood' };
    }
    host.log('warn', 'Wise did not carry out a request', { path: nameOperation(request), status });
    return readFailure({ status, json, retryAfterMs });
  };
}

function readFailure({
  status,
  json,
  retryAfterMs,
}: RawAnswer): Exclude<ApiResult<never>, { kind: 'answered' }> {
  const wait = retryAfterMs > 0 ? { retryAfterMs } : {};
  if (status === 401 || status === 403) return { kind: 'unauthorized' };
  if (status === 404) return { kind: 'missing' };
  if (status === 400 || status === 409 || status === 422) {
    const refusal = refusalSchema.safeParse(json);
    // Without the form of Wise's refusals it may come from an intermediary.
    if (!refusal.success) return { kind: 'unclear', reason: 'not_understood' };
    const [first] = refusal.data.errors;
    return { kind: 'refused', status, code: readCode(first?.code), path: readCode(first?.path) };
  }
  const isBusy = status === 429 || status === 503;
  return { kind: 'unclear', reason: isBusy ? 'busy' : 'payer_error', ...wait };
}

/** Codes and field names only: other text of an answer may be personal. */
function readCode(text: string | undefined): string {
  return text !== undefined && /^[A-Za-z0-9._/-]{1,100}$/.test(text) ? text : '';
}

/** The path without identifiers and query. */
function nameOperation({ method, path }: ApiRequest): string {
  const [address = ''] = path.split('?');
  return `${method} ${address.replaceAll(/\/(?:\d+|[0-9a-f]{8}-[0-9a-f-]{27})(?=\/|$)/g, '/*')}`;
}

/** Undefined where no complete answer came. */
async function callOnce(
  { method, path, body, headers }: ApiRequest,
  {
    config,
    host,
    token,
    signal,
  }: { config: WiseConfig; host: RailHost; token: string; signal: AbortSignal },
): Promise<RawAnswer | undefined> {
  const result = await exchangeHttp(
    {
      method,
      url: config.baseUrl + path,
      headers: {
        accept: 'application/json',
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      body: body === undefined ? '' : JSON.stringify(body),
      signal,
    },
    { ...host, timeoutMs: config.timeoutSeconds * 1000, answerBytesMax },
  );
  if (result.kind !== 'answered') {
    const { error } = result;
    host.log('warn', 'Wise did not answer', { path: nameOperation({ method, path }), error });
    return undefined;
  }
  const { status, retryAfterMs } = result;
  const challenge = readChallenge(status, result.headers);
  return { status, json: result.body && parseExact(result.body), retryAfterMs, challenge };
}
