import { formatToken } from '../core/ids.ts';
import { findAvailability } from '../destinations/availability.ts';
import type { Payer } from '../destinations/catalog.ts';
import type { PayerHistories } from '../dispatch/standings.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Plan } from './changes.ts';
import { createDailyLimits } from './daily-limits.ts';
import type { PastRow } from './past-payouts.sql.ts';
import { createPastRates, type PastRates } from './past-rates.ts';
import { createChoice, type NotRoutedReason, type PayoutToRoute } from './route-choice.ts';
import {
  addPayout,
  createSums,
  formatUsd,
  type PastCharges,
  type RoutedPayout,
  type Sums,
  summarize,
} from './tally.ts';

/**
 * Replays past payouts under two plans, one after the other, and sums up both sides. Memory grows with
 * corridors, rails and payers, never with payouts.
 */

const examplesMax = 20;
const movesMax = 100;

/** Why a payout cannot be compared. */
const leftOutReasons = {
  not_run: 'scheduled, and has not run',
  payer_unknown: 'its payer is no longer configured',
  rate_unknown: 'its source currency has no rate to USD',
} as const;
export type LeftOutReason = keyof typeof leftOutReasons;

export type ReplayOptions = {
  readonly before: Plan;
  readonly after: Plan;
  readonly histories: PayerHistories;
  /** For what was not stored with a payout. */
  readonly presentRates: MidRates;
};

type Pair = { before: Sums; after: Sums };
type SideName = keyof Pair;
const sides: readonly SideName[] = ['before', 'after'];

type Outcome =
  | { ok: true; payer: Payer; routed: RoutedPayout; asQuoted: boolean }
  | { ok: false; reason: NotRoutedReason };

export type Replay = ReturnType<typeof createReplay>;
export type ReplayResult = ReturnType<Replay['finish']>;

export function createReplay(options: ReplayOptions) {
  const readRates = createPastRates(options.presentRates);
  const routes = { before: createRoute(options, 'before'), after: createRoute(options, 'after') };
  const state = createState();
  return {
    add: (row: PastRow): void => {
      state.payouts += 1;
      const rates = readRates(row);
      const named = options.before.catalog.findPayer(row.destination_token);
      const reason = findLeftOut(row, { rates, named });
      if (reason !== undefined || rates === undefined || named === undefined) {
        increase(state.leftOut, reason ?? 'payer_unknown');
        return;
      }
      state.replayed += 1;
      if (rates.usesPresentRate) state.atPresentRates += 1;
      const chargesMicro = sumCharges(row, rates, state);
      const past = { row, named, rates, chargesMicro };
      const outcomes = { before: routes.before(past), after: routes.after(past) };
      for (const side of sides) count(state, { row, side, outcome: outcomes[side] });
      compareOutcomes(state, row, outcomes);
    },
    finish: () => describeState(state),
  };
}

function createState() {
  return {
    payouts: 0,
    replayed: 0,
    atPresentRates: 0,
    asQuoted: 0,
    unvaluedCharges: 0,
    leftOut: new Map<string, number>(),
    notRouted: { before: new Map<string, number>(), after: new Map<string, number>() },
    total: createPair(),
    corridors: new Map<string, Pair & { name: CorridorName }>(),
    rails: new Map<string, Pair>(),
    charges: new Map<string, { payouts: bigint; reported: bigint; micro: bigint }>(),
    admitted: 0,
    lost: 0,
    moved: 0,
    moves: new Map<string, { from: string; to: string; payouts: number }>(),
    examples: { moved: [] as Example[], lost: [] as Example[], admitted: [] as Example[] },
  };
}

type State = ReturnType<typeof createState>;
type CorridorName = {
  source_currency: string;
  country: string;
  delivery_type: string;
  destination_currency: string;
};
export type Example = {
  payout_token: string;
  /** `rail/payer`; null: not routed. */
  before: string | null;
  after: string | null;
  /** Fee and margin; null: not routed. */
  before_cost_usd: string | null;
  after_cost_usd: string | null;
  /** Why a side does not route it; "" where both do. */
  reason: string;
};

const createPair = (): Pair => ({ before: createSums(), after: createSums() });

function findLeftOut(
  row: PastRow,
  { rates, named }: { rates: PastRates | undefined; named: Payer | undefined },
): LeftOutReason | undefined {
  if (row.is_scheduled && !row.has_run) return 'not_run';
  if (named === undefined) return 'payer_unknown';
  return rates === undefined ? 'rate_unknown' : undefined;
}

type PastPayout = { row: PastRow; named: Payer; rates: PastRates; chargesMicro: bigint };

function createRoute(options: ReplayOptions, side: SideName): (past: PastPayout) => Outcome {
  const { histories } = options;
  const choose = createChoice(options[side], histories);
  const findDeparture = createDailyLimits(options[side].dailyLimitOf);
  return ({ row, named, rates, chargesMicro }) => {
    const choice = choose(toRoute(row, named, rates));
    if (!choice.ok) return choice;
    const { payer, quote } = choice;
    const atMs = row.priced_at.getTime();
    const departureMs = findDeparture({
      rail: payer.railName,
      currency: row.destination_currency,
      minor: row.destination_amount,
      atMs,
    });
    if (departureMs === undefined) return { ok: false, reason: 'daily_limit' };
    const arrivesMs = findAvailability(payer.availability, departureMs).availableAtMs;
    return {
      ok: true,
      payer,
      asQuoted: quote.sourceMinor === row.source_amount && quote.feeMinor === row.fee,
      routed: {
        payer: nameOf(payer),
        isOwn: payer.railName === row.rail && payer.key === row.payer_key,
        feeMicro: rates.sourceToUsdMicro(quote.feeMinor),
        marginMicro: rates.sourceToUsdMicro(quote.costMinor - quote.feeMinor),
        chargesMicro,
        arrivalSeconds: Math.round((arrivesMs - atMs) / 1000),
        isDelayed: departureMs !== atMs,
        failureRate: histories(payer).failureRate,
      },
    };
  };
}

