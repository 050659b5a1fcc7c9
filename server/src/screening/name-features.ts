import type { NameWord } from './names.ts';
import { type Pair, pairWords, type Span } from './similarity.ts';
import { compareWords, wordSimilarityMin } from './word-similarity.ts';

/**
 * What is measured of a searched and a listed name. Words weigh by their information, the negative
 * logarithm of their frequency among the listed names (inverse document frequency; Fellegi and Sunter,
 * "A Theory for Record Linkage", 1969, weigh agreements in the same way).
 */

/** A name with the information of each word, in nats. */
export type InformedName = {
  readonly words: readonly NameWord[];
  readonly information: readonly number[];
};

export type NameFeatures = {
  /** Soft TF-IDF cosine of the words (Cohen, Ravikumar and Fienberg, 2003). */
  readonly cosine: number;
  /** Dice coefficient of the letter pairs of both names, their words sorted. */
  readonly bigrams: number;
  /** Share of the searched name that is found among the words of all names of the entry. */
  readonly entryCover: number;
  /** Information of all pairs, in ten nats: the match weight of Fellegi and Sunter. */
  readonly evidence: number;
  /**
   * Information of the searched words without a partner, in ten nats. Its weight is positive, because
   * the shares above already count what is missing, and in an uncommon name it is worth less.
   */
  readonly unpairedSearched: number;
  /** The least similarity of a pair. */
  readonly leastSimilar: number;
  /** More than two words match. */
  readonly isMoreWords: number;
  /** Information of the words other than lines of business and places, where all of them match. */
  readonly distinctive: number;
};

/** Bounds what a line of business or a place says about an organisation, however rare on the lists. */
const meaningInformationMax = 4.5;
/** Of the lists that the model was fitted on; a word of a shorter list is no less informative. */
const listedNamesMin = 31_000;
const particleInformation = 0.5;
const initialInformation = 2;
const otherInitialInformation = 5;
const natsPerUnit = 10;
/** A pair of this similarity says nothing. */
const similarityFloor = 0.75;

/** @param counts the number of listed names with the word, and of all listed names. */
export function informWord(word: NameWord, counts: { word: number; names: number }): number {
  if (word.kind === 'particle') return particleInformation;
  if (word.kind === 'initial') return initialInformation;
  const information = Math.log((Math.max(listedNamesMin, counts.names) + 1) / (counts.word + 1));
  return word.meaning === undefined ? information : Math.min(meaningInformationMax, information);
}

/** @param entryWords the distinct words of all names of the listed name's entry. */
export function measureNames(
  searchedName: InformedName,
  listedName: InformedName,
  entryWords: readonly NameWord[],
): NameFeatures {
  const pairs = pairWords(searchedName.words, listedName.words);
  const searched = weighInitials(searchedName, pairs.map(leftOf));
  const listed = weighInitials(listedName, pairs.map(rightOf));
  const significant = pairs.filter(
    ({ left, right }) =>
      hasWord(searched, left, isSignificant) && hasWord(listed, right, isSignificant),
  );
  const wordCount = sum(significant.map(({ left, right }) => Math.max(left.count, right.count)));
  const evidence = significant.map((pair) =>
    evidenceOf(pair, [inform(searched, pair.left), inform(listed, pair.right)]),
  );
  return {
    cosine: measureCosine(searched, listed, pairs),
    bigrams: compareBigrams(sortWords(searched.words), sortWords(listed.words)),
    entryCover: measureEntryCover(searched, pairs, entryWords),
    evidence: sum(evidence) / natsPerUnit,
    unpairedSearched: informUnpaired(searched, pairs) / natsPerUnit,
    leastSimilar:
      significant.length === 0
        ? similarityFloor
        : Math.min(...significant.map(({ similarity }) => similarity)),
    isMoreWords: wordCount > 2 ? 1 : 0,
    distinctive: measureDistinctive(searched, listed, pairs),
  };
}

/** An initial that stands for no word of the other name contradicts it, as another name would. */
function weighInitials(name: InformedName, paired: readonly Span[]): InformedName {
  if (name.words.every(({ kind }) => kind !== 'initial')) return name;
  const information = name.information.map((given, index) => {
    const isPaired = paired.some(({ first, count }) => first <= index && index < first + count);
    return name.words[index]?.kind === 'initial' && !isPaired ? otherInitialInformation : given;
  });
  return { words: name.words, information };
}

type SideOf = (pair: Pair) => Span;
const leftOf: SideOf = ({ left }) => left;
const rightOf: SideOf = ({ right }) => right;

