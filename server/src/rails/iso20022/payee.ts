import { z } from 'zod';
import { readBounded } from '../../core/bounded-body.ts';
import { findCountry } from '../../core/country.ts';
import type { CallContext, PayeeAnswer, RailHost, RecipientDraft } from '../contract/contract.ts';
import { readAccount } from './account.ts';
import type { VerificationOfPayee } from './config.ts';
import { nameCreditor } from './recipient.ts';

/**
 * Verification of Payee through the bank: JSON over HTTP with the result codes of the EPC's scheme.
 * Between this form and that of a bank stands a small adapter of the operator. Answers are bounded, and
 * redirects are not followed.
 */

/** The scheme gives the whole chain of banks five seconds. */
const callMsMax = 5_000;
const answerBytesMax = 16 * 1024;

const answerSchema = z.discriminatedUnion('result', [
  z.object({ result: z.literal('MTCH') }),
  z.object({ result: z.literal('CMTC'), name: z.string().trim().min(1).max(140) }),
  z.object({ result: z.literal('NMTC') }),
  z.object({ result: z.literal('NOAP') }),
]);

const outcomes = {
  MTCH: 'match',
  CMTC: 'close_match',
  NMTC: 'no_match',
  NOAP: 'not_possible',
} as const;

type Parts = { readonly host: RailHost; readonly service: VerificationOfPayee };

/** The name is compared as the transfer would carry it. */
export async function checkPayee(
  { attributes = {}, ...draft }: RecipientDraft,
  { signal }: CallContext,
  { host, service }: Parts,
): Promise<PayeeAnswer> {
  const alpha2 = findCountry(draft.countryCode)?.alpha2 ?? '';
  const account = readAccount(attributes['BankAccountNumber'], alpha2);
  const originator = { accountId: '', name: '' };
  const name = nameCreditor({ ...draft, attributes, reference: 'DRAFT', originator }, 140);
  // The scheme knows accounts by their IBAN alone.
  if ('fault' in account || account.kind !== 'iban' || name === '') {
    return { outcome: 'not_possible' };
  }
  try {
    const answer = await ask({ iban: account.iban, name }, signal, { host, service });
    const outcome = outcomes[answer.result];
    return answer.result === 'CMTC' ? { outcome, name: answer.name } : { outcome };
  } catch (error) {
    // The error may quote the answer, which is about a person.
    const kind = error instanceof Error ? error.name : 'unknown';
    host.log('warn', 'the verification of payee gave no answer', { error: kind });
    return { outcome: 'not_possible' };
  }
}

async function ask(
  payee: { iban: string; name: string },
  signal: AbortSignal,
  { host, service }: Parts,
): Promise<z.output<typeof answerSchema>> {
  const response = await host.fetch(service.url, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${service.token}`,
      'content-type': 'application/json',
      accept: 'application/json',
    },
    body: JSON.stringify(payee),
    redirect: 'error',
    signal: AbortSignal.any([signal, AbortSignal.timeout(callMsMax)]),
  });
  const raw = await readBounded(response, answerBytesMax);
  if (raw === undefined) throw new Error('the answer is too long');
  if (!response.ok) throw new Error(`status ${response.status}`);
  return answerSchema.parse(JSON.parse(raw.toString()));
}
