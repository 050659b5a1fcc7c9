import { createHash } from 'node:crypto';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { type KeyRing, rowContext } from '../core/sealing.ts';
import { type Database, findSqlState } from '../db/postgres/pool.ts';
import { defineProtectedTable, renewMac } from '../db/protected-tables.ts';
import { column } from '../db/rows.ts';
import { findGenuineOperator } from '../operators/operators.ts';
import type { Instruction, Rail, RecoveredPayment } from '../rails/contract/contract.ts';
import { decodeReference, encodeReference } from '../rails/contract/references.ts';
import {
  beginRecoveryRow,
  claimRecoveredDestination,
  closeRecovery,
  countUnknownReferences,
  findLastActivity,
  findOpenRecovery,
  type GivenRelease,
  listRecovered,
  listRecoveryRails,
  listReleases,
  listReleasesAbout,
  markRecoveryRail,
  openRecoveryRelease,
  type RecoveredRow,
  type RecoveryRailRow,
  type RecoveryRelease,
  type RecoveryRow,
  type ReleaseResult,
  type ReleaseRow,
  releaseRecoveryRow,
  type StoredRecovered,
  storeRecovered,
} from './recovery.sql.ts';
import type { SendMarker } from './send-marker.ts';

/**
 * Recovery mode: after the database was restored to an earlier moment, rails may have paid payouts that
 * it does not know as sent. While a recovery is open, no payout can be claimed for sending and commits
 * answer 503 `recovering`. Each rail lists its payments, which are matched with payouts; then two named
 * persons release the recovery (docs/guides/recovery.md).
 */

export type RecoveryServices = {
  db: Database;
  rails: readonly Rail[];
  marker: SendMarker;
  onError: (error: unknown) => void;
};

const listMsMax = 10 * 60_000;

/** Whether an open recovery stops this environment, as last read. */
export type RecoveryState = {
  isRecovering(): boolean;
  refresh(): Promise<void>;
  /** @throws AppError recovering. */
  refuse(): void;
};

const retryAfterSeconds = 30;

export function createRecoveryState(db: Database): RecoveryState {
  let isOpen = false;
  return {
    isRecovering: () => isOpen,
    refresh: async () => {
      isOpen = (await findOpenRecovery(db.system)) !== undefined;
    },
    refuse: () => {
      if (!isOpen) return;
      throw new AppError(
        'recovering',
        'The database was restored to an earlier moment. Commits are refused until the payments made ' +
          'since have been matched.',
        { retryAfterSeconds },
      );
    },
  };
}

/** Returns whether this call began a recovery. */
export async function beginRecovery(services: RecoveryServices, reason: string): Promise<boolean> {
  const { db, rails } = services;
  const row = await beginRecoveryRow(db.system, {
    id: newId(),
    reason,
    rails: rails.map(({ name }) => name),
  });
  return row.is_new;
}

/**
 * What every process does, those that only serve too: keeps a file of its own in step with the database,
 * and begins a recovery where the file is ahead. The database of a running process may be restored too.
 */
export async function followMarker(services: RecoveryServices): Promise<void> {
  const { marker, rails } = services;
  // Only where money can leave: a sandbox may be made anew at any time.
  if (rails.length === 0) return;
  const lead = await marker.follow();
  if (lead <= 0) return;
  await beginRecovery(services, describeLead(lead));
  // Once it is released, files of other processes show nothing new.
  await marker.raise();
}

const describeLead = (lead: number): string =>
  `the marker file is ${lead} ahead: the database was restored to an earlier moment`;

/** Evidence that the database lacks payments that were made; undefined if there is none. */
export async function findLead(services: RecoveryServices): Promise<string | undefined> {
  const ahead = await services.marker.findLead();
  if (ahead > 0) return describeLead(ahead);
  const leads = await Promise.all(
    services.rails.map(async (rail) => {
      try {
        const found = await findRailLead(services, rail);
        return found === undefined ? undefined : `rail ${rail.name}: ${found}`;
      } catch (error) {
        // The service starts although a counterparty is unreachable.
        services.onError(error);
        return undefined;
      }
    }),
  );
  return leads.find((lead) => lead !== undefined);
}

