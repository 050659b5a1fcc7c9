/**
 * What a rail is: a way to pay, declared as data, with the calls that move money. A rail knows
 * neither the database nor the HTTP server.
 */

export const deliveryTypes = [
  'CASH_PICKUP',
  'BANK_DEPOSIT',
  'HOME_DELIVERY',
  'MOBILE_WALLET',
  'PAPER_CHECK',
  'BILL',
  'CRYPTOCURRENCY',
] as const;
export type DeliveryType = (typeof deliveryTypes)[number];

export type CompanyDeclaration = {
  /** Stable and unique within the rail; part of every destination token. */
  readonly key: string;
  readonly name: string;
  readonly description: string;
  /** A small PNG, Base64. */
  readonly logo: string;
};

/** A step of a fee schedule: it holds for amounts up to and including `upTo` (USD; null: any). */
export type FeeStep = {
  readonly upTo: string | null;
  /** USD, decimal text. */
  readonly fixed: string;
  /** Hundredths of a percent of the amount. */
  readonly basisPoints: number;
};

/** When money arrives, in the payer's time zone. */
export type AvailabilityRule = {
  readonly timeZone: string;
  /** ISO 3166-1 alpha-2 of the holiday calendar; null: open every day. */
  readonly calendar: string | null;
  /** Weekdays without business, 0 = Sunday. */
  readonly weekend: readonly number[];
  /** `HH:MM`; a payout committed later counts as of the next business day. null: none. */
  readonly cutOff: string | null;
  /** Minutes from start (instant services) or business days with the hour of arrival. */
  readonly delay:
    | { readonly minutes: number }
    | { readonly businessDays: number; readonly arrival: string };
};

export type PayerDeclaration = {
  /** Stable and unique within the rail: the destination token is a function of rail and key. */
  readonly key: string;
  readonly companyKey: string;
  readonly payerName: string;
  readonly logo: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  /** What the payer delivers; the first one is the usual one. */
  readonly currencies: readonly string[];
  /** Ascending in `upTo`; the last one is unbounded. */
  readonly fee: readonly FeeStep[];
  /** Taken from the mid-market rate, hundredths of a percent; none when no currency is exchanged. */
  readonly marginBasisPoints: number;
  /** USD, decimal text; "0" is no bound. Inclusive. */
  readonly minLimit: string;
  readonly maxLimit: string;
  readonly availability: AvailabilityRule;
  readonly numberOfLocations: number;
  readonly additionalDescription: string;
  readonly isDynamicToken: boolean;
  /** Identity verification of the recipient: from the start, or over an amount in USD. */
  readonly verification:
    | { readonly kind: 'always' }
    | { readonly kind: 'above'; readonly amount: string }
    | { readonly kind: 'never' };
  /** Seconds a quote holds; null: the environment's default. */
  readonly rateLockSeconds: number | null;
};

/** What a rail is asked to pay. Amounts are minor units of `currency`. */
export type Instruction = {
  /** A function of the payout, never of the attempt: the rail's own duplicate check rests on it. */
  readonly reference: string;
  readonly payerKey: string;
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly currency: string;
  readonly amountMinor: bigint;
  /** Attribute type to value. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly beneficiary: { readonly firstName: string; readonly lastName: string };
  readonly pickupCode: string;
  /** The environment's time of the commit and of the announced arrival, milliseconds. */
  readonly committedAtMs: number;
  readonly availableAtMs: number;
};

/**
 * What a rail says. `retry` only when it is certain that nothing was sent, and (from a query) that
 * nothing sent earlier can still arrive; whatever is not a definite answer is `unknown`. A rail must
 * take a second instruction of the same reference for the first: that is the last guard against
 * paying twice. `checkAtMs` is when asking again makes sense.
 */
export type RailAnswer =
  | { readonly outcome: 'accepted'; readonly checkAtMs?: number }
  | { readonly outcome: 'ready_for_pickup'; readonly checkAtMs?: number }
  | { readonly outcome: 'paid'; readonly checkAtMs?: number }
  | { readonly outcome: 'rejected'; readonly reason: string }
  | { readonly outcome: 'returned'; readonly reason: string }
  | { readonly outcome: 'retry'; readonly reason: string }
  | { readonly outcome: 'unknown'; readonly reason: string };

export type ReferenceRule = { readonly lengthMax: number; readonly charset: RegExp };

export type Rail = {
  readonly name: string;
  readonly reference: ReferenceRule;
  readonly companies: readonly CompanyDeclaration[];
  readonly payers: readonly PayerDeclaration[];
  send(instruction: Instruction): Promise<RailAnswer>;
  query(instruction: Instruction): Promise<RailAnswer>;
};
