import type { Session, Statement } from '../db/postgres/pool.ts';
import type { ListVersion } from './hit.ts';
import type { Birth, ListEntry, NameQuality } from './list-entry.ts';

/** The SQL of lists and of the search in them; that of what came of it is in `records.sql.ts`. */

const selectVersions: Statement = {
  name: 'screening_select_versions',
  text: `
    select v.list, v.sequence, v.version, v.imported_at, l.checked_at,
      v.published_at, v.entry_count, v.name_count, v.reader
    from screening_lists l
    join screening_versions v on v.list = l.list and v.sequence = l.sequence
    order by v.list`,
};

const selectSimilarWords: Statement = {
  name: 'screening_select_similar_words',
  text: `
    select given, listed, skeleton, name_count
    from find_similar_words($1::text[], $2::text[])`,
};

/**
 * For each asked name ($1: its ordinal) the names of the lists that share the most weight ($4) of
 * words with it; of equal ones the shortest, which it covers best.
 */
const selectCandidates: Statement = {
  name: 'screening_select_candidates',
  text: `
    with asked as (
      select ordinal, given, listed, weight
      from unnest($1::integer[], $2::text[], $3::text[], $4::real[])
        as a (ordinal, given, listed, weight)
    ), found as (
      select asked.ordinal, asked.given, posting.name_id, posting.length, max(asked.weight) as weight
      from asked
      join screening_words w on w.word = asked.listed
      cross join lateral unnest(w.name_ids, w.lengths) as posting (name_id, length)
      group by asked.ordinal, asked.given, posting.name_id, posting.length
    ), ranked as (
      select ordinal, name_id,
        row_number() over (
          partition by ordinal order by sum(weight) desc, length, name_id
        ) as place
      from found
      group by ordinal, name_id, length
    )
    select ranked.ordinal, n.id, n.list, n.entry_id, n.text, n.quality, n.words, n.skeletons,
      e.name, e.kind, e.births, e.countries, e.programmes
    from ranked
    join screening_names n on n.id = ranked.name_id
    join screening_entries e on e.list = n.list and e.entry_id = n.entry_id
      and e.from_sequence = n.from_sequence
    where ranked.place <= $5
    order by ranked.ordinal, ranked.place`,
};

const selectWordCounts: Statement = {
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
};

export type SimilarWordRow = {
  given: string;
  listed: string;
  skeleton: string;
  name_count: number;
};

export type CandidateRow = {
  ordinal: number;
  id: number;
  list: string;
  entry_id: string;
  /** The name that was found. */
  text: string;
  quality: NameQuality;
  words: string;
  skeletons: string;
  /** The name under which the list has the entry. */
  name: string;
  kind: ListEntry['kind'];
  births: Birth[];
  countries: string;
  programmes: string[];
};

export type AskedWord = { ordinal: number; given: string; listed: string; weight: number };

type VersionRow = {
  list: string;
  sequence: number;
  version: string;
  imported_at: Date;
  checked_at: Date;
  published_at: Date | null;
  entry_count: number;
  name_count: number;
  reader: number;
};

export async function readVersions(session: Session): Promise<ListVersion[]> {
  const rows = await session.rows<VersionRow>(selectVersions);
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

export function findSimilarWords(
  session: Session,
  words: readonly { text: string; skeleton: string }[],
): Promise<SimilarWordRow[]> {
  return session.rows<SimilarWordRow>(selectSimilarWords, [
    words.map(({ text }) => text),
    words.map(({ skeleton }) => skeleton),
  ]);
}

export function findCandidates(
  session: Session,
  asked: readonly AskedWord[],
  countMax: number,
): Promise<CandidateRow[]> {
  return session.rows<CandidateRow>(selectCandidates, [
    asked.map(({ ordinal }) => ordinal),
    asked.map(({ given }) => given),
    asked.map(({ listed }) => listed),
    asked.map(({ weight }) => weight),
    countMax,
  ]);
}

/**
 * In how many names in force each word is, in any spelling; for words asked for that no name has,
 * their skeleton under a slash. Absent where in none.
 */
export async function countWords(
  session: Session,
  asked: readonly { text: string; skeleton: string }[],
  listed: readonly string[],
): Promise<Map<string, number>> {
  const texts = new Set([...asked.map(({ text }) => text), ...listed]);
  const rows = await session.rows<{ text: string; spelling_count: number }>(selectWordCounts, [
    [...texts],
    [...new Set(asked.map(({ skeleton }) => skeleton))],
  ]);
  return new Map(rows.map((row) => [row.text, row.spelling_count]));
}
