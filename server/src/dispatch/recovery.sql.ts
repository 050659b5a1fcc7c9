import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';
import type { RecoveredPayment } from '../rails/contract/contract.ts';

const advanceMarker = defineQuery({
  name: 'advance_send_marker',
  text: `
    update environment set send_marker = send_marker + 1
    where send_marker >= $1
    returning send_marker as marker`,
  columns: { marker: column.bigint },
});

const raiseMarker: Statement = {
  name: 'raise_send_marker',
  text: `update environment set send_marker = $1 where send_marker < $1`,
};

const readMarker = defineQuery({
  name: 'read_send_marker',
  text: `select send_marker as marker from environment`,
  columns: { marker: column.bigint },
});

const begin = defineQuery({
  name: 'begin_recovery',
  text: `select id, is_new from begin_recovery($1, $2, $3)`,
  columns: { id: column.uuid, is_new: column.boolean },
});

const openRecovery = defineQuery({
  name: 'find_open_recovery',
  text: `
    select id, reason, since, started_at, released_at from recoveries
    where closed_at is null`,
  columns: {
    id: column.uuid,
    reason: column.text,
    since: column.instant,
    started_at: column.instant,
    released_at: nullable(column.instant),
  },
});

/** References without an attempt or an earlier recovered payment. */
const unknownReferences = defineQuery({
  name: 'count_unknown_references',
  text: `
    select count(*)::integer as count from unnest($1::text[]) r (reference)
    where not exists (select from attempts a where a.reference = r.reference)
      and not exists (select from recovered_payments p where p.reference = r.reference)`,
  columns: { count: column.integer },
});

const lastActivity = defineQuery({
  name: 'find_last_activity',
  text: `
    select greatest((select max(started_at) from attempts),
      (select max(committed_at) from payout_states)) as at`,
  columns: { at: nullable(column.instant) },
});

const railsOfRecovery = defineQuery({
  name: 'list_recovery_rails',
  text: `
    select rail, state, detail, payments, updated_at from recovery_rails
    where recovery_id = $1 order by rail`,
  columns: {
    rail: column.text,
    state: column.oneOf('waiting', 'listed', 'cannot_list', 'failed'),
    detail: column.text,
    payments: column.integer,
    updated_at: column.instant,
  },
});

const releasesOfRecovery = defineQuery({
  name: 'list_recovery_releases',
  text: `
    select decided_by, reason, decided_at from recovery_releases
    where recovery_id = $1 order by decided_at`,
  columns: { decided_by: column.text, reason: column.text, decided_at: column.instant },
});

const recoveredPayments = defineQuery({
  name: 'list_recovered_payments',
  text: `
    select rail, id, reference, currency, amount, outcome, provider_reference, detail, happened_at,
      result, account_id, payout_id, exception_id
    from recovered_payments where recovery_id = $1
    order by rail, happened_at, id limit 10000`,
  columns: {
    rail: column.text,
    id: column.text,
    reference: column.text,
    currency: column.text,
    amount: column.bigint,
    outcome: column.text,
    provider_reference: column.text,
    detail: column.text,
    happened_at: column.instant,
    result: column.oneOf('known', 'linked', 'found', 'unmatched', 'dismissed'),
    account_id: nullable(column.uuid),
    payout_id: nullable(column.uuid),
    exception_id: nullable(column.uuid),
  },
});

const store: Statement = {
  name: 'store_recovered',
  text: `
    select store_recovered($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)`,
};

const mark: Statement = {
  name: 'mark_recovery_rail',
  text: `
    update recovery_rails set state = $3, detail = $4, updated_at = environment_now()
    where recovery_id = $1 and rail = $2`,
};

const openRelease = defineQuery({
  name: 'open_recovery_release',
  text: `select id, about from open_recovery_release()`,
  columns: { id: column.uuid, about: column.bytes },
});

const releaseColumns = {
  operator_id: column.uuid,
  decided_by: column.text,
  reason: column.text,
  mac: column.bytes,
} as const;

const releasesAbout = defineQuery({
  name: 'list_recovery_releases_about',
  text: `
    select operator_id, decided_by, reason, mac from recovery_releases
    where recovery_id = $1 and about = $2`,
  columns: releaseColumns,
});

const release = defineQuery({
  name: 'release_recovery',
  text: `select release_recovery($1, $2, $3, $4, $5, $6, $7, $8) as result`,
  columns: { result: column.oneOf('waiting', 'released', 'not_listed') },
});

const close: Statement = {
  name: 'close_recovery',
  text: `
    update recoveries set closed_at = environment_now()
    where id = $1 and released_at is not null and closed_at is null`,
};

