import { createHash } from 'node:crypto';
import type { Session } from '../db/postgres/pool.ts';
import { type Hit, type ListsInForce, nameReview, type ScreenedPerson } from './hit.ts';
import { parserVersion } from './lists.ts';
import { matchName } from './match-name.ts';
import { type NameWord, readWords, restoreWord } from './names.ts';
import { findObfuscations, type Obfuscation, readObfuscatedName } from './obfuscated-names.ts';
import {
  type CandidateRow,
  countWords,
  findCandidates,
  findSimilarWords,
  readVersions,
  type SearchedWord,
} from './screening.sql.ts';
import { compareWords, wordSimilarityMin } from './similarity.ts';

export type { Hit, ListsInForce, ListVersion, ScreenedPerson } from './hit.ts';
export { findListFault, importLists, type ListReport, type ListSource } from './lists.ts';

/**
 * Screens names against the sanctions lists in force: PostgreSQL finds the listed names that share
 * words, or spellings of words, with the searched name (trigrams and skeletons); those are then
 * compared as a whole. Scores are thousandths. `records.ts` stores the results.
 */

export type Screening = {
  readonly lists: ListsInForce;
  /** At or above the threshold, one per entry, the highest score first. */
  readonly hits: readonly Hit[];
  readonly isHit: boolean;
  /** The score of the best candidate, hit or not; 0 without candidates. */
  readonly topScorePermille: number;
};

export type ScreeningOptions = {
  /** The least score of a hit; see README.md for how the default was found. */
  readonly thresholdPermille?: number;
  /** Shared in a process, it saves most of the search, because most words of names are common. */
  readonly cache?: SpellingCache;
};

/** The spellings of searched words, valid while the lists stay the same. */
export type SpellingCache = { fingerprint: Buffer; readonly spellings: Map<string, Spelling[]> };

export function createSpellingCache(): SpellingCache {
  return { fingerprint: Buffer.alloc(0), spellings: new Map() };
}

export const defaultThresholdPermille = 870;
/**
 * Names of banks consist of a few common words ("Commercial International Bank" matches a listed one
 * at 883), and all recipients at a bank share its name; listed banks score 980 and above.
 */
const bankNameScoreMin = 950;

/** Listed names that are compared as a whole, for each searched name. */
const candidatesMax = 40;
/** Spellings of one word that are searched, the most similar first. */
const spellingsMax = 40;
const hitsMax = 20;
/** Names searched by one statement. */
const portionNames = 250;
const triesMax = 3;

export async function readListsInForce(session: Session): Promise<ListsInForce> {
  const versions = await readVersions(session);
  const hash = createHash('sha256');
  for (const { list, sequence, version } of versions)
    hash.update(`${list} ${sequence} ${version}\n`);
  return { versions, fingerprint: hash.digest() };
}

/**
 * The reasons why the lists in force must not be relied on: one is missing, or its source was not
 * read for longer than `ageMsMax`. `nowMs` is real time, as imports are.
 */
export function findListFaults(
  { versions }: ListsInForce,
  wanted: { lists: readonly string[]; ageMsMax: number },
  nowMs: number,
): string[] {
  return wanted.lists.flatMap((list) => {
    const version = versions.find((one) => one.list === list);
    if (version === undefined) return [`the list ${list} was never imported`];
    const isOld = nowMs - version.checkedAtMs > wanted.ageMsMax;
    const last = new Date(version.checkedAtMs).toISOString();
    if (version.reader < parserVersion) {
      return [`the list ${list} was imported by an earlier release and must be imported again`];
    }
    return isOld ? [`the list ${list} was last read at ${last}`] : [];
  });
}

/** Screens many persons in a few statements. @returns The results in their order. */
export async function screenPersons(
  session: Session,
  persons: readonly ScreenedPerson[],
  options: ScreeningOptions = {},
): Promise<Screening[]> {
  const names = persons.flatMap(listNames);
  let lists = await readListsInForce(session);
  for (let tries = 1; ; tries += 1) {
    const cache = prepareCache(options.cache ?? createSpellingCache(), lists);
    const found = await findHits(session, { names, persons, lists, cache });
    const after = await readListsInForce(session);
    // Results found while a list changed belong to neither version.
    if (after.fingerprint.equals(lists.fingerprint) || tries === triesMax) {
      const threshold = options.thresholdPermille ?? defaultThresholdPermille;
      return persons.map((person, index) =>
        conclude(lists, [...(found[index] ?? []), ...listReviews(person)], threshold),
      );
    }
    lists = after;
  }
}

