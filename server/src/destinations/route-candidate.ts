import { z } from 'zod';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/** A payer as a candidate for a payout: its price, its state, and the rule that excluded it. */

export const exclusionRules = [
  'tried_before',
  'same_rail',
  'rail_down',
  'rate_unknown',
  'rate_stale',
  'price_stale',
  'price_worse',
  'below_minimum',
  'above_maximum',
  'currency_not_delivered',
  'amount_too_small',
  'amount_too_large',
  'over_quoted_cost',
  'needs_verification',
  'named_another',
] as const;
export type ExclusionRule = (typeof exclusionRules)[number];

const providerPriceSchema = z
  .object({
    source_currency: z.string().describe('Of the balance at the provider'),
    exchange_rate: z.string().describe('Decimal, all-in, without the margin of this service'),
    fee: z.string().describe('Decimal, in source_currency; "" where it covers no such amount'),
    as_of: z.string().describe('RFC 3339, UTC: when it was read'),
    age_seconds: z.int().describe('Its age at the decision'),
  })
  .meta({ id: 'ProviderPrice' });

/** As stored, and as a client reads it. Amounts and rates are decimal texts. */
export const candidateSchema = z
  .object({
    destination_token: z.string(),
    payer_name: z.string(),
    company_name: z.string(),
    network: z.string().describe('The chain on which it pays; "" where it pays on none'),
    fee: z.string().describe('Decimal, in the source currency; "" where it gives no price'),
    exchange_rate: z.string().describe('Decimal, all-in'),
    cost: z.string().describe('Source amount and fee for the promised destination amount'),
    min_limit_usd: z.string(),
    max_limit_usd: z.string().describe('"0" is no bound'),
    health: z.enum(['up', 'degraded', 'down']),
    availability_percent: z.number().nullable().describe('Measured; null with too few payouts'),
    rating: z.number().nullable().describe('Measured, 0 to 5; null with too few payouts'),
    score: z.number().nullable(),
    provider_price: providerPriceSchema
      .nullable()
      .describe(
        'For operators: what its provider asks, where it quotes prices; the latest one, even if too old',
      ),
    is_chosen: z.boolean(),
    excluded_by: z
      .enum(['', ...exclusionRules])
      .describe('The rule that excluded it; "" for the one that was chosen'),
    detail: z.string(),
  })
  .meta({ id: 'RouteCandidate' });
export type RouteCandidate = z.infer<typeof candidateSchema>;

/** A payer of the recipient's country that could not take the payout over, at its present price. */
export const otherWaySchema = candidateSchema
  .pick({
    destination_token: true,
    payer_name: true,
    company_name: true,
    network: true,
    fee: true,
    exchange_rate: true,
    provider_price: true,
  })
  .extend({
    health: candidateSchema.shape.health.describe('Of its rail'),
    score: candidateSchema.shape.score.describe('As of the candidates; null without a price'),
    delivery_type: z.enum(deliveryTypes),
    destination_currency_code: z.string(),
    destination_amount: z
      .string()
      .describe('Decimal: what the source amount of the payout would become; "" without a price'),
    detail: z.string().describe('Why it gives no price for the amount; "" where it gives one'),
  })
  .meta({ id: 'OtherWay' });
export type OtherWay = z.infer<typeof otherWaySchema>;

/** As clients see it: what a provider asks is the operator's affair. */
export const hideProviderPrice = <Priced extends Pick<RouteCandidate, 'provider_price'>>(
  priced: Priced,
): Priced => ({ ...priced, provider_price: null });

/** A payer at an instant, regardless of the amount. */
export const standingSchema = candidateSchema
  .pick({
    destination_token: true,
    payer_name: true,
    company_name: true,
    min_limit_usd: true,
    max_limit_usd: true,
    health: true,
    availability_percent: true,
    rating: true,
  })
  .extend({ margin_basis_points: z.number(), networks: z.record(z.string(), z.string()) });
export type Standing = z.infer<typeof standingSchema>;
