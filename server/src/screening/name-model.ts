import type { NameFeatures } from './name-features.ts';

/**
 * The score of a listed name: a logistic regression of its features, fitted on one half of the lists'
 * entries and on ordinary names as decision 55 describes. A date of birth and a country move it.
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

type Model = { readonly bias: number } & {
  readonly [Name in keyof NameFeatures | keyof NameCircumstances]: number;
};

/** Fitted; a bias of minus the threshold, so that a name at the threshold has a sum of 0. */
const models: Readonly<Record<'person' | 'organisation', Model>> = {
  person: {
    bias: -22.24,
    cosine: 4.65,
    bigrams: 5.58,
    entryCover: 4.72,
    evidence: 2.27,
    unpairedSearched: 1.61,
    leastSimilar: 7.71,
    isMoreWords: 0.35,
    distinctive: 0,
    isAbjad: 0.4,
    isSyllabic: -1.6,
    isWeak: -1.33,
    isAcronym: -3,
    isOtherKind: -2.07,
  },
  organisation: {
    bias: -12.56,
    cosine: 0,
    bigrams: 6.41,
    entryCover: 5.63,
    evidence: 1.78,
    unpairedSearched: 0.78,
    leastSimilar: 0,
    isMoreWords: 0,
    distinctive: 1.75,
    isAbjad: -1.57,
    isSyllabic: -15.6,
    isWeak: -3,
    isAcronym: -0.38,
    isOtherKind: -2.39,
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
  { shift, isIdentical, isOtherNumber = false }: ScoreOptions,
): number {
  const model = models[kind];
  let sum = model.bias;
  for (const name of featureNames) sum += model[name] * measured[name];
  const logit = thresholdLogit + scale * sum;
  const best = isIdentical ? Math.max(identicalLogit, logit) : logit;
  const total = best + shift + (isOtherNumber ? otherNumberShift : 0);
  return Math.round(1000 / (1 + Math.exp(-total)));
}

const featureNames = [
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