function conclude(lists: ListsInForce, found: readonly Hit[], threshold: number): Screening {
  const best = new Map<string, Hit>();
  for (const hit of found) {
    const least = hit.matchedOn.field === 'BankName' ? bankNameScoreMin : 0;
    if (hit.scorePermille < Math.max(threshold, least)) continue;
    const key = `${hit.list} ${hit.entryId}`;
    if ((best.get(key)?.scorePermille ?? -1) < hit.scorePermille) best.set(key, hit);
  }
  const ranked = [...best.values()].toSorted(
    (a, b) =>
      b.scorePermille - a.scorePermille ||
      a.list.localeCompare(b.list, 'en') ||
      a.entryId.localeCompare(b.entryId, 'en'),
  );
  const hits = ranked.slice(0, hitsMax);
  const topScorePermille = Math.max(0, ...found.map(({ scorePermille }) => scorePermille));
  return { lists, hits, isHit: hits.length > 0, topScorePermille };
}

type SearchedName = {
  readonly personIndex: number;
  readonly field: Hit['matchedOn']['field'];
  readonly words: readonly NameWord[];
};

type GivenName = {
  readonly field: Hit['matchedOn']['field'];
  readonly text: string;
  readonly isCompany: boolean;
};

function listGivenNames(person: ScreenedPerson): GivenName[] {
  const { firstName, middleName, lastName, businessName, otherNames = [] } = person;
  const personName = `${firstName} ${middleName} ${lastName}`;
  return [
    { field: 'person_name', text: personName, isCompany: false },
    { field: 'business_name', text: businessName, isCompany: true },
    ...otherNames,
  ];
}

/** Each name as it is written, and as it reads where letters are obfuscated. */
function listNames(person: ScreenedPerson, personIndex: number): SearchedName[] {
  return listGivenNames(person).flatMap(({ field, text }) =>
    [text, ...readObfuscatedName(text)]
      .map((variant) => ({ personIndex, field, words: readWords(variant) }))
      .filter(({ words }) => words.length > 0),
  );
}

const obfuscationTexts: Readonly<Record<Obfuscation, string>> = {
  mixed_scripts: 'a word of the name mixes scripts',
  digits_in_word: 'a word of the name contains digits',
};

/** Hits that need a review whatever the lists contain. */
function listReviews(person: ScreenedPerson): Hit[] {
  return listGivenNames(person).flatMap(({ field, text, isCompany }) =>
    findObfuscations(text, isCompany).map((obfuscation) => ({
      list: nameReview,
      entryId: obfuscation,
      name: obfuscationTexts[obfuscation],
      kind: isCompany ? 'organisation' : 'person',
      programmes: [],
      scorePermille: 1000,
      matchedOn: {
        field,
        listedName: '',
        quality: 'primary',
        dateOfBirth: 'unknown',
        country: 'unknown',
      },
    })),
  );
}

/** The names of a search and the lists. */
type Task = {
  readonly names: readonly SearchedName[];
  readonly persons: readonly ScreenedPerson[];
  readonly lists: ListsInForce;
  readonly cache: SpellingCache;
};

/** The candidates for each person, by index, with scores of any height. */
async function findHits(session: Session, task: Task): Promise<Hit[][]> {
  const { names, persons } = task;
  const hits: Hit[][] = persons.map(() => []);
  for (let from = 0; from < names.length; from += portionNames) {
    const portion = names.slice(from, from + portionNames);
    const { candidates, weightOf, wordOf } = await search(session, portion, task);
    for (const row of candidates) {
      const name = portion[row.ordinal - 1];
      const person = name === undefined ? undefined : persons[name.personIndex];
      if (name === undefined || person === undefined) continue;
      hits[name.personIndex]?.push(matchName(row, { name, person, weightOf, wordOf }));
    }
  }
  return hits;
}

type SearchResult = {
  candidates: readonly CandidateRow[];
  /** The weight of a word, 0 to 1: the rarer on the lists, the higher. */
  weightOf: (word: NameWord) => number;
  /** A stored word, cached because candidates share many words. */
  wordOf: (text: string, skeleton: string) => NameWord;
};

