import type { Session, Statement } from '../db/postgres/pool.ts';
import type { RecoveredPayment } from '../rails/contract/contract.ts';

const advanceMarkerText: Statement = {
  name: 'advance_send_marker',
  text: `update environment set send_marker = send_marker + 1 returning send_marker as marker`,
};

const readMarkerText: Statement = {
  name: 'read_send_marker',
  text: `select send_marker as marker from environment`,
};

const beginText: Statement = {
  name: 'begin_recovery',
  text: `select id, is_new from begin_recovery($1, $2, $3)`,
};

const openText: Statement = {
  name: 'find_open_recovery',
  text: `
    select id, reason, since, started_at, listed_at, released_at from recoveries
    where closed_at is null`,
};

/** References that no attempt and no earlier recovery knows. */
const unknownText: Statement = {
  name: 'count_unknown_references',
  text: `
    select count(*)::integer as count from unnest($1::text[]) r (reference)
    where not exists (select from attempts a where a.reference = r.reference)
      and not exists (select from recovered_payments p where p.reference = r.reference)`,
};

const lastActivityText: Statement = {
  name: 'find_last_activity',
  text: `
    select greatest((select max(started_at) from attempts),
      (select max(committed_at) from payout_states)) as at`,
};

const railsText: Statement = {
  name: 'list_recovery_rails',
  text: `
    select rail, state, detail, payments, updated_at from recovery_rails
    where recovery_id = $1 order by rail`,
};

const releasesText: Statement = {
  name: 'list_recovery_releases',
  text: `
    select decided_by, reason, decided_at from recovery_releases
    where recovery_id = $1 order by decided_at`,
};

const paymentsText: Statement = {
  name: 'list_recovered_payments',
  text: `
    select rail, id, reference, currency, amount, outcome, provider_reference, detail, happened_at,
      result, account_id, payout_id, exception_id
    from recovered_payments where recovery_id = $1
    order by rail, happened_at, id limit 10000`,
};

