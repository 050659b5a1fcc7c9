import type { CallContext, RailHost } from '../contract/contract.ts';
import { parseJson, readText } from '../kit/answers.ts';
import type { Settings } from './config.ts';
import { errorSchema } from './messages.ts';
import type { SignedRequest } from './payment.ts';

/**
 * Requests to the hub, whose results come as callbacks. Its immediate answers:
 * - `accepted`: the hub will process the request.
 * - `refused`: the hub refused the request with an error code of the API.
 * - `unclear`: anything else; the request may have arrived.
 */
export type HubAnswer =
  | { readonly kind: 'accepted' }
  | { readonly kind: 'refused'; readonly code: string }
  | { readonly kind: 'unclear' };

export type HubClient = (request: SignedRequest, context: CallContext) => Promise<HubAnswer>;

const answerBytesMax = 65_536;

export function createHubClient(settings: Settings, host: RailHost): HubClient {
  return async ({ method, uri, headers, body }, context) => {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(settings.callMs)]);
    try {
      const response = await host.fetch(`${settings.hubUrl}${uri}`, {
        method,
        headers: { ...settings.headers, ...headers },
        ...(method === 'POST' && { body }),
        redirect: 'manual',
        signal,
      });
      const text = await readText(response, answerBytesMax);
      return readAnswer(response.status, text);
    } catch (error) {
      const name = error instanceof Error ? error.name : 'unknown';
      host.log('warn', 'the hub cannot be reached or did not answer', {
        error: name,
        call: method,
      });
      return { kind: 'unclear' };
    }
  };
}

/** Success needs no body; an error counts only with an error code of the API. */
function readAnswer(status: number, text: string): HubAnswer {
  if (status >= 200 && status < 300) return { kind: 'accepted' };
  const error = errorSchema.safeParse(parseJson(text));
  return status >= 400 && status < 500 && error.success
    ? { kind: 'refused', code: error.data.errorInformation.errorCode }
    : { kind: 'unclear' };
}
