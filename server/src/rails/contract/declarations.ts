/** What a rail can do, as data: the catalog and the documents are generated from it. */

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

/**
 * What recipients give instead of the account that the delivery type usually asks for. `stored_card`:
 * the provider's token of a card, never its number (decision 81). `provider_account`: the ID of an
 * account that the provider keeps.
 */
export const accountForms = ['stored_card', 'provider_account'] as const;
export type AccountForm = (typeof accountForms)[number];

/** Where a kind of rail can pay to, for any operator. */
export type CorridorDeclaration = {
  /** ISO 3166-1 alpha-3; `any`: wherever the operator's contract reaches. */
  readonly countries: readonly string[] | 'any';
  readonly deliveryType: DeliveryType;
  /** Codes as in `core/currency`; `any`: every national currency. */
  readonly currencies: readonly string[] | 'any';
  /** Absent: what the delivery type usually asks for. */
  readonly accountForm?: AccountForm;
};

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

/** What a payer costs from an instant on, until the next tariff of the same payer. */
export type Tariff = {
  /** RFC 3339, UTC; null: from the beginning. */
  readonly effectiveFrom: string | null;
  /** Ascending in `upTo`; the last one is unbounded. */
  readonly fee: readonly FeeStep[];
  /** Taken from the mid-market rate, hundredths of a percent; none when no currency is exchanged. */
  readonly marginBasisPoints: number;
  /**
   * All-in rates agreed with the partner, decimal text by pair (`USD/EUR`: how many EUR for one
   * USD); they replace mid-market rate and margin. Limits and fees are not affected.
   */
  readonly rates: Readonly<Record<string, string>>;
  /** USD, decimal text; "0" is no limit. Inclusive. */
  readonly minLimit: string;
  readonly maxLimit: string;
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
  /** Absent: what the delivery type usually asks for. */
  readonly accountForm?: AccountForm | undefined;
  /** What the payer delivers; the first one is the default. */
  readonly currencies: readonly string[];
  /** Ascending in `effectiveFrom`; the first one holds from the beginning. */
  readonly tariffs: readonly Tariff[];
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
  /** What the rail needs of this payer, such as a bank's or a partner's code. */
  readonly options: Readonly<Record<string, string>>;
};