async function search(
  session: Session,
  names: readonly SearchedName[],
  { lists, cache }: Task,
): Promise<SearchResult> {
  const words = new Map<string, NameWord>();
  for (const word of names.flatMap((name) => name.words)) words.set(word.text, word);
  const searchedWords = [...words.values()].filter(({ kind }) => kind === 'word');
  const similar = await findSpellings(session, searchedWords, cache);
  const nameCount = lists.versions.reduce((sum, list) => sum + list.nameCount, 0);
  const searched = names.flatMap((name, index) =>
    listSearchedWords(name.words, index + 1, { similar, nameCount }),
  );
  const candidates = await findCandidates(session, searched, candidatesMax);
  const listed = candidates.flatMap((row) => row.words.split(' '));
  const counts = await countWords(session, [...words.values()], listed);
  const countOf = ({ text, skeleton }: NameWord): number =>
    counts.get(text) ?? counts.get(`/${skeleton}`) ?? 0;
  const seen = new Map<string, NameWord>();
  const wordOf = (text: string, skeleton: string): NameWord => {
    const word = seen.get(text) ?? restoreWord(text, skeleton);
    seen.set(text, word);
    return word;
  };
  const weightOf = (word: NameWord): number => weigh(word.kind, countOf(word), nameCount);
  return { candidates, wordOf, weightOf };
}

type Spelling = { listed: string; similarity: number; nameCount: number };

/** Words are personal data, so the cache is bounded and ends with the process. */
const cachedWordsMax = 20_000;

function prepareCache(cache: SpellingCache, lists: ListsInForce): SpellingCache {
  const isSame = cache.fingerprint.equals(lists.fingerprint);
  if (!isSame || cache.spellings.size > cachedWordsMax) cache.spellings.clear();
  if (!isSame) cache.fingerprint = lists.fingerprint;
  return cache;
}

/** For each word the listed words that may be spellings of it. */
async function findSpellings(
  session: Session,
  words: readonly NameWord[],
  cache: SpellingCache,
): Promise<ReadonlyMap<string, Spelling[]>> {
  const { fingerprint } = cache;
  const known = words.map(({ text }) => [text, cache.spellings.get(text)] as const);
  const found = new Map(known.map(([text, spellings]) => [text, spellings ?? []]));
  const byText = new Map(words.map((word) => [word.text, word]));
  const unknown = words.filter((_, index) => known[index]?.[1] === undefined);
  if (unknown.length === 0) return found;
  for (const row of await findSimilarWords(session, unknown)) {
    const given = byText.get(row.given);
    if (given === undefined) continue;
    const similarity = compareForSearch(given, { text: row.listed, skeleton: row.skeleton });
    if (similarity < wordSimilarityMin) continue;
    found.get(row.given)?.push({ listed: row.listed, similarity, nameCount: row.name_count });
  }
  for (const { text } of unknown) {
    const spellings = (found.get(text) ?? [])
      .toSorted((a, b) => b.similarity - a.similarity || (a.listed < b.listed ? -1 : 1))
      .slice(0, spellingsMax);
    found.set(text, spellings);
    // Another call may have replaced the lists meanwhile.
    if (cache.fingerprint === fingerprint) cache.spellings.set(text, spellings);
  }
  return found;
}

const partLengthMin = 4;

/** A word may begin or end a longer one, because names are joined or split in writing. */
function compareForSearch(given: NameWord, listed: { text: string; skeleton: string }): number {
  const [short = '', long = ''] = [given.text, listed.text].toSorted((a, b) => a.length - b.length);
  const isPart = short.length >= partLengthMin && (long.startsWith(short) || long.endsWith(short));
  const similarity = compareWords(given, restoreWord(listed.text, listed.skeleton));
  return isPart ? Math.max(similarity, wordSimilarityMin) : similarity;
}

/**
 * Each spelling is weighted by its similarity, and by how rare the most similar one is. A name with a
 * single significant word is searched by its articles and titles too, unchanged.
 */
function listSearchedWords(
  words: readonly NameWord[],
  ordinal: number,
  found: { similar: ReadonlyMap<string, Spelling[]>; nameCount: number },
): SearchedWord[] {
  const isShort = words.filter(({ kind }) => kind === 'word').length < 2;
  return words.flatMap(({ text, kind }) => {
    if (kind !== 'word') {
      return isShort ? [{ ordinal, given: text, listed: text, weight: weights[kind] }] : [];
    }
    const spellings = found.similar.get(text) ?? [];
    const weight = weigh('word', spellings[0]?.nameCount ?? 0, found.nameCount);
    return spellings.map(({ listed, similarity }) => ({
      ordinal,
      given: text,
      listed,
      weight: similarity * weight,
    }));
  });
}

const weights = { particle: 0.06, initial: 0.3, wordMin: 0.3 } as const;

/** The rarity of a word among the listed names (inverse document frequency), within bounds. */
function weigh(kind: NameWord['kind'], count: number, nameCount: number): number {
  if (kind !== 'word') return weights[kind];
  const rarity = Math.log((nameCount + 1) / (count + 1)) / Math.log(nameCount + 1);
  return Math.max(weights.wordMin, Math.min(1, rarity));
}
