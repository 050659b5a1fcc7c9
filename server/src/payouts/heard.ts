import { nameId, newId } from '../core/ids.ts';
import type { Database, Session } from '../db/pool.ts';
import type { Reason } from '../rails/reasons.ts';
import { decodeReference } from '../rails/references.ts';
import { applyObservation, listTriedPayers, type ObservationExtra } from './dispatch.sql.ts';
import {
  endHeard,
  findHeardPayout,
  type HeardPayoutRow,
  type HeardRow,
  openUnmatched,
  takeHeard,
} from './heard.sql.ts';
import { findNextLook, tellReason } from './next-step.ts';
import { routeOn } from './reroute.ts';
import type { RouterServices } from './routing.ts';
import type { Measurements } from './standings.ts';

/**
 * What rails told unasked (callbacks, files, chains) is kept first and applied here afterwards, each
 * once: in one transaction with the mark that it was. It may come before the answer to the sending,
 * twice, in another order, or long after a payout has ended.
 */

export type HeardServices = {
  db: Database;
  router: RouterServices;
  measurements: Measurements;
  nowMs: () => number;
  onHeard: (rail: string, outcome: string) => void;
  onError: (error: unknown) => void;
};

const takenMax = 200;
/** Under it the name of an observation is the identifier of its record. */
const namespace = '5b0a7c1e-4a0e-4b6f-9a73-0f3d1b1f6a55';
const ranks = ['accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned'];

/** Answers whether there may be more at once. */
export async function applyHeard(services: HeardServices): Promise<boolean> {
  const rows = await takeHeard(services.db.system, takenMax);
  // Of one payment the earlier word first: what came later may already be known to outdate it.
  rows.sort(
    (a, b) =>
      a.happened_at.getTime() - b.happened_at.getTime() ||
      ranks.indexOf(a.outcome) - ranks.indexOf(b.outcome),
  );
  for (const row of rows) {
    try {
      await applyOne(services, row);
    } catch (error) {
      // It is due again in a minute; the others go on.
      services.onError(error);
    }
  }
  return rows.length === takenMax;
}

async function applyOne(services: HeardServices, heard: HeardRow): Promise<void> {
  const { db } = services;
  const payoutId = decodeReference(heard.reference);
  const payout = payoutId === undefined ? undefined : await findHeardPayout(db.system, payoutId);
  services.onHeard(heard.rail, heard.outcome);
  if (payout === undefined) {
    await db.systemTransaction(async (session) => {
      const detail = `${heard.outcome} of ${heard.reference.slice(0, 64)}, message ${heard.id}`;
      await openUnmatched(session, { rail: heard.rail, detail, amountMinor: heard.amount });
      await endHeard(session, heard, 'exception');
    });
    return;
  }
  const nowMs = services.nowMs();
  const availableAtMs = payout.estimated_availability.getTime();
  const situation = { availableAtMs, nowMs, isTelling: true };
  const dueAtMs = findNextLook(heard.outcome, situation);
  const route = await findRoute(services, heard, payout);
  const result = await db.systemTransaction(async (session: Session) => {
    const applied = await applyObservation(session, {
      accountId: payout.account_id,
      payoutId: payout.payout_id,
      observationId: nameId(`${heard.rail}/${heard.id}`, namespace),
      source: heard.channel,
      outcome: route?.outcome ?? heard.outcome,
      reason: tellReason(heard.reason as Reason | ''),
      fence: undefined,
      dueAt: dueAtMs === undefined ? undefined : new Date(dueAtMs),
      journalIds: [newId(), newId(), newId()],
      extra: { ...describeHeard(heard), ...route?.extra },
    });
    const state = applied === 'applied' || applied === 'exception' ? applied : 'no_effect';
    await endHeard(session, heard, state);
    return applied;
  });
  if (result !== 'applied') return;
  services.measurements.count(
    { rail: heard.rail, payerKey: payout.payer_key },
    { outcome: heard.outcome, reason: heard.reason, isLate: nowMs > availableAtMs + lateMs },
  );
}

const lateMs = 3_600_000;

async function findRoute(services: HeardServices, heard: HeardRow, payout: HeardPayoutRow) {
  if (heard.outcome !== 'rejected' || heard.rail !== payout.rail) return undefined;
  return routeOn(services.router, {
    row: payout,
    reason: heard.reason as Reason | '',
    listTried: () =>
      listTriedPayers(services.db.system, {
        accountId: payout.account_id,
        payoutId: payout.payout_id,
      }),
  });
}

function describeHeard(heard: HeardRow): ObservationExtra {
  const charges = JSON.parse(heard.charges) as NonNullable<ObservationExtra['charges']>;
  return {
    rail: heard.rail,
    detail: `${heard.outcome} ${heard.code}, message ${heard.id}`,
    ...(heard.code === '' ? {} : { code: heard.code }),
    ...(heard.provider_reference === '' ? {} : { provider_reference: heard.provider_reference }),
    ...(heard.amount === null ? {} : { amount: heard.amount.toString() }),
    ...(charges.length === 0 ? {} : { charges }),
  };
}
