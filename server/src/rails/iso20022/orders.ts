import { z } from 'zod';
import { minorUnits } from '../kit/records.ts';

/**
 * The members of an instruction that are stored until it is in a file. How to reach the recipient and
 * their age are left out: neither bank nor rail needs them.
 */
export const orderSchema = z.object({
  reference: z.string(),
  payerKey: z.string(),
  countryCode: z.string(),
  currency: z.string(),
  amountMinor: minorUnits,
  attributes: z.record(z.string(), z.string()).readonly(),
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
  }),
  originator: z.object({ accountId: z.string(), name: z.string() }),
});
export type PaymentOrder = Readonly<z.output<typeof orderSchema>>;

/** An account number in the form in which it is compared and written. */
export function normalizeAccount(text: string | undefined): string {
  return (text ?? '').replaceAll(' ', '').toUpperCase();
}
