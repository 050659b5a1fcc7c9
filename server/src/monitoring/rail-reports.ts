import { describeSending, type RailSending } from '../controls/freezes.ts';
import { formatSecondsZ } from '../core/clock.ts';
import { formatAmount } from '../core/money.ts';
import type { Database } from '../db/postgres/pool.ts';
import type { Catalog } from '../destinations/catalog.ts';
import type { Rail, RailFunds } from '../rails/contract/contract.ts';
import { findNextCutOff } from './cut-offs.ts';
import { describePerformance, round } from './overview.ts';
import { countNewest } from './payout-days.ts';
import { getLeftMinor, listPrefunding, type Prefunding } from './prefunding.ts';
import { measurePrices } from './price-ages.ts';
import { listRailResults, type RailResultsRow } from './rail-results.sql.ts';
import { listRailNeeds, listRailStates } from './rail-states.sql.ts';

/** One look at the rails: what is in flight, contacts, prefunding, prices and how they did. */

export type RailReportServices = {
  readonly db: Database;
  readonly clock: { nowMs(): number };
  readonly catalog: Catalog;
  readonly rails: readonly Pick<Rail, 'name' | 'payers' | 'findNextCutOff'>[];
  railFunds(): ReadonlyMap<string, readonly RailFunds[]>;
  /** Where it was read already. */
  readonly sending?: readonly RailSending[];
};

/** Reads what all rails have in common once; the answer describes one by its name. */
export async function openRailReports(services: RailReportServices) {
  const { db, clock, catalog, railFunds } = services;
  const nowMs = clock.nowMs();
  const sending = services.sending ?? (await describeSending(db.system));
  const states = await listRailStates(db.system);
  const needs = await listRailNeeds(db.system);
  const { lastDay, lastMonth } = await readPerformance(db, nowMs);
  const prefunding = listPrefunding({ needs, funds: railFunds(), catalog });
  const prices = new Map(measurePrices(catalog, nowMs).map((one) => [one.rail, one]));
  return (name: string) => {
    const state = states.find(({ rail }) => rail === name);
    const inFlight = sending.find(({ rail }) => rail === name);
    const rail = services.rails.find((one) => one.name === name);
    const cutOffMs = rail === undefined ? undefined : findNextCutOff(rail, nowMs);
    const price = prices.get(name);
    return {
      being_sent: inFlight?.being_sent ?? 0,
      handed_over: inFlight?.handed_over ?? 0,
      waiting: inFlight?.waiting ?? 0,
      prefunding: (prefunding.get(name) ?? []).map(describePrefunding),
      prices: price === undefined ? null : describePrice(price),
      reported_at: write(state?.reported_at),
      oldest_unanswered_at: write(state?.oldest_unanswered_at),
      unresolved_inbound: state?.unresolved_inbound ?? 0,
      unmatched_inbound: state?.unmatched_inbound ?? 0,
      refused_callbacks_last_day: state?.refused_callbacks ?? 0,
      next_cut_off_at: cutOffMs === undefined ? '' : write(new Date(cutOffMs)),
      last_day: lastDay.get(name) ?? null,
      last_30_days: lastMonth.get(name) ?? null,
    };
  };
}

export type RailReport = ReturnType<Awaited<ReturnType<typeof openRailReports>>>;

type Performance = ReadonlyMap<string, ReturnType<typeof describeResults>>;
type KnownPerformance = { readAtMs: number; lastDay: Performance; lastMonth: Performance };

const performances = new WeakMap<Database, KnownPerformance>();
/** It adds up the hours of a month, and a page that shows it asks every few seconds. */
const performanceMsMax = 60_000;

async function readPerformance(db: Database, nowMs: number): Promise<KnownPerformance> {
  const known = performances.get(db);
  if (known !== undefined && nowMs - known.readAtMs < performanceMsMax) return known;
  await countNewest(db);
  const dayRows = await listRailResults(db.system, 24);
  const lastDay = new Map(dayRows.map((row) => [row.key, describeResults(row)]));
  const monthRows = await listRailResults(db.system, 30 * 24);
  const lastMonth = new Map(monthRows.map((row) => [row.key, describeResults(row)]));
  const read = { readAtMs: nowMs, lastDay, lastMonth };
  performances.set(db, read);
  return read;
}

function describeResults({
  on_time: onTime,
  charged,
  quoted_cost_bps: quotedCost,
  cost_bps: cost,
  ...row
}: RailResultsRow) {
  return {
    ...describePerformance(row),
    on_time: row.completed === 0 ? null : round(onTime / row.completed, 4),
    charged,
    quoted_cost_bps: round(quotedCost, 1),
    cost_bps: round(cost, 1),
  };
}

function write(time: Date | null | undefined): string {
  return time === null || time === undefined ? '' : formatSecondsZ(time);
}

function describePrice({ ageMs, unpriced }: { ageMs: number | undefined; unpriced: number }) {
  return { age_seconds: ageMs === undefined ? null : Math.floor(ageMs / 1000), unpriced };
}

function describePrefunding(prefunding: Prefunding) {
  const { currency, fundsMinor, committedMinor, scheduledMinor } = prefunding;
  const leftMinor = getLeftMinor(prefunding);
  const format = (minor: bigint | undefined): string =>
    minor === undefined ? '' : formatAmount(minor, currency);
  return {
    currency: currency.code,
    funds: format(fundsMinor),
    committed: format(committedMinor),
    scheduled: format(scheduledMinor),
    left: format(leftMinor),
  };
}