const storeText: Statement = {
  name: 'store_recovered',
  text: `
    select store_recovered($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
};

const markText: Statement = {
  name: 'mark_recovery_rail',
  text: `
    update recovery_rails set state = $3, detail = $4, updated_at = environment_now()
    where recovery_id = $1 and rail = $2`,
};

const releaseText: Statement = {
  name: 'release_recovery',
  text: `select release_recovery($1, $2, $3) as result`,
};

const closeText: Statement = {
  name: 'close_recovery',
  text: `
    update recoveries set closed_at = environment_now()
    where id = $1 and released_at is not null and closed_at is null`,
};

/** A payment to the same address that a rail had listed; it belongs to the payout from then on. */
const claimText: Statement = {
  name: 'claim_recovered_destination',
  text: `
    with chosen as (
      select rail, id from recovered_payments
      where rail = $1 and destination_hash = $2 and result = 'unmatched'
      order by happened_at limit 1
      for update skip locked
    ), claimed as (
      update recovered_payments r set result = 'found', account_id = $3, payout_id = $4
      from chosen c where r.rail = c.rail and r.id = c.id
      returning r.id, r.provider_reference, r.exception_id
    ), answered as (
      update exceptions e set closed_at = environment_now(),
        resolution = 'asked about payout ' || $4::text
      from claimed c where e.id = c.exception_id and e.closed_at is null
    )
    select coalesce(nullif(provider_reference, ''), id) as id from claimed`,
};

export async function advanceSendMarker(session: Session): Promise<bigint> {
  const [row] = await session.rows<{ marker: bigint }>(advanceMarkerText);
  return row?.marker ?? 0n;
}

export async function readSendMarker(session: Session): Promise<bigint> {
  const [row] = await session.rows<{ marker: bigint }>(readMarkerText);
  return row?.marker ?? 0n;
}

export async function beginRecoveryRow(
  session: Session,
  recovery: { id: string; reason: string; rails: readonly string[] },
): Promise<{ id: string; is_new: boolean }> {
  const values = [recovery.id, recovery.reason, recovery.rails];
  const [row] = await session.rows<{ id: string; is_new: boolean }>(beginText, values);
  if (row === undefined) throw new Error('a recovery answered nothing');
  return row;
}

export type RecoveryRow = {
  id: string;
  reason: string;
  since: Date;
  started_at: Date;
  listed_at: Date | null;
  released_at: Date | null;
};

export async function findOpenRecovery(session: Session): Promise<RecoveryRow | undefined> {
  const [row] = await session.rows<RecoveryRow>(openText);
  return row;
}

export type RecoveryRailRow = {
  rail: string;
  state: 'waiting' | 'listed' | 'cannot_list' | 'failed';
  detail: string;
  payments: number;
  updated_at: Date;
};

export async function listRecoveryRails(session: Session, id: string): Promise<RecoveryRailRow[]> {
  return session.rows<RecoveryRailRow>(railsText, [id]);
}

export type ReleaseRow = { decided_by: string; reason: string; decided_at: Date };

export async function listReleases(session: Session, id: string): Promise<ReleaseRow[]> {
  return session.rows<ReleaseRow>(releasesText, [id]);
}

export type RecoveredRow = {
  rail: string;
  id: string;
  reference: string;
  currency: string;
  amount: bigint;
  outcome: string;
  provider_reference: string;
  detail: string;
  happened_at: Date;
  result: 'known' | 'linked' | 'found' | 'unmatched' | 'dismissed';
  account_id: string | null;
  payout_id: string | null;
  exception_id: string | null;
};

export async function listRecovered(session: Session, id: string): Promise<RecoveredRow[]> {
  return session.rows<RecoveredRow>(paymentsText, [id]);
}

export type StoredRecovered = RecoveredPayment & { id: string; destinationHash: Buffer | null };

/** `reference` as 32 hexadecimal digits. */
export async function storeRecovered(
  session: Session,
  recovery: { id: string; rail: string },
  payments: readonly StoredRecovered[],
): Promise<void> {
  await session.rows(storeText, [
    recovery.id,
    recovery.rail,
    payments.map(({ id }) => id),
    payments.map(({ reference }) => reference),
    payments.map(({ payerKey }) => payerKey ?? ''),
    payments.map(({ countryCode }) => countryCode ?? ''),
    payments.map(({ currency }) => currency),
    payments.map(({ amountMinor }) => amountMinor),
    payments.map(({ outcome }) => outcome),
    payments.map(({ providerReference }) => providerReference ?? ''),
    payments.map(({ destinationHash }) => destinationHash),
    payments.map(({ detail }) => detail),
    payments.map(({ atMs }) => new Date(atMs)),
  ]);
}

export async function markRecoveryRail(
  session: Session,
  recovery: { id: string; rail: string },
  mark: { state: 'cannot_list' | 'failed'; detail: string },
): Promise<void> {
  await session.rows(markText, [recovery.id, recovery.rail, mark.state, mark.detail]);
}

export type ReleaseResult = 'waiting' | 'released' | 'not_listed' | 'none';

export async function releaseRecoveryRow(
  session: Session,
  release: { decidedBy: string; reason: string; acceptsUnlisted: boolean },
): Promise<ReleaseResult> {
  const values = [release.decidedBy, release.reason, release.acceptsUnlisted];
  const [row] = await session.rows<{ result: ReleaseResult }>(releaseText, values);
  return row?.result ?? 'none';
}

export async function closeRecovery(session: Session, id: string): Promise<void> {
  await session.rows(closeText, [id]);
}

/** The counterpart's number of the payment, or undefined where there is none to that address. */
export async function claimRecoveredDestination(
  session: Session,
  claim: { rail: string; destinationHash: Buffer; accountId: string; payoutId: string },
): Promise<string | undefined> {
  const values = [claim.rail, claim.destinationHash, claim.accountId, claim.payoutId];
  const [row] = await session.rows<{ id: string }>(claimText, values);
  return row?.id;
}

/** `references` as 32 hexadecimal digits. */
export async function countUnknownReferences(
  session: Session,
  references: readonly string[],
): Promise<number> {
  const [row] = await session.rows<{ count: number }>(unknownText, [references]);
  return row?.count ?? 0;
}

/** The last moment of which this database knows that something was sent or committed. */
export async function findLastActivity(session: Session): Promise<Date | undefined> {
  const [row] = await session.rows<{ at: Date | null }>(lastActivityText);
  return row?.at ?? undefined;
}
