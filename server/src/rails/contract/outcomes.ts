import type { Reason } from './reasons.ts';

/** Money that the rail charged for a payment, or for its return. */
export type Charge = {
  /** The same charge reported again has the same id; unique within the payment. */
  readonly id: string;
  readonly kind: 'network' | 'bank' | 'partner';
  readonly currency: string;
  /** Minor units, positive. */
  readonly amountMinor: bigint;
};

/** All that the payer asks for the payment, fee included, in the currency of its prices. */
export type AskedPrice = { readonly currency: string; readonly amountMinor: bigint };

type AnswerExtras = {
  /** The rail's own name for the payment (a transaction id, a partner's number); never personal. */
  readonly providerReference?: string;
  readonly charges?: readonly Charge[];
  /** For operators: the rail's own code, such as AC04 or R03; never personal. */
  readonly code?: string;
  /**
   * With `retry` or `unknown`: how long the counterparty asks to wait (Retry-After); no call of this
   * rail begins before, for fifteen minutes at most.
   */
  readonly retryAfterMs?: number;
};

/**
 * The answer to a call.
 *
 * - `retry`: certainly nothing was sent and (from a query) nothing sent earlier can still arrive.
 * - `rejected` is definite: it was never and will never be paid under this reference. `asked`: with the
 *   reason `price_worse`, for the operator, where the payer says it.
 * - `checkAtMs`: when the next query makes sense.
 * - The amount of `returned` is all that came back so far (absent: the whole), while each
 *   `RailObservation` of a return is a part by itself: a rail that reports parts as observations
 *   answers `paid` to a query.
 * - The amount of `paid` is what was paid, where the counterparty says so; an amount other than the
 *   instructed one opens an exception.
 */
export type RailAnswer = AnswerExtras &
  (
    | { readonly outcome: 'accepted'; readonly checkAtMs?: number }
    | { readonly outcome: 'ready_for_pickup'; readonly checkAtMs?: number }
    | { readonly outcome: 'paid'; readonly checkAtMs?: number; readonly amountMinor?: bigint }
    | { readonly outcome: 'rejected'; readonly reason: Reason; readonly asked?: AskedPrice }
    | { readonly outcome: 'returned'; readonly reason: Reason; readonly amountMinor?: bigint }
    | { readonly outcome: 'retry'; readonly reason: Reason; readonly checkAtMs?: number }
    | { readonly outcome: 'unknown'; readonly reason: Reason }
  );

/** One outcome of one payment that a rail learns from an inbound message or in its own pass. */
export type RailObservation = AnswerExtras & {
  /** Unique within the rail: the same observation reported again has the same id and counts once. */
  readonly id: string;
  readonly reference: string;
  readonly outcome: 'accepted' | 'ready_for_pickup' | 'paid' | 'rejected' | 'returned';
  /** Undefined for an outcome that needs none. */
  readonly reason?: Reason;
  /** What came back, or was paid, in minor units of the payment's currency; undefined: the whole. */
  readonly amountMinor?: bigint;
  /** When it happened, as the counterparty says, milliseconds. */
  readonly atMs: number;
};

/** A payment that left through a rail, as its counterparty or its own files show it. */
export type RecoveredPayment = {
  /** As the counterparty has it; "" where it carries none. */
  readonly reference: string;
  readonly payerKey?: string;
  /** ISO 3166-1 alpha-3. */
  readonly countryCode?: string;
  readonly currency: string;
  /** Minor units. */
  readonly amountMinor: bigint;
  readonly outcome: RailObservation['outcome'] | 'unknown';
  readonly providerReference?: string;
  /** An address on a chain, where there is no reference. */
  readonly destination?: string;
  readonly atMs: number;
  /** For an operator: file, position, block; never personal. */
  readonly detail: string;
};