const nameOf = ({ railName, key }: Pick<Payer, 'railName' | 'key'>): string => `${railName}/${key}`;

const toRoute = (row: PastRow, named: Payer, rates: PastRates): PayoutToRoute => ({
  named,
  sourceCurrency: row.source_currency,
  sourceMinor: row.source_amount,
  destinationCurrency: row.destination_currency,
  destinationMinor: row.destination_amount,
  isVerified: row.is_verified,
  rates: rates.mid,
});

/** Also counts them for the payer that the payout took. */
function sumCharges(row: PastRow, rates: PastRates, state: State): bigint {
  let micro = 0n;
  for (const { currency, amount } of row.charges ?? []) {
    const value = rates.toUsdMicro(BigInt(amount), currency);
    if (value === undefined) state.unvaluedCharges += 1;
    else micro += value;
  }
  const key = nameOf({ railName: row.rail, key: row.payer_key });
  const known = state.charges.get(key) ?? { payouts: 0n, reported: 0n, micro: 0n };
  known.payouts += 1n;
  if (row.charges !== null) known.reported += 1n;
  known.micro += micro;
  state.charges.set(key, known);
  return micro;
}

type Counted = { row: PastRow; side: SideName; outcome: Outcome };

function count(state: State, { row, side, outcome }: Counted): void {
  if (!outcome.ok) {
    increase(state.notRouted[side], outcome.reason);
    return;
  }
  const rail = state.rails.get(outcome.payer.railName) ?? createPair();
  state.rails.set(outcome.payer.railName, rail);
  for (const pair of [state.total, findCorridor(state, row), rail]) {
    addPayout(pair[side], outcome.routed);
  }
}

function findCorridor(state: State, row: PastRow): Pair {
  const name: CorridorName = {
    source_currency: row.source_currency,
    country: row.country,
    delivery_type: row.delivery_type,
    destination_currency: row.destination_currency,
  };
  const key = Object.values(name).join(' ');
  const corridor = state.corridors.get(key) ?? { name, ...createPair() };
  state.corridors.set(key, corridor);
  return corridor;
}

function compareOutcomes(
  state: State,
  row: PastRow,
  { before, after }: { before: Outcome; after: Outcome },
): void {
  if (before.ok && before.asQuoted) state.asQuoted += 1;
  const describe = (): Example => describeExample(row, before, after);
  if (before.ok && after.ok) {
    const [from, to] = [before.routed.payer, after.routed.payer];
    if (from === to) return;
    state.moved += 1;
    const move = state.moves.get(`${from} ${to}`) ?? { from, to, payouts: 0 };
    move.payouts += 1;
    state.moves.set(`${from} ${to}`, move);
    keep(state.examples.moved, describe);
  } else if (before.ok) {
    state.lost += 1;
    keep(state.examples.lost, describe);
  } else if (after.ok) {
    state.admitted += 1;
    keep(state.examples.admitted, describe);
  }
}

function keep(examples: Example[], describe: () => Example): void {
  if (examples.length < examplesMax) examples.push(describe());
}

function describeExample(row: PastRow, before: Outcome, after: Outcome): Example {
  const cost = (outcome: Outcome): string | null =>
    outcome.ok ? formatUsd(outcome.routed.feeMicro + outcome.routed.marginMicro) : null;
  const refused = [before, after].find((outcome) => !outcome.ok);
  return {
    payout_token: formatToken('payout', row.id),
    before: before.ok ? before.routed.payer : null,
    after: after.ok ? after.routed.payer : null,
    before_cost_usd: cost(before),
    after_cost_usd: cost(after),
    reason: refused?.ok === false ? refused.reason : '',
  };
}

function describeState(state: State) {
  const past: PastCharges = state.charges;
  const describe = ({ before, after }: Pair) => ({
    before: summarize(before, past),
    after: summarize(after, past),
  });
  const size = ({ before, after }: Pair): number => before.payouts + after.payouts;
  return {
    payouts: state.payouts,
    replayed: state.replayed,
    left_out: listCounts(state.leftOut).map(({ reason, payouts }) => ({
      reason,
      payouts,
      detail: leftOutReasons[reason as LeftOutReason],
    })),
    priced_as_quoted: state.asQuoted,
    valued_at_present_rates: state.atPresentRates,
    charges_without_rate: state.unvaluedCharges,
    total: describe(state.total),
    corridors: [...state.corridors.values()]
      .toSorted((a, b) => size(b) - size(a))
      .map(({ name, ...pair }) => ({ ...name, ...describe(pair) })),
    rails: [...state.rails]
      .toSorted(([, a], [, b]) => size(b) - size(a))
      .map(([rail, pair]) => ({ rail, ...describe(pair) })),
    not_routed: {
      before: listCounts(state.notRouted.before),
      after: listCounts(state.notRouted.after),
    },
    lost: state.lost,
    admitted: state.admitted,
    moved: state.moved,
    moves: [...state.moves.values()].toSorted((a, b) => b.payouts - a.payouts).slice(0, movesMax),
    examples: state.examples,
  };
}

function increase(counts: Map<string, number>, reason: string): void {
  counts.set(reason, (counts.get(reason) ?? 0) + 1);
}

const listCounts = (counts: ReadonlyMap<string, number>) =>
  [...counts]
    .map(([reason, payouts]) => ({ reason, payouts }))
    .toSorted((a, b) => b.payouts - a.payouts);
