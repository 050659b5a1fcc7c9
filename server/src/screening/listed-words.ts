import type { Session } from '../db/postgres/pool.ts';
import { listNameForms } from './given-names.ts';
import type { ListsInForce } from './hit.ts';
import { type NameWord, readWord } from './names.ts';
import { readAsKind } from './organisation-words.ts';
import { type CandidateRow, describeVersions, readListedWords } from './screening.sql.ts';
import { createWordIndex, type ListedWord, type WordIndex } from './word-index.ts';
import { compareWords, sameGivenName, wordSimilarityMin } from './word-similarity.ts';

/** The words of the lists in force, and which of them may be spellings of searched words. */

export type Spelling = {
  readonly listed: string;
  readonly similarity: number;
  readonly nameCount: number;
};

export type ListedWords = {
  /** The versions of which they are, as `describeVersions` writes them. */
  readonly lists: string;
  /** The listed words that may be spellings of the word, the most similar first. */
  findSpellings(word: NameWord): readonly Spelling[];
  /** The number of listed names that have the word in any spelling. */
  countOf(word: NameWord): number;
  /** The words of a listed name, as its kind reads them. */
  readName(texts: string, kind: CandidateRow['kind']): readonly NameWord[];
};

/** What a process keeps of the lists: shared by all who search, it saves most of the work. */
export type ScreeningCache = {
  /** The lists in force when they were read last. */
  lists: ListsInForce | undefined;
  words: ListedWords | undefined;
  /** The newest index, from the beginning of its building on: those who come meanwhile share it. */
  building: { readonly lists: string; readonly words: Promise<ListedWords> } | undefined;
};

export const createScreeningCache = (): ScreeningCache => ({
  lists: undefined,
  words: undefined,
  building: undefined,
});

/** Those of the cache, or as they are now if these are of other lists. */
export async function openListedWords(
  session: Session,
  cache: ScreeningCache,
  lists: ListsInForce,
): Promise<ListedWords> {
  const known = cache.words;
  if (known?.lists === describeVersions(lists.versions)) return known;
  const read = await readListedWords(session);
  if (cache.building?.lists !== read.lists) {
    const words = createWordIndex(read.words).then((index) => createListedWords(index, read.lists));
    cache.building = { lists: read.lists, words };
  }
  cache.words = await cache.building.words;
  return cache.words;
}

/** Spellings of one word that are searched. */
const spellingsMax = 40;
/** Words are personal data, so that they are bounded and end with the process. */
const searchedWordsMax = 20_000;
/** Names of lists, and the words of all names of an entry: each once. */
const readNamesMax = 100_000;
/** Too many names share a shorter skeleton. */
const skeletonLengthMin = 4;

function createListedWords(index: WordIndex, lists: string): ListedWords {
  const spellings = new Map<string, readonly Spelling[]>();
  const words = new Map<string, NameWord>();
  const names = new Map<string, readonly NameWord[]>();
  const read = (text: string): NameWord => keep(words, text, () => readWord(text));
  const search = (word: NameWord): Spelling[] => {
    const found = index.findSimilar(word).flatMap((listed) => {
      const similarity = compareForSearch(word, read(listed.text));
      return similarity < wordSimilarityMin ? [] : [describe(listed, similarity)];
    });
    const forms = listNameForms(word.text)
      .filter((form) => !found.some(({ listed }) => listed === form))
      .flatMap((form) => index.find(form) ?? []);
    return [...found, ...forms.map((form) => describe(form, sameGivenName))]
      .toSorted((a, b) => b.similarity - a.similarity || (a.listed < b.listed ? -1 : 1))
      .slice(0, spellingsMax);
  };
  return {
    lists,
    findSpellings: (word) => {
      if (spellings.size > searchedWordsMax) spellings.clear();
      return keep(spellings, word.text, () => search(word));
    },
    countOf: ({ text, skeleton }) => {
      const own = index.find(text);
      if (own !== undefined) return own.spellingCount;
      if (skeleton.length < skeletonLengthMin) return 0;
      return index.findSkeleton(skeleton)[0]?.spellingCount ?? 0;
    },
    readName: (texts, kind) => {
      if (names.size > readNamesMax) names.clear();
      return keep(names, `${kind} ${texts}`, () => readAsKind(texts.split(' ').map(read), kind));
    },
  };
}

function keep<Value>(known: Map<string, Value>, key: string, find: () => Value): Value {
  const present = known.get(key);
  if (present !== undefined) return present;
  const found = find();
  known.set(key, found);
  return found;
}

const describe = ({ text, nameCount }: ListedWord, similarity: number): Spelling => ({
  listed: text,
  similarity,
  nameCount,
});

const partLengthMin = 4;

/** A word may begin or end a longer one, because names are joined or split in writing. */
function compareForSearch(given: NameWord, listed: NameWord): number {
  const isShorter = given.text.length <= listed.text.length;
  const [short, long] = isShorter ? [given.text, listed.text] : [listed.text, given.text];
  const isPart = short.length >= partLengthMin && (long.startsWith(short) || long.endsWith(short));
  const similarity = compareWords(given, listed);
  return isPart ? Math.max(similarity, wordSimilarityMin) : similarity;
}
