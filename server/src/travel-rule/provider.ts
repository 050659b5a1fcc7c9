import { createHash } from 'node:crypto';
import { z } from 'zod';
import { readBounded } from '../core/bounded-body.ts';
import type { Ivms101 } from './ivms101.ts';

/**
 * The port for a provider of the travel rule: it passes a message on to the institution of the
 * recipient and says whether the transfer may go ahead. JSON over HTTP (docs/guides/travel-rule.md);
 * between this form and that of a company stands a small adapter of the operator.
 */

export type TravelMessage = {
  /** The payment, the same for every try and every message about it. */
  readonly id: string;
  readonly deliveryType: string;
  readonly currency: string;
  /** Decimal. */
  readonly amount: string;
  /** The chain, where the money moves on one; "" otherwise. */
  readonly network: string;
  readonly rules: readonly string[];
  readonly ivms101: Ivms101;
};

export const messageStates = ['pending', 'accepted', 'refused'] as const;
export type MessageState = (typeof messageStates)[number];

export type TravelRuleProvider = {
  readonly name: string;
  /**
   * Passes the message on, or says how far it is. `reference`: the provider's name of it.
   *
   * @throws TravelRuleProviderError without a usable answer.
   */
  passOn(message: TravelMessage): Promise<{ state: MessageState; reference: string }>;
};

/** The message names no person. */
class TravelRuleProviderError extends Error {}

const answerSchema = z.object({
  status: z.enum(messageStates),
  reference: z.string().max(200).default(''),
});

const answerBytesMax = 16 * 1024;
const callMsMax = 10_000;

export function createTravelRuleProvider(options: {
  url: string;
  /** The bearer token. */
  token: string;
  fetch: typeof fetch;
}): TravelRuleProvider {
  const name = new URL(options.url).hostname;
  return {
    name,
    passOn: async (message) => {
      const body = JSON.stringify(writeMessage(message));
      let text: string;
      try {
        const response = await options.fetch(options.url, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${options.token}`,
            accept: 'application/json',
            'content-type': 'application/json',
            'idempotency-key': formKey(message.id, body),
          },
          body,
          redirect: 'error',
          signal: AbortSignal.timeout(callMsMax),
        });
        const raw = await readBounded(response, answerBytesMax);
        if (raw === undefined) throw new TravelRuleProviderError('the answer is too long');
        if (!response.ok) throw new TravelRuleProviderError(`${name} answered ${response.status}`);
        text = raw.toString();
      } catch (cause) {
        if (cause instanceof TravelRuleProviderError) throw cause;
        throw new TravelRuleProviderError(`${name} gave no answer`, { cause });
      }
      const read = parseAnswer(text);
      // The fault would quote the answer, which may be about a person.
      if (read === undefined) {
        throw new TravelRuleProviderError(`${name} gave an answer of another form`);
      }
      return { state: read.status, reference: read.reference };
    },
  };
}

/** The same for the same message alone: corrected data are another message about the payment. */
function formKey(id: string, body: string): string {
  return `${id}-${createHash('sha256').update(body).digest('hex').slice(0, 16)}`;
}

function writeMessage({ deliveryType, ...message }: TravelMessage) {
  return { ...message, delivery_type: deliveryType };
}

function parseAnswer(text: string): z.output<typeof answerSchema> | undefined {
  try {
    return answerSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
