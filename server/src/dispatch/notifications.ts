import { z } from 'zod';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { decodeReference, encodeReference, nameObservation } from '../rails/contract/references.ts';
import { findTracePlaces, noAccount, type TracePlace } from '../tracing/trace-contexts.ts';
import { runInSpan } from '../tracing/tracing.ts';
import { listTriedPayers } from './dispatch.sql.ts';
import { isDatabaseBusy } from './dispatch-work.ts';
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
import { applyObservation, type ObservationDetails } from './observations.ts';
import type { RouterServices } from './routing.ts';
import type { Measurements } from './standings.ts';

/**
 * Applies notifications that inbound messages (callbacks, files, polls) brought. Each is applied once,
 * in one transaction with its new state. It may arrive before the answer to the sending, twice, out of
 * order, or long after the payout has ended.
 */

export type NotificationServices = {
  db: Database;
  keys: KeyRing;
  router: RouterServices;
  measurements: Measurements;
  nowMs: () => number;
  onNotification: (rail: string, outcome: string) => void;
  onError: (error: unknown) => void;
};

const claimedMax = 200;
const ranks = ['accepted', 'ready_for_pickup', 'paid', 'rejected', 'returned'];

/** After this many failures a notification opens an exception. */
const triesMax = 8;
/** Accounts worked on at the same time; a locked one delays only its own notifications. */
const accountsAtOnce = 6;

/** Returns whether more may be waiting. */
export async function applyNotifications(services: NotificationServices): Promise<boolean> {
  const rows = await claimNotifications(services.db.system, claimedMax);
  if (rows.length === 0) return false;
  // In the order of events: a newer report may outdate an older one.
  rows.sort(
    (a, b) =>
      a.happened_at.getTime() - b.happened_at.getTime() ||
      ranks.indexOf(a.outcome) - ranks.indexOf(b.outcome),
  );
  const pairs = await findPayouts(services, rows);
  const places = await findPlaces(services, pairs);
  const byAccount = Map.groupBy(pairs, ({ payout }) => payout?.account_id);
  const queues = [...byAccount.values()];
  const workers = Array.from({ length: accountsAtOnce }, async () => {
    for (let queue = queues.shift(); queue !== undefined; queue = queues.shift()) {
      for (const pair of queue) await traceOne(services, places.get(pair), pair);
    }
  });
  await Promise.all(workers);
  return rows.length === claimedMax;
}

type Pair = {
  readonly notification: NotificationRow;
  readonly payout: NotifiedPayoutRow | undefined;
};

/** In the trace of the payout's commit, with a link to the callback; else in the callback's. */
async function findPlaces({ db }: NotificationServices, pairs: readonly Pair[]) {
  const { system, tracing } = db;
  const places = new Map<Pair, TracePlace>();
  if (tracing === undefined) return places;
  const found = await findTracePlaces(
    system,
    tracing,
    pairs.flatMap(({ notification: { rail, id }, payout }) => [
      { accountId: noAccount, subjectId: nameObservation(rail, id) },
      { accountId: payout?.account_id ?? noAccount, subjectId: payout?.payout_id ?? noAccount },
    ]),
  );
  for (const [index, pair] of pairs.entries()) {
    const [ofCallback, ofPayout] = found.slice(2 * index, 2 * index + 2);
    const place = ofPayout ?? ofCallback;
    if (place === undefined) continue;
    const links = ofCallback !== undefined && 'parent' in ofCallback ? [ofCallback.parent] : [];
    places.set(pair, 'parent' in place ? { ...place, links } : place);
  }
  return places;
}

function traceOne(
  services: NotificationServices,
  place: TracePlace | undefined,
  { notification, payout }: Pair,
): Promise<void> {
  const { tracing } = services.db;
  const work = () => tryOne(services, notification, payout);
  if (tracing === undefined || place === undefined) return work();
  const attributes = {
    'outlay.rail': notification.rail,
    'outlay.rail.outcome': notification.outcome,
    'outlay.rail.channel': notification.channel,
  };
  const start = { name: 'apply report of a rail', kind: 'consumer', attributes } as const;
  return runInSpan(tracing, { ...start, ...place }, work);
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
  return rows.map((notification, index) => {
    const payment = payments[index];
    return {
      notification,
      payout: payment === undefined ? undefined : payouts.get(nameOf(payment)),
    };
  });
}

