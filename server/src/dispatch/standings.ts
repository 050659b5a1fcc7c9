import { createHash } from 'node:crypto';
import type { Session } from '../db/postgres/pool.ts';
import type { Payer } from '../destinations/catalog.ts';
import type { Standing } from '../destinations/route-candidate.ts';
import { recipientReasons } from '../rails/contract/reasons.ts';
import type { Measured } from './routing.ts';
import {
  addContacts,
  addPayerCounts,
  insertStanding,
  type PayerCounts,
  type PayerCountsRow,
  sumPayerCounts,
} from './standings.sql.ts';

/**
 * Ratings and availability of payers, measured with the payouts of the last ninety days. Counts are
 * gathered in this process and written every few seconds; a crash loses those of some seconds, and no
 * money depends on them.
 */
export type Measurements = {
  count(payer: { rail: string; payerKey: string }, reported: ReportedOutcome): void;
  measure(payer: Pick<Payer, 'railName' | 'key'>): Measured;
  /** 0 to 5 in tenths, over all payers of a company; undefined while there are too few payouts. */
  rateCompany(railName: string, payerKeys: readonly string[]): number | undefined;
  /** Stores the standing that a decision used, once, and returns its identifier. */
  storeStanding(payer: Payer, standing: Standing): Promise<string>;
  /** Writes the counts and contacts of this process, and reads the counts of all processes. */
  exchange(): Promise<void>;
};

export type ReportedOutcome = {
  outcome: string;
  reason: string | undefined;
  /** When it was reported, and when the money was announced for. */
  nowMs: number;
  availableAtMs: number;
};

const lateMs = 3_600_000;

/** With fewer payouts a payer is not rated. */
const payoutsMin = 50;
/** Reasons of this service, which say nothing about the payer. */
const ownReasons: ReadonlySet<unknown> = new Set([
  'daily_limit',
  'travel_rule_incomplete',
  'travel_rule_pending',
  'not_configured',
  'not_readable',
  'cancelled',
]);
/** Outcomes with which a rail may not have answered at all. */
const vagueOutcomes: ReadonlySet<unknown> = new Set(['unknown', 'retry', 'hold', 'park']);
const standingsKept = 10_000;

const noCounts: PayerCounts = {
  paid: 0,
  refused: 0,
  refused_by_payer: 0,
  unknown: 0,
  unreached: 0,
  returned: 0,
  late: 0,
};

export function createMeasurements(session: Session): Measurements {
  let known = new Map<string, PayerCounts>();
  let pending = new Map<string, PayerCountsRow>();
  let contacts = new Map<string, number>();
  const stored = new Set<string>();
  // Most payouts meet the same standing: this saves hashing it each time.
  const newest = new WeakMap<Payer, { standing: Standing; id: string }>();
  const nameOf = (rail: string, payerKey: string): string => `${rail}/${payerKey}`;
  const find = (rail: string, payerKey: string): PayerCounts =>
    known.get(nameOf(rail, payerKey)) ?? noCounts;
  return {
    count: ({ rail, payerKey }, reported) => {
      if (!vagueOutcomes.has(reported.outcome)) {
        contacts.set(rail, Math.max(contacts.get(rail) ?? 0, reported.nowMs));
      }
      if (ownReasons.has(reported.reason)) return;
      const name = nameOf(rail, payerKey);
      const counts = pending.get(name) ?? { rail, payer_key: payerKey, ...noCounts };
      pending.set(name, counts);
      addTo(counts, reported);
    },
    measure: ({ railName, key }) => {
      const counts = find(railName, key);
      return { availabilityPercent: getAvailability(counts), ratingTenths: getRating(counts) };
    },
    rateCompany: (railName, payerKeys) =>
      getRating(sumCounts(payerKeys.map((key) => find(railName, key)))),
    storeStanding: async (payer, standing) => {
      const last = newest.get(payer);
      if (last !== undefined && isSame(last.standing, standing)) return last.id;
      const body = JSON.stringify(standing);
      const id = hashToUuid(body);
      if (!stored.has(id)) {
        await insertStanding(session, id, body);
        if (stored.size >= standingsKept) stored.clear();
        stored.add(id);
      }
      newest.set(payer, { standing, id });
      return id;
    },
    exchange: async () => {
      const rows = [...pending.values()];
      pending = new Map();
      if (rows.length > 0) await addPayerCounts(session, rows);
      const reached = contacts;
      contacts = new Map();
      if (reached.size > 0) await addContacts(session, reached);
      const sums = await sumPayerCounts(session);
      known = new Map(sums.map((row) => [nameOf(row.rail, row.payer_key), row]));
    },
  };
}