function isSignificant({ kind }: NameWord): boolean {
  return kind === 'word';
}

function isDistinctive({ kind, meaning }: NameWord): boolean {
  return kind === 'word' && meaning === undefined;
}

function hasWord(name: InformedName, span: Span, is: (word: NameWord) => boolean): boolean {
  return name.words.slice(span.first, span.first + span.count).some(is);
}

/** The information of the words of a span that are of a kind. */
function inform(
  name: InformedName,
  span: Span,
  is: (word: NameWord) => boolean = () => true,
): number {
  let total = 0;
  for (let index = span.first; index < span.first + span.count; index += 1) {
    const word = name.words[index];
    if (word !== undefined && is(word)) total += name.information[index] ?? 0;
  }
  return total;
}

function informUnpaired(name: InformedName, pairs: readonly Pair[]): number {
  const paired = sum(pairs.map((pair) => inform(name, pair.left) * pair.similarity ** 2));
  return Math.max(0, sum(name.information) - paired);
}

function evidenceOf({ similarity }: Pair, information: readonly number[]): number {
  const share = Math.max(0, (similarity - similarityFloor) / (1 - similarityFloor));
  return Math.min(...information) * share;
}

/** The share of the information of a name's distinctive words that is matched. */
function coverOf(name: InformedName, pairs: readonly Pair[], sideOf: SideOf): number {
  const is = isDistinctive;
  const total = inform(name, wholeOf(name), is);
  const matched = sum(pairs.map((pair) => inform(name, sideOf(pair), is) * pair.similarity ** 2));
  return total === 0 ? 0 : matched / total;
}

function wholeOf({ words }: InformedName): Span {
  return { first: 0, count: words.length, text: '', hasSyllables: false };
}

function measureCosine(
  searched: InformedName,
  listed: InformedName,
  pairs: readonly Pair[],
): number {
  const products = pairs.map(
    ({ left, right, similarity }) =>
      Math.min(inform(searched, left), inform(listed, right)) ** 2 * similarity,
  );
  const lengths = lengthOf(searched.information) * lengthOf(listed.information);
  return lengths === 0 ? 0 : sum(products) / lengths;
}

function lengthOf(values: readonly number[]): number {
  return Math.sqrt(sum(values.map((value) => value ** 2)));
}

function measureEntryCover(
  searched: InformedName,
  pairs: readonly Pair[],
  entryWords: readonly NameWord[],
): number {
  const total = sum(searched.information);
  const found = searched.words.map((word, index) => {
    const pair = pairs.find(({ left }) => left.first <= index && index < left.first + left.count);
    let best = pair?.similarity ?? 0;
    if (word.kind !== 'initial' && best < 1) {
      for (const other of entryWords) {
        const similarity = compareWords(word, other);
        if (similarity >= wordSimilarityMin && similarity > best) best = similarity;
      }
    }
    return best ** 2 * (searched.information[index] ?? 0);
  });
  return total === 0 ? 0 : sum(found) / total;
}

function measureDistinctive(
  searched: InformedName,
  listed: InformedName,
  pairs: readonly Pair[],
): number {
  const cover = Math.min(coverOf(searched, pairs, leftOf), coverOf(listed, pairs, rightOf));
  const evidence = pairs.map((pair) => {
    const information = [
      inform(searched, pair.left, isDistinctive),
      inform(listed, pair.right, isDistinctive),
    ];
    return evidenceOf(pair, information);
  });
  return (cover * sum(evidence)) / natsPerUnit;
}

/** The words that matter, in simplified spelling and alphabetic order. */
function sortWords(words: readonly NameWord[]): string {
  return words
    .filter(({ kind }) => kind !== 'particle')
    .map(({ plain }) => plain)
    .toSorted()
    .join(' ');
}

function compareBigrams(left: string, right: string): number {
  const counts = new Map<string, number>();
  for (const pair of listBigrams(left)) counts.set(pair, (counts.get(pair) ?? 0) + 1);
  let shared = 0;
  for (const pair of listBigrams(right)) {
    const count = counts.get(pair) ?? 0;
    if (count === 0) continue;
    shared += 1;
    counts.set(pair, count - 1);
  }
  return (2 * shared) / (left.length + 1 + right.length + 1);
}

function listBigrams(text: string): string[] {
  const padded = ` ${text} `;
  const pairs: string[] = [];
  for (let index = 0; index + 1 < padded.length; index += 1) {
    pairs.push(padded.slice(index, index + 2));
  }
  return pairs;
}

function sum(values: readonly number[]): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}
