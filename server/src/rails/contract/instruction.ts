import type { DeliveryType } from './declarations.ts';

/** What a rail is asked to pay. Amounts are minor units of `currency`. */
export type Instruction = {
  /** A function of the payout, never of the attempt, in the form that `ReferenceRule` allows. */
  readonly reference: string;
  readonly payerKey: string;
  /** ISO 3166-1 alpha-3: where the money goes. */
  readonly countryCode: string;
  readonly deliveryType: DeliveryType;
  readonly currency: string;
  readonly amountMinor: bigint;
  /** Attribute type to value. */
  readonly attributes: Readonly<Record<string, string>>;
  readonly beneficiary: Beneficiary;
  readonly originator: Originator;
  readonly pickupCode: string;
  /** `clear`: recipient and originator were screened without a potential match; absent: `not_screened`. */
  readonly screening?: 'clear' | 'not_screened';
  /** The environment's time of the commit and of the estimated arrival, milliseconds. */
  readonly committedAtMs: number;
  readonly availableAtMs: number;
  /** Where the rail has `readPrices`: the price with which the payout was quoted. */
  readonly quoted?: QuotedPrice;
};

/**
 * A rail whose counterparty asks more at the sending bears `bearBasisPoints` of the source amount, and
 * refuses a dearer payment with the reason `price_worse` before anything is ordered.
 */
export type QuotedPrice = {
  readonly sourceCurrency: string;
  /** As in `RailPrice`, decimal text. */
  readonly rate: string;
  /** Minor units of `sourceCurrency`. */
  readonly feeMinor: bigint;
  readonly asOfMs: number;
  readonly bearBasisPoints: number;
};

/** Unknown texts are "". */
export type Beneficiary = {
  readonly firstName: string;
  readonly middleName: string;
  readonly lastName: string;
  readonly businessName: string;
  readonly address1: string;
  readonly address2: string;
  readonly city: string;
  readonly stateProvince: string;
  readonly postalCode: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode: string;
  readonly email: string;
  /** Digits only. */
  readonly mobileNumber: string;
  /** YYYY-MM-DD. */
  readonly dateOfBirth: string;
};

/** The client account on whose behalf the money is sent. */
export type Originator = {
  readonly accountId: string;
  readonly name: string;
  /** Of rails with `usesSender`, and where a rule of the travel rule applies. */
  readonly sender?: Sender;
};

/** The client as the operator has verified it. Unknown texts are "". */
export type Sender = {
  readonly legalName: string;
  readonly address1: string;
  readonly city: string;
  readonly stateProvince: string;
  readonly postalCode: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode: string;
  /** As IVMS101 names them: legal entity identifier, registration, tax number, other. */
  readonly registrationType: '' | 'LEIX' | 'RAID' | 'TXID' | 'MISC';
  readonly registrationId: string;
  /** Of the GLEIF's list of registration authorities; "" for a LEI. */
  readonly registrationAuthority: string;
};

/** The form of the references that a rail can carry to its counterparty unchanged. */
export type ReferenceRule = { readonly lengthMax: number; readonly charset: RegExp };

/** A payment before it is ordered. `attributes` is undefined while the client has stored none. */
export type RecipientDraft = Pick<
  Instruction,
  'payerKey' | 'countryCode' | 'deliveryType' | 'currency' | 'amountMinor' | 'beneficiary'
> & {
  readonly attributes: Instruction['attributes'] | undefined;
  /** Undefined where the operator has stored none. */
  readonly sender?: Sender | undefined;
  /** What `checkPayee` answered for these very details, where that is not too old. */
  readonly payee?: PayeeAnswer | undefined;
};

export const payeeOutcomes = ['match', 'close_match', 'no_match', 'not_possible'] as const;

/** Whether an account belongs to the name that a payment would carry. */
export type PayeeAnswer = {
  readonly outcome: (typeof payeeOutcomes)[number];
  /** Of `close_match`: the name of the account's holder as the bank gives it. */
  readonly name?: string | undefined;
};

export type RecipientFault = {
  /** The attribute type (`SWIFT`), the member of the user (`city`), or `amount`. */
  readonly field: string;
  readonly code:
    | 'missing'
    | 'invalid'
    | 'amount_refused'
    | 'not_served'
    | 'sender_incomplete'
    | 'payee_no_match';
  /** For the client; never repeats the value. */
  readonly detail: string;
};
