import type { Session, Statement } from '../db/postgres/pool.ts';

/** The SQL of imports. All of an import is one transaction, which holds its list's row. */

const insertList: Statement = {
  name: 'screening_insert_list',
  text: 'insert into screening_lists (list) values ($1) on conflict (list) do nothing',
};

const lockList: Statement = {
  name: 'screening_lock_list',
  text: `
    with own as materialized (select list, sequence from screening_lists where list = $1 for update)
    select own.sequence, v.content_hash, v.published_at, v.entry_count
    from own left join screening_versions v on v.list = own.list and v.sequence = own.sequence`,
};

const selectHashes: Statement = {
  name: 'screening_select_entry_hashes',
  text: `
    select entry_id, content_hash from screening_entries
    where list = $1 and until_sequence is null`,
};

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
    where list = $1 and until_sequence is null and entry_id = any($3::text[])
    returning entry_id`,
};

const insertEntries: Statement = {
  name: 'screening_insert_entries',
  text: `
    insert into screening_entries (list, entry_id, from_sequence, kind, name, programmes, births,
      countries, content_hash)
    select $1, entry_id, $2, kind, name, programmes, births, countries, decode(content_hash, 'hex')
    from jsonb_to_recordset($3::jsonb) as given (entry_id text, kind text, name text,
      programmes jsonb, births jsonb, countries text, content_hash text)`,
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

/** Plans made with the sizes of before would hold for the first screenings of the new list. */
const analyzeTables: Statement = {
  name: 'screening_analyze',
  text: 'analyze screening_entries, screening_names, screening_words, screening_wallets',
};

/** Imports of different lists make the words anew one after the other. */
const lockWords: Statement = {
  name: 'screening_lock_words',
  text: 'lock table screening_words in share row exclusive mode',
};

export type ListRow = {
  sequence: number;
  content_hash: Buffer | null;
  published_at: Date | null;
  entry_count: number | null;
};

export async function lockListRow(session: Session, list: string): Promise<ListRow> {
  await session.rows(insertList, [list]);
  const [row] = await session.rows<ListRow>(lockList, [list]);
  if (row === undefined) throw new Error(`impossible: the list ${list} has no row`);
  return row;
}

/** Entry number to hash, of the entries in force. */
export async function readEntryHashes(
  session: Session,
  list: string,
): Promise<Map<string, string>> {
  const rows = await session.rows<{ entry_id: string; content_hash: Buffer }>(selectHashes, [list]);
  return new Map(rows.map((row) => [row.entry_id, row.content_hash.toString('hex')]));
}

/** The version in force, perhaps the same as before, is what the source has now. */
export async function setInForce(session: Session, list: string, sequence: number): Promise<void> {
  await session.rows(setVersion, [list, sequence]);
}

export type NewVersion = {
  list: string;
  sequence: number;
  version: string;
  contentHash: Buffer;
  readerVersion: number;
  publishedAt: string | null;
  entryCount: number;
  nameCount: number;
  addedCount: number;
  removedCount: number;
};

/** As the columns of the tables are called, because PostgreSQL reads them from JSON. */
export type EntryRow = {
  entry_id: string;
  kind: string;
  name: string;
  programmes: readonly string[];
  births: unknown;
  countries: string;
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

const portionRows = 2_000;

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
  await session.rows(insertVersion, [
    list,
    sequence,
    version.version,
    version.contentHash,
    version.publishedAt,
    version.entryCount,
    version.nameCount,
    version.addedCount,
    version.removedCount,
    version.readerVersion,
  ]);
  const retired = await session.rows(retireEntries, [list, sequence, rows.retired]);
  if (retired.length !== rows.retired.length) {
    throw new Error(
      `impossible: ${retired.length} of ${rows.retired.length} entries were in force`,
    );
  }
  const insertAll = async (statement: Statement, all: readonly unknown[]): Promise<void> => {
    for (let from = 0; from < all.length; from += portionRows) {
      const portion = JSON.stringify(all.slice(from, from + portionRows));
      await session.rows(statement, [list, sequence, portion]);
    }
  };
  await insertAll(insertEntries, rows.entries);
  await insertAll(insertNames, rows.names);
  await insertAll(insertWallets, rows.wallets);
  await setInForce(session, list, sequence);
  await session.rows(lockWords);
  await session.rows(refreshWords);
  await session.rows(analyzeTables);
}
