import { z } from 'zod';
import type { Beneficiary, RecipientDraft, RecipientFault, Sender } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';

/** What a partner needs to know of a payment, by payer and corridor. */

/** The attribute with which a client states the purpose of a payment. */
export const purposeAttribute = 'RemittanceReason';

/** Applies where each list that it has contains what the payment is about. */
export const requirementSchema = z.object({
  /** The partner's names of payers. */
  payers: z.array(z.string().min(1).max(100)).max(1000).optional(),
  countries: z
    .array(z.string().regex(/^[A-Z]{3}$/))
    .max(300)
    .optional(),
  currencies: z
    .array(z.string().regex(/^[A-Z0-9]{3,5}$/))
    .max(300)
    .optional(),
  /** As members of an order are named: `originator.city`. */
  fields: z
    .array(z.string().regex(/^[0-9A-Za-z_.]{1,120}$/))
    .min(1)
    .max(100),
});
export type Requirement = z.output<typeof requirementSchema>;

type Field<Member> = {
  readonly member: Member;
  /** As clients name it. */
  readonly name: string;
  /** Whether a business has none. */
  readonly isPersonal?: true;
};

const beneficiaryFields: ReadonlyMap<string, Field<keyof Beneficiary>> = new Map([
  ['beneficiary.first_name', { member: 'firstName', name: 'first_name', isPersonal: true }],
  ['beneficiary.last_name', { member: 'lastName', name: 'last_name', isPersonal: true }],
  ['beneficiary.address_1', { member: 'address1', name: 'address1' }],
  ['beneficiary.city', { member: 'city', name: 'city' }],
  ['beneficiary.state_province', { member: 'stateProvince', name: 'state_province' }],
  ['beneficiary.postal_code', { member: 'postalCode', name: 'postal_code' }],
  ['beneficiary.email', { member: 'email', name: 'email' }],
  ['beneficiary.mobile_number', { member: 'mobileNumber', name: 'mobile_number' }],
  ['beneficiary.date_of_birth', { member: 'dateOfBirth', name: 'date_of_birth', isPersonal: true }],
]);

const senderFields: ReadonlyMap<string, keyof Sender> = new Map([
  ['originator.legal_name', 'legalName'],
  ['originator.address_1', 'address1'],
  ['originator.city', 'city'],
  ['originator.state_province', 'stateProvince'],
  ['originator.postal_code', 'postalCode'],
  ['originator.country', 'countryCode'],
  ['originator.registration_id', 'registrationId'],
]);

/** The attribute that fills the field; undefined where none does. */
function readAttributeType(field: string): string | undefined {
  if (field === 'purpose') return purposeAttribute;
  return /^destination\.(\w{1,100})$/.exec(field)?.[1];
}

export function isCheckable(field: string): boolean {
  const isOfPerson = beneficiaryFields.has(field) || senderFields.has(field);
  return isOfPerson || readAttributeType(field) !== undefined;
}

/** The capability without which no order has the field. */
export function neededCapability(field: string): 'sender' | 'purpose' | undefined {
  if (senderFields.has(field)) return 'sender';
  return field === 'purpose' ? 'purpose' : undefined;
}

export type Corridor = {
  /** The partner's name of the payer. */
  readonly payer: string;
  readonly countryCode: string;
  readonly currency: string;
};

/** The fields that are required in a corridor, each once. */
export function selectFields(
  requirements: readonly Requirement[],
  { payer, countryCode, currency }: Corridor,
): ReadonlySet<string> {
  const applying = requirements.filter(
    ({ payers, countries, currencies }) =>
      (payers?.includes(payer) ?? true) &&
      (countries?.includes(countryCode) ?? true) &&
      (currencies?.includes(currency) ?? true),
  );
  return new Set(applying.flatMap(({ fields }) => fields));
}

export type RequirementSetup = {
  readonly requirements: readonly Requirement[];
  readonly payerCodes: ReadonlyMap<string, string>;
};

/** Attributes that the client has not stored yet are not missing. */
export function listMissingFields(
  { requirements, payerCodes }: RequirementSetup,
  draft: RecipientDraft,
): RecipientFault[] {
  if (requirements.length === 0) return [];
  const { payerKey, countryCode, currency, beneficiary, attributes, sender } = draft;
  const payer = payerCodes.get(payerKey) ?? payerKey;
  const fields = [...selectFields(requirements, { payer, countryCode, currency })];
  const faults = fields.flatMap((field): RecipientFault[] => {
    const detail = 'the payer requires it for payouts of this kind';
    const ofRecipient = beneficiaryFields.get(field);
    if (ofRecipient !== undefined) {
      const { member, name, isPersonal } = ofRecipient;
      const isExempt = isPersonal === true && beneficiary.businessName !== '';
      const isThere = isExempt || beneficiary[member].trim() !== '';
      return isThere ? [] : [{ field: name, code: 'missing', detail }];
    }
    const type = readAttributeType(field);
    if (type === undefined || attributes === undefined) return [];
    const value = Object.hasOwn(attributes, type) ? (attributes[type] ?? '') : '';
    return value.trim() === '' ? [{ field: type, code: 'missing', detail }] : [];
  });
  const isSenderComplete = fields.every((field) => {
    const member = senderFields.get(field);
    return member === undefined || (sender?.[member] ?? '').trim() !== '';
  });
  if (isSenderComplete) return faults;
  const detail = 'the payer requires data of the sender that the operator has not stored';
  return [...faults, { field: 'sender', code: 'sender_incomplete', detail }];
}

/**
 * Payers whose recipients are never asked for an attribute that the partner requires: every quote of
 * them would be refused.
 */
export function listPayerFaults(
  { requirements, payerCodes }: RequirementSetup,
  payers: readonly PayerDeclaration[],
  listAttributes: (payer: PayerDeclaration, currency: string) => readonly string[],
): string[] {
  return payers.flatMap((payer) =>
    payer.currencies.flatMap((currency) => {
      const { key, countryCode } = payer;
      const corridor = { payer: payerCodes.get(key) ?? key, countryCode, currency };
      const collected = listAttributes(payer, currency);
      return [...selectFields(requirements, corridor)].flatMap((field) => {
        const type = readAttributeType(field);
        return type === undefined || collected.includes(type)
          ? []
          : [
              `the payer ${key} can never pay ${currency}: requiredFields has ${field}, and ${type} is ` +
                `not collected from recipients in ${countryCode}`,
            ];
      });
    }),
  );
}
