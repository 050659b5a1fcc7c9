import { z } from 'zod';
import { deliveryTypes } from '../contract/declarations.ts';
import { payeeOutcomes } from '../contract/instruction.ts';
import { batchLimitsSchema } from './batch-protocol.ts';
import { beneficiarySchema, countryCode, currencyCode, instant } from './protocol.ts';
import { requirementSchema } from './required-fields.ts';

/**
 * The optional parts of the partner protocol, each of which a partner announces in its answer to
 * GET /capabilities and an operator configures. As in `protocol.ts`, there are no JSON numbers, and
 * unknown fields mean nothing.
 */

export const capabilities = [
  'sender',
  'purpose',
  'account_check',
  'balances',
  'prices',
  'batches',
  'booked_events',
] as const;
export type Capability = (typeof capabilities)[number];

/** GET /capabilities: what the partner has. An unknown capability means nothing. */
export const capabilitiesSchema = z.object({
  capabilities: z.array(z.string().regex(/^[a-z_]{1,40}$/)).max(50),
  required_fields: z.array(requirementSchema).max(1000).optional(),
  /** With the capability `batches`. */
  batch_limits: batchLimitsSchema.optional(),
});
export type Announced = z.output<typeof capabilitiesSchema>;

/** POST /account-check: whether the account belongs to the beneficiary. It books nothing. */
export const accountCheckSchema = z.object({
  payer: z.string().min(1).max(100),
  country: countryCode,
  delivery_type: z.enum(deliveryTypes),
  currency: currencyCode,
  destination: z.record(z.string().max(100), z.string().max(1000)),
  beneficiary: beneficiarySchema,
});
export type AccountCheck = z.output<typeof accountCheckSchema>;

export const accountCheckResultSchema = z.object({
  result: z.enum(payeeOutcomes),
  /** Of a close match: the name of the account's holder. */
  name: z.string().min(1).max(140).optional(),
});

/** GET /balances: what is left to pay from. */
export const balancesSchema = z.object({
  balances: z
    .array(
      z.object({
        currency: z.string().regex(/^[A-Z0-9]{3,5}$/),
        /** Negative where it is overdrawn. */
        available: z.string().regex(/^-?(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$/),
      }),
    )
    .max(300),
  /** When it was so, where that is not the moment of the answer. */
  as_of: instant.optional(),
});

const priceText = z.string().regex(/^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$/);

export const partnerPriceSchema = z.object({
  payer: z.string().min(1).max(100),
  /** Of the balance from which the payment is paid. */
  source_currency: z.string().regex(/^[A-Z0-9]{3,5}$/),
  destination_currency: z.string().regex(/^[A-Z0-9]{3,5}$/),
  /** Units of the destination for one of the source. */
  rate: priceText,
  fee: z
    .array(
      z.object({
        /** Absent in the last step: for every larger amount. */
        up_to: priceText.optional(),
        fixed: priceText,
        basis_points: z.string().regex(/^(?:0|[1-9][0-9]{0,4})$/),
      }),
    )
    .min(1)
    .max(100),
  expires_at: instant.optional(),
  delivery_seconds: z
    .string()
    .regex(/^(?:0|[1-9][0-9]{0,7})$/)
    .optional(),
});
export type PartnerPrice = z.output<typeof partnerPriceSchema>;

/** GET /prices: what payments cost now. */
export const pricesSchema = z.object({ prices: z.array(partnerPriceSchema).max(5000) });
