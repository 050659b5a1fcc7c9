import { getCountrySpecifications, isValidIBAN } from 'ibantools';
import { ibanOwners } from '../../core/bank-countries.ts';
import type { RecipientFault } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { normalizeAccount } from './orders.ts';

export type Account =
  | { readonly kind: 'iban'; readonly iban: string }
  | { readonly kind: 'other'; readonly id: string };

const specifications = getCountrySpecifications();

/**
 * A text in the form of an IBAN is never taken for another account number: with a wrong check digit, or
 * of another country than the payer's, it is refused.
 */
export function readAccount(
  text: string | undefined,
  alpha2: string,
): Account | { readonly fault: RecipientFault & { readonly reason: Reason } } {
  const id = normalizeAccount(text);
  const refuse = (code: RecipientFault['code'], detail: string) => ({
    fault: { field: 'BankAccountNumber', code, reason: 'invalid_details' as const, detail },
  });
  if (id === '') return refuse('missing', 'the account number is missing');
  const owner = id.slice(0, 2);
  const isIban = /^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(id) && isIbanCountry(owner);
  if (!isIban) {
    if (/^[A-Z0-9][A-Z0-9/-]{0,33}$/.test(id)) return { kind: 'other', id };
    return refuse(
      'invalid',
      'the account number must have 1 to 34 letters, digits, slashes or hyphens',
    );
  }
  if (!isValidIBAN(id))
    return refuse('invalid', 'the IBAN must have the length of its country and valid check digits');
  if (owner !== (ibanOwners[alpha2] ?? alpha2)) {
    return refuse('invalid', 'the IBAN must be of the country of the destination');
  }
  return { kind: 'iban', iban: id };
}

function isIbanCountry(alpha2: string): boolean {
  return (specifications[alpha2]?.chars ?? null) !== null;
}
