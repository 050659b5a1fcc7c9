import { z } from 'zod';
import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, type RowOf } from '../db/rows.ts';
import type { ListVersion } from './hit.ts';
import { dateOfBirth, entryKinds, nameQualities } from './list-entry.ts';

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

const similarWordColumns = {
  given: column.text,
  listed: column.text,
  name_count: column.integer,
};
export type SimilarWordRow = RowOf<typeof similarWordColumns>;

const selectSimilarWords = defineQuery({
  name: 'screening_select_similar_words',
  text: `
    select given, listed, name_count
    from find_similar_words($1::text[], $2::text[])`,
  columns: similarWordColumns,
});

const selectListedWords = defineQuery({
  name: 'screening_select_listed_words',
  text: `
    select w.word as listed, w.name_count
    from unnest($1::text[]) as given (word)
    join screening_words w on w.word = given.word`,
  columns: { listed: column.text, name_count: column.integer },
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
      e.content_hash,
      (
        select string_agg(concat_ws(' ', l.list, l.sequence, v.version), E'\\n' order by l.list)
        from screening_lists l
        join screening_versions v on v.list = l.list and v.sequence = l.sequence
      ) as lists
    from ranked
    join screening_names n on n.id = ranked.name_id
    join screening_entries e on e.list = n.list and e.entry_id = n.entry_id
      and e.from_sequence = n.from_sequence
    where ranked.place <= $5
    order by ranked.ordinal, ranked.place`,
  columns: candidateColumns,
});

const selectWordCounts = defineQuery({
  name: 'screening_select_word_counts',
  text: `
    select w.word as text, w.spelling_count
    from unnest($1::text[]) as given (word)
    join screening_words w on w.word = given.word
    union all
    select '/' || given.skeleton, alike.spelling_count
    from unnest($2::text[]) as given (skeleton)
    cross join lateral (
      select w.spelling_count from screening_words w where w.skeleton = given.skeleton limit 1
    ) alike
    where length(given.skeleton) >= 4`,
  columns: { text: column.text, spelling_count: column.integer },
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

export function findSimilarWords(
  session: Session,
  words: readonly { text: string; skeleton: string }[],
): Promise<SimilarWordRow[]> {
  return many(session, selectSimilarWords, [
    words.map(({ text }) => text),
    words.map(({ skeleton }) => skeleton),
  ]);
}

/** Those of the words that the lists have, unchanged. */
export function findListedWords(
  session: Session,
  words: readonly string[],
): Promise<{ listed: string; name_count: number }[]> {
  return many(session, selectListedWords, [words]);
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

/**
 * The number of listed names that have each word in any spelling. A searched word that no name has is
 * counted by its skeleton, under a slash. Words that occur in no name are absent.
 */
export async function countWords(
  session: Session,
  {
    texts,
    skeletons,
  }: { readonly texts: readonly string[]; readonly skeletons: readonly string[] },
): Promise<Map<string, number>> {
  const rows = await many(session, selectWordCounts, [texts, skeletons]);
  return new Map(rows.map((row) => [row.text, row.spelling_count]));
}
