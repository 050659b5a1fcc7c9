import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { formatMinor } from '../core/money.ts';
import type { KeyRing } from '../core/sealing.ts';
import { type Database, findSqlState, type Session } from '../db/postgres/pool.ts';
import { createStore } from '../rails/host/host.ts';
import { findBatchReferences, readStoredFiles } from '../rails/iso20022/files.ts';
import { readBankFile } from './bank-file.ts';
import { type Match, matchItems, type OpenEntry, type OpenItem } from './match.ts';
import {
  collectSettlements,
  type EntryRow,
  hasRailAccount,
  type ItemRow,
  insertFile,
  insertMatches,
  insertPeriod,
  listOpenEntries,
  listOpenItems,
  type OpenFilter,
  type PeriodKey,
  readToday,
  sumPeriod,
} from './reconciliation.sql.ts';

export type { EntryRow, ItemRow, OpenFilter, PeriodKey } from './reconciliation.sql.ts';

/**
 * Reconciliation of a rail: the statements of the operator's bank against what the ledger settled. Both
 * sides are copied into tables of their own, matched where the references prove it, and what is left
 * is for a person.
 */

type Place = { db: Database; keys: KeyRing };

export type ImportReport = {
  /** A file that was imported before changes nothing. */
  isNew: boolean;
  newEntries: number;
  /** Of this file, but in an earlier one too. */
  knownEntries: number;
  matched: number;
};

/**
 * Imports a statement of the bank and matches what is open.
 *
 * @throws AppError not_found for a rail without payouts, invalid_request for a file that cannot be read,
 * illegal_move where it has new entries in a closed period.
 */
export async function importBankFile(
  place: Place,
  given: { rail: string; bytes: Buffer; importedBy: string },
): Promise<ImportReport> {
  const { rail, importedBy } = given;
  if (!(await hasRailAccount(place.db.system, rail))) {
    throw new AppError('not_found', `no payout was committed through a rail ${rail} yet`);
  }
  const file = readBankFile(given.bytes);
  const newEntries = await refuseBrokenRule(() =>
    place.db.systemTransaction((session) => insertFile(session, { ...file, rail, importedBy })),
  );
  const matched = await matchRail(place, rail);
  if (newEntries === null) return { isNew: false, newEntries: 0, knownEntries: 0, matched };
  return { isNew: true, newEntries, knownEntries: file.entries.length - newEntries, matched };
}

/** The database's refusals of a match, a file or a period. */
async function refuseBrokenRule<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (findSqlState(error) !== 'OL002') throw error;
    throw new AppError('illegal_move', (error as Error).message, { cause: error });
  }
}

/** Copies new settlements and matches what is open. How many matches were made. */
async function matchRail(place: Place, rail: string): Promise<number> {
  const { system } = place.db;
  await collectSettlements(system);
  let count = 0;
  for (let turn = 1; ; turn += 1) {
    const matches = await findMatches(place, rail);
    try {
      for (const kind of ['reference', 'batch'] as const) {
        const ofKind = matches.filter((match) => match.kind === kind);
        if (ofKind.length > 0) await record(system, { rail, kind, matches: ofKind });
        count += ofKind.length;
      }
      return count;
    } catch (error) {
      // Another import, or a person, matched some of them since they were read.
      if (findSqlState(error) !== 'OL002') throw error;
      if (turn < matchTurnsMax) continue;
      const detail = `others match entries of the rail ${rail} at the same time: repeat the command`;
      throw new AppError('illegal_move', detail, { cause: error });
    }
  }
}

const matchTurnsMax = 10;

async function findMatches({ db, keys }: Place, rail: string): Promise<Match[]> {
  const [entries, items] = await Promise.all([
    listOpenEntries(db.system, { rail }),
    listOpenItems(db.system, { rail }),
  ]);
  const files = readStoredFiles(createStore(rail, db, keys));
  const matches: Match[] = [];
  for (const currency of new Set(entries.map((entry) => entry.currency))) {
    const open: OpenEntry[] = [];
    for (const entry of entries.filter((one) => one.currency === currency)) {
      const { batch_id: id } = entry;
      open.push(toOpenEntry(entry, id === '' ? [] : await findBatchReferences(files, id)));
    }
    const ofCurrency = items.filter((item) => item.currency === currency);
    matches.push(...matchItems(open, ofCurrency.map(toOpenItem)));
  }
  return matches;
}

