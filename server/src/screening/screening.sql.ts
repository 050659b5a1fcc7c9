import { z } from 'zod';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';
import type { ListVersion } from './hit.ts';
import { dateOfBirth, entryKinds, nameQualities } from './list-entry.ts';
import type { ListedWord } from './word-index.ts';

/** The SQL of lists and of searches in them; that of their results is in `records.sql.ts`. */

const selectVersions = defineQuery({
  name: 'screening_select_versions',
  text: `
    select v.list, v.sequence, v.version, v.imported_at, l.checked_at,
      v.published_at, v.entry_count, v.name_count, v.reader
    from screening_lists l
    join screening_versions v on v.list = l.list and v.sequence = l.sequence
    order by v.list`,
  columns: {
    list: column.text,
    sequence: column.integer,
    version: column.text,
    imported_at: column.instant,
    checked_at: column.instant,
    published_at: nullable(column.instant),
    entry_count: column.integer,
    name_count: column.integer,
    reader: column.integer,
  },
});

/** The lists in force, as `describeVersions` writes them. */
const describedLists = `
      (
        select string_agg(concat_ws(' ', l.list, l.sequence, v.version), E'\\n' order by l.list)
        from screening_lists l
        join screening_versions v on v.list = l.list and v.sequence = l.sequence
      )`;

/** All words in one text, because tens of thousands of rows take the driver many times as long. */
const selectWords = defineQuery({
  name: 'screening_select_words',
  text: `
    select
      coalesce(string_agg(concat_ws(' ', word, skeleton, name_count, spelling_count), E'\\n'), '')
        as words,
      coalesce(${describedLists}, '') as lists
    from screening_words`,
  columns: { words: column.text, lists: column.text },
});

const candidateColumns = {
  ordinal: column.integer,
  list: column.text,
  entry_id: column.text,
  /** The name that was found. */
  text: column.text,
  quality: column.oneOf(...nameQualities),
  words: column.text,
  /** The primary name of the entry. */
  name: column.text,
  kind: column.oneOf(...entryKinds),
  births: column.json(z.array(dateOfBirth)),
  countries: column.text,
  /** The distinct words of all names of the entry. */
  entry_words: column.text,
  programmes: column.json(z.array(z.string())),
  content_hash: column.bytes,
  /** The lists in force, as `describeVersions` writes them: the row is of these. */
  lists: column.text,
};
export type CandidateRow = RowOf<typeof candidateColumns>;

/**
 * For each searched name ($1: its ordinal) the listed names that share the most weight ($4) of words
 * with it; of equals the shortest, which it covers best.
 */
const selectCandidates = defineQuery({
  name: 'screening_select_candidates',
  text: `
    with searched as (
      select ordinal, given, listed, weight
      from unnest($1::integer[], $2::text[], $3::text[], $4::real[])
        as s (ordinal, given, listed, weight)
    ), found as (
      select searched.ordinal, searched.given, posting.name_id, posting.length,
        max(searched.weight) as weight
      from searched
      join screening_words w on w.word = searched.listed
      cross join lateral unnest(w.name_ids, w.lengths) as posting (name_id, length)
      group by searched.ordinal, searched.given, posting.name_id, posting.length
    ), ranked as (
      select ordinal, name_id,
        row_number() over (
          partition by ordinal order by sum(weight) desc, length, name_id
        ) as place
      from found
      group by ordinal, name_id, length
    )
    select ranked.ordinal, n.list, n.entry_id, n.text, n.quality, n.words,
      e.name, e.kind, e.births, e.countries, e.words as entry_words, e.programmes,
      e.content_hash, ${describedLists} as lists
    from ranked
    join screening_names n on n.id = ranked.name_id
    join screening_entries e on e.list = n.list and e.entry_id = n.entry_id
      and e.from_sequence = n.from_sequence
    where ranked.place <= $5
    order by ranked.ordinal, ranked.place`,
  columns: candidateColumns,
});

export type SearchedWord = { ordinal: number; given: string; listed: string; weight: number };

export async function readVersions(session: Session): Promise<ListVersion[]> {
  const rows = await many(session, selectVersions);
  return rows.map((row) => ({
    list: row.list,
    sequence: row.sequence,
    version: row.version,
    importedAtMs: row.imported_at.getTime(),
    checkedAtMs: row.checked_at.getTime(),
    publishedAtMs: row.published_at?.getTime() ?? null,
    entryCount: row.entry_count,
    nameCount: row.name_count,
    reader: row.reader,
  }));
}

export function describeVersions(versions: readonly ListVersion[]): string {
  return versions.map(({ list, sequence, version }) => `${list} ${sequence} ${version}`).join('\n');
}

export async function readListedWords(
  session: Session,
): Promise<{ words: ListedWord[]; lists: string }> {
  const { words, lists } = await one(session, selectWords);
  const lines = words === '' ? [] : words.split('\n');
  return { words: lines.map(readListedWord), lists };
}

function readListedWord(line: string): ListedWord {
  const [text = '', skeleton = '', nameCount, spellingCount] = line.split(' ');
  return { text, skeleton, nameCount: Number(nameCount), spellingCount: Number(spellingCount) };
}

export function findCandidates(
  session: Session,
  searched: readonly SearchedWord[],
  countMax: number,
): Promise<CandidateRow[]> {
  return many(session, selectCandidates, [
    searched.map(({ ordinal }) => ordinal),
    searched.map(({ given }) => given),
    searched.map(({ listed }) => listed),
    searched.map(({ weight }) => weight),
    countMax,
  ]);
}
