import { z } from 'zod';
import type { RecipientDraft, RecipientFault } from '../contract/contract.ts';
import { accountSchema, describeAccount } from './bank-accounts.ts';
import type { PayerOptions, Priority } from './config.ts';
import { isOrganization, writeAddress, writeFullName, writePersonName } from './recipient.ts';

/**
 * The other party of a transfer (`CounterpartyInfoV3`): a bank account, a card, or a balance account
 * of the same platform, which serves as a wallet.
 */

const addressSchema = z.strictObject({
  country: z.string().length(2),
  line1: z.string().min(1).optional(),
  line2: z.string().min(1).optional(),
  city: z.string().min(3).optional(),
  postalCode: z.string().min(3).optional(),
  stateOrProvince: z.string().length(2).optional(),
});

/** A schema, because the stored text of an order is read again before it is sent. */
export const counterpartySchema = z.union([
  z.strictObject({
    bankAccount: z.strictObject({
      accountHolder: z.strictObject({
        fullName: z.string().min(1).max(140),
        type: z.enum(['individual', 'organization']),
        address: addressSchema.optional(),
      }),
      accountIdentification: accountSchema,
    }),
  }),
  z.strictObject({
    card: z.strictObject({
      cardHolder: z.strictObject({
        type: z.literal('individual'),
        firstName: z.string().min(1),
        lastName: z.string().min(1),
        address: addressSchema,
      }),
      cardIdentification: z.strictObject({
        number: z.string().regex(/^\d{12,19}$/),
        expiryMonth: z.string().regex(/^(?:0[1-9]|1[0-2])$/),
        expiryYear: z.string().regex(/^20\d{2}$/),
      }),
    }),
  }),
  z.strictObject({ balanceAccountId: z.string().regex(/^[A-Za-z0-9]{4,40}$/) }),
]);
export type Counterparty = z.output<typeof counterpartySchema>;

export type CounterpartyDraft = Pick<RecipientDraft, 'beneficiary' | 'countryCode' | 'currency'> & {
  readonly attributes: Readonly<Record<string, string>>;
};

export type CounterpartyResult =
  | { readonly ok: true; readonly counterparty: Counterparty }
  | { readonly ok: false; readonly faults: readonly RecipientFault[] };

export function describeCounterparty(
  draft: CounterpartyDraft,
  options: PayerOptions,
): CounterpartyResult {
  switch (options.counterparty) {
    case 'bankAccount':
      return describeBankAccount(draft, options.priorities);
    case 'card':
      return describeCard(draft);
    case 'balanceAccount':
      return describeBalanceAccount(draft);
  }
}

/** What the money reaches, without name and address. */
export function getTarget(counterparty: Counterparty): string {
  if ('bankAccount' in counterparty) {
    return sortedJson(counterparty.bankAccount.accountIdentification);
  }
  if ('card' in counterparty) return sortedJson(counterparty.card.cardIdentification);
  return sortedJson(counterparty);
}

function sortedJson(members: Readonly<Record<string, unknown>>): string {
  return JSON.stringify(Object.entries(members).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

function missing(field: string, detail: string): CounterpartyResult {
  return { ok: false, faults: [{ field, code: 'missing', detail }] };
}

function invalid(field: string, detail: string): CounterpartyResult {
  return { ok: false, faults: [{ field, code: 'invalid', detail }] };
}

/** Priorities whose clearing needs the address of the account holder. */
const withAddress: ReadonlySet<Priority> = new Set<Priority>(['wire', 'crossBorder']);

function describeBankAccount(
  draft: CounterpartyDraft,
  priorities: readonly Priority[],
): CounterpartyResult {
  const account = describeAccount(draft);
  if (!account.ok) return account;
  const fullName = writeFullName(draft);
  if (fullName === '') {
    return missing('last_name', 'the name must have letters that can be written in Latin script');
  }
  const written = writeAddress(draft);
  const isAddressNeeded =
    account.account.type === 'numberAndBic' || priorities.some((one) => withAddress.has(one));
  if (isAddressNeeded && !written.ok) return written;
  const accountHolder = {
    fullName,
    type: isOrganization(draft) ? ('organization' as const) : ('individual' as const),
    // An incomplete address could be refused where none is needed.
    ...(written.ok && { address: written.address }),
  };
  const bankAccount = { accountHolder, accountIdentification: account.account };
  return { ok: true, counterparty: { bankAccount } };
}

function describeCard(draft: CounterpartyDraft): CounterpartyResult {
  const number = (draft.attributes['CardNumber'] ?? '').replaceAll(/[\s-]/g, '');
  if (number === '') return missing('CardNumber', 'the number of the card is required');
  if (!/^\d{12,19}$/.test(number) || !hasLuhnDigit(number)) {
    return invalid('CardNumber', 'it must be a card number of 12 to 19 digits');
  }
  const expiry = readExpiry(draft.attributes['CardExpiration'] ?? '');
  if (expiry === undefined) {
    return invalid('CardExpiration', 'it must be a month and year, such as 03/2030 or 2030-03');
  }
  const { firstName, lastName } = writePersonName(draft);
  if (firstName === '')
    return missing('first_name', 'the first name of the cardholder is required');
  if (lastName === '') return missing('last_name', 'the last name of the cardholder is required');
  const written = writeAddress(draft);
  if (!written.ok) return written;
  const cardHolder = { type: 'individual' as const, firstName, lastName, address: written.address };
  return {
    ok: true,
    counterparty: { card: { cardHolder, cardIdentification: { number, ...expiry } } },
  };
}

/** ISO/IEC 7812-1, annex B. */
function hasLuhnDigit(number: string): boolean {
  const sum = Array.from(number, Number)
    .toReversed()
    .reduce((total, digit, index) => {
      const value = digit * (index % 2 === 0 ? 1 : 2);
      return total + (value > 9 ? value - 9 : value);
    }, 0);
  return sum % 10 === 0;
}

/** MM/YYYY, MM/YY, YYYY-MM or YYYY-MM-DD. */
function readExpiry(text: string): { expiryMonth: string; expiryYear: string } | undefined {
  const found =
    /^(?<month>0[1-9]|1[0-2])[/-](?<year>(?:20)?\d{2})$/.exec(text) ??
    /^(?<year>20\d{2})-(?<month>0[1-9]|1[0-2])(?:-\d{2})?$/.exec(text);
  const { month, year } = found?.groups ?? {};
  if (month === undefined || year === undefined) return undefined;
  return { expiryMonth: month, expiryYear: year.length === 2 ? `20${year}` : year };
}

function describeBalanceAccount({ attributes }: CounterpartyDraft): CounterpartyResult {
  const balanceAccountId = (attributes['BankAccountNumber'] ?? '').trim();
  if (balanceAccountId === '') {
    return missing('BankAccountNumber', 'the ID of the balance account is required');
  }
  if (!/^[A-Za-z0-9]{4,40}$/.test(balanceAccountId)) {
    return invalid('BankAccountNumber', 'it must be the ID of a balance account');
  }
  return { ok: true, counterparty: { balanceAccountId } };
}
