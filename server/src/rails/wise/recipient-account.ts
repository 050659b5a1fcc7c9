import { JsonNumber } from '../../core/exact-json.ts';
import type { CallContext, Instruction } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { compatibilitySchema, recipientSchema } from './protocol.ts';
import { done, readRecipient, readStop, refuse, type Setup, type Step } from './setup.ts';

/** The recipient account at Wise: created for each payment, and verified where Wise can. */

/** Returns the ID of the account. */
export async function createRecipient(
  { api, config, host, requirements }: Setup,
  { instruction, quoteId }: { readonly instruction: Instruction; readonly quoteId: string },
  context: CallContext,
): Promise<Step<string>> {
  const { profileId } = config;
  const { currency } = instruction;
  const recipient = readRecipient(host, instruction);
  const filled = await requirements.fillIn(quoteId, recipient, context);
  if (filled.kind === 'failed') return readStop(filled.result, 'payer_unavailable');
  if (filled.kind === 'unfit') return refuse('invalid_details', `requirement:${filled.field}`);
  const profile = new JsonNumber(profileId);
  const body = { currency, profile, ownedByCustomer: false, ...filled.details };
  const created = await api(
    { method: 'POST', path: '/v1/accounts', body },
    recipientSchema,
    context,
  );
  return created.kind === 'answered'
    ? done(created.value.id)
    : readStop(created, 'invalid_details');
}

/** "Currencies with recipient verification enabled" (schema `confirmations`). */
const verifiedCurrencies: ReadonlySet<string> = new Set(['EUR', 'IDR', 'INR', 'KRW']);

/**
 * Asks the recipient's bank, through Wise, whether account and name belong together. Where Wise wants
 * the customer to accept a mismatch, the payment is refused: no one can be asked, and Wise would not
 * use the recipient.
 */
export async function verifyRecipient(
  { api }: Setup,
  asked: { readonly recipientId: string; readonly quoteId: string; readonly currency: string },
  context: CallContext,
): Promise<Step<undefined>> {
  const { recipientId, quoteId, currency } = asked;
  if (!verifiedCurrencies.has(currency)) return done(undefined);
  const path = `/v2/accounts/${recipientId}/quotes/${quoteId}/compatibility`;
  const answer = await api({ method: 'POST', path }, compatibilitySchema, context);
  if (answer.kind !== 'answered') return readStop(answer, 'invalid_details');
  for (const outcome of answer.value.confirmations?.outcomes ?? []) {
    const reason = findMismatch(outcome);
    if (reason !== undefined) return refuse(reason, `${outcome.type}:${outcome.outcome}`);
  }
  return done(undefined);
}

function findMismatch(outcome: {
  readonly type: string;
  readonly outcome: string;
  readonly requiresCustomerAcceptance: boolean;
}): Reason | undefined {
  const isMissing = outcome.type === 'ACCOUNT_EXISTENCE';
  if (isMissing && outcome.outcome === 'FAILURE') return 'account_not_found';
  if (!outcome.requiresCustomerAcceptance) return undefined;
  return isMissing ? 'account_not_found' : 'name_mismatch';
}
