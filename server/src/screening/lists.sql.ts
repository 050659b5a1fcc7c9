import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, nullable, one, type RowOf } from '../db/rows.ts';

/** The SQL of imports. An import is one transaction, which locks its list's row. */

const insertList: Statement = {
  name: 'screening_insert_list',
  text: 'insert into screening_lists (list) values ($1) on conflict (list) do nothing',
};

const listColumns = {
  sequence: column.integer,
  content_hash: nullable(column.bytes),
  published_at: nullable(column.instant),
  entry_count: nullable(column.integer),
};
export type ListRow = RowOf<typeof listColumns>;

const lockList = defineQuery({
  name: 'screening_lock_list',
  text: `
    with own as materialized (select list, sequence from screening_lists where list = $1 for update)
    select own.sequence, v.content_hash, v.published_at, v.entry_count
    from own left join screening_versions v on v.list = own.list and v.sequence = own.sequence`,
  columns: listColumns,
});

const selectHashes = defineQuery({
  name: 'screening_select_entry_hashes',
  text: `
    select entry_id, content_hash from screening_entries
    where list = $1 and until_sequence is null`,
  columns: { entry_id: column.text, content_hash: column.bytes },
});

const insertVersion: Statement = {
  name: 'screening_insert_version',
  text: `
    insert into screening_versions (list, sequence, version, content_hash, published_at,
      entry_count, name_count, added_count, removed_count, reader)
    values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

const retireEntries: Statement = {
  name: 'screening_retire_entries',
  text: `
    update screening_entries set until_sequence = $2
    where list = $1 and until_sequence is null and entry_id = any($3::text[])`,
};

const insertEntries: Statement = {
  name: 'screening_insert_entries',
  text: `
    insert into screening_entries (list, entry_id, from_sequence, kind, name, programmes, births,
      countries, words, content_hash)
    select $1, entry_id, $2, kind, name, programmes, births, countries, words,
      decode(content_hash, 'hex')
    from jsonb_to_recordset($3::jsonb) as given (entry_id text, kind text, name text,
      programmes jsonb, births jsonb, countries text, words text, content_hash text)`,
};

const insertNames: Statement = {
  name: 'screening_insert_names',
  text: `
    insert into screening_names (list, entry_id, from_sequence, text, quality, words, skeletons)
    select $1, entry_id, $2, text, quality, words, skeletons
    from jsonb_to_recordset($3::jsonb) as given (entry_id text, text text, quality text,
      words text, skeletons text)`,
};

const insertWallets: Statement = {
  name: 'screening_insert_wallets',
  text: `
    insert into screening_wallets (list, entry_id, from_sequence, wallet, text)
    select $1, entry_id, $2, wallet, text
    from jsonb_to_recordset($3::jsonb) as given (entry_id text, wallet text, text text)`,
};

const setVersion: Statement = {
  name: 'screening_set_version',
  text: 'update screening_lists set sequence = $2, checked_at = now() where list = $1',
};

const refreshWords: Statement = {
  name: 'screening_refresh_words',
  text: 'select refresh_screening_words()',
};

/** The first screenings of a new list need plans for its size. */
const analyzeTables: Statement = {
  name: 'screening_analyze',
  text: 'select analyze_screening()',
};

/** Imports of different lists rebuild the words one after the other. */
const lockWords: Statement = {
  name: 'screening_lock_words',
  text: 'lock table screening_words in share row exclusive mode',
};

export async function lockListRow(session: Session, list: string): Promise<ListRow> {
  await exec(session, insertList, [list]);
  return one(session, lockList, [list]);
}

/** From entry number to hash, for the entries in force. */
export async function readEntryHashes(
  session: Session,
  list: string,
): Promise<Map<string, string>> {
  const rows = await many(session, selectHashes, [list]);
  return new Map(rows.map((row) => [row.entry_id, row.content_hash.toString('hex')]));
}

/** Records that this version, perhaps the same as before, is the source's current one. */
export async function setInForce(session: Session, list: string, sequence: number): Promise<void> {
  await exec(session, setVersion, [list, sequence]);
}

export type NewVersion = {
  list: string;
  sequence: number;
  version: string;
  contentHash: Buffer;
  parserVersion: number;
  publishedAt: string | null;
  entryCount: number;
  nameCount: number;
  addedCount: number;
  removedCount: number;
};

/** With the names of the tables' columns, because PostgreSQL reads the rows from JSON. */
export type EntryRow = {
  entry_id: string;
  kind: string;
  name: string;
  programmes: readonly string[];
  births: unknown;
  countries: string;
  words: string;
  content_hash: string;
};
export type NameRow = {
  entry_id: string;
  text: string;
  quality: string;
  words: string;
  skeletons: string;
};

export type WalletRow = { entry_id: string; wallet: string; text: string };

/** Written as JSON within a few milliseconds. */
const portionRows = 500;

export async function writeVersion(
  session: Session,
  version: NewVersion,
  rows: {
    retired: readonly string[];
    entries: readonly EntryRow[];
    names: readonly NameRow[];
    wallets: readonly WalletRow[];
  },
): Promise<void> {
  const { list, sequence } = version;
  await exec(session, insertVersion, [
    list,
    sequence,
    version.version,
    version.contentHash,
    version.publishedAt,
    version.entryCount,
    version.nameCount,
    version.addedCount,
    version.removedCount,
    version.parserVersion,
  ]);
  const retired = await exec(session, retireEntries, [list, sequence, rows.retired]);
  if (retired !== rows.retired.length) {
    throw new Error(`only ${retired} of ${rows.retired.length} removed entries were in force`);
  }
  const insertAll = async (statement: Statement, all: readonly unknown[]): Promise<void> => {
    for (let from = 0; from < all.length; from += portionRows) {
      const portion = JSON.stringify(all.slice(from, from + portionRows));
      await exec(session, statement, [list, sequence, portion]);
    }
  };
  await insertAll(insertEntries, rows.entries);
  await insertAll(insertNames, rows.names);
  await insertAll(insertWallets, rows.wallets);
  await setInForce(session, list, sequence);
  await exec(session, lockWords);
  await exec(session, refreshWords);
  await exec(session, analyzeTables);
}
