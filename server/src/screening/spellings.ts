import type { Session } from '../db/postgres/pool.ts';
import { listNameForms } from './given-names.ts';
import type { ListsInForce } from './hit.ts';
import { type NameWord, readWord } from './names.ts';
import { countWords, findListedWords, findSimilarWords } from './screening.sql.ts';
import { compareWords, sameGivenName, wordSimilarityMin } from './word-similarity.ts';

/** Which words of the lists may be spellings of searched words. */

/** The spellings of searched words, valid while the lists stay the same. */
export type SpellingCache = {
  fingerprint: Buffer;
  /** The lists in force when they were read last. */
  lists: ListsInForce | undefined;
  readonly spellings: Map<string, Spelling[]>;
  /** Words of the lists, by their text. */
  readonly listed: Map<string, NameWord>;
  /** Names of the lists, by their kind and words. */
  readonly names: Map<string, readonly NameWord[]>;
  /** As `countWords` returns them; 0 for a word that is in no name. */
  readonly counts: Map<string, number>;
};

export function createSpellingCache(): SpellingCache {
  return {
    fingerprint: Buffer.alloc(0),
    lists: undefined,
    spellings: new Map(),
    listed: new Map(),
    names: new Map(),
    counts: new Map(),
  };
}

/** Spellings of one word that are searched, the most similar first. */
const spellingsMax = 40;
export type Spelling = { listed: string; similarity: number; nameCount: number };

/** Words are personal data, so the cache is bounded and ends with the process. */
const cachedWordsMax = 20_000;
/** The words of all lists, some 40,000, and searched ones. */
const cachedCountsMax = 100_000;
/** Names of lists, and the words of all names of an entry: each once. */
const cachedNamesMax = 100_000;

export function prepareCache(cache: SpellingCache, lists: ListsInForce): SpellingCache {
  const isSame = cache.fingerprint.equals(lists.fingerprint);
  if (!isSame || cache.spellings.size > cachedWordsMax) cache.spellings.clear();
  if (!isSame || cache.counts.size > cachedCountsMax) cache.counts.clear();
  if (!isSame) cache.listed.clear();
  if (!isSame || cache.names.size > cachedNamesMax) cache.names.clear();
  if (!isSame) cache.fingerprint = lists.fingerprint;
  cache.lists = lists;
  return cache;
}

/** A word of the lists; most come again in other searches. */
export function readListedWord(text: string, { listed }: SpellingCache): NameWord {
  const known = listed.get(text);
  if (known !== undefined) return known;
  const word = readWord(text);
  listed.set(text, word);
  return word;
}

/** The number of listed names that have each word; `isFromCache`: no statement was needed. */
export async function findCounts(
  session: Session,
  words: { readonly searched: readonly NameWord[]; readonly listed: readonly string[] },
  cache: SpellingCache,
): Promise<{ readonly counts: ReadonlyMap<string, number>; readonly isFromCache: boolean }> {
  const { fingerprint } = cache;
  // Another call may replace the lists, and empty the cache, meanwhile.
  const known = new Map<string, number>();
  const isUnknown = (key: string): boolean => {
    const count = cache.counts.get(key);
    if (count !== undefined) known.set(key, count);
    return count === undefined;
  };
  const texts = new Set([...words.searched.map(({ text }) => text), ...words.listed]);
  const skeletons = new Set(words.searched.map(({ skeleton }) => skeleton));
  const wanted = {
    texts: [...texts].filter(isUnknown),
    skeletons: [...skeletons].filter((skeleton) => isUnknown(`/${skeleton}`)),
  };
  if (wanted.texts.length + wanted.skeletons.length === 0) {
    return { counts: known, isFromCache: true };
  }
  const counts = await countWords(session, wanted);
  for (const key of [...wanted.texts, ...wanted.skeletons.map((skeleton) => `/${skeleton}`)]) {
    const count = counts.get(key) ?? 0;
    known.set(key, count);
    if (cache.fingerprint === fingerprint) cache.counts.set(key, count);
  }
  return { counts: known, isFromCache: false };
}

/** For each word the listed words that may be spellings of it. */
export async function findSpellings(
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
    const similarity = compareForSearch(given, readListedWord(row.listed, cache));
    if (similarity < wordSimilarityMin) continue;
    found.get(row.given)?.push({ listed: row.listed, similarity, nameCount: row.name_count });
  }
  await addNameForms(session, found, unknown);
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
function compareForSearch(given: NameWord, listed: NameWord): number {
  const isShorter = given.text.length <= listed.text.length;
  const [short, long] = isShorter ? [given.text, listed.text] : [listed.text, given.text];
  const isPart = short.length >= partLengthMin && (long.startsWith(short) || long.endsWith(short));
  const similarity = compareWords(given, listed);
  return isPart ? Math.max(similarity, wordSimilarityMin) : similarity;
}

/** Adds the listed words that are other forms of the same given name. */
async function addNameForms(
  session: Session,
  found: ReadonlyMap<string, Spelling[]>,
  words: readonly NameWord[],
): Promise<void> {
  const forms = words.map(({ text }) => ({ text, others: listNameForms(text) }));
  const wanted = [...new Set(forms.flatMap(({ others }) => others))];
  if (wanted.length === 0) return;
  const rows = await findListedWords(session, wanted);
  for (const { text, others } of forms) {
    const spellings = found.get(text);
    for (const { listed, name_count: nameCount } of rows) {
      const isKnown = spellings?.some((spelling) => spelling.listed === listed) === true;
      if (isKnown || !others.includes(listed)) continue;
      spellings?.push({ listed, similarity: sameGivenName, nameCount });
    }
  }
}
