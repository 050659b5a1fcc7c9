import { createHash } from 'node:crypto';
import { z } from 'zod';
import { openJsonProvider, type ProviderAddress } from '../core/json-provider.ts';
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
   * @throws ProviderError without a usable answer.
   */
  passOn(message: TravelMessage): Promise<{ state: MessageState; reference: string }>;
};

const answerSchema = z.object({
  status: z.enum(messageStates),
  reference: z.string().max(200).default(''),
});

const answerBytesMax = 16 * 1024;
const callMsMax = 10_000;

export function createTravelRuleProvider(address: ProviderAddress): TravelRuleProvider {
  const { name, ask } = openJsonProvider(address, { answerBytesMax, callMsMax });
  return {
    name,
    passOn: async (message) => {
      const body = JSON.stringify(writeMessage(message));
      const read = await ask(answerSchema, { post: { body, key: formKey(message.id, body) } });
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