/** A failed notification is due again in a minute, and opens an exception after `triesMax` failures. */
async function tryOne(
  services: NotificationServices,
  notification: NotificationRow,
  payout: NotifiedPayoutRow | undefined,
): Promise<void> {
  try {
    services.onNotification(notification.rail, notification.outcome);
    if (payout === undefined) await giveUp(services, notification, 'payment not found');
    else await applyOne(services, notification, payout);
  } catch (error) {
    services.onError(error);
    // A locked account or a busy database is no defect of the notification.
    if (isDatabaseBusy(error) || notification.tries < triesMax) return;
    await giveUp(services, notification, 'cannot be applied').catch(services.onError);
  }
}

async function giveUp(
  { db }: NotificationServices,
  notification: NotificationRow,
  why: string,
): Promise<void> {
  await db.systemTransaction(async (session) => {
    const reference = notification.reference.slice(0, 64);
    const detail = `${notification.outcome} of ${reference}, message ${notification.id}: ${why}`;
    await openUnmatched(session, {
      rail: notification.rail,
      detail,
      amountMinor: notification.amount,
    });
    await finishNotification(session, notification, 'exception');
  });
}

async function applyOne(
  services: NotificationServices,
  notification: NotificationRow,
  payout: NotifiedPayoutRow,
): Promise<void> {
  const nowMs = services.nowMs();
  const availableAtMs = payout.estimated_availability.getTime();
  const dueAtMs = findDueAt(notification, { availableAtMs, nowMs, sendsNotifications: true });
  const route = await findRoute(services, notification, payout);
  const result = await services.db.systemTransaction(async (session: Session) => {
    const applied = await applyObservation(
      { session, keys: services.keys },
      {
        accountId: payout.account_id,
        payoutId: payout.payout_id,
        rail: notification.rail,
        observationId: nameObservation(notification.rail, notification.id),
        source: notification.channel,
        outcome: isDuplicate(notification) ? 'unknown' : notification.outcome,
        reason: formatReason(notification.reason),
        fence: undefined,
        dueAt: dueAtMs === undefined ? undefined : new Date(dueAtMs),
        details: {
          ...describeNotification(notification),
          reference: payout.reference,
          ...route?.details,
        },
      },
    );
    const state = applied === 'applied' || applied === 'exception' ? applied : 'no_effect';
    await finishNotification(session, notification, state);
    return applied;
  });
  if (result !== 'applied') return;
  services.measurements.count(
    { rail: notification.rail, payerKey: payout.payer_key },
    { outcome: notification.outcome, reason: notification.reason, nowMs, availableAtMs },
  );
}

/** What a rail rejects as a duplicate may have been paid the first time: it is queried. */
function isDuplicate({ outcome, reason }: NotificationRow): boolean {
  return outcome === 'rejected' && reason === 'duplicate';
}

function findDueAt(
  notification: NotificationRow,
  context: Parameters<typeof findNextQueryTime>[1],
) {
  return isDuplicate(notification)
    ? context.nowMs
    : findNextQueryTime(notification.outcome, context);
}

async function findRoute(
  services: NotificationServices,
  notification: NotificationRow,
  payout: NotifiedPayoutRow,
) {
  if (notification.outcome !== 'rejected' || isDuplicate(notification)) return undefined;
  if (notification.rail !== payout.rail) return undefined;
  const { system } = services.db;
  const name = { accountId: payout.account_id, payoutId: payout.payout_id };
  return failOver(services.router, {
    row: payout,
    payout: { session: system, ...name },
    reason: notification.reason,
    listTried: () => listTriedPayers(system, name),
  });
}

const chargesSchema = z.array(
  z.object({ id: z.string(), kind: z.string(), currency: z.string(), amount: z.string() }),
);

function describeNotification(notification: NotificationRow): ObservationDetails {
  const { id, outcome, code, provider_reference: providerReference, amount } = notification;
  const charges = chargesSchema.parse(JSON.parse(notification.charges));
  return {
    detail: `${outcome} ${code}, message ${id}`,
    at: notification.happened_at.getTime(),
    ...(code === '' ? {} : { code }),
    ...(providerReference === '' ? {} : { provider_reference: providerReference }),
    ...(amount === null ? {} : { amount: amount.toString() }),
    ...(charges.length === 0 ? {} : { charges }),
  };
}
