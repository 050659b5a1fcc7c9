import { isDeepStrictEqual } from 'node:util';
import { getCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import type { Beneficiary, Instruction, Originator } from '../contract/contract.ts';
import { formatFixedAmount } from '../kit/amounts.ts';
import type { Capability } from './capability-protocol.ts';
import { findPriceLimit } from './price-limit.ts';
import type { PaymentOrder } from './protocol.ts';
import { purposeAttribute } from './required-fields.ts';

/** What the order needs beyond the instruction. */
export type OrderSetup = {
  /** The partner's own name for a payer, by our key; the key itself where there is none. */
  readonly payerCodes: ReadonlyMap<string, string>;
  readonly callbackUrl: string;
  /** Those that the operator has configured for the partner. */
  readonly capabilities: readonly Capability[];
  /** The partner's own codes of purposes, by RemittanceReason. */
  readonly purposeCodes: Readonly<Record<string, string>>;
};

export function createOrder(instruction: Instruction, setup: OrderSetup): PaymentOrder {
  const { pickupCode, originator, attributes } = instruction;
  const purpose = setup.capabilities.includes('purpose') ? readPurpose(attributes, setup) : '';
  const limit = setup.capabilities.includes('prices') ? findPriceLimit(instruction) : undefined;
  const usesSender = setup.capabilities.includes('sender');
  return {
    reference: instruction.reference,
    payer: setup.payerCodes.get(instruction.payerKey) ?? instruction.payerKey,
    country: instruction.countryCode,
    delivery_type: instruction.deliveryType,
    amount: formatFixedAmount(instruction.amountMinor, instruction.currency),
    currency: instruction.currency,
    destination: { ...attributes },
    beneficiary: describeBeneficiary(instruction.beneficiary),
    originator: {
      id: originator.accountId,
      name: originator.name,
      ...(usesSender ? describeSender(originator) : {}),
    },
    ...(purpose === '' ? {} : { purpose }),
    ...(limit === undefined
      ? {}
      : {
          price_limit: {
            amount: formatFixedAmount(limit.amountMinor, limit.currency),
            currency: limit.currency,
          },
        }),
    ...(pickupCode === '' ? {} : { pickup_code: pickupCode }),
    available_at: new Date(instruction.availableAtMs).toISOString(),
    callback_url: setup.callbackUrl,
  };
}

/** "" where the client states none. */
function readPurpose(
  attributes: Instruction['attributes'],
  { purposeCodes }: Pick<OrderSetup, 'purposeCodes'>,
): string {
  const reason = attributes[purposeAttribute] ?? '';
  return Object.hasOwn(purposeCodes, reason) ? (purposeCodes[reason] ?? '') : reason;
}

/** The client as the operator has verified it. */
function describeSender({ sender }: Originator): Partial<PaymentOrder['originator']> {
  if (sender === undefined) return {};
  const fields = {
    legal_name: sender.legalName,
    address_1: sender.address1,
    city: sender.city,
    state_province: sender.stateProvince,
    postal_code: sender.postalCode,
    country: sender.countryCode,
    registration_type: sender.registrationType,
    registration_id: sender.registrationId,
    registration_authority: sender.registrationAuthority,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** Unknown texts are left out, so that a partner never stores an empty name. */
export function describeBeneficiary(beneficiary: Beneficiary): PaymentOrder['beneficiary'] {
  const fields = {
    first_name: beneficiary.firstName,
    middle_name: beneficiary.middleName,
    last_name: beneficiary.lastName,
    business_name: beneficiary.businessName,
    address_1: beneficiary.address1,
    address_2: beneficiary.address2,
    city: beneficiary.city,
    state_province: beneficiary.stateProvince,
    postal_code: beneficiary.postalCode,
    country: beneficiary.countryCode,
    email: beneficiary.email,
    mobile_number: beneficiary.mobileNumber,
    date_of_birth: beneficiary.dateOfBirth,
  };
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== ''));
}

/** Whether the amounts are equal, however many zeros are written. */
export function isAmount(
  stated: { readonly amount: string; readonly currency: string },
  expected: { readonly amountMinor: bigint; readonly currency: string },
): boolean {
  if (stated.currency !== expected.currency) return false;
  const amount = parseAmount(stated.amount, getCurrency(stated.currency));
  return amount.ok && amount.minor === expected.amountMinor;
}

/**
 * Whether an order moves the amount of the instruction to its destination. Other details, such as an
 * address that was corrected since, may differ.
 */
export function matchesInstruction(order: PaymentOrder, instruction: Instruction): boolean {
  return (
    order.reference === instruction.reference &&
    order.country === instruction.countryCode &&
    order.delivery_type === instruction.deliveryType &&
    isAmount(order, instruction) &&
    isDeepStrictEqual({ ...order.destination }, { ...instruction.attributes }) &&
    (order.pickup_code ?? '') === instruction.pickupCode
  );
}
