import { z } from 'zod';
import { hasCardNumber } from '../../core/card-number.ts';
import type { RecipientDraft, RecipientFault } from '../contract/contract.ts';
import { accountSchema, describeAccount } from './bank-accounts.ts';
import type { PayerOptions, Priority } from './config.ts';
import {
  isOrganization,
  splitLines,
  writeAddress,
  writeFullName,
  writePersonName,
} from './recipient.ts';

/**
 * The other party of a transfer (`CounterpartyInfoV3`): a bank account, a stored card, a balance
 * account of the same platform, which serves as a wallet, or a transfer instrument.
 */

const addressSchema = z.strictObject({
  country: z.string().length(2),
  line1: z.string().min(1).optional(),
  line2: z.string().min(1).optional(),
  city: z.string().min(3).optional(),
  postalCode: z.string().min(3).optional(),
  stateOrProvince: z.string().length(2).optional(),
});

/** The API takes card numbers too; none ever leaves from here. */
const cardToken = z
  .string()
  .regex(/^[0-9A-Za-z_-]{8,128}$/)
  .refine((text) => !hasCardNumber(text));
const providerId = z
  .string()
  .regex(/^[0-9A-Za-z]{4,40}$/)
  .refine((text) => !hasCardNumber(text));

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
        reference: z.string().min(1).max(150),
        address: addressSchema,
      }),
      cardIdentification: z.strictObject({ storedPaymentMethodId: cardToken }),
    }),
  }),
  z.strictObject({ balanceAccountId: providerId }),
  z.strictObject({ transferInstrumentId: providerId }),
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
      return describeProviderAccount(draft, 'balanceAccountId');
    case 'transferInstrument':
      return describeProviderAccount(draft, 'transferInstrumentId');
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
  const token = (draft.attributes['CardNumber'] ?? '').trim();
  if (token === '') return missing('CardNumber', 'the token of the stored card is required');
  if (hasCardNumber(token)) {
    return invalid('CardNumber', 'it must be the token of a stored card, not a card number');
  }
  if (!cardToken.safeParse(token).success) {
    return invalid('CardNumber', "it must be Adyen's storedPaymentMethodId of the card");
  }
  const reference = (draft.attributes['BillReferenceNumber'] ?? '').trim();
  if (reference === '') {
    return missing('BillReferenceNumber', 'the reference of the cardholder at Adyen is required');
  }
  if (reference.length > 150 || hasCardNumber(reference)) {
    const detail = 'it must be the reference of the cardholder, at most 150 characters';
    return invalid('BillReferenceNumber', detail);
  }
  const { firstName, lastName } = writePersonName(draft);
  if (firstName === '')
    return missing('first_name', 'the first name of the cardholder is required');
  if (lastName === '') return missing('last_name', 'the last name of the cardholder is required');
  const written = writeAddress(draft);
  if (!written.ok) return written;
  const address = splitLines(written.address);
  if (address === undefined) {
    return missing('address2', 'the street and the number of the cardholder are required');
  }
  const cardHolder = { type: 'individual' as const, firstName, lastName, reference, address };
  const cardIdentification = { storedPaymentMethodId: token };
  return { ok: true, counterparty: { card: { cardHolder, cardIdentification } } };
}

function describeProviderAccount(
  { attributes }: CounterpartyDraft,
  name: 'balanceAccountId' | 'transferInstrumentId',
): CounterpartyResult {
  const id = (attributes['BankAccountNumber'] ?? '').trim();
  const what = name === 'balanceAccountId' ? 'balance account' : 'transfer instrument';
  if (id === '') return missing('BankAccountNumber', `the ID of the ${what} is required`);
  if (!providerId.safeParse(id).success) {
    return invalid('BankAccountNumber', `it must be the ID of a ${what} at Adyen`);
  }
  return {
    ok: true,
    counterparty:
      name === 'balanceAccountId' ? { balanceAccountId: id } : { transferInstrumentId: id },
  };
}
