import type { NameWord } from './names.ts';

/**
 * The similarity of two names: words are paired in any position, each pair counts by the similarity
 * of its words (Jaro-Winkler) and by their weight, and words without a partner reduce it.
 */

/** A name in words, each with its weight between 0 and 1. */
export type WeightedName = {
  readonly words: readonly NameWord[];
  readonly weights: readonly number[];
};

/** Below it two words do not match. */
export const wordSimilarityMin = 0.82;
/** A word and its initial. */
const initialSimilarity = 0.9;
/** How much of the difference equal skeletons remove. */
const skeletonPull = 0.6;
/** Too many names share a shorter skeleton. */
const skeletonLengthMin = 3;
/** Words equal in simplified spelling only, or compared by consonants only. */
const plainOnly = 0.98;
const consonantsOnly = 0.97;
/** Jaro-Winkler rates a short word too similar to a much longer one that begins alike. */
const lengthsApartMax = 2;
const costPerLetterApart = 0.06;
const joinedSimilarityMin = 0.92;
/** The share of the better covered name in the score; the other name has the rest. */
const betterShare = 0.7;
/** The same where only one word matches, of names that have more. */
const betterShareAlone = 0.3;

/** Jaro-Winkler with the usual prefix scale of 0.1 over four letters; 0 to 1. */
export function compareLetters(left: string, right: string): number {
  if (left === right) return 1;
  const jaro = compareJaro(left, right);
  let prefix = 0;
  while (prefix < 4 && prefix < left.length && left[prefix] === right[prefix]) prefix += 1;
  return jaro + prefix * 0.1 * (1 - jaro);
}

function compareJaro(left: string, right: string): number {
  const reach = Math.max(0, Math.floor(Math.max(left.length, right.length) / 2) - 1);
  const isTaken: boolean[] = [];
  const found: string[] = [];
  for (let index = 0; index < left.length; index += 1) {
    const end = Math.min(right.length, index + reach + 1);
    for (let other = Math.max(0, index - reach); other < end; other += 1) {
      if (isTaken[other] === true || left[index] !== right[other]) continue;
      isTaken[other] = true;
      found.push(left[index] ?? '');
      break;
    }
  }
  if (found.length === 0) return 0;
  let moved = 0;
  let place = 0;
  for (let other = 0; other < right.length; other += 1) {
    if (isTaken[other] !== true) continue;
    if (found[place] !== right[other]) moved += 1;
    place += 1;
  }
  const count = found.length;
  return (count / left.length + count / right.length + (count - moved / 2) / count) / 3;
}

/** The similarity of two words, 0 to 1. */
export function compareWords(left: NameWord, right: NameWord): number {
  if (left.text === right.text) return 1;
  if (left.kind === 'initial' || right.kind === 'initial') {
    return left.text[0] === right.text[0] ? initialSimilarity : 0;
  }
  // Numbers, as in the names of brigades and companies, must be equal.
  if (/\d/.test(left.text) || /\d/.test(right.text)) return 0;
  if (isWithoutVowels(left.text) || isWithoutVowels(right.text)) {
    return compareLetters(left.skeleton, right.skeleton) * consonantsOnly;
  }
  const similarity = Math.max(
    compareLetters(left.text, right.text),
    compareLetters(left.plain, right.plain) * plainOnly,
  );
  const isSameSkeleton =
    left.skeleton === right.skeleton && left.skeleton.length >= skeletonLengthMin;
  const pulled = isSameSkeleton ? similarity + (1 - similarity) * skeletonPull : similarity;
  const lengthsApart = Math.abs(left.text.length - right.text.length);
  return pulled - Math.max(0, lengthsApart - lengthsApartMax) * costPerLetterApart;
}

/** As in names from Arabic or Hebrew script, which omits most vowels. */
function isWithoutVowels(text: string): boolean {
  return text.length > 1 && !/[aeiou]/.test(text.slice(1));
}

/** Adjacent words that may be written as one; `first` is the index of the first. */
type Span = { readonly first: number; readonly count: number; readonly text: string };
type Pair = { readonly left: Span; readonly right: Span; readonly similarity: number };

/**
 * The similarity of two names, 0 to 1, symmetric. For each name it computes how much of its weight
 * was matched. The higher share counts most, so that a missing middle name costs little; where only
 * one word of several matches, the lower one does. A pair has the weight of the commoner of its
 * words and counts by the square of its similarity, because Jaro-Winkler leaves little room between
 * a typing error and another name.
 */
export function compareNames(left: WeightedName, right: WeightedName): number {
  const pairs = choosePairs(listPairs(left, right));
  const paired = pairs.map((pair) =>
    Math.min(weightOf(left, pair.left), weightOf(right, pair.right)),
  );
  const matched = sum(pairs.map((pair, index) => (paired[index] ?? 0) * pair.similarity ** 2));
  const whole = sum(paired);
  const cover = (name: WeightedName, sideOf: (pair: Pair) => Span): number => {
    const unpaired = sum(name.weights) - sum(pairs.map((pair) => weightOf(name, sideOf(pair))));
    return matched / (whole + unpaired);
  };
  if (whole === 0) return 0;
  const leftCover = cover(left, (pair) => pair.left);
  const rightCover = cover(right, (pair) => pair.right);
  const [worse, better] =
    leftCover < rightCover ? [leftCover, rightCover] : [rightCover, leftCover];
  const significant = pairs.filter(
    (pair) => isSignificant(left, pair.left) && isSignificant(right, pair.right),
  );
  const words = sum(significant.map((pair) => Math.max(pair.left.count, pair.right.count)));
  const share = words > 1 ? betterShare : betterShareAlone;
  return share * better + (1 - share) * worse;
}

function isSignificant(name: WeightedName, span: Span): boolean {
  return name.words.slice(span.first, span.first + span.count).some(({ kind }) => kind === 'word');
}

function listPairs(left: WeightedName, right: WeightedName): Pair[] {
  const pairs: Pair[] = [];
  for (const [first, word] of left.words.entries()) {
    for (const [other, listed] of right.words.entries()) {
      const similarity = compareWords(word, listed);
      if (similarity < wordSimilarityMin) continue;
      pairs.push({
        left: { first, count: 1, text: word.text },
        right: { first: other, count: 1, text: listed.text },
        similarity,
      });
    }
  }
  const joined = (name: WeightedName): Span[] => listSpans(name.words, 2);
  const single = (name: WeightedName): Span[] => listSpans(name.words, 1);
  addJoined(pairs, joined(left), [...single(right), ...joined(right)]);
  addJoined(pairs, single(left), joined(right));
  return pairs;
}

/** Adjacent words joined, with an article between them: `abd al latif`. */
function listSpans(words: readonly NameWord[], countMin: 1 | 2): Span[] {
  const spanOf = (first: number, count: number): Span => ({
    first,
    count,
    text: words
      .slice(first, first + count)
      .map(({ text }) => text)
      .join(''),
  });
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
      const [short, long] = [left.text.length, right.text.length].toSorted((a, b) => a - b);
      if (short === undefined || long === undefined) continue;
      if (short < joinedLengthMin || long - short > 2) continue;
      const similarity = compareLetters(left.text, right.text);
      if (similarity >= joinedSimilarityMin) pairs.push({ left, right, similarity });
    }
  }
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

function weightOf(name: WeightedName, span: Span): number {
  return sum(name.weights.slice(span.first, span.first + span.count));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
