import { isValidBIC, isValidIBAN } from 'ibantools';
import { z } from 'zod';
import { ibanOwners, isBicOfCountry } from '../../core/bank-countries.ts';
import { findCountry } from '../../core/country.ts';
import type { RecipientDraft, RecipientFault } from '../contract/contract.ts';

/**
 * The identification of a bank account (`BankAccountV3.accountIdentification`) from the attributes of
 * a recipient. The lengths are those of the description.
 */

const digits = (min: number, max = min) => z.string().regex(new RegExp(`^\\d{${min},${max}}$`));
const bic = z.string().refine(isValidBIC, { error: 'must be a BIC' });
const accountType = z.enum(['checking', 'savings']);

export const accountSchema = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('iban'),
    iban: z.string().refine((text) => isValidIBAN(text), { error: 'must be an IBAN' }),
    bic: bic.optional(),
  }),
  z.strictObject({
    type: z.literal('numberAndBic'),
    accountNumber: z.string().regex(/^[0-9A-Za-z]{1,34}$/),
    bic,
  }),
  z.strictObject({
    type: z.literal('usLocal'),
    accountNumber: digits(2, 18),
    routingNumber: digits(9),
    accountType,
  }),
  z.strictObject({ type: z.literal('ukLocal'), accountNumber: digits(8), sortCode: digits(6) }),
  z.strictObject({ type: z.literal('auLocal'), accountNumber: digits(5, 9), bsbCode: digits(6) }),
  z.strictObject({
    type: z.literal('caLocal'),
    accountNumber: digits(5, 12),
    institutionNumber: digits(3),
    transitNumber: digits(5),
    accountType,
  }),
  z.strictObject({ type: z.literal('nzLocal'), accountNumber: digits(15, 16) }),
  z.strictObject({ type: z.literal('sgLocal'), accountNumber: digits(4, 19), bic }),
  z.strictObject({
    type: z.literal('hkLocal'),
    accountNumber: digits(9, 17),
    clearingCode: digits(3),
  }),
  z.strictObject({
    type: z.literal('brLocal'),
    accountNumber: z.string().regex(/^[0-9X]{1,10}$/),
    bankCode: digits(3),
    branchNumber: z.string().regex(/^[0-9X]{1,4}$/),
  }),
]);
export type BankAccount = z.output<typeof accountSchema>;

export type AccountDraft = Pick<RecipientDraft, 'countryCode' | 'currency'> & {
  readonly attributes: Readonly<Record<string, string>>;
};

type Written = {
  readonly number: string;
  readonly routing: string;
  readonly branch: string;
  readonly bic: string;
  readonly type: 'checking' | 'savings';
};

/** Domestic accounts, by country and currency. All other countries have IBANs or account and BIC. */
const domestic: Readonly<Record<string, (account: Written) => Record<string, string>>> = {
  'USA USD': ({ number, routing, type }) => ({
    type: 'usLocal',
    accountNumber: number,
    routingNumber: routing,
    accountType: type,
  }),
  'GBR GBP': ({ number, routing }) => ({
    type: 'ukLocal',
    accountNumber: number,
    sortCode: routing,
  }),
  'AUS AUD': ({ number, routing }) => ({
    type: 'auLocal',
    accountNumber: number,
    bsbCode: routing,
  }),
  'CAN CAD': ({ number, routing, branch, type }) => ({
    type: 'caLocal',
    accountNumber: number,
    institutionNumber: routing,
    transitNumber: branch,
    accountType: type,
  }),
  'NZL NZD': ({ number }) => ({ type: 'nzLocal', accountNumber: number }),
  'SGP SGD': ({ number, bic: bank }) => ({ type: 'sgLocal', accountNumber: number, bic: bank }),
  'HKG HKD': ({ number, routing }) => ({
    type: 'hkLocal',
    accountNumber: number,
    clearingCode: routing,
  }),
  'BRA BRL': ({ number, routing, branch }) => ({
    type: 'brLocal',
    accountNumber: number,
    bankCode: routing,
    branchNumber: branch,
  }),
};

