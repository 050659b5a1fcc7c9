import type { RailHost, RailObservation } from '../contract/contract.ts';
import type { Network } from './networks.ts';
import { listCharges } from './payments.ts';
import type { Refusal, ReplacementSet, ReplacementSetValue } from './records.ts';

/**
 * Notifications. Their identifiers are derived from the record, so that a repeated one is harmless;
 * each is sent before the record says so.
 */

type Entry = ReplacementSetValue['payments'][number];

type Notification = {
  readonly id: string;
  readonly content: Readonly<Record<string, string | number>>;
  readonly observations: readonly RailObservation[];
};

async function notify(host: RailHost, { id, content, observations }: Notification): Promise<void> {
  const raw = Buffer.from(
    JSON.stringify({ ...content, references: observations.map(getReference) }),
  );
  await host.receive({ id, channel: 'poll', raw, observations });
}

function getReference({ reference }: RailObservation): string {
  return reference;
}

/** The node has accepted a version. */
export async function notifyAccepted(
  host: RailHost,
  set: ReplacementSet,
  txid: string,
): Promise<void> {
  const atMs = host.nowMs();
  await notify(host, {
    id: `taken:${txid}`,
    content: { event: 'taken', txid },
    observations: set.payments.map(({ reference }) => ({
      id: `taken:${reference}:${txid}`,
      reference,
      outcome: 'accepted',
      providerReference: txid,
      atMs,
    })),
  });
}

export type PaidNotification = {
  readonly network: Network;
  readonly set: ReplacementSet;
  /** Payments that are deep enough now; all need the same depth. */
  readonly entries: readonly Entry[];
  readonly depthNeeded: number;
  readonly txid: string;
};

export async function notifyPaid(host: RailHost, notification: PaidNotification): Promise<void> {
  const { network, set, entries, depthNeeded, txid } = notification;
  const atMs = host.nowMs();
  await notify(host, {
    id: `paid:${set.key}:${depthNeeded}`,
    content: { event: 'paid', txid, depth: depthNeeded },
    observations: entries.map(({ reference }) => ({
      id: `paid:${reference}:${set.key}`,
      reference,
      outcome: 'paid',
      providerReference: txid,
      charges: listCharges(network, set, reference),
      atMs,
    })),
  });
}

/** Paid payments were displaced from a greater depth than configured. */
export async function notifyDisplaced(
  host: RailHost,
  set: ReplacementSet,
  displacedBy: string,
): Promise<void> {
  const paid = set.payments.filter(({ isPaid }) => isPaid);
  if (paid.length === 0) return;
  const atMs = host.nowMs();
  await notify(host, {
    id: `displaced:${set.key}`,
    content: { event: 'displaced', displacedBy },
    observations: paid.map(({ reference }) => ({
      id: `displaced:${reference}:${set.key}`,
      reference,
      outcome: 'returned',
      reason: 'replaced',
      providerReference: displacedBy,
      atMs,
    })),
  });
}

/** A payment was rejected before it was in a transaction. */
export async function notifyRefused(
  host: RailHost,
  reference: string,
  reason: Refusal,
): Promise<void> {
  const id = `refused:${reference}`;
  const raw = Buffer.from(JSON.stringify({ reference, reason }));
  const observation = { id, reference, outcome: 'rejected', reason, atMs: host.nowMs() } as const;
  await host.receive({ id, channel: 'poll', raw, observations: [observation] });
}
