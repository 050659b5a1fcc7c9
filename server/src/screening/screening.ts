import { createHash } from 'node:crypto';
import type { Session } from '../db/postgres/pool.ts';
import {
  type Hit,
  type HitEvidence,
  type ListsInForce,
  nameReview,
  type ScreenedPerson,
} from './hit.ts';
import {
  createScreeningCache,
  type ListedWords,
  openListedWords,
  type ScreeningCache,
} from './listed-words.ts';
import { parserVersion } from './lists.ts';
import { type Match, matchName } from './match-name.ts';
import { type NameWord, readWords } from './names.ts';
import { findObfuscations, type Obfuscation, readObfuscatedName } from './obfuscated-names.ts';
import { asOrganisationWord } from './organisation-words.ts';
import {
  describeVersions,
  findCandidates,
  readVersions,
  type SearchedWord,
} from './screening.sql.ts';

export type { Hit, ListsInForce, ListVersion, ScreenedPerson } from './hit.ts';
export { createScreeningCache, type ScreeningCache } from './listed-words.ts';
export { findListFault, importLists, type ListReport, type ListSource } from './lists.ts';

/**
 * Screens names against the sanctions lists in force: the words of the lists that are spellings of the
 * searched ones are found in memory, the listed names that share most of them by PostgreSQL; those are
 * then compared as a whole. Scores are thousandths. `records.ts` stores the results.
 */

export type Screening = {
  readonly lists: ListsInForce;
  /** At or above the threshold, one per entry, the highest score first. */
  readonly hits: readonly Hit[];
  /** What was compared, for each hit in its order; it holds names of the person. */
  readonly evidence: readonly HitEvidence[];
  readonly isHit: boolean;
  /** The score of the best candidate, hit or not; 0 without candidates. */
  readonly topScorePermille: number;
};

export type ScreeningOptions = {
  /** The least score of a hit; see README.md for how the default was found. */
  readonly thresholdPermille?: number;
  /** Alpha-3 codes; payments that concern one of these are hits. */
  readonly blockedCountries?: readonly string[];
  readonly cache?: ScreeningCache;
};

export const defaultThresholdPermille = 870;
/**
 * Names of banks consist of a few common words ("Commercial International Bank" matches a listed one
 * at 923), and all recipients at a bank share its name; a listed bank scores 999.
 */
const bankNameScoreMin = 980;

/** Listed names that are compared as a whole, for each searched name. */
const candidatesMax = 40;
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
  const cache = options.cache ?? createScreeningCache();
  // Those of the last search will do: if they have changed since, the search is repeated.
  let lists = cache.lists ?? (await readListsInForce(session));
  for (let tries = 1; ; tries += 1) {
    const words = await openListedWords(session, cache, lists);
    const { hits: found, isOfLists } = await findHits(session, { names, persons, lists, words });
    const after = isOfLists ? lists : await readListsInForce(session);
    // Results found while a list changed belong to neither version.
    const isSame = after.fingerprint.equals(lists.fingerprint);
    if (isSame || tries === triesMax) {
      cache.lists = isSame ? after : undefined;
      const threshold = options.thresholdPermille ?? defaultThresholdPermille;
      const used = isSame ? after : lists;
      return persons.map((person, index) =>
        conclude(used, [...(found[index] ?? []), ...listReviews(person)], threshold),
      );
    }
    lists = after;
  }
}

/** All candidates of each person, whatever their score; `bench/screening/` fits the model to them. */
export async function findCandidateMatches(
  session: Session,
  persons: readonly ScreenedPerson[],
  cache: ScreeningCache,
): Promise<Match[][]> {
  const lists = await readListsInForce(session);
  const names = persons.flatMap(listNames);
  const words = await openListedWords(session, cache, lists);
  return (await findHits(session, { names, persons, lists, words })).hits;
}

function conclude(
  lists: ListsInForce,
  found: readonly RankedMatch[],
  threshold: number,
): Screening {
  const best = new Map<string, RankedMatch>();
  for (const match of found) {
    const { hit } = match;
    const least = hit.matchedOn.field === 'BankName' ? bankNameScoreMin : 0;
    if (hit.scorePermille < Math.max(threshold, least)) continue;
    const key = `${hit.list} ${hit.entryId}`;
    if ((best.get(key)?.hit.scorePermille ?? -1) < hit.scorePermille) best.set(key, match);
  }
  const ranked = [...best.values()].toSorted(
    ({ hit: a }, { hit: b }) =>
      b.scorePermille - a.scorePermille ||
      a.list.localeCompare(b.list, 'en') ||
      a.entryId.localeCompare(b.entryId, 'en'),
  );
  const chosen = ranked.slice(0, hitsMax);
  const hits = chosen.map(({ hit }) => hit);
  const evidence = chosen.map(({ explain }) => explain());
  const topScorePermille = Math.max(0, ...found.map(({ hit }) => hit.scorePermille));
  return { lists, hits, evidence, isHit: hits.length > 0, topScorePermille };
}