/** The attribute of each member, for faults. */
const attributeOf: Readonly<Record<string, string>> = {
  iban: 'BankAccountNumber',
  accountNumber: 'BankAccountNumber',
  routingNumber: 'BankRoutingNumber',
  sortCode: 'BankRoutingNumber',
  bsbCode: 'BankRoutingNumber',
  institutionNumber: 'BankRoutingNumber',
  clearingCode: 'BankRoutingNumber',
  bankCode: 'BankRoutingNumber',
  transitNumber: 'BankAccountBranchNumber',
  branchNumber: 'BankAccountBranchNumber',
  bic: 'SWIFT',
  accountType: 'BankAccountType',
};

type AccountResult =
  | { readonly ok: true; readonly account: BankAccount }
  | { readonly ok: false; readonly faults: readonly RecipientFault[] };

export function describeAccount(draft: AccountDraft): AccountResult {
  const written = readWritten(draft.attributes);
  if (written.number === '') {
    return refuse({ field: 'BankAccountNumber', code: 'missing', detail: 'it is required' });
  }
  const parsed = accountSchema.safeParse(chooseForm(draft, written));
  if (!parsed.success) return { ok: false, faults: parsed.error.issues.map(describeIssue) };
  const fault = findCountryFault(parsed.data, draft.countryCode);
  return fault === undefined ? { ok: true, account: parsed.data } : refuse(fault);
}

function refuse(fault: RecipientFault): AccountResult {
  return { ok: false, faults: [fault] };
}

/** Spaces and separators have no meaning. */
function readWritten(attributes: AccountDraft['attributes']): Written {
  const read = (type: string): string =>
    (attributes[type] ?? '').replaceAll(/[\s/.-]/g, '').toUpperCase();
  return {
    number: read('BankAccountNumber'),
    routing: read('BankRoutingNumber'),
    branch: read('BankAccountBranchNumber'),
    bic: read('SWIFT'),
    type: read('BankAccountType') === 'SAVINGS' ? 'savings' : 'checking',
  };
}

function chooseForm({ countryCode, currency }: AccountDraft, written: Written): unknown {
  const { number, bic: bank } = written;
  // A text in the form of an IBAN is never taken for another account number.
  if (/^[A-Z]{2}\d{2}[A-Z0-9]{10,30}$/.test(number)) {
    return { type: 'iban', iban: number, ...(bank !== '' && { bic: bank }) };
  }
  const form = domestic[`${countryCode} ${currency}`];
  return form?.(written) ?? { type: 'numberAndBic', accountNumber: number, bic: bank };
}

function describeIssue({ path, code }: z.core.$ZodIssue): RecipientFault {
  const member = String(path[0] ?? '');
  const field = attributeOf[member] ?? 'BankAccountNumber';
  const isBank = field === 'SWIFT' && code === 'custom';
  return {
    field,
    code: 'invalid',
    detail: isBank
      ? 'it must be the SWIFT/BIC of the bank, of 8 or 11 characters'
      : 'it must have the form of a bank account in the country of the destination',
  };
}

function findCountryFault(account: BankAccount, countryCode: string): RecipientFault | undefined {
  const alpha2 = findCountry(countryCode)?.alpha2 ?? '';
  if (account.type === 'iban' && account.iban.slice(0, 2) !== (ibanOwners[alpha2] ?? alpha2)) {
    const detail = 'the IBAN must be of the country of the destination';
    return { field: 'BankAccountNumber', code: 'invalid', detail };
  }
  const bank = 'bic' in account ? account.bic : undefined;
  if (bank !== undefined && !isBicOfCountry(bank, alpha2)) {
    const detail = 'the SWIFT/BIC must be of the country of the destination';
    return { field: 'SWIFT', code: 'invalid', detail };
  }
  return undefined;
}
