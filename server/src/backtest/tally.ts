import { formatAmount } from '../core/money.ts';
import { divideRounded } from '../core/rate.ts';
import { usd } from '../destinations/pricing.ts';
import { microOfCent } from './past-rates.ts';

/** Sums over routed payouts. Amounts in millionths of a cent of USD. */

export type RoutedPayout = {
  /** `rail/payer`. */
  readonly payer: string;
  /** Whether it is the payer that the payout took in the past. */
  readonly isOwn: boolean;
  readonly feeMicro: bigint;
  /** Of exchange, with rounding; negative with a rate better than the mid rate. */
  readonly marginMicro: bigint;
  /** What was reported for this payout. */
  readonly chargesMicro: bigint;
  readonly arrivalSeconds: number;
  readonly isDelayed: boolean;
  /** 0 to 1; undefined: not measured. */
  readonly failureRate: number | undefined;
};

type Through = { own: bigint; moved: bigint };

export type Sums = {
  payouts: number;
  feeMicro: bigint;
  marginMicro: bigint;
  /** Reported for payouts that keep their payer. */
  chargesMicro: bigint;
  /** How many went through each payer. */
  readonly through: Map<string, Through>;
  arrivalSeconds: number;
  withinHour: number;
  withinDay: number;
  delayed: number;
  expectedFailures: number;
  unmeasured: number;
};

export function createSums(): Sums {
  return {
    payouts: 0,
    feeMicro: 0n,
    marginMicro: 0n,
    chargesMicro: 0n,
    through: new Map(),
    arrivalSeconds: 0,
    withinHour: 0,
    withinDay: 0,
    delayed: 0,
    expectedFailures: 0,
    unmeasured: 0,
  };
}

export function addPayout(sums: Sums, payout: RoutedPayout): void {
  sums.payouts += 1;
  sums.feeMicro += payout.feeMicro;
  sums.marginMicro += payout.marginMicro;
  const through = sums.through.get(payout.payer) ?? { own: 0n, moved: 0n };
  sums.through.set(payout.payer, through);
  if (payout.isOwn) {
    through.own += 1n;
    sums.chargesMicro += payout.chargesMicro;
  } else {
    through.moved += 1n;
  }
  sums.arrivalSeconds += payout.arrivalSeconds;
  if (payout.arrivalSeconds <= 3_600) sums.withinHour += 1;
  if (payout.arrivalSeconds <= 86_400) sums.withinDay += 1;
  if (payout.isDelayed) sums.delayed += 1;
  if (payout.failureRate === undefined) sums.unmeasured += 1;
  else sums.expectedFailures += payout.failureRate;
}

/** What rails charged in the past, by `rail/payer`: payouts, and the charges of those that had one. */
export type PastCharges = ReadonlyMap<string, { payouts: bigint; reported: bigint; micro: bigint }>;

export type Summary = {
  payouts: number;
  fee_usd: string;
  margin_usd: string;
  /** Fee and margin: what it costs senders. */
  cost_usd: string;
  charges_usd: string;
  payouts_without_charges: number;
  /** Fee and margin, less charges. */
  earned_usd: string;
  /** 0 without payouts. */
  mean_arrival_seconds: number;
  arrive_within_hour: number;
  arrive_within_day: number;
  delayed_by_daily_limits: number;
  expected_failures: number;
  payouts_without_failure_rate: number;
};

/** A payout that moved to a payer is charged what this one charged per payout on average. */
export function summarize(sums: Sums, past: PastCharges): Summary {
  let chargesMicro = sums.chargesMicro;
  let withoutCharges = 0n;
  for (const [payer, { own, moved }] of sums.through) {
    const known = past.get(payer);
    if (known === undefined || known.reported === 0n) withoutCharges += own + moved;
    else chargesMicro += divideRounded(known.micro * moved, known.payouts, 'ceil');
  }
  const costMicro = sums.feeMicro + sums.marginMicro;
  return {
    payouts: sums.payouts,
    fee_usd: formatUsd(sums.feeMicro),
    margin_usd: formatUsd(sums.marginMicro),
    cost_usd: formatUsd(costMicro),
    charges_usd: formatUsd(chargesMicro),
    payouts_without_charges: Number(withoutCharges),
    earned_usd: formatUsd(costMicro - chargesMicro),
    mean_arrival_seconds: sums.payouts === 0 ? 0 : Math.round(sums.arrivalSeconds / sums.payouts),
    arrive_within_hour: sums.withinHour,
    arrive_within_day: sums.withinDay,
    delayed_by_daily_limits: sums.delayed,
    expected_failures: Math.round(sums.expectedFailures * 100) / 100,
    payouts_without_failure_rate: sums.unmeasured,
  };
}

/** To the nearest cent. */
export function formatUsd(micro: bigint): string {
  const size = micro < 0n ? -micro : micro;
  const cents = divideRounded(2n * size + microOfCent, 2n * microOfCent, 'floor');
  return formatAmount(micro < 0n ? -cents : cents, usd);
}
