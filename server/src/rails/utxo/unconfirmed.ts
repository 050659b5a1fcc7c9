import type { RailHost, RailObservation } from '../contract/contract.ts';
import type { Network } from './networks.ts';
import { listCharges } from './payments.ts';
import type { Family, FamilyValue } from './records.ts';

/**
 * What the service hears of its own accord. Every message is made from what the family's record
 * says, and has an identifier that follows from it, so that telling it twice is harmless: it is told
 * before the record says that it was.
 */

type Entry = FamilyValue['payments'][number];

type Saying = {
  readonly id: string;
  readonly told: Readonly<Record<string, string | number>>;
  readonly observations: readonly RailObservation[];
};

async function say(host: RailHost, { id, told, observations }: Saying): Promise<void> {
  const raw = Buffer.from(JSON.stringify({ ...told, references: observations.map(getReference) }));
  await host.receive({ id, channel: 'poll', raw, observations });
}

function getReference({ reference }: RailObservation): string {
  return reference;
}

/** A version of the family has been taken by the node. */
export async function hearTaken(host: RailHost, family: Family, txid: string): Promise<void> {
  const atMs = host.nowMs();
  await say(host, {
    id: `taken:${txid}`,
    told: { event: 'taken', txid },
    observations: family.payments.map(({ reference }) => ({
      id: `taken:${reference}:${txid}`,
      reference,
      outcome: 'accepted',
      providerReference: txid,
      atMs,
    })),
  });
}

export type PaidNews = {
  readonly network: Network;
  readonly family: Family;
  /** Those of the family that are deep enough now; all of them need the same depth. */
  readonly entries: readonly Entry[];
  readonly depthNeeded: number;
  readonly txid: string;
};

export async function hearPaid(host: RailHost, news: PaidNews): Promise<void> {
  const { network, family, entries, depthNeeded, txid } = news;
  const atMs = host.nowMs();
  await say(host, {
    id: `paid:${family.key}:${depthNeeded}`,
    told: { event: 'paid', txid, depth: depthNeeded },
    observations: entries.map(({ reference }) => ({
      id: `paid:${reference}:${family.key}`,
      reference,
      outcome: 'paid',
      providerReference: txid,
      charges: listCharges(network, family, reference),
      atMs,
    })),
  });
}

/** Payments that had counted as paid were displaced after all, deeper than was reckoned with. */
export async function hearDisplaced(
  host: RailHost,
  family: Family,
  displacedBy: string,
): Promise<void> {
  const paid = family.payments.filter(({ isPaid }) => isPaid);
  if (paid.length === 0) return;
  const atMs = host.nowMs();
  await say(host, {
    id: `displaced:${family.key}`,
    told: { event: 'displaced', displacedBy },
    observations: paid.map(({ reference }) => ({
      id: `displaced:${reference}:${family.key}`,
      reference,
      outcome: 'returned',
      reason: 'replaced',
      providerReference: displacedBy,
      atMs,
    })),
  });
}
