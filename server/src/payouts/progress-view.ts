import { z } from 'zod';
import { formatSecondsZ } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatAmount } from '../core/money.ts';
import { amountAnswer } from '../http/schema.ts';
import { shortfallAnswer, writeShortfall } from './obstacle-view.ts';
import { describePayoutReason, payoutReasonFields } from './payout-reason.ts';
import { payoutStatuses } from './payout-states.ts';
import type { PayoutRow } from './payouts.sql.ts';

/** What has become of a payout so far, and what it costs: the part of its answer that is not terms. */

const time = z.string();

const timelineAnswer = z
  .object({
    status: z.enum(payoutStatuses).describe('The status from then on'),
    time: time.describe('RFC 3339, UTC'),
    reason_code: payoutReasonFields.reason_code.describe(
      'Why it became HOLD, ERROR or CANCELLED, or stayed SCHEDULED; "" for any other status',
    ),
    actor: payoutReasonFields.actor,
  })
  .meta({ id: 'PayoutTimelineEntry' });

const feeAnswer = z
  .object({
    type: z.enum(['payout_fee']).describe('payout_fee: for the payout, by the tariff of its payer'),
    amount: amountAnswer.describe('Decimal, in currency_code'),
    currency_code: z.string().describe('The source currency'),
  })
  .meta({ id: 'PayoutFee' });

const refundAnswer = z
  .object({
    amount: amountAnswer.describe(
      'Credited to the balance so far, in currency_code. Before completion: source_amount and ' +
        'fee. After it: the part of source_amount that came back; the fee stays',
    ),
    currency_code: z.string().describe('The source currency'),
    time: time.describe('When the payout was canceled: RFC 3339, UTC'),
  })
  .meta({ id: 'PayoutRefund' });

export const progressFields = {
  created_at: time.describe('When it was quoted: RFC 3339, UTC'),
  committed_at: time.describe('RFC 3339, UTC; "" before the commit'),
  completed_at: time.describe(
    'When the payer reported it paid: RFC 3339, UTC; "" before. Stays when the money comes back',
  ),
  canceled_at: time.describe('When it became CANCELLED: RFC 3339, UTC; "" while it is not'),
  timeline: z
    .array(timelineAnswer)
    .describe('Every status that it had, the oldest first, for as long as events are kept'),
  cancelable: z
    .boolean()
    .describe(
      'Whether the client can still cancel it: only while it is SCHEDULED. A commit cannot be ' +
        'undone, and a quote that is not committed expires by itself',
    ),
  fees: z.array(feeAnswer).describe('What `fee` consists of; empty if there is none'),
  total_debit: amountAnswer.describe(
    'What the commit takes from the balance, in the source currency: source_amount and fee',
  ),
  network: z
    .string()
    .describe(
      'The chain of a cryptocurrency payout, such as bitcoin, litecoin, ethereum or, for a chain ' +
        'without a common name, its CAIP-2 identifier; "" for any other payout',
    ),
  rail_reference: z
    .string()
    .describe(
      "The payment's identifier at the payer, to quote in inquiries; on a chain it is the " +
        'transaction hash. "" until the payer has given one',
    ),
  transaction_hash: z
    .string()
    .describe('Equal to rail_reference for a payout on a chain; "" for any other payout'),
  refund: refundAnswer
    .optional()
    .describe(
      'What a canceled payout gave back to the balance; absent while it is not canceled, and where ' +
        'it was canceled before it ran',
    ),
  scheduled_for: time.describe('As in the request; "" for a payout that runs when it is committed'),
  runs_at: time.describe(
    'When it runs, by the cut-off and the business days of its payer: RFC 3339, UTC; "" without ' +
      'scheduled_for',
  ),
  runs_until: time.describe(
    'Until then it waits for funds, or for anything else that it lacks at runs_at, and is canceled ' +
      'afterwards: RFC 3339, UTC; "" without scheduled_for',
  ),
  max_source_amount: amountAnswer.optional().describe('As in the request; absent without it'),
  min_destination_amount: amountAnswer.optional().describe('As in the request; absent without it'),
  shortfall: shortfallAnswer
    .optional()
    .describe('What the balance lacks, while a SCHEDULED payout waits for funds'),
};

/** @param network of the payout's rail; "" if it pays on no chain */
export function writeProgress(row: PayoutRow, network: string) {
  const source = getCurrency(row.source_currency);
  const amount = (minor: bigint) => new JsonNumber(formatAmount(minor, source));
  const refund = getRefund(row);
  const canceledAt = row.status === 'CANCELLED' ? row.updated_at : null;
  return {
    created_at: formatSecondsZ(row.created_at),
    committed_at: formatTime(row.committed_at),
    completed_at: formatTime(row.completed_at),
    canceled_at: formatTime(canceledAt),
    timeline: row.timeline.map(({ at, status, status_reason, opened_exceptions }) => ({
      status,
      time: formatSecondsZ(at),
      ...describePayoutReason({ status, status_reason, open_exceptions: opened_exceptions }),
    })),
    cancelable: row.status === 'SCHEDULED',
    fees:
      row.fee === 0n
        ? []
        : [
            {
              type: 'payout_fee' as const,
              amount: amount(row.fee),
              currency_code: row.source_currency,
            },
          ],
    total_debit: amount(row.source_amount + row.fee),
    network,
    rail_reference: row.rail_reference,
    transaction_hash: network === '' ? '' : row.rail_reference,
    ...(refund !== undefined && {
      refund: {
        amount: amount(refund.minor),
        currency_code: row.source_currency,
        time: formatSecondsZ(refund.at),
      },
    }),
    ...writeSchedule(row),
  };
}

function writeSchedule(row: PayoutRow) {
  const { schedule } = row;
  if (schedule === null) return { scheduled_for: '', runs_at: '', runs_until: '' };
  const { max_source_amount: most, min_destination_amount: least, shortfall } = schedule;
  const amount = (minor: bigint, currency: string) =>
    new JsonNumber(formatAmount(minor, getCurrency(currency)));
  return {
    scheduled_for: schedule.scheduled_for,
    runs_at: formatTime(row.runs_at),
    runs_until: formatSecondsZ(schedule.deadline_at),
    ...(most !== null && { max_source_amount: amount(most, row.source_currency) }),
    ...(least !== null && { min_destination_amount: amount(least, row.destination_currency) }),
    ...(shortfall !== null && {
      shortfall: writeShortfall({ minor: shortfall, currency: row.source_currency }),
    }),
  };
}

function formatTime(at: Date | null): string {
  return at === null ? '' : formatSecondsZ(at);
}

/**
 * What a canceled payout gave back, in minor units of the source; nothing where it never ran. The parts that `post_return` posts
 * add up to the same share of the source amount, rounded down.
 */
export function getRefund(row: PayoutRow): { minor: bigint; at: Date } | undefined {
  if (row.status !== 'CANCELLED' || (row.runs_at !== null && row.ran_at === null)) return undefined;
  const minor =
    row.completed_at === null
      ? row.source_amount + row.fee
      : (row.source_amount * row.returned_amount) / row.destination_amount;
  return { minor, at: row.updated_at };
}
