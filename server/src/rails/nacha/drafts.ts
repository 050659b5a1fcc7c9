import { z } from 'zod';
import { findCountry } from '../../core/country.ts';
import type { Instruction } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Reason } from '../contract/reasons.ts';
import { minorUnits } from '../kit/records.ts';
import { isRoutingNumber } from './aba.ts';
import { toAsciiText, toPlainText } from './ascii-text.ts';
import type { IatConfig, NachaConfig, Party } from './config.ts';

const sharedSchema = z.object({
  reference: z.string(),
  payerKey: z.string(),
  /** ISO 3166-1 alpha-3. */
  countryCode: z.string(),
  /** Of USD. */
  amountMinor: minorUnits,
  transactionCode: z.enum(['22', '32']),
  /** Nine digits: the recipient's bank, or the gateway operator. */
  routingNumber: z.string(),
  account: z.string(),
  name: z.string(),
  speed: z.enum(['same_day', 'next_day']),
  entryDescription: z.string(),
});

const internationalSchema = z.object({
  /** ISO 3166-1 alpha-2. */
  country: z.string(),
  currency: z.literal('USD'),
  transactionType: z.string(),
  originatorName: z.string(),
  originatorStreet: z.string(),
  originatorCity: z.string(),
  originatorCountry: z.string(),
  bankName: z.string(),
  /** 01: a national number, 02: a BIC. */
  bankIdQualifier: z.enum(['01', '02']),
  bankId: z.string(),
  receiverStreet: z.string(),
  receiverCity: z.string(),
  receiverCountry: z.string(),
  gatewayScreening: z.string(),
  secondaryScreening: z.string(),
});
export type International = Readonly<z.output<typeof internationalSchema>>;

/** The contents of an entry as they are stored: decided once, when the payment is accepted. */
export const draftSchema = z.discriminatedUnion('entryClass', [
  sharedSchema.extend({ entryClass: z.enum(['PPD', 'CCD']) }),
  sharedSchema.extend({ entryClass: z.literal('IAT'), international: internationalSchema }),
]);
export type Draft = Readonly<z.output<typeof draftSchema>>;

export type DraftResult =
  | { readonly ok: true; readonly draft: Draft }
  | { readonly ok: false; readonly reason: Reason };

/** The amount of an entry has ten digits. */
export const entryAmountMinorMax = 9_999_999_999n;

const faulty = (reason: Reason): DraftResult => ({ ok: false, reason });

/** The entry of an instruction; a payment that ACH cannot carry is refused and never altered. */
export function draftEntry(
  instruction: Instruction,
  config: NachaConfig,
  payer: PayerDeclaration | undefined,
): DraftResult {
  const { attributes, amountMinor, beneficiary } = instruction;
  if (instruction.deliveryType !== 'BANK_DEPOSIT') return faulty('not_configured');
  if (instruction.currency !== 'USD') return faulty('currency_refused');
  if (amountMinor <= 0n || amountMinor > entryAmountMinorMax) return faulty('amount_refused');
  const isCompany = beneficiary.businessName !== '';
  const name = isCompany
    ? beneficiary.businessName
    : [beneficiary.firstName, beneficiary.middleName, beneficiary.lastName]
        .filter((part) => part !== '')
        .join(' ');
  const options = payer?.options ?? {};
  const isInternational = instruction.countryCode !== 'USA' || options['entryClass'] === 'IAT';
  const plainName = toAsciiText(name, isInternational ? 35 : 22) ?? '';
  const shared = {
    reference: instruction.reference,
    payerKey: instruction.payerKey,
    countryCode: instruction.countryCode,
    amountMinor,
    name: plainName,
    speed: readSpeed(options['speed'], config),
    entryDescription: options['entryDescription'] ?? '',
  };
  const transactionCode = readTransactionCode(attributes['BankAccountType'], isInternational);
  if (plainName === '' || transactionCode === undefined) return faulty('invalid_details');
  if (isInternational) {
    if (config.iat === undefined) return faulty('not_configured');
    return draftInternational(instruction, { ...shared, transactionCode }, config.iat);
  }
  const account = attributes['BankAccountNumber'] ?? '';
  const routingNumber = attributes['BankRoutingNumber'] ?? '';
  if (!isDomesticAccount(account) || !isRoutingNumber(routingNumber)) {
    return faulty('invalid_details');
  }
  const entryClass = options['entryClass'] ?? (isCompany ? 'CCD' : 'PPD');
  if (entryClass !== 'PPD' && entryClass !== 'CCD') return faulty('not_configured');
  return { ok: true, draft: { ...shared, transactionCode, entryClass, account, routingNumber } };
}

