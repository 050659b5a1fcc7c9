import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { readDecimal } from '../../core/money.ts';
import { deliveryTypes } from '../contract/declarations.ts';
import { type Reason, reasonTexts } from '../contract/reasons.ts';

/**
 * The bodies of the partner protocol, version 1, as both sides read them (docs/partner-openapi.yaml
 * describes the same). There are no JSON numbers: an amount is an exact decimal in a text. What is
 * sent to us may have fields that are not listed here; they mean nothing.
 */

/** A reference, an event id, a partner's own number: what may be logged and stored in the clear. */
export const identifier = z.string().regex(/^[0-9A-Za-z._:-]{1,64}$/);

/** Longer than any amount or its currency needs to be, and short enough to be read at once. */
const amountText = z
  .string()
  .regex(/^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$/)
  .refine((text) => (readDecimal(text)?.digits ?? 0n) > 0n, { error: 'must be more than zero' });
/** A charge may be zero, which is none. */
const chargeAmountText = z.string().regex(/^(?:0|[1-9][0-9]{0,14})(?:\.[0-9]{1,9})?$/);
export const currencyCode = z
  .string()
  .regex(/^[A-Z0-9]{3,5}$/)
  .refine((code) => findCurrency(code) !== undefined, { error: 'must be a known currency' });
export const instant = z
  .string()
  .max(40)
  .refine((text) => z.iso.datetime().safeParse(text).success, {
    error: 'must be RFC 3339 in UTC, with Z',
  });
export const countryCode = z.string().regex(/^[A-Z]{3}$/);
const text = z.string().max(1000);

export const beneficiarySchema = z.object({
  first_name: text.optional(),
  middle_name: text.optional(),
  last_name: text.optional(),
  business_name: text.optional(),
  address_1: text.optional(),
  address_2: text.optional(),
  city: text.optional(),
  state_province: text.optional(),
  postal_code: text.optional(),
  country: countryCode.optional(),
  email: text.optional(),
  mobile_number: text.optional(),
  date_of_birth: z
    .string()
    .regex(/^\d{4}-\d{2}-\d{2}$/)
    .optional(),
});

/** On whose behalf the payment is made. What follows `name` needs the capability `sender`. */
const originatorSchema = z.object({
  id: z.string().max(100),
  name: text,
  legal_name: text.optional(),
  address_1: text.optional(),
  city: text.optional(),
  state_province: text.optional(),
  postal_code: text.optional(),
  country: countryCode.optional(),
  registration_type: z.enum(['LEIX', 'RAID', 'TXID', 'MISC']).optional(),
  registration_id: z.string().max(100).optional(),
  registration_authority: z.string().max(100).optional(),
});

/** PUT /payments/{reference}: what is to be paid. */
export const paymentOrderSchema = z.object({
  reference: identifier,
  payer: z.string().min(1).max(100),
  country: countryCode,
  delivery_type: z.enum(deliveryTypes),
  amount: amountText,
  currency: currencyCode,
  /** Where to: a bank account, a card, a phone number; by attribute type. */
  destination: z.record(z.string().max(100), text),
  beneficiary: beneficiarySchema,
  originator: originatorSchema,
  /** With the capability `purpose`. */
  purpose: z.string().min(1).max(100).optional(),
  /** With the capability `prices`: the most that the payment may take from the balance. */
  price_limit: z.object({ amount: amountText, currency: currencyCode }).optional(),
  pickup_code: z.string().min(1).max(100).optional(),
  available_at: instant,
  callback_url: z.string().max(1000),
});
export type PaymentOrder = z.output<typeof paymentOrderSchema>;

/** POST /payments/{reference}/cancel: as much as the tombstone of an unknown reference needs. */
export const cancelOrderSchema = z.object({
  reference: identifier,
  amount: amountText,
  currency: currencyCode,
});
export type CancelOrder = z.output<typeof cancelOrderSchema>;

const partnerReason = z.string().regex(/^[a-z0-9_]{1,64}$/);

export const chargeSchema = z.object({
  id: identifier,
  amount: chargeAmountText,
  currency: currencyCode,
});

export const returnSchema = z.object({
  id: identifier,
  amount: amountText,
  reason: partnerReason,
  occurred_at: instant,
});
export type PaymentReturn = z.output<typeof returnSchema>;

export const paymentStates = [
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
] as const;

/** Where a payment stands: the answer to PUT, GET and cancel, and a part of every event. */
export const paymentSchema = z.object({
  reference: identifier,
  amount: amountText,
  currency: currencyCode,
  state: z.enum(paymentStates),
  reason: partnerReason.optional(),
  code: z
    .string()
    .regex(/^[0-9A-Za-z._:-]{1,32}$/)
    .optional(),
  partner_reference: identifier.optional(),
  charges: z.array(chargeSchema).max(20),
  /** All of them so far, oldest first. */
  returns: z.array(returnSchema).max(100),
  check_at: instant.optional(),
});
export type Payment = z.output<typeof paymentSchema>;

/** A callback: one thing that happened to one payment. `return` is there when money came back. */
export const eventSchema = z.object({
  id: identifier,
  occurred_at: instant,
  payment: paymentSchema,
  return: returnSchema.optional(),
});
export type PaymentEvent = z.output<typeof eventSchema>;

/** GET /events/{after}: what happened after that event, oldest first; "0" is before all. */
export const eventPageSchema = z.object({
  /** Read one by one, so that one that makes no sense does not hide the others. */
  events: z.array(z.unknown()).max(100),
  /** What to ask for next: the id of the last event here, or what was asked for. */
  next: identifier,
});
export const eventsFirst = '0';

/** Why a request was not carried out. What else a partner may answer is no definite answer. */
export const refusalCodes = [
  'unknown_reference',
  'reference_conflict',
  'signature_refused',
  'malformed',
  'busy',
  'batch_too_large',
] as const;
export type RefusalCode = (typeof refusalCodes)[number];

export const refusalSchema = z.object({
  error: z.enum(refusalCodes),
  detail: z.string().max(1000).optional(),
});

/** The status that belongs to a refusal; with another one the answer is none. */
export const refusalStatus: Readonly<Record<RefusalCode, number>> = {
  unknown_reference: 404,
  reference_conflict: 409,
  signature_refused: 401,
  malformed: 400,
  busy: 503,
  batch_too_large: 413,
};

export const healthSchema = z.object({
  status: z.enum(['ok', 'failing']),
  protocol: z.literal('1'),
  detail: z.string().max(1000).optional(),
});

/** A partner's word for a reason in our vocabulary; what is not in it says no more than `otherwise`. */
export function readReason(word: string | undefined, otherwise: Reason): Reason {
  return word !== undefined && isReason(word) ? word : otherwise;
}

function isReason(word: string): word is Reason {
  return Object.hasOwn(reasonTexts, word);
}
