import {
  ConnectionError,
  createRefusal,
  isOutcomeUnknown,
  OutlayError,
} from '../../../../sdk/src/errors.ts';

/** Requests beside the SDK, by the session's cookie: the session itself, and the operators' API. */

export type Call = {
  method?: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  csrf?: string;
  body?: object | undefined;
};

/** Longer than the service takes for anything: a dialog is held until its act is answered. */
const answerMsMax = 120_000;

/** @throws ConnectionError where no answer arrives in time. */
export async function send(path: string, call: Call = {}): Promise<Response> {
  const { method = 'GET', csrf, body } = call;
  const headers = {
    accept: 'application/json',
    ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    ...(csrf === undefined ? {} : { 'outlay-csrf': csrf }),
  };
  const content = body === undefined ? {} : { body: JSON.stringify(body) };
  const signal = AbortSignal.timeout(answerMsMax);
  return fetch(path, { method, headers, signal, ...content }).catch(throwUnreached);
}

/** @throws OutlayError for an answer that is a refusal, not the service's own, or not whole. */
export async function readAnswer<Answer>(response: Response): Promise<Answer> {
  const isJson = /json/.test(response.headers.get('content-type') ?? '');
  const body: unknown = isJson ? await response.json().catch(throwUnreached) : undefined;
  if (response.status === 204 || (response.ok && isJson)) return body as Answer;
  throw createRefusal({ status: response.status, body, retryAfterMs: undefined });
}

function throwUnreached(cause: unknown): never {
  throw new ConnectionError('The service cannot be reached', { cause, retryable: true });
}

/** Sends and reads. @throws OutlayError, which says of an act whether it may have been done. */
export async function exchange<Answer>(path: string, call: Call = {}): Promise<Answer> {
  try {
    return await readAnswer<Answer>(await send(path, call));
  } catch (error) {
    if (error instanceof OutlayError && (call.method ?? 'GET') !== 'GET') {
      error.outcomeUnknown = isOutcomeUnknown(error, false);
    }
    throw error;
  }
}