/** What was measured of a payer in the last ninety days; undefined with fewer than 50 payouts. */
export type PayerHistory = {
  availabilityPercent: number | undefined;
  /** The share of payouts that it refused, for reasons of its own, or returned after paying; 0 to 1. */
  failureRate: number | undefined;
};

export type PayerHistories = (payer: Pick<Payer, 'railName' | 'key'>) => PayerHistory;

/** As the database has them; counts of running processes may be missing for some seconds. */
export async function readPayerHistories(session: Session): Promise<PayerHistories> {
  const rows = await sumPayerCounts(session);
  const histories = new Map(
    rows.map((row) => [
      `${row.rail}/${row.payer_key}`,
      { availabilityPercent: getAvailability(row), failureRate: getFailureRate(row) },
    ]),
  );
  const none = { availabilityPercent: undefined, failureRate: undefined };
  return ({ railName, key }) => histories.get(`${railName}/${key}`) ?? none;
}

/** Compares what changes about a payer. */
function isSame(left: Standing, right: Standing): boolean {
  return (
    left.health === right.health &&
    left.availability_percent === right.availability_percent &&
    left.rating === right.rating
  );
}

function addTo(
  counts: PayerCounts,
  { outcome, reason, nowMs, availableAtMs }: ReportedOutcome,
): void {
  switch (outcome) {
    case 'paid':
      counts.paid += 1;
      if (nowMs > availableAtMs + lateMs) counts.late += 1;
      break;
    case 'rejected':
    case 'exhausted':
      if (recipientReasons.has(reason as never)) counts.refused += 1;
      else counts.refused_by_payer += 1;
      break;
    case 'unknown':
    case 'hold':
      counts.unknown += 1;
      break;
    case 'retry':
    case 'park':
      counts.unreached += 1;
      break;
    case 'returned':
      counts.returned += 1;
      break;
  }
}

function sumCounts(all: readonly PayerCounts[]): PayerCounts {
  const sum = { ...noCounts };
  for (const counts of all) {
    for (const name of Object.keys(noCounts) as (keyof PayerCounts)[]) sum[name] += counts[name];
  }
  return sum;
}

/** The share of payouts with a definite outcome, whole percent. */
function getAvailability(counts: PayerCounts): number | undefined {
  const clear = counts.paid + counts.refused + counts.refused_by_payer;
  const all = clear + counts.unknown + counts.unreached;
  return all < payoutsMin ? undefined : Math.floor((clear * 100) / all);
}

/**
 * Five times the share of successful payouts: refused, unclear and returned ones count against the
 * payer, late ones by half. Refusals for reasons of the recipient do not count.
 */
function getRating(counts: PayerCounts): number | undefined {
  const all = counts.paid + counts.refused_by_payer + counts.unknown;
  if (all < payoutsMin) return undefined;
  const good = Math.max(0, counts.paid - counts.returned - counts.late / 2);
  return Math.round((good * 50) / all);
}

/** Refusals for reasons of the recipient do not count. */
function getFailureRate(counts: PayerCounts): number | undefined {
  const all = counts.paid + counts.refused_by_payer;
  if (all < payoutsMin) return undefined;
  return Math.min(1, (counts.refused_by_payer + counts.returned) / all);
}

function hashToUuid(text: string): string {
  const hex = createHash('sha256').update(text).digest('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-8${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
