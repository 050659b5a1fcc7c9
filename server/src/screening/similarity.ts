import { compareAbjad } from './abjad.ts';
import type { NameWord } from './names.ts';
import { abjadOnly, compareLetters, compareWords, wordSimilarityMin } from './word-similarity.ts';

/**
 * Which words of two names match: words are paired in any position, each with at most one word of the
 * other name, or with words that are written as one.
 */

const joinedSimilarityMin = 0.92;

/** Adjacent words that may be written as one; `first` is the index of the first. */
export type Span = {
  readonly first: number;
  readonly count: number;
  readonly text: string;
  readonly abjad?: string;
  readonly hasSyllables: boolean;
};
export type Pair = { readonly left: Span; readonly right: Span; readonly similarity: number };

function listPairs(left: readonly NameWord[], right: readonly NameWord[]): Pair[] {
  const pairs: Pair[] = [];
  for (const [first, word] of left.entries()) {
    for (const [other, listed] of right.entries()) {
      const similarity = compareWords(word, listed);
      if (similarity < wordSimilarityMin) continue;
      pairs.push({
        left: { first, count: 1, text: word.text, hasSyllables: false },
        right: { first: other, count: 1, text: listed.text, hasSyllables: false },
        similarity,
      });
    }
  }
  const joined = (words: readonly NameWord[]): Span[] => listSpans(words, 2);
  const single = (words: readonly NameWord[]): Span[] => listSpans(words, 1);
  addJoined(pairs, joined(left), [...single(right), ...joined(right)]);
  addJoined(pairs, single(left), joined(right));
  return pairs;
}

/** Adjacent words joined, with an article between them: `abd al latif`. */
function listSpans(words: readonly NameWord[], countMin: 1 | 2): Span[] {
  const spanOf = (first: number, count: number): Span => {
    const own = words.slice(first, first + count);
    const text = own.map((word) => word.text).join('');
    const abjad = own.map((word) => word.abjad ?? word.text).join('');
    const hasSyllables = own.some(({ isSyllable }) => isSyllable === true);
    const isAbjad = own.some((word) => word.abjad !== undefined);
    return { first, count, text, hasSyllables, ...(isAbjad ? { abjad } : {}) };
  };
  if (countMin === 1) return words.map((_, first) => spanOf(first, 1));
  const spans: Span[] = [];
  for (let first = 0; first + 1 < words.length; first += 1) {
    // An article belongs to the word after it: "Hernan de" does not resemble "Hernandez".
    if (words[first + 1]?.kind !== 'particle') spans.push(spanOf(first, 2));
    else if (first + 2 < words.length) spans.push(spanOf(first, 3));
  }
  return spans;
}

const joinedLengthMin = 5;

function addJoined(pairs: Pair[], lefts: readonly Span[], rights: readonly Span[]): void {
  for (const left of lefts) {
    for (const right of rights) {
      // Numbers alone, because most pairs end here.
      const short = Math.min(left.text.length, right.text.length);
      const long = Math.max(left.text.length, right.text.length);
      const isNear = long - short <= 2 || (left.abjad !== undefined && long <= 2 * short + 1);
      if (short < joinedLengthMin || !isNear) continue;
      const similarity = compareSpans(left, right);
      if (similarity >= joinedSimilarityMin) pairs.push({ left, right, similarity });
    }
  }
}

function compareSpans(left: Span, right: Span): number {
  if (left.abjad !== undefined) return compareAbjad(left.abjad, right.text) * abjadOnly;
  if (right.abjad !== undefined) return compareAbjad(right.abjad, left.text) * abjadOnly;
  // Syllables have no typing errors.
  if (left.hasSyllables) return left.text === right.text ? 1 : 0;
  return compareLetters(left.text, right.text);
}

/** The words of two names that match, each word once. */
export function pairWords(left: readonly NameWord[], right: readonly NameWord[]): Pair[] {
  return choosePairs(listPairs(left, right));
}

/** The most similar first, each word once; of equals the pair of fewer words, then the earlier one. */
function choosePairs(pairs: readonly Pair[]): Pair[] {
  const inOrder = pairs.toSorted(
    (a, b) =>
      b.similarity - a.similarity ||
      a.left.count + a.right.count - b.left.count - b.right.count ||
      a.left.first + a.right.first - b.left.first - b.right.first,
  );
  const chosen: Pair[] = [];
  for (const pair of inOrder) {
    const isFree = chosen.every(
      (other) => !overlap(pair.left, other.left) && !overlap(pair.right, other.right),
    );
    if (isFree) chosen.push(pair);
  }
  return chosen;
}

function overlap(one: Span, other: Span): boolean {
  return one.first < other.first + other.count && other.first < one.first + one.count;
}