/** Assigns the oldest unmatched payment to the same address to the payout. */
const claimDestination = defineQuery({
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
        resolution = 'matched with payout ' || $4::text
      from claimed c where e.id = c.exception_id and e.closed_at is null
    )
    select coalesce(nullif(provider_reference, ''), id) as id from claimed`,
  columns: { id: column.text },
});

/** Undefined, and as it was, where it is below the least value. */
export async function advanceSendMarker(
  session: Session,
  least: bigint,
): Promise<bigint | undefined> {
  return (await maybeOne(session, advanceMarker, [least]))?.marker;
}

/** Never back. */
export async function raiseSendMarker(session: Session, marker: bigint): Promise<void> {
  await exec(session, raiseMarker, [marker]);
}

export async function readSendMarker(session: Session): Promise<bigint> {
  return (await one(session, readMarker)).marker;
}

export async function beginRecoveryRow(
  session: Session,
  recovery: { id: string; reason: string; rails: readonly string[] },
): Promise<{ id: string; is_new: boolean }> {
  return one(session, begin, [recovery.id, recovery.reason, recovery.rails]);
}

export type RecoveryRow = RowOf<typeof openRecovery.columns>;

export async function findOpenRecovery(session: Session): Promise<RecoveryRow | undefined> {
  return maybeOne(session, openRecovery);
}

export type RecoveryRailRow = RowOf<typeof railsOfRecovery.columns>;

export async function listRecoveryRails(session: Session, id: string): Promise<RecoveryRailRow[]> {
  return many(session, railsOfRecovery, [id]);
}

export type ReleaseRow = RowOf<typeof releasesOfRecovery.columns>;

export async function listReleases(session: Session, id: string): Promise<ReleaseRow[]> {
  return many(session, releasesOfRecovery, [id]);
}

export type RecoveredRow = RowOf<typeof recoveredPayments.columns>;

export async function listRecovered(session: Session, id: string): Promise<RecoveredRow[]> {
  return many(session, recoveredPayments, [id]);
}

export type StoredRecovered = RecoveredPayment & { id: string; destinationHash: Buffer | null };

/** `reference` as 32 hexadecimal digits. */
export async function storeRecovered(
  session: Session,
  recovery: { id: string; rail: string },
  payments: readonly StoredRecovered[],
): Promise<void> {
  await exec(session, store, [
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
  { state, detail }: { state: 'cannot_list' | 'failed'; detail: string },
): Promise<void> {
  await exec(session, mark, [recovery.id, recovery.rail, state, detail]);
}

export type ReleaseResult = RowOf<typeof release.columns>['result'];

/** What a release would be about, locked; undefined where no recovery is open. */
export const openRecoveryRelease = (session: Session) => maybeOne(session, openRelease);

export type GivenRelease = RowOf<typeof releaseColumns>;

export const listReleasesAbout = (
  session: Session,
  { id, about }: { id: string; about: Buffer },
): Promise<GivenRelease[]> => many(session, releasesAbout, [id, about]);

export async function releaseRecoveryRow(
  session: Session,
  recovery: { id: string; about: Buffer },
  given: RecoveryRelease & { mac: Buffer; others: number },
): Promise<ReleaseResult> {
  const { operatorId, decidedBy, reason, mac, others, acceptsUnlisted } = given;
  const values = [recovery.id, operatorId, decidedBy, reason, recovery.about, mac, others];
  return (await one(session, release, [...values, acceptsUnlisted])).result;
}

export type RecoveryRelease = {
  operatorId: string;
  decidedBy: string;
  reason: string;
  acceptsUnlisted: boolean;
};

export async function closeRecovery(session: Session, id: string): Promise<void> {
  await exec(session, close, [id]);
}

/** The counterparty's number of the payment, or undefined if it listed none to that address. */
export async function claimRecoveredDestination(
  session: Session,
  claim: { rail: string; destinationHash: Buffer; accountId: string; payoutId: string },
): Promise<string | undefined> {
  const values = [claim.rail, claim.destinationHash, claim.accountId, claim.payoutId];
  return (await maybeOne(session, claimDestination, values))?.id;
}

/** `references` as 32 hexadecimal digits. */
export async function countUnknownReferences(
  session: Session,
  references: readonly string[],
): Promise<number> {
  return (await one(session, unknownReferences, [references])).count;
}

/** When this database last recorded an attempt or a commit. */
export async function findLastActivity(session: Session): Promise<Date | undefined> {
  return (await one(session, lastActivity)).at ?? undefined;
}
