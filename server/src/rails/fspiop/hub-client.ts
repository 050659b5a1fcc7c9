import type { CallContext, RailHost } from '../contract/contract.ts';
import { parseJson, toText } from '../kit/answers.ts';
import { exchangeHttp } from '../kit/http-exchange.ts';
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
    const result = await exchangeHttp(
      {
        method,
        url: `${settings.hubUrl}${uri}`,
        headers: { ...settings.headers, ...headers },
        body: method === 'POST' ? body : '',
        signal: context.signal,
      },
      { ...host, timeoutMs: settings.callMs, answerBytesMax },
    );
    if (result.kind === 'answered') return readAnswer(result.status, toText(result.body));
    const { error } = result;
    host.log('warn', 'the hub cannot be reached or did not answer', { error, call: method });
    return { kind: 'unclear' };
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
