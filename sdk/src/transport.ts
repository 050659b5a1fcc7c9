import {
  ConnectionError,
  createRefusal,
  OutlayError,
  TimeoutError,
  UnexpectedAnswerError,
} from './errors.ts';
import { parseJson } from './exact-json.ts';
import { onAbort, timerMsMax, waitFor } from './platform.ts';
import { readRetryAfter } from './retry.ts';

export type Fetch = typeof globalThis.fetch;

export type HttpRequest = {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string | undefined;
  /** Of a successful answer; undefined where they are not known. */
  readonly mediaTypes?: readonly string[] | undefined;
};

export type Limits = { readonly timeoutMs: number; readonly signal?: AbortSignal | undefined };

export type HttpAnswer = {
  readonly headers: Headers;
  /** JSON as values, text as a string, anything else as bytes; undefined for an empty body. */
  readonly body: unknown;
};

/**
 * Sends one request and reads its answer to the end.
 * @throws OutlayError unless the status is 200; the reason of the signal when it is aborted; TypeError for a
 * header that cannot be sent.
 */
export async function sendOnce(
  fetcher: Fetch,
  request: HttpRequest,
  { timeoutMs, signal }: Limits,
): Promise<HttpAnswer> {
  signal?.throwIfAborted();
  const { url, method, body } = request;
  const headers = createHeaders(request.headers);
  const controller = new AbortController();
  const timeout = new TimeoutError(`No answer within ${timeoutMs} ms`, { retryable: true });
  const timer = setTimeout(() => controller.abort(timeout), Math.min(timeoutMs, timerMsMax));
  const release = onAbort(signal, () => controller.abort(signal?.reason));
  try {
    const exchange = async (): Promise<HttpAnswer> => {
      const response = await fetcher(url, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
        // A redirect would take the credential to another address.
        redirect: 'manual',
        signal: controller.signal,
      });
      return readAnswer(response, request.mediaTypes);
    };
    // A replacement of fetch may ignore the signal.
    return await waitFor(exchange(), controller.signal);
  } catch (error) {
    if (controller.signal.aborted) throw controller.signal.reason;
    throw error instanceof OutlayError ? error : lostConnection(error);
  } finally {
    clearTimeout(timer);
    release();
  }
}

/** @throws TypeError without the value, which can be the credential. */
export function createHeaders(values: Readonly<Record<string, string>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    try {
      headers.set(name, value);
    } catch {
      throw new TypeError(`The header ${name} must be Latin-1 text without line ends`);
    }
  }
  return headers;
}

/** `fetch` reports a failure of the network as a TypeError, and a replacement of it as any error. */
function lostConnection(cause: unknown): ConnectionError {
  return new ConnectionError(
    'The connection failed, or ended before the whole answer had arrived',
    {
      cause,
      retryable: true,
    },
  );
}

async function readAnswer(
  response: Response,
  mediaTypes: readonly string[] = [],
): Promise<HttpAnswer> {
  const { status, headers } = response;
  const type = headers.get('content-type') ?? '';
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (status === 200) {
    const given = bytes.length === 0 ? '' : (type.split(';', 1)[0] ?? '').trim().toLowerCase();
    // A proxy or another server answers 200 too: its page must not pass for a committed payout.
    if (mediaTypes.length > 0 && !mediaTypes.includes(given)) {
      throw new UnexpectedAnswerError(200, { retryable: true }, given);
    }
    return { headers, body: readBody(bytes, type) };
  }
  const retryAfterMs = readRetryAfter(headers);
  const body = /json/.test(type) ? readBody(bytes, type) : undefined;
  throw createRefusal({ status, body, retryAfterMs });
}

function readBody(bytes: Uint8Array, type: string): unknown {
  if (bytes.length === 0) return undefined;
  const isText = /^text\/|ndjson/.test(type);
  if (!isText && !/json/.test(type)) return bytes;
  const text = new TextDecoder().decode(bytes);
  if (isText) return text;
  try {
    return parseJson(text);
  } catch (cause) {
    throw new UnexpectedAnswerError(200, { cause, retryable: true });
  }
}
