import { setTimeout as sleep } from 'node:timers/promises';
import { AppError } from '../core/errors.ts';
import { formatRate } from '../core/rate.ts';
import { type KeyRing } from '../core/sealing.ts';
import type { Database } from '../db/postgres/pool.ts';
import { estimateAvailability } from '../destinations/availability.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { type Quote, quotePayer } from '../destinations/quote.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Rail } from '../rails/contract/contract.ts';
import { listScheduledFaults } from './recipient-check.ts';
import { type ScheduleObstacle, scheduleSentences } from './schedule-reasons.ts';
import { type ClaimedSchedule, claimSchedules, findNextTry, runTries } from './schedules.sql.ts';

/**
 * Runs scheduled payouts when their time comes. They are claimed under a lease and priced outside of any
 * transaction; one transaction for each account then commits those that are in order. A payout runs once
 * however many processes try it: the transaction finds it SCHEDULED under the claim, or leaves it alone.
 */

export type SchedulerServices = {
  readonly db: Database;
  readonly keys: KeyRing;
  readonly rails: readonly Rail[];
  readonly catalog: () => Catalog;
  readonly rates: () => MidRates;
  readonly nowMs: () => number;
  /** How long a process that claims payouts may take to run them. */
  readonly leaseMs: number;
  /** Makes the dispatcher claim due payouts now. */
  readonly wakeDispatch: () => void;
  readonly onError: (error: unknown) => void;
};

export type Scheduler = {
  /** Tries payouts whose time has come, and returns how many. */
  runDue(): Promise<number>;
  /** Tries until no process has a due one, or the check of one fails. */
  drain(): Promise<void>;
  /** Whether one is due now, and the next time up to `until` at which one is. */
  findNextDue(until: Date): Promise<{ isDue: boolean; dueAt: Date | undefined }>;
};

const claimedMax = 500;
/** How soon a payout is tried again that waits for a rate, a price, a recipient or the operator. */
const retryMs = 60_000;

export function createScheduler(services: SchedulerServices): Scheduler {
  const { db, leaseMs } = services;
  const tryDue = async (): Promise<{ tried: number; failed: number }> => {
    const claimed = await claimSchedules(db.system, { count: claimedMax, leaseMs });
    const accounts = Map.groupBy(claimed, (row) => row.account_id);
    const failures = await Promise.all(
      [...accounts].map(([accountId, rows]) => run(services, accountId, rows)),
    );
    return { tried: claimed.length, failed: failures.reduce((sum, count) => sum + count, 0) };
  };
  const findNext = (until: Date) => findNextTry(db.system, until);
  return {
    runDue: async () => (await tryDue()).tried,
    drain: async () => {
      for (;;) {
        const { tried, failed } = await tryDue();
        if (failed > 0) return;
        if (tried > 0) continue;
        if (!(await findNext(new Date(services.nowMs()))).is_due) return;
        // Another process has claimed them.
        await sleep(10);
      }
    },
    findNextDue: async (until) => {
      const { is_due: isDue, due_at: dueAt } = await findNext(until);
      return { isDue, dueAt: dueAt ?? undefined };
    },
  };
}

/**
 * Payouts of one account. Where the check of one fails it is left to the next claim, and the others run.
 * Answers how many failed.
 */
async function run(
  services: SchedulerServices,
  accountId: string,
  rows: readonly ClaimedSchedule[],
): Promise<number> {
  const { db, wakeDispatch, onError } = services;
  const judged = await Promise.allSettled(rows.map((row) => judge(services, row)));
  const tries = judged.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []));
  for (const one of judged) if (one.status === 'rejected') onError(one.reason);
  const failed = rows.length - tries.length;
  if (tries.length === 0) return failed;
  const sentences = scheduleSentences;
  const started = await runTries(db.system, { accountId, tries, sentences, retryMs });
  if (started > 0) wakeDispatch();
  return failed;
}

/** A row of `schedule_try`: the price of now, and the obstacles. */
async function judge(services: SchedulerServices, row: ClaimedSchedule): Promise<object> {
  const { payout_id, fence } = row;
  const named = { payout_id, fence: fence.toString() };
  const payer = services.catalog().findPayer(row.destination_token);
  if (payer === undefined) return { ...named, obstacle: 'not_served' satisfies ScheduleObstacle };
  const { given_side: side } = row;
  const quote = quotePayer({
    payer,
    sourceCurrency: row.source_currency,
    destinationCurrency: row.destination_currency,
    amount: { side, minor: side === 'source' ? row.source_amount : row.destination_amount },
    rates: services.rates(),
  });
  if (!quote.ok) return { ...named, obstacle: obstaclesOfRefusals[quote.reason] };
  const availableAtMs = estimateAvailability(payer.arrival, services.nowMs());
  return {
    ...named,
    source_amount: quote.sourceMinor.toString(),
    fee: quote.feeMinor.toString(),
    destination_amount: quote.destinationMinor.toString(),
    exchange_rate: formatRate(quote.rate),
    mid_rate: formatRate(quote.midRate),
    rounding_nano: quote.roundingNano.toString(),
    provider_price: quote.providerPrice?.text ?? null,
    estimated_availability: new Date(availableAtMs),
    needs_verification: quote.verificationRequired,
    obstacle: isOutOfBounds(row, quote)
      ? ('price_out_of_bounds' satisfies ScheduleObstacle)
      : await findRecipientObstacle(services, row, quote),
  };
}

const obstaclesOfRefusals = {
  rate_unknown: 'rates_unavailable',
  rate_stale: 'rates_unavailable',
  price_stale: 'rates_unavailable',
  below_minimum: 'amount_refused',
  above_maximum: 'amount_refused',
  amount_too_small: 'amount_refused',
  amount_too_large: 'amount_refused',
  currency_not_delivered: 'not_served',
} as const satisfies Record<string, ScheduleObstacle>;

function isOutOfBounds(row: ClaimedSchedule, quote: Quote): boolean {
  const { max_source_amount: most, min_destination_amount: least } = row;
  return (
    (most !== null && quote.sourceMinor > most) ||
    (least !== null && quote.destinationMinor < least)
  );
}

/** Null where the rail accepts the recipient. Nothing can be paid to one whose data was erased. */
async function findRecipientObstacle(
  { db, keys, rails }: SchedulerServices,
  row: ClaimedSchedule,
  { destinationMinor: amountMinor }: Quote,
): Promise<ScheduleObstacle | null> {
  const { account_id: accountId, user_id: userId, payout_id: payoutId } = row;
  const payout = { accountId, userId, payoutId, amountMinor };
  try {
    const refused = await listScheduledFaults({ keys, rails }, db.system, payout);
    return refused === undefined ? null : 'recipient_invalid';
  } catch (error) {
    if (error instanceof AppError && error.code === 'user_erased') return 'recipient_invalid';
    throw error;
  }
}
