import {
  featureNames,
  type Model,
  models,
  scoreSum,
} from '../../server/src/screening/name-model.ts';
import type { Answered, Candidate } from './extract.ts';
import { addUp, fitLogistic, type Observation } from './logistic.ts';
import { isCommonest } from './ordinary.ts';
import { type Asked, groups, type Part } from './samples.ts';

/**
 * Fits the weights of `name-model.ts`. A listed name has several candidates and an ordinary one has
 * many, of which the best one counts; so the candidates are chosen by the weights, and the weights
 * fitted to them, in turns (the multiple-instance form of logistic regression).
 */

export type Kind = Asked['kind'];

/** Weights in the order of `featureNames`, the bias last, in the units of `name-model.ts`. */
export type Weights = readonly number[];

export function readModel(kind: Kind): Weights {
  const model = models[kind];
  return [...featureNames.map((name) => model[name]), model.bias];
}

export function writeModel(weights: Weights): Model {
  const named = featureNames.map((name, index) => [name, weights[index] ?? 0] as const);
  return { bias: weights.at(-1) ?? 0, ...Object.fromEntries(named) } as Model;
}

export function listFeatures({ measured }: Candidate): number[] {
  return featureNames.map((name) => measured.values[name]);
}

/** The measures of a candidate that get weights: those of the model, or more. */
export type FeatureSet = (candidate: Candidate) => number[];

const measureCount = 8;

/** The measures and all their products: shows what a model that is not linear could gain. */
export function listProducts(candidate: Candidate): number[] {
  const features = listFeatures(candidate);
  const measures = features.slice(0, measureCount);
  const products = measures.flatMap((one, index) =>
    measures.slice(index).map((other) => one * other),
  );
  return [...features, ...products];
}

/** With `isNameAlone` the date of birth and the country move nothing. */
export type Scoring = {
  readonly weights: Weights;
  readonly isNameAlone: boolean;
  readonly features?: FeatureSet;
};

export function scoreCandidate(candidate: Candidate, scoring: Scoring): number {
  const { weights, isNameAlone, features = listFeatures } = scoring;
  const { options } = candidate.measured;
  const sum = addUp(features(candidate), weights);
  return scoreSum(sum, isNameAlone ? { ...options, shift: 0 } : options);
}

/** The best score: of the entry itself, or of any one. */
export function scoreBest({ candidates }: Answered, scoring: Scoring, isOwnOnly: boolean): number {
  let best = 0;
  for (const candidate of candidates) {
    if (isOwnOnly && !candidate.isTarget) continue;
    best = Math.max(best, scoreCandidate(candidate, scoring));
  }
  return best;
}

export type FitOptions = {
  readonly kind: Kind;
  /** How much a name made of the commonest words counts beside one of Faker's. */
  readonly commonWeight: number;
  /** The length of the fitted vector, so that the shift by date of birth has its weight beside it. */
  readonly scale: number;
  readonly features?: FeatureSet;
};

const rounds = 8;
const ridge = 1e-5;
/** Disguises of primary names are easy, and are kept so; the aliases decide. */
const disguiseWeight = 0.3;

/** @returns weights whose bias is not yet that of the threshold. */
export function fitWeights(answered: readonly Answered[], options: FitOptions): Weights {
  const own = answered.filter(
    ({ asked, candidates }) =>
      asked.part === 'train' && asked.kind === options.kind && !isSyllabic(candidates),
  );
  const { features = listFeatures } = options;
  const listed = (candidate: Candidate): number =>
    addUp(listFeatures(candidate), readModel(options.kind));
  let rank = listed;
  let weights: Weights = [];
  for (let round = 0; round < rounds; round += 1) {
    const observations = own.flatMap((one) => observe(one, { ...options, features, rank }));
    const fitted = fitLogistic(observations, ridge);
    rank = (candidate) => addUp(features(candidate), fitted);
    weights = fitted;
  }
  return weights.map((weight) => weight * options.scale);
}

/** No listed name in syllables is held out, so that the weight of syllables is settled afterwards. */
function isSyllabic(candidates: readonly Candidate[]): boolean {
  return candidates.some(({ measured }) => measured.values.isSyllabic === 1);
}

/** The best candidate, without those that a rule decides. */
function observe(
  { asked, candidates }: Answered,
  given: FitOptions & { features: FeatureSet; rank: (candidate: Candidate) => number },
): Observation[] {
  let best: Candidate | undefined;
  let bestSum = Number.NEGATIVE_INFINITY;
  const isPositive = asked.target !== undefined;
  for (const candidate of candidates) {
    const { options } = candidate.measured;
    const isRuled = options.isIdentical || options.isOtherNumber === true;
    if (isRuled || (isPositive && !candidate.isTarget)) continue;
    const sum = given.rank(candidate);
    if (sum > bestSum) [best, bestSum] = [candidate, sum];
  }
  if (best === undefined) return [];
  const weight = weigh(asked, given.commonWeight);
  return [{ features: given.features(best), isPositive, weight }];
}

function weigh({ target, group }: Asked, commonWeight: number): number {
  if (target === undefined) {
    return isCommonest(group) || group === 'invented' ? commonWeight : 1;
  }
  return group === groups.alias || group === groups.script ? 1 : disguiseWeight;
}

export type Cases = { readonly kind: Kind; readonly part: Part };

export function chooseCases(
  answered: readonly Answered[],
  { kind, part }: Cases,
  isWanted: (asked: Asked) => boolean,
): Answered[] {
  return answered.filter(
    ({ asked }) => asked.kind === kind && asked.part === part && isWanted(asked),
  );
}
