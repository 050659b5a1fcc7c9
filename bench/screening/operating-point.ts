import { featureNames } from '../../server/src/screening/name-model.ts';
import { defaultThresholdPermille } from '../../server/src/screening/screening.ts';
import type { Answered } from './extract.ts';
import {
  type Cases,
  chooseCases,
  type FeatureSet,
  type FitOptions,
  fitWeights,
  type Kind,
  type Scoring,
  scoreBest,
  type Weights,
} from './fit.ts';
import { isCommonest } from './ordinary.ts';
import { type Asked, groups } from './samples.ts';

/** The threshold of a model: the least one at which few enough ordinary names are held. */

export const heldMax = 0.01;

/** Ordinary names that are counted together, and whether they are asked for by name alone. */
export type Population = {
  readonly name: string;
  readonly isNameAlone: boolean;
  readonly has: (asked: Asked) => boolean;
};

const scripts = [
  'Latin',
  'Cyrillic',
  'Arabic',
  'Hebrew',
  'Han',
  'Japanese',
  'Hangul',
  'Greek',
  'Georgian',
  'Armenian',
  'Thai',
  'Thaana',
  'Devanagari',
];

/** Each of these must be held in at most one per cent. */
export const populations: Readonly<Record<Kind, readonly Population[]>> = {
  person: [
    ...scripts.map(byScript),
    {
      name: 'commonest, with date of birth and country',
      isNameAlone: false,
      has: ({ group }) => isCommonest(group),
    },
  ],
  organisation: [
    ...scripts.map(byScript),
    { name: 'invented', isNameAlone: true, has: ({ group }) => group === 'invented' },
  ],
};

function byScript(script: string): Population {
  return { name: script, isNameAlone: true, has: ({ group }) => group.startsWith(`${script}: `) };
}

/**
 * The least threshold, in thousandths, that at most a share of the scores reaches; one score where
 * there are too few to show the share.
 */
export function findThreshold(scores: readonly number[], shareMax: number): number {
  const allowed = Math.max(1, Math.floor(scores.length * shareMax));
  return (scores.toSorted((a, b) => b - a)[allowed] ?? 0) + 1;
}

export function scoreAll(
  answered: readonly Answered[],
  scoring: Scoring,
  isOwnOnly = false,
): number[] {
  return answered.map((one) => scoreBest(one, scoring, isOwnOnly));
}

export function shareFrom(scores: readonly number[], threshold: number): number {
  return scores.filter((score) => score >= threshold).length / Math.max(1, scores.length);
}

export type Judged = { readonly weights: Weights; readonly features?: FeatureSet };

function thresholdFor(
  answered: readonly Answered[],
  cases: Cases,
  given: Judged & { population: Population },
): number {
  const { population, ...scoring } = given;
  const chosen = chooseCases(answered, cases, population.has);
  const { isNameAlone } = population;
  return findThreshold(scoreAll(chosen, { ...scoring, isNameAlone }), heldMax);
}

const syllabic = new Set(['Han', 'Japanese', 'Hangul']);
const abjad = new Set(['Arabic', 'Hebrew']);

/** Scripts that have a weight of their own do not decide about all others. */
const hasOwnWeight = ({ name }: Population): boolean => syllabic.has(name) || abjad.has(name);

/** The greatest of the thresholds that the populations need. */
export function findLimit(
  answered: readonly Answered[],
  cases: Cases,
  given: Judged & { readonly isWithoutOwn?: boolean },
): number {
  const { isWithoutOwn = false, ...judged } = given;
  const chosen = populations[cases.kind].filter((one) => !isWithoutOwn || !hasOwnWeight(one));
  const needed = chosen.map((population) =>
    thresholdFor(answered, cases, { ...judged, population }),
  );
  return Math.max(...needed);
}

/** How far two scores are apart in the units of the weights; `scoreSum` halves the sum. */
function distance(from: number, to: number): number {
  const logit = (score: number): number => Math.log(score / (1000 - score));
  return 2 * (logit(to) - logit(from));
}

/** Moves the weights of scripts and the bias so that the default threshold is the limit. */
export function settle(answered: readonly Answered[], kind: Kind, fitted: Judged): Weights {
  const cases: Cases = { kind, part: 'validation' };
  const weights = [...fitted.weights];
  const judged = { ...fitted, weights };
  const limit = findLimit(answered, cases, { ...judged, isWithoutOwn: true });
  for (const [name, own] of [
    ['isAbjad', abjad],
    ['isSyllabic', syllabic],
  ] as const) {
    const index = featureNames.indexOf(name);
    const needed = populations[kind]
      .filter((population) => own.has(population.name))
      .map((population) => thresholdFor(answered, cases, { ...judged, population }));
    const excess = distance(limit, Math.max(limit, ...needed));
    weights[index] = (weights[index] ?? 0) - excess;
  }
  const last = weights.length - 1;
  weights[last] = (weights[last] ?? 0) - distance(defaultThresholdPermille, limit);
  return weights.map((weight) => Math.round(100 * weight) / 100);
}

export const isAlias = ({ group }: Asked): boolean => group === groups.alias;

const choices = [0.3, 1, 3].flatMap((commonWeight) =>
  [0.5, 0.7, 1].map((scale) => ({ commonWeight, scale })),
);

/** Fits each choice to `train`, and takes the one that finds most aliases of `validation`. */
export function chooseModel(
  answered: readonly Answered[],
  kind: Kind,
): { options: FitOptions; weights: Weights; found: number } {
  const aliases = chooseCases(answered, { kind, part: 'validation' }, isAlias);
  const fitted = choices.map((choice) => {
    const options = { ...choice, kind };
    const weights = settle(answered, kind, { weights: fitWeights(answered, options) });
    const scores = scoreAll(aliases, { weights, isNameAlone: true }, true);
    return { options, weights, found: shareFrom(scores, defaultThresholdPermille) };
  });
  const best = fitted.toSorted((a, b) => b.found - a.found)[0];
  if (best === undefined) throw new Error('unreachable: there are choices');
  return best;
}
