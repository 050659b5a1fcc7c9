import { nameId } from '../core/ids.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import type { Reason } from '../rails/contract/reasons.ts';
import { decodeReference, encodeReference } from '../rails/contract/references.ts';
import { listTriedPayers } from './dispatch.sql.ts';
import { isRowHeld } from './dispatch-work.ts';
import { failOver } from './failover.ts';
import { findNextQueryTime, formatReason } from './next-step.ts';
import {
  claimNotifications,
  findNotifiedPayouts,
  finishNotification,
  type NotificationRow,
  type NotifiedPayoutRow,
  openUnmatched,
} from './notifications.sql.ts';
import { applyObservation, type ObservationDetails } from './observations.sql.ts';
import type { RouterServices } from './routing.ts';
import type { Measurements } from './standings.ts';

/**
 * What rails told unasked (callbacks, files, chains) is kept first and applied here afterwards, each
 * once: in one transaction with the mark that it was. It may come before the answer to the sending,
 * twice, in another order, or long after a payout has ended.
 */

export type NotificationServices = {
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

/** Words that could not be applied so often are put before a person. */
const triesMax = 8;
/** Accounts whose payouts are heard of at the same time: one that is held stops only its own. */
const accountsAtOnce = 6;

/** Answers whether there may be more at once. */
export async function applyNotifications(services: NotificationServices): Promise<boolean> {
  const rows = await claimNotifications(services.db.system, takenMax);
  // Of one payment the earlier word first: what came later may already be known to outdate it.
  rows.sort(
    (a, b) =>
      a.happened_at.getTime() - b.happened_at.getTime() ||
      ranks.indexOf(a.outcome) - ranks.indexOf(b.outcome),
  );
  const heardOf = await findPayouts(services, rows);
  const byAccount = Map.groupBy(heardOf, ({ payout }) => payout?.account_id);
  const queues = [...byAccount.values()];
  const workers = Array.from({ length: accountsAtOnce }, async () => {
    for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
      for (const { heard, payout } of queue) await tryOne(services, heard, payout);
    }
  });
  await Promise.all(workers);
  return rows.length === takenMax;
}

async function findPayouts({ db }: NotificationServices, rows: readonly NotificationRow[]) {
  const payments = rows.map(({ rail, reference }) => ({
    rail,
    reference: encodeReference('digits', decodeReference(reference) ?? reference),
  }));
  const nameOf = (payment: { rail: string; reference: string }): string =>
    `${payment.rail}/${payment.reference}`;
  const found = await findNotifiedPayouts(db.system, payments);
  const payouts = new Map(
    found.map((row) => [nameOf({ rail: row.reported_by, reference: row.reference }), row]),
  );
  return rows.map((heard, index) => {
    const payment = payments[index];
    return { heard, payout: payment === undefined ? undefined : payouts.get(nameOf(payment)) };
  });
}

/** What fails is due again in a minute, and the others go on; what fails for ever asks a person. */
async function tryOne(
  services: NotificationServices,
  heard: NotificationRow,
  payout: NotifiedPayoutRow | undefined,
): Promise<void> {
  try {
    services.onHeard(heard.rail, heard.outcome);
    if (payout === undefined) await giveUp(services, heard, 'of nobody');
    else await applyOne(services, heard, payout);
  } catch (error) {
    services.onError(error);
    // A row that is held says nothing about the report.
    if (isRowHeld(error) || heard.tries < triesMax) return;
    await giveUp(services, heard, 'cannot be applied').catch(services.onError);
  }
}

async function giveUp(
  { db }: NotificationServices,
  heard: NotificationRow,
  why: string,
): Promise<void> {
  await db.systemTransaction(async (session) => {
    const reference = heard.reference.slice(0, 64);
    const detail = `${heard.outcome} of ${reference}, message ${heard.id}: ${why}`;
    await openUnmatched(session, { rail: heard.rail, detail, amountMinor: heard.amount });
    await finishNotification(session, heard, 'exception');
  });
}

async function applyOne(
  services: NotificationServices,
  heard: NotificationRow,
  payout: NotifiedPayoutRow,
): Promise<void> {
  const nowMs = services.nowMs();
  const availableAtMs = payout.estimated_availability.getTime();
  const dueAtMs = findDueAt(heard, { availableAtMs, nowMs, sendsNotifications: true });
  const route = await findRoute(services, heard, payout);
  const result = await services.db.systemTransaction(async (session: Session) => {
    const applied = await applyObservation(session, {
      accountId: payout.account_id,
      payoutId: payout.payout_id,
      rail: heard.rail,
      observationId: nameId(`${heard.rail}/${heard.id}`, namespace),
      source: heard.channel,
      outcome: isDoubtful(heard) ? 'unknown' : heard.outcome,
      reason: formatReason(heard.reason as Reason | ''),
      fence: undefined,
      dueAt: dueAtMs === undefined ? undefined : new Date(dueAtMs),
      details: { ...describeHeard(heard), reference: payout.reference, ...route?.details },
    });
    const state = applied === 'applied' || applied === 'exception' ? applied : 'no_effect';
    await finishNotification(session, heard, state);
    return applied;
  });
  if (result !== 'applied') return;
  services.measurements.count(
    { rail: heard.rail, payerKey: payout.payer_key },
    { outcome: heard.outcome, reason: heard.reason, nowMs, availableAtMs },
  );
}

/** What a rail takes for a duplicate may have been paid the first time: it is asked. */
function isDoubtful({ outcome, reason }: NotificationRow): boolean {
  return outcome === 'rejected' && reason === 'duplicate';
}

function findDueAt(heard: NotificationRow, situation: Parameters<typeof findNextQueryTime>[1]) {
  return isDoubtful(heard) ? situation.nowMs : findNextQueryTime(heard.outcome, situation);
}

async function findRoute(
  services: NotificationServices,
  heard: NotificationRow,
  payout: NotifiedPayoutRow,
) {
  if (heard.outcome !== 'rejected' || isDoubtful(heard)) return undefined;
  if (heard.rail !== payout.rail) return undefined;
  return failOver(services.router, {
    row: payout,
    reason: heard.reason as Reason | '',
    listTried: () =>
      listTriedPayers(services.db.system, {
        accountId: payout.account_id,
        payoutId: payout.payout_id,
      }),
  });
}

function describeHeard(heard: NotificationRow): ObservationDetails {
  const charges = JSON.parse(heard.charges) as NonNullable<ObservationDetails['charges']>;
  return {
    detail: `${heard.outcome} ${heard.code}, message ${heard.id}`,
    at: heard.happened_at.getTime(),
    ...(heard.code === '' ? {} : { code: heard.code }),
    ...(heard.provider_reference === '' ? {} : { provider_reference: heard.provider_reference }),
    ...(heard.amount === null ? {} : { amount: heard.amount.toString() }),
    ...(charges.length === 0 ? {} : { charges }),
  };
}