type SearchedName = {
  readonly personIndex: number;
  readonly field: Hit['matchedOn']['field'];
  readonly text: string;
  readonly words: readonly NameWord[];
  readonly isCompany: boolean;
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
  return listGivenNames(person).flatMap(({ field, text: written, isCompany }) =>
    [written, ...readObfuscatedName(written)]
      .map((text) => ({ personIndex, field, text, words: readWords(text), isCompany }))
      .filter(({ words }) => words.length > 0),
  );
}

const obfuscationTexts: Readonly<Record<Obfuscation, string>> = {
  mixed_scripts: 'a word of the name mixes scripts',
  digits_in_word: 'a word of the name contains digits',
};

/** A hit, with or without a listed name. */
type RankedMatch = Pick<Match, 'hit' | 'explain'>;

/** Hits that need a review whatever the lists contain. */
function listReviews(person: ScreenedPerson): RankedMatch[] {
  return listGivenNames(person).flatMap(({ field, text, isCompany }) =>
    findObfuscations(text, isCompany).map((obfuscation): RankedMatch => {
      const hit = describeReview(field, obfuscation, isCompany);
      const { list, entryId } = hit;
      const explain = () => ({ list, entryId, field, text, words: [], measures: {} });
      return { hit, explain };
    }),
  );
}

function describeReview(
  field: GivenName['field'],
  obfuscation: Obfuscation,
  isCompany: boolean,
): Hit {
  return {
    list: nameReview,
    entryId: obfuscation,
    entryHash: '',
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
  };
}

/** The names of a search and the lists. */
type Task = {
  readonly names: readonly SearchedName[];
  readonly persons: readonly ScreenedPerson[];
  readonly lists: ListsInForce;
  readonly words: ListedWords;
};

/**
 * The candidates for each person, by index, with scores of any height. `isOfLists`: the last statement
 * itself saw the lists of the task, so that they need not be read again.
 */
async function findHits(
  session: Session,
  { names, persons, lists, words }: Task,
): Promise<{ readonly hits: Match[][]; readonly isOfLists: boolean }> {
  let isOfLists = false;
  const hits: Match[][] = persons.map(() => []);
  const versions = new Map(lists.versions.map(({ list, version }) => [list, version]));
  const versionOf = (list: string): string => versions.get(list) ?? '';
  const nameCount = lists.versions.reduce((sum, list) => sum + list.nameCount, 0);
  const described = describeVersions(lists.versions);
  for (let from = 0; from < names.length; from += portionNames) {
    const portion = names.slice(from, from + portionNames);
    const searched = portion.flatMap((name, index) =>
      listSearchedWords(name, index + 1, { words, nameCount }),
    );
    const candidates = await findCandidates(session, searched, candidatesMax);
    isOfLists = words.lists === described && candidates[0]?.lists === described;
    for (const row of candidates) {
      const name = portion[row.ordinal - 1];
      const person = name === undefined ? undefined : persons[name.personIndex];
      if (name === undefined || person === undefined) continue;
      const match = matchName(row, { name, person, words, nameCount, versionOf });
      hits[name.personIndex]?.push(match);
    }
  }
  return { hits, isOfLists };
}

/**
 * Each spelling is weighted by its similarity, and by how rare the most similar one is. A name with a
 * single significant word is searched by its articles and titles too, unchanged.
 */
function listSearchedWords(
  name: SearchedName,
  ordinal: number,
  listed: { words: ListedWords; nameCount: number },
): SearchedWord[] {
  const words = name.isCompany ? name.words.map(asOrganisationWord) : name.words;
  const isShort = words.filter(({ kind }) => kind === 'word').length < 2;
  return words.flatMap((word) => {
    const { text, kind, meaning } = word;
    if (kind !== 'word') {
      return isShort ? [{ ordinal, given: text, listed: text, weight: weights[kind] }] : [];
    }
    const spellings = listed.words.findSpellings(word);
    const rarity = weigh('word', spellings[0]?.nameCount ?? 0, listed.nameCount);
    const weight = meaning === undefined ? rarity : rarity * weights.meaningShare;
    return spellings.map(({ listed: spelling, similarity }) => ({
      ordinal,
      given: text,
      listed: spelling,
      weight: similarity * weight,
    }));
  });
}

/** A line of business or a place finds fewer candidates than a word that distinguishes. */
const weights = { particle: 0.06, initial: 0.3, wordMin: 0.3, meaningShare: 0.4 } as const;

/** The rarity of a word among the listed names (inverse document frequency), within bounds. */
function weigh(kind: NameWord['kind'], count: number, nameCount: number): number {
  if (kind !== 'word') return weights[kind];
  const rarity = Math.log((nameCount + 1) / (count + 1)) / Math.log(nameCount + 1);
  return Math.max(weights.wordMin, Math.min(1, rarity));
}
