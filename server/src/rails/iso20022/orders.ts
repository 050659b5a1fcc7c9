import { z } from 'zod';
import type { Instruction } from '../contract/contract.ts';

/** What of an instruction is needed until it is in a file. */
export type PaymentOrder = Pick<
  Instruction,
  | 'reference'
  | 'payerKey'
  | 'countryCode'
  | 'currency'
  | 'amountMinor'
  | 'attributes'
  | 'beneficiary'
  | 'originator'
>;

/** As the rail's memory keeps it. */
export const storedOrderSchema = z.object({
  reference: z.string(),
  payerKey: z.string(),
  countryCode: z.string(),
  currency: z.string(),
  amountMinor: z.string().transform((text) => BigInt(text)),
  attributes: z.record(z.string(), z.string()),
  beneficiary: z.object({
    firstName: z.string(),
    middleName: z.string(),
    lastName: z.string(),
    businessName: z.string(),
    address1: z.string(),
    address2: z.string(),
    city: z.string(),
    stateProvince: z.string(),
    postalCode: z.string(),
    countryCode: z.string(),
    email: z.string(),
    mobileNumber: z.string(),
    dateOfBirth: z.string(),
  }),
  originator: z.object({ accountId: z.string(), name: z.string() }),
});

export function storeOrder(order: PaymentOrder): z.input<typeof storedOrderSchema> {
  const { reference, payerKey, countryCode, currency, attributes, originator } = order;
  return {
    reference,
    payerKey,
    countryCode,
    currency,
    amountMinor: order.amountMinor.toString(),
    attributes: { ...attributes },
    // Neither bank nor rail needs to know how to reach the person, or their age.
    beneficiary: { ...order.beneficiary, email: '', mobileNumber: '', dateOfBirth: '' },
    originator: { ...originator },
  };
}

/** An account number as it is compared and written. */
export function normalizeAccount(text: string | undefined): string {
  return (text ?? '').replaceAll(' ', '').toUpperCase();
}
