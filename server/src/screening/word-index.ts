import { inSlices } from '../core/slices.ts';

/**
 * Finds listed words that are written like a given one: by trigrams, as PostgreSQL's pg_trgm counts
 * them, and by equal skeletons. In memory, because a word takes a tenth of a millisecond here, and
 * more than a millisecond by an index of trigrams in the database.
 */

export type ListedWord = {
  readonly text: string;
  readonly skeleton: string;
  /** The listed names that have it. */
  readonly nameCount: number;
  /** Those that have it in any spelling, where its skeleton is long enough to be compared. */
  readonly spellingCount: number;
};

export type WordIndex = {
  find(text: string): ListedWord | undefined;
  findSkeleton(skeleton: string): readonly ListedWord[];
  /** Words that share so many of all trigrams of both, or the skeleton. */
  findSimilar(word: { readonly text: string; readonly skeleton: string }): readonly ListedWord[];
};

/** One wrong letter in a word of five leaves two of ten trigrams. */
export const trigramShareMin = 0.22;
/** Indexed within a few milliseconds. */
const sliceWords = 500;

export async function createWordIndex(words: readonly ListedWord[]): Promise<WordIndex> {
  const byText = new Map(words.map((word) => [word.text, word]));
  const bySkeleton = Map.groupBy(words, ({ skeleton }) => skeleton);
  const { sizes, postings } = await indexTrigrams(words);
  const shared = new Uint8Array(words.length);
  const findByTrigrams = (text: string): number[] => {
    const trigrams = listTrigrams(text);
    const touched: number[] = [];
    for (const trigram of trigrams) {
      for (const index of postings.get(trigram) ?? []) {
        if (shared[index] === 0) touched.push(index);
        shared[index] = (shared[index] ?? 0) + 1;
      }
    }
    const isSimilar = (index: number): boolean => {
      const both = shared[index] ?? 0;
      return both / (trigrams.size + (sizes[index] ?? 0) - both) >= trigramShareMin;
    };
    const found = touched.filter(isSimilar);
    for (const index of touched) shared[index] = 0;
    return found;
  };
  return {
    find: (text) => byText.get(text),
    findSkeleton: (skeleton) => bySkeleton.get(skeleton) ?? [],
    findSimilar: ({ text, skeleton }) => {
      const byTrigrams = findByTrigrams(text).flatMap((index) => words[index] ?? []);
      return [...new Set([...byTrigrams, ...(bySkeleton.get(skeleton) ?? [])])];
    },
  };
}

/** The number of trigrams of each word, and the words of each trigram. */
async function indexTrigrams(words: readonly ListedWord[]) {
  const sizes = new Uint8Array(words.length);
  const holders = new Map<string, number[]>();
  let index = 0;
  for await (const slice of inSlices(words, sliceWords)) {
    for (const { text } of slice) {
      const trigrams = listTrigrams(text);
      sizes[index] = trigrams.size;
      for (const trigram of trigrams) {
        const known = holders.get(trigram);
        if (known === undefined) holders.set(trigram, [index]);
        else known.push(index);
      }
      index += 1;
    }
  }
  const postings = new Map([...holders].map(([key, found]) => [key, Uint32Array.from(found)]));
  return { sizes, postings };
}

/** Of one word in lower case: two blanks stand before it and one behind it. */
function listTrigrams(text: string): Set<string> {
  const padded = `  ${text} `;
  const trigrams = new Set<string>();
  for (let start = 0; start + 3 <= padded.length; start += 1) {
    trigrams.add(padded.slice(start, start + 3));
  }
  return trigrams;
}
