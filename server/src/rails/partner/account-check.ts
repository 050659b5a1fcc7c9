import type { CallContext, PayeeAnswer, RecipientDraft } from '../contract/contract.ts';
import { type AccountCheck, accountCheckResultSchema } from './capability-protocol.ts';
import { describeBeneficiary } from './payment-order.ts';
import { ask, type Setup } from './payments.ts';

/** A client waits for the answer. */
const callMsMax = 5_000;

/**
 * Asks the partner whether the account belongs to the recipient. Whatever is not a definite answer is
 * `not_possible`, which refuses nothing. The answer may name a person, so no part of it is logged.
 */
export async function checkPayee(
  setup: Setup,
  draft: RecipientDraft,
  context: CallContext,
): Promise<PayeeAnswer> {
  const { attributes, payerKey, beneficiary } = draft;
  if (attributes === undefined || Object.keys(attributes).length === 0) {
    return { outcome: 'not_possible' };
  }
  const wanted: AccountCheck = {
    payer: setup.order.payerCodes.get(payerKey) ?? payerKey,
    country: draft.countryCode,
    delivery_type: draft.deliveryType,
    currency: draft.currency,
    destination: { ...attributes },
    beneficiary: describeBeneficiary(beneficiary),
  };
  const refuse = (detail: string): PayeeAnswer => {
    setup.host.log('warn', 'the partner gave no answer to an account check', { detail });
    return { outcome: 'not_possible' };
  };
  try {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(callMsMax)]);
    const request = {
      method: 'POST',
      path: '/account-check',
      body: JSON.stringify(wanted),
    } as const;
    const result = await ask(setup, { signal }, request);
    if (result.kind !== 'answered') return refuse(result.kind);
    if (result.status !== 200) return refuse(`status ${result.status}`);
    const answer = accountCheckResultSchema.safeParse(result.json);
    if (!answer.success) return refuse('the answer does not have its form');
    const { result: outcome, name } = answer.data;
    if (outcome !== 'close_match') return { outcome };
    const holder = name?.trim() ?? '';
    return holder === '' ? refuse('a close match must have a name') : { outcome, name: holder };
  } catch (error) {
    return refuse(error instanceof Error ? error.name : 'unknown');
  }
}