/** All rails at once: a process that starts answers no probe until they have answered. */
const leadMsMax = 30_000;
const dayMs = 86_400_000;

/** The rail finds them itself, or lists its payments to be compared with the attempts. */
async function findRailLead({ db }: RecoveryServices, rail: Rail): Promise<string | undefined> {
  const context = { signal: AbortSignal.timeout(leadMsMax) };
  if (rail.findUnknownPayments !== undefined) return rail.findUnknownPayments(context);
  if (rail.recover === undefined) return undefined;
  const last = await findLastActivity(db.system);
  const sinceMs = last === undefined ? 0 : last.getTime() - dayMs;
  const payments = await rail.recover(sinceMs, context);
  const references = payments.flatMap(({ reference }) => {
    const paymentId = decodeReference(reference);
    return paymentId === undefined ? [] : [encodeReference('digits', paymentId)];
  });
  const count = await countUnknownReferences(db.system, references);
  return count === 0 ? undefined : `it lists ${count} payments that are not in the database`;
}

/** One step of an open recovery: lists the payments of rails, and ends a released recovery. */
export async function runRecovery(services: RecoveryServices): Promise<void> {
  const { db } = services;
  const recovery = await findOpenRecovery(db.system);
  if (recovery === undefined) return;
  if (recovery.released_at !== null) {
    await endRecovery(services, recovery);
    return;
  }
  const known = new Map(services.rails.map((rail) => [rail.name, rail]));
  for (const { rail: name, state } of await listRecoveryRails(db.system, recovery.id)) {
    if (state === 'listed' || state === 'cannot_list') continue;
    const rail = known.get(name);
    if (rail !== undefined) await listRail(services, recovery, rail);
  }
}

async function listRail(
  { db, onError }: RecoveryServices,
  recovery: RecoveryRow,
  rail: Rail,
): Promise<void> {
  const name = { id: recovery.id, rail: rail.name };
  if (rail.recover === undefined) {
    const detail = 'this kind of rail cannot list its payments: compare them by hand';
    await markRecoveryRail(db.system, name, { state: 'cannot_list', detail });
    return;
  }
  try {
    const signal = AbortSignal.timeout(listMsMax);
    const payments = await rail.recover(recovery.since.getTime(), { signal });
    await db.systemTransaction((session) => storeRecovered(session, name, nameRecovered(payments)));
  } catch (error) {
    onError(error);
    const state = findSqlState(error);
    const message = error instanceof Error ? error.message : 'unknown error';
    const detail = state === undefined ? message : `database error ${state}`;
    await markRecoveryRail(db.system, name, { state: 'failed', detail });
  }
}

/**
 * Each payment with a name of its own: a transaction may pay several addresses, and a counterparty may
 * have booked a reference twice. Payments that are listed again get the same names in any order.
 */
function nameRecovered(payments: readonly RecoveredPayment[]): StoredRecovered[] {
  const counts = new Map<string, number>();
  return payments
    .map(describeRecovered)
    .toSorted((a, b) => (a.order < b.order ? -1 : 1))
    .map(({ order: _order, ...payment }) => {
      const count = (counts.get(payment.id) ?? 0) + 1;
      counts.set(payment.id, count);
      return count === 1 ? payment : { ...payment, id: `${payment.id}/${count}` };
    });
}

function describeRecovered(payment: RecoveredPayment) {
  const { reference, providerReference = '', destination, currency, amountMinor, atMs } = payment;
  const paymentId = decodeReference(reference);
  const digits = paymentId === undefined ? reference : encodeReference('digits', paymentId);
  const id = [digits, providerReference, `${atMs}`].find(Boolean) ?? '';
  const destinationHash =
    digits === '' && destination !== undefined ? hashDestination(destination) : null;
  const hash = destinationHash?.toString('hex') ?? '';
  const order = JSON.stringify([id, providerReference, hash, currency, `${amountMinor}`]);
  return { ...payment, reference: digits, id, destinationHash, order };
}

async function endRecovery(services: RecoveryServices, { id }: RecoveryRow): Promise<void> {
  for (const rail of services.rails) {
    await rail.confirmRecovery?.({ signal: AbortSignal.timeout(listMsMax) });
  }
  await services.marker.reset();
  await closeRecovery(services.db.system, id);
}

