import { randomInt } from 'node:crypto';
import { z } from 'zod';
import { deliveryTypes } from '../../../src/rails/contract/declarations.ts';
import {
  capabilities,
  partnerPriceSchema,
} from '../../../src/rails/partner/capability-protocol.ts';
import { requirementSchema } from '../../../src/rails/partner/required-fields.ts';

/** The behavior of the simulator and its faults; all options can be changed while it runs. */

/**
 * `before` is before anything was booked, `after` is after. `silent` keeps the connection open and
 * answers nothing; `cut` ends it in the middle of the answer; `drip` sends the answer byte by byte.
 */
export const faultKinds = [
  'delay',
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'silent_before',
  'silent_after',
  'busy',
  'cut',
  'drip',
  'garbage',
  'unsigned',
  'wrong_signature',
  'wrong_amount',
  'wrong_reference',
  // Answers that contradict the books, as of a partner whose parts do not agree.
  'claims_rejected',
  'claims_accepted',
  'claims_paid',
  'claims_unknown',
  // Without the partner's time, which only the light level has as a header.
  'no_time',
] as const;
export type FaultKind = (typeof faultKinds)[number];

/** Misunderstandings of the protocol, each of which `outlay partner-check` finds. */
export const defects = [
  'reports_failing',
  'ignores_authentication',
  'accepts_expired',
  'refuses_unknown_as_malformed',
  'fails_on_malformed',
  'changes_amounts',
  'rejects_without_reason',
  'hides_returns',
  'books_again',
  'takes_conflicts',
  'forgets_cancellations',
  'cancels_paid',
  'ignores_cancel_body',
  'reorders_events',
  'loses_events',
  'forges_callbacks',
  'posts_callbacks_once',
  'changes_capabilities',
  'books_incomplete_orders',
  'matches_every_account',
  'states_balances_as_numbers',
  'states_rates_as_numbers',
  'ignores_price_limits',
  'books_batch_orders_again',
  'takes_conflicting_batches',
  'refuses_batches_as_a_whole',
  'ignores_batch_limits',
  'forgets_batches',
  'hides_bookings',
  'repeats_members',
  'states_times_without_zone',
  'rejects_paid',
  'pays_canceled',
] as const;
export type Defect = (typeof defects)[number];

const share = z.number().min(0).max(1);
const milliseconds = z.int().min(0).max(86_400_000);
const pattern = z.string().max(500);

export const simulatorOptionsSchema = z.strictObject({
  /** From booked to paid, or to ready for pick-up. */
  settleMs: milliseconds.default(200),
  /** Paid or ready in the answer to the order. */
  isInstant: z.boolean().default(false),
  /** From ready for pick-up to collected; null: only by `/control/state`. */
  collectMs: milliseconds.nullable().default(200),
  /** Delivery types that wait to be collected, in addition to `readyPattern`. */
  pickupTypes: z.array(z.enum(deliveryTypes)).default(['CASH_PICKUP']),
  readyPattern: pattern.default(''),
  /** References or payers that are rejected at once, or after `settleMs`. "": none. */
  rejectPattern: pattern.default(''),
  rejectLaterPattern: pattern.default(''),
  rejectReason: z.string().default('account_closed'),
  /** Returned parts in hundredths of a percent; more than 10000 is more than was paid. */
  returnPattern: pattern.default(''),
  returnAfterMs: milliseconds.default(500),
  returnParts: z.array(z.int().min(1).max(100_000)).default([10_000]),
  returnReason: z.string().default('account_closed'),
  /** The charge for a payment, in its currency; "": none. */
  fee: z.string().default(''),
  /** Optional parts of the protocol that it has. */
  capabilities: z.array(z.enum(capabilities)).default([]),
  requiredFields: z.array(requirementSchema).default([]),
  /** The names of the holders of accounts, by any value of a destination. */
  accountHolders: z.record(z.string(), z.string()).default({}),
  /** What was paid in, by currency. Each payment takes its amount and its charge from it. */
  deposits: z.record(z.string(), z.string()).default({}),
  /** What payments cost; an order with a lower limit is rejected. */
  prices: z.array(partnerPriceSchema).default([]),
  /** What it takes in one batch, as it announces. */
  batchOrdersMax: z.int().min(1).default(100),
  batchBytesMax: z.int().min(1).default(1_000_000),
  /** References, or a share of them, that it has no room for when they come in a batch. */
  batchBusyPattern: pattern.default(''),
  batchBusyShare: share.default(0),
  faults: z
    .array(
      z.strictObject({
        on: z
          .enum([
            'put',
            'get',
            'cancel',
            'health',
            'capabilities',
            'account',
            'balances',
            'prices',
            'batch',
            'batch_query',
            'any',
          ])
          .default('put'),
        kind: z.enum(faultKinds),
        share: share.default(1),
        /** How many times; null: unlimited. */
        count: z.int().min(1).nullable().default(null),
        pattern: pattern.default(''),
        delayMs: milliseconds.default(1000),
      }),
    )
    .default([]),
  /** Shares of callbacks: never sent, sent twice, delayed so that later ones arrive first. */
  lostShare: share.default(0),
  duplicateShare: share.default(0),
  reorderShare: share.default(0),
  reorderMs: milliseconds.default(500),
  /** Share sent again with a wrong signature, as if the payment was rejected. */
  forgedShare: share.default(0),
  callbackRetryMs: milliseconds.default(500),
  defects: z.array(z.enum(defects)).default([]),
});
export type SimulatorOptions = z.output<typeof simulatorOptionsSchema>;
export type Fault = SimulatorOptions['faults'][number];

/** Whether the reference or the payer, where there is one, has the pattern. */
export function matches(patternText: string, { reference, payer = '' }: Named): boolean {
  if (patternText === '') return false;
  const expression = new RegExp(patternText);
  return expression.test(reference) || expression.test(payer);
}
type Named = { readonly reference: string; readonly payer?: string };

export function isHit(probability: number): boolean {
  return probability > 0 && randomInt(1_000_000) < probability * 1_000_000;
}

/** The fault for a request; one that is counted is used up by it. */
export function takeFault(
  options: SimulatorOptions,
  { on, reference }: { on: Exclude<Fault['on'], 'any'>; reference: string },
): Fault | undefined {
  const index = options.faults.findIndex(
    (fault) =>
      (fault.on === on || fault.on === 'any') &&
      (fault.pattern === '' || matches(fault.pattern, { reference })) &&
      isHit(fault.share),
  );
  const fault = options.faults[index];
  if (fault === undefined || fault.count === null) return fault;
  if (fault.count === 1) options.faults.splice(index, 1);
  else fault.count -= 1;
  return fault;
}