function readSpeed(option: string | undefined, config: NachaConfig): Draft['speed'] {
  return option === 'same_day' || option === 'next_day' ? option : config.speed;
}

/** Abroad an account has no such type: entries go to the gateway as for a checking account. */
function readTransactionCode(
  accountType: string | undefined,
  isInternational: boolean,
): Draft['transactionCode'] | undefined {
  if (accountType === 'SAVINGS') return '32';
  if (accountType === 'CHECKING' || isInternational) return '22';
  return undefined;
}

function isDomesticAccount(account: string): boolean {
  return /^[0-9A-Za-z-]{1,17}$/.test(account) && /[1-9A-Za-z]/.test(account);
}

type Shared = Omit<Draft, 'routingNumber' | 'account' | 'entryClass' | 'international'>;

/**
 * The seven mandatory addenda of an IAT name originator and recipient with address and bank, so that
 * every bank on the way can screen them.
 */
function draftInternational(instruction: Instruction, shared: Shared, iat: IatConfig): DraftResult {
  const { attributes, originator } = instruction;
  const country = findCountry(instruction.countryCode);
  const account = (attributes['BankAccountNumber'] ?? '').replaceAll(' ', '');
  const bankIdQualifier = (attributes['SWIFT'] ?? '') === '' ? '01' : '02';
  const bankId = attributes[bankIdQualifier === '02' ? 'SWIFT' : 'BankRoutingNumber'] ?? '';
  const bankName = toAsciiText(attributes['BankName'] ?? bankId, 35) ?? '';
  const address = describeAddress(instruction);
  const isComplete =
    country !== undefined &&
    address !== undefined &&
    bankName !== '' &&
    /^[0-9A-Za-z-]{1,35}$/.test(account) &&
    /^[0-9A-Za-z-]{1,34}$/.test(bankId);
  if (!isComplete) return { ok: false, reason: 'invalid_details' };
  return {
    ok: true,
    draft: {
      ...shared,
      entryClass: 'IAT',
      // IAT is never settled on the day itself.
      speed: 'next_day',
      account,
      routingNumber: iat.gatewayRoutingNumber,
      international: {
        country: country.alpha2,
        currency: 'USD',
        transactionType: iat.transactionType,
        ...describeOriginator(iat.originators[originator.accountId] ?? iat.originator),
        bankName,
        bankIdQualifier,
        bankId,
        ...address,
        // The gateway operator's own indicator.
        gatewayScreening: '',
        secondaryScreening: readScreening(instruction),
      },
    },
  };
}

type ReceiverAddress = Pick<International, 'receiverStreet' | 'receiverCity' | 'receiverCountry'>;

/** City and state share a field of 35 characters with an asterisk and a backslash. */
const cityStateMax = 33;

/** Undefined where a part cannot be written: street and city are mandatory, and no part is dropped. */
function describeAddress(instruction: Instruction): ReceiverAddress | undefined {
  const { attributes, beneficiary, countryCode } = instruction;
  const country = findCountry(beneficiary.countryCode) ?? findCountry(countryCode);
  const street = toAsciiText(beneficiary.address1 || (attributes['Address1'] ?? ''), 35) ?? '';
  const city = toPlainText(beneficiary.city || (attributes['City'] ?? '')) ?? '';
  const state = toPlainText(beneficiary.stateProvince);
  const postalCode = toPlainText(beneficiary.postalCode);
  if (country === undefined || street === '' || city === '') return undefined;
  if (state === undefined || postalCode === undefined || postalCode.length > 31) return undefined;
  if (city.length + state.length > cityStateMax) return undefined;
  return {
    receiverStreet: street,
    receiverCity: `${city}*${state}\\`,
    receiverCountry: `${country.alpha2}*${postalCode}\\`,
  };
}

/** The configuration checks that it is ASCII and fits. */
function describeOriginator({ name, street, city, stateProvince, country, postalCode }: Party) {
  return {
    originatorName: name,
    originatorStreet: street,
    originatorCity: `${city}*${stateProvince}\\`,
    originatorCountry: `${country}*${postalCode}\\`,
  };
}

/**
 * The secondary OFAC screening indicator: 0 is a screening of the parties without a potential match,
 * blank no statement. A potential match (1) is never sent.
 */
function readScreening({ screening }: Instruction): string {
  return screening === 'clear' ? '0' : '';
}

/** Whether two drafts of one reference send the same money to the same place. */
export function isSamePayment(left: Draft, right: Draft): boolean {
  return (
    left.amountMinor === right.amountMinor &&
    left.routingNumber === right.routingNumber &&
    left.account === right.account &&
    left.transactionCode === right.transactionCode
  );
}
