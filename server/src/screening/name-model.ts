import type { NameFeatures } from './name-features.ts';

/**
 * The score of a listed name: a logistic regression of its features, fitted on one half of the lists'
 * entries and on ordinary names as decision 76 describes. A date of birth and a country move it.
 */

/** What else is known of the two names, each 0 or 1. */
export type NameCircumstances = {
  /** The searched name is in Arabic or Hebrew script. */
  readonly isAbjad: number;
  /** The searched name is in Chinese or Korean characters. */
  readonly isSyllabic: number;
  readonly isWeak: number;
  readonly isAcronym: number;
  /** A person's name resembles an organisation's, or the reverse. */
  readonly isOtherKind: number;
};

export type Model = { readonly bias: number } & {
  readonly [Name in keyof NameFeatures | keyof NameCircumstances]: number;
};

/**
 * As `npm run screening -- --fit` prints them; a name at the default threshold has a sum of 0.
 */
export const models: Readonly<Record<'person' | 'organisation', Model>> = {
  person: {
    bias: -11.84,
    cosine: 1.83,
    bigrams: 3.44,
    entryCover: 3.27,
    evidence: 0.83,
    unpairedSearched: 0.77,
    leastSimilar: 3.76,
    isMoreWords: 0.54,
    distinctive: 0.86,
    isAbjad: 0.08,
    isSyllabic: -1.53,
    isWeak: -0.72,
    isAcronym: -0.31,
    isOtherKind: -1.7,
  },
  organisation: {
    bias: -6.98,
    cosine: 0.38,
    bigrams: 3.36,
    entryCover: 2.98,
    evidence: 0.62,
    unpairedSearched: 0.6,
    leastSimilar: 0.39,
    isMoreWords: 0.65,
    distinctive: 0.78,
    isAbjad: -0.51,
    isSyllabic: -4.38,
    isWeak: -0.34,
    isAcronym: -0.16,
    isOtherKind: -2.38,
  },
};

/** Where the score is `thresholdScore`, so that other thresholds are relative to it. */
const thresholdScore = 0.87;
const thresholdLogit = Math.log(thresholdScore / (1 - thresholdScore));
/** Spreads the scores, so that thresholds between 800 and 950 differ. */
const scale = 0.5;
/** Names with equal words. */
const identicalLogit = 7;

/** "Brigade 27" is not "Brigade 28". */
const otherNumberShift = -6;

export type ScoreOptions = {
  /** From the date of birth and the country, see `match-name.ts`. */
  readonly shift: number;
  readonly isIdentical: boolean;
  /** Both names have numbers, and none in common. */
  readonly isOtherNumber?: boolean;
};

/** The score in thousandths. */
export function scoreName(
  kind: 'person' | 'organisation',
  measured: NameFeatures & NameCircumstances,
  options: ScoreOptions,
): number {
  const model = models[kind];
  let sum = model.bias;
  for (const name of featureNames) sum += model[name] * measured[name];
  return scoreSum(sum, options);
}

/** The score, in thousandths, of a name by its weighted measures. */
export function scoreSum(
  sum: number,
  { shift, isIdentical, isOtherNumber = false }: ScoreOptions,
): number {
  const logit = thresholdLogit + scale * sum;
  const best = isIdentical ? Math.max(identicalLogit, logit) : logit;
  const total = best + shift + (isOtherNumber ? otherNumberShift : 0);
  return Math.round(1000 / (1 + Math.exp(-total)));
}

export const featureNames = [
  'cosine',
  'bigrams',
  'entryCover',
  'evidence',
  'unpairedSearched',
  'leastSimilar',
  'isMoreWords',
  'distinctive',
  'isAbjad',
  'isSyllabic',
  'isWeak',
  'isAcronym',
  'isOtherKind',
] as const satisfies readonly (keyof NameFeatures | keyof NameCircumstances)[];