function toOpenEntry(entry: EntryRow, batchReferences: readonly string[]): OpenEntry {
  return {
    id: entry.id,
    bookedOn: entry.booked_on,
    direction: entry.direction,
    amountMinor: entry.amount,
    references: entry.payment_references,
    bankReference: entry.bank_reference,
    batchReferences: batchReferences.map((reference) => reference.replaceAll('-', '')),
    batchCount: entry.batch_count ?? undefined,
  };
}

function toOpenItem(item: ItemRow): OpenItem {
  return {
    id: item.journal_id,
    bookedOn: item.booked_on,
    direction: item.direction,
    amountMinor: item.amount,
    reference: item.reference.replaceAll('-', ''),
    providerReference: item.provider_reference,
    isCharge: item.kind === 'charge',
  };
}

async function record(
  session: Session,
  made: { rail: string; kind: Match['kind']; matches: readonly Match[] },
): Promise<void> {
  const matches = made.matches.map(({ entryId, itemIds }) => ({
    id: newId(),
    entryIds: [entryId],
    itemIds,
  }));
  await insertMatches(session, { ...made, decidedBy: '', reason: '', matches });
}

/** What does not match, on both sides. */
export async function listOpen(
  db: Database,
  filter: OpenFilter,
): Promise<{ inBankOnly: EntryRow[]; inLedgerOnly: ItemRow[] }> {
  return {
    inBankOnly: await listOpenEntries(db.system, filter),
    inLedgerOnly: await listOpenItems(db.system, filter),
  };
}

export type PersonsDecision = {
  rail: string;
  /** Ids of bank entries. */
  entryIds: readonly string[];
  /** Ids of the journals of settlements. */
  itemIds: readonly string[];
  decidedBy: string;
  reason: string;
};

/**
 * Links entries and settlements whose sums are equal; or explains one side that has no counterpart.
 *
 * @throws AppError illegal_move where one is not open, or the sums differ.
 */
export async function decideMatch(db: Database, decision: PersonsDecision): Promise<void> {
  const { entryIds, itemIds } = decision;
  const kind = entryIds.length > 0 && itemIds.length > 0 ? 'linked' : 'explained';
  const matches = [{ id: newId(), entryIds, itemIds }];
  await refuseBrokenRule(() => insertMatches(db.system, { ...decision, kind, matches }));
}

/**
 * Closes a period whose sums agree. Nothing more can be imported into it.
 *
 * @throws AppError illegal_move with what is open, or how the sums differ.
 */
export async function closePeriod(place: Place, period: PeriodKey & { closedBy: string }) {
  const { db } = place;
  const { system } = db;
  if (period.lastDay >= (await readToday(system))) {
    throw new AppError('illegal_move', `the day ${period.lastDay} (UTC) has not ended`);
  }
  await matchRail(place, period.rail);
  const closed = await insertPeriod(system, period);
  if (closed !== undefined) return closed;
  const sums = await sumPeriod(system, period);
  const { open_entries: entries, open_items: items } = sums;
  if (entries > 0n || items > 0n) {
    const detail = `up to ${period.lastDay} ${entries} bank entries and ${items} settlements match nothing: reconciliation list shows them`;
    throw new AppError('illegal_move', detail);
  }
  const bank = sums.bank_movement - sums.bank_explained;
  const ledger = sums.ledger_movement - sums.ledger_explained + sums.carried;
  const format = (minor: bigint) => formatMinor(minor, period.currency);
  const detail =
    bank === ledger
      ? 'the period overlaps one that is closed'
      : `the sums differ: ${format(bank)} ${period.currency} at the bank, ${format(ledger)} in the ledger`;
  throw new AppError('illegal_move', detail);
}
