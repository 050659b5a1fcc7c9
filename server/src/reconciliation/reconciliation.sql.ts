import { textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import type { BankEntry, BankFile } from './bank-file.ts';

/** The SQL of reconciliation. It reads the whole of a rail, across accounts. */

const answerMsMax = 600_000;

const pairsQuery = defineQuery({
  name: 'list_settlement_pairs',
  answerMsMax,
  text: `select distinct account_id, currency from ledger_accounts order by account_id, currency`,
  columns: { account_id: column.uuid, currency: column.text },
});

const collectQuery = defineQuery({
  name: 'collect_settlements',
  answerMsMax,
  text: `select collect_settlements($1, $2, $3) as journals`,
  columns: { journals: column.integer },
});

const portionJournals = 10_000;

/** Copies the settlements of all accounts that were posted since the last time. */
export async function collectSettlements(session: Session): Promise<void> {
  for (const { account_id: accountId, currency } of await many(session, pairsQuery)) {
    for (;;) {
      const values = [accountId, currency, portionJournals];
      const { journals } = await one(session, collectQuery, values);
      if (journals === 0) break;
    }
  }
}

const railQuery = defineQuery({
  name: 'find_rail_account',
  answerMsMax,
  text: `select name from ledger_accounts where name = 'in_transit:' || $1 limit 1`,
  columns: { name: column.text },
});

/** Whether a payout was ever committed through a rail of this name. */
export async function hasRailAccount(session: Session, rail: string): Promise<boolean> {
  return (await maybeOne(session, railQuery, [rail])) !== undefined;
}

const importQuery = defineQuery({
  name: 'import_bank_file',
  answerMsMax,
  text: `select import_bank_file($1, $2, $3, $4, $5) as entries`,
  columns: { entries: nullable(column.integer) },
});

/** How many entries are new; null where the file was imported before. */
export async function insertFile(
  session: Session,
  file: BankFile & { rail: string; importedBy: string },
): Promise<number | null> {
  const entries = JSON.stringify(file.entries.map(describeEntry));
  const values = [file.rail, file.digest, file.format, file.importedBy, entries];
  return (await one(session, importQuery, values)).entries;
}

function describeEntry(entry: BankEntry) {
  return {
    id: entry.id,
    position: entry.position,
    bank_account: entry.bankAccount,
    booked_on: entry.bookedOn,
    direction: entry.direction,
    currency: entry.currency,
    amount: String(entry.amountMinor),
    payment_references: entry.references,
    bank_reference: entry.bankReference,
    batch_id: entry.batchId,
    batch_count: entry.batchCount,
  };
}

const direction = column.oneOf('debit', 'credit');

const entryColumns = {
  id: column.uuid,
  position: column.text,
  bank_account: column.text,
  booked_on: column.text,
  direction,
  currency: column.text,
  amount: column.bigint,
  payment_references: column.texts,
  bank_reference: column.text,
  batch_id: column.text,
  batch_count: nullable(column.integer),
} as const;
export type EntryRow = RowOf<typeof entryColumns>;

const openEntriesQuery = defineQuery({
  name: 'list_open_bank_entries',
  answerMsMax,
  text: `
    select id, position, bank_account, booked_on::text as booked_on, direction, currency, amount,
      payment_references, bank_reference, batch_id, batch_count
    from bank_entries
    where rail = $1 and match_id is null and ($2::text is null or currency = $2)
      and booked_on between coalesce($3::date, '-infinity') and coalesce($4::date, 'infinity')
    order by currency, booked_on, id`,
  columns: entryColumns,
});

const itemColumns = {
  account_id: column.uuid,
  journal_id: column.uuid,
  kind: column.text,
  payout_id: column.uuid,
  reference: column.text,
  provider_reference: column.text,
  direction,
  currency: column.text,
  amount: column.bigint,
  booked_on: column.text,
} as const;
export type ItemRow = RowOf<typeof itemColumns>;

const openItemsQuery = defineQuery({
  name: 'list_open_settlements',
  answerMsMax,
  text: `
    select account_id, journal_id, kind, payout_id, reference, provider_reference, direction,
      currency, amount, booked_on::text as booked_on
    from settlement_items
    where rail = $1 and match_id is null and ($2::text is null or currency = $2)
      and booked_on between coalesce($3::date, '-infinity') and coalesce($4::date, 'infinity')
    order by currency, booked_on, journal_id`,
  columns: itemColumns,
});

/** Days are YYYY-MM-DD, both included. */
export type OpenFilter = {
  rail: string;
  currency?: string | undefined;
  firstDay?: string | undefined;
  lastDay?: string | undefined;
};

const valuesOf = ({ rail, currency, firstDay, lastDay }: OpenFilter) => [
  rail,
  currency ?? null,
  firstDay ?? null,
  lastDay ?? null,
];

export async function listOpenEntries(session: Session, filter: OpenFilter): Promise<EntryRow[]> {
  return many(session, openEntriesQuery, valuesOf(filter));
}

export async function listOpenItems(session: Session, filter: OpenFilter): Promise<ItemRow[]> {
  return many(session, openItemsQuery, valuesOf(filter));
}

const recordQuery = defineQuery({
  name: 'record_matches',
  answerMsMax,
  text: `select record_matches($1, $2, $3, $4, environment_now(), $5::uuid[], $6::uuid[],
    $7::uuid[], $8::uuid[]) as matches`,
  columns: { matches: column.integer },
});

export type RecordedMatch = {
  id: string;
  entryIds: readonly string[];
  /** Journals. */
  itemIds: readonly string[];
};

/** @throws an error of SQL state OL002 where something is not open, or the sums differ. */
export async function insertMatches(
  session: Session,
  made: {
    rail: string;
    kind: 'reference' | 'batch' | 'linked' | 'explained';
    decidedBy: string;
    reason: string;
    matches: readonly RecordedMatch[];
  },
): Promise<number> {
  const { rail, kind, decidedBy, reason, matches } = made;
  const entries = matches.flatMap(({ id, entryIds }) => entryIds.map((entry) => ({ id, entry })));
  const items = matches.flatMap(({ id, itemIds }) => itemIds.map((item) => ({ id, item })));
  const values = [
    rail,
    kind,
    decidedBy,
    reason,
    textArray(entries.map(({ id }) => id)),
    textArray(entries.map(({ entry }) => entry)),
    textArray(items.map(({ id }) => id)),
    textArray(items.map(({ item }) => item)),
  ];
  return (await one(session, recordQuery, values)).matches;
}

const sumColumns = {
  bank_movement: column.bigint,
  ledger_movement: column.bigint,
  bank_explained: column.bigint,
  ledger_explained: column.bigint,
  carried: column.bigint,
} as const;

const sumQuery = defineQuery({
  name: 'sum_reconciliation',
  answerMsMax,
  text: `
    select open_entries, open_items, bank_movement, ledger_movement, bank_explained,
      ledger_explained, carried
    from sum_reconciliation($1, $2, $3::date, $4::date)`,
  columns: { open_entries: column.bigint, open_items: column.bigint, ...sumColumns },
});
export type PeriodSums = RowOf<typeof sumQuery.columns>;

const closeQuery = defineQuery({
  name: 'close_reconciliation',
  answerMsMax,
  text: `
    select bank_movement, ledger_movement, bank_explained, ledger_explained, carried
    from close_reconciliation($1, $2, $3::date, $4::date, $5)`,
  columns: sumColumns,
});

export type PeriodKey = { rail: string; currency: string; firstDay: string; lastDay: string };

export async function sumPeriod(session: Session, period: PeriodKey): Promise<PeriodSums> {
  const { rail, currency, firstDay, lastDay } = period;
  return one(session, sumQuery, [rail, currency, firstDay, lastDay]);
}

/** Undefined where the period cannot be closed. */
export async function insertPeriod(
  session: Session,
  { rail, currency, firstDay, lastDay, closedBy }: PeriodKey & { closedBy: string },
): Promise<RowOf<typeof sumColumns> | undefined> {
  return maybeOne(session, closeQuery, [rail, currency, firstDay, lastDay, closedBy]);
}

const nowQuery = defineQuery({
  name: 'read_environment_day',
  text: `select (environment_now() at time zone 'UTC')::date::text as today`,
  columns: { today: column.text },
});

/** The environment's day, UTC. */
export async function readToday(session: Session): Promise<string> {
  return (await one(session, nowQuery)).today;
}
