import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Settings } from './config.ts';
import { errorSchema, type SignedRequest } from './messages.ts';
import { parseJson } from './signature.ts';

/**
 * Calls to the hub. What it answers at once says little: the matter itself comes as a callback.
 * - `taken`: it will see to it.
 * - `refused`: this request was understood and refused, with a code of the API.
 * - `unclear`: everything else; it may or may not have arrived.
 */
export type HubAnswer =
  | { readonly kind: 'taken' }
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
      const text = await readText(response);
      return readAnswer(response.status, text);
    } catch (error) {
      const name = error instanceof Error ? error.name : 'unknown';
      host.log('warn', 'the hub was not reached, or did not answer', { error: name, call: method });
      return { kind: 'unclear' };
    }
  };
}

/** Success needs no body, and an error counts only in the words of the API. */
function readAnswer(status: number, text: string): HubAnswer {
  if (status >= 200 && status < 300) return { kind: 'taken' };
  const error = errorSchema.safeParse(parseJson(text));
  return status >= 400 && status < 500 && error.success
    ? { kind: 'refused', code: error.data.errorInformation.errorCode }
    : { kind: 'unclear' };
}

async function readText(response: Response): Promise<string> {
  if (response.body === null) return '';
  const chunks: Uint8Array[] = [];
  let readBytes = 0;
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    readBytes += chunk.length;
    if (readBytes > answerBytesMax) break;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}
