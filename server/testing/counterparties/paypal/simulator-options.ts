import { randomInt } from 'node:crypto';
import { z } from 'zod';

/** The behavior of the simulated PayPal and its faults; all of it can be changed while it runs. */

/**
 * `before` is before anything was booked, `after` is after. `silent` keeps the connection open and
 * answers nothing.
 */
export const faultKinds = [
  'error_before',
  'error_after',
  'reset_before',
  'reset_after',
  'silent_after',
  'busy',
  'maintenance',
  'garbage',
  'delay',
] as const;

const share = z.number().min(0).max(1);
const milliseconds = z.int().min(0).max(10_000_000_000);
/** Of references and receivers; "": none. */
const pattern = z.string().max(500).default('');

export const simulatorOptionsSchema = z.strictObject({
  /** From one status of a batch or item to the next. */
  stepMs: milliseconds.default(0),
  /** Which items fail, and with which code. */
  failPattern: pattern,
  failCode: z.string().default('RECEIVER_ACCOUNT_LOCKED'),
  /** Batches that are denied as a whole. */
  denyPattern: pattern,
  unclaimedPattern: pattern,
  /** Unclaimed, and never claimed. */
  abandonPattern: pattern,
  /** From unclaimed to claimed; null: never, so that it is returned after 30 days. */
  claimMs: milliseconds.nullable().default(null),
  holdPattern: pattern,
  blockPattern: pattern,
  refundPattern: pattern,
  /** How long PayPal knows a `sender_batch_id`, and how long a recipient may claim. */
  keyMs: milliseconds.default(30 * 86_400_000),
  returnMs: milliseconds.default(30 * 86_400_000),
  /** After how long a transaction appears in the report. */
  reportLagMs: milliseconds.default(0),
  /** How many transactions a report may have. */
  reportMax: z.int().min(1).default(10_000),
  /** The `sender_item_id` of a payout of 1.00 USD that the account receives from somebody else; "": none. */
  receivedItem: pattern,
  /** Whether what came back has no `custom_field`. */
  hasBareReturns: z.boolean().default(false),
  /** What there is at the start, by currency, decimal text. */
  balances: z.record(z.string(), z.string()).default({ USD: '1000000.00', EUR: '1000000.00' }),
  /** The sandbox refuses telephone numbers. */
  isSandbox: z.boolean().default(false),
  /** Every request is answered 503. */
  isInMaintenance: z.boolean().default(false),
  faults: z
    .array(
      z.strictObject({
        on: z.enum(['order', 'batch', 'cancel', 'token', 'other', 'any']).default('order'),
        kind: z.enum(faultKinds),
        share: share.default(1),
        /** How many times; null: unlimited. */
        count: z.int().min(1).nullable().default(null),
        delayMs: milliseconds.default(1000),
      }),
    )
    .default([]),
  /** Shares of webhooks: never sent, sent twice, delayed to the next turn, sent with a wrong signature. */
  lostShare: share.default(0),
  duplicateShare: share.default(0),
  lateShare: share.default(0),
  forgedShare: share.default(0),
});
export type SimulatorOptions = z.output<typeof simulatorOptionsSchema>;
export type Fault = SimulatorOptions['faults'][number];

export function isHit(probability: number): boolean {
  return probability > 0 && randomInt(1_000_000) < probability * 1_000_000;
}

/** The fault for a request; one that is counted is used up by it. */
export function takeFault(
  { faults }: SimulatorOptions,
  on: Exclude<Fault['on'], 'any'>,
): Fault | undefined {
  const index = faults.findIndex(
    (fault) => (fault.on === on || fault.on === 'any') && isHit(fault.share),
  );
  const fault = faults[index];
  if (fault === undefined || fault.count === null) return fault;
  if (fault.count === 1) faults.splice(index, 1);
  else fault.count -= 1;
  return fault;
}