/** Hexadecimal and bech32 addresses do not depend on case; base58 addresses do. */
export function hashDestination(address: string): Buffer {
  const isEitherCase = /^(?:0x|[a-z]{2,5}1)/i.test(address);
  return createHash('sha256')
    .update(isEitherCase ? address.toLowerCase() : address)
    .digest();
}

/**
 * The number of a payment to the same address that the rail listed without a reference; the payout must
 * not be sent without a decision.
 */
export async function findRecoveredTwin(
  db: Database,
  payout: { accountId: string; payoutId: string; rail: string },
  instruction: Instruction,
): Promise<string | undefined> {
  const address = instruction.attributes['BankAccountNumber'];
  if (instruction.deliveryType !== 'CRYPTOCURRENCY' || address === undefined) return undefined;
  return claimRecoveredDestination(db.system, {
    ...payout,
    destinationHash: hashDestination(address),
  });
}

export type RecoveryReport = {
  state: 'none' | 'listing' | 'listed' | 'released';
  recovery?: RecoveryRow;
  rails?: RecoveryRailRow[];
  releases?: ReleaseRow[];
  payments?: RecoveredRow[];
};

export async function describeRecovery({
  db,
}: Pick<RecoveryServices, 'db'>): Promise<RecoveryReport> {
  const recovery = await findOpenRecovery(db.system);
  if (recovery === undefined) return { state: 'none' };
  const rails = await listRecoveryRails(db.system, recovery.id);
  const isListed = rails.every(({ state }) => state === 'listed' || state === 'cannot_list');
  return {
    state: recovery.released_at !== null ? 'released' : isListed ? 'listed' : 'listing',
    recovery,
    rails,
    releases: await listReleases(db.system, recovery.id),
    payments: await listRecovered(db.system, recovery.id),
  };
}

/**
 * Two different people are needed; `waiting`: the second one has not released it yet.
 *
 * @throws AppError illegal_move when no recovery is open or a rail has not listed its payments.
 */
export async function releaseRecovery(
  { db, keys }: Pick<RecoveryServices, 'db'> & { keys: KeyRing },
  release: RecoveryRelease,
): Promise<Extract<ReleaseResult, 'waiting' | 'released'>> {
  const result = await db.systemTransaction(async (session) => {
    const recovery = await openRecoveryRelease(session);
    if (recovery === undefined) throw new AppError('illegal_move', 'no recovery is open');
    let others = 0;
    for (const row of await listReleasesAbout(session, recovery)) {
      if (row.operator_id === release.operatorId) continue;
      if (!keys.isMac(describeRelease(recovery, row), row.mac)) continue;
      const other = await findGenuineOperator({ session, keys }, { id: row.operator_id });
      if (other !== undefined) others += 1;
    }
    const { operatorId, decidedBy, reason } = release;
    const row = { operator_id: operatorId, decided_by: decidedBy, reason };
    const mac = keys.mac(describeRelease(recovery, row));
    return releaseRecoveryRow(session, recovery, { ...release, mac, others });
  });
  if (result === 'not_listed') {
    throw new AppError(
      'illegal_move',
      'a rail has not listed its payments (outlay admin recovery show); where it cannot, compare them by ' +
        'hand and pass --accept-unlisted',
    );
  }
  return result;
}

/** What a release vouches for: one that was written past the service does not count. */
function describeRelease(
  { id, about }: { id: string; about: Buffer },
  { operator_id: operatorId, decided_by: by, reason }: Omit<GivenRelease, 'mac'>,
): string {
  return rowContext('recovery_releases', id, about.toString('hex'), operatorId, by, reason);
}

export const protectedReleases = defineProtectedTable({
  table: 'recovery_releases',
  key: { recovery_id: 'uuid', operator_id: 'uuid', about: 'bytea' },
  values: ['mac'],
  columns: {
    recovery_id: column.uuid,
    operator_id: column.uuid,
    decided_by: column.text,
    reason: column.text,
    about: column.bytes,
  },
  replacement: 'renew_recovery_releases',
  renew: renewMac(({ recovery_id: id, about, ...row }) => describeRelease({ id, about }, row)),
});
