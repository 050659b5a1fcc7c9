import { defaultThresholdPermille } from '../../server/src/screening/screening.ts';
import type { Answered } from './extract.ts';
import {
  chooseCases,
  fitWeights,
  type Kind,
  listProducts,
  readModel,
  type Weights,
  writeModel,
} from './fit.ts';
import {
  chooseModel,
  heldMax,
  isAlias,
  type Judged,
  populations,
  scoreAll,
  settle,
  shareFrom,
} from './operating-point.ts';
import { isCommonest } from './ordinary.ts';
import { type Asked, groups, type Part } from './samples.ts';

/** The fitted weights, and what they and those in force find and hold in the part `test`. */

export const curveThresholds = [750, 780, 800, 820, 840, 860, 870, 880, 900, 920, 950] as const;

type Say = (line: string) => void;

const kinds = ['person', 'organisation'] as const;
const nameWidth = 58;

export function reportFit(answered: readonly Answered[], say: Say): void {
  for (const kind of kinds) {
    say(`\n=== ${kind} ===`);
    reportCeiling(answered, kind, say);
    const { options, weights, found } = chooseModel(answered, kind);
    say(
      `\nfitted to train, commonest names weigh ${options.commonWeight}, scale ${options.scale}: ` +
        `${percent(found)} % of the aliases of validation at ${defaultThresholdPermille}`,
    );
    say(JSON.stringify(writeModel(weights), null, 2));
    reportFrontier(answered, { kind, fitted: weights, say });
    reportCurves(answered, { kind, title: 'the weights in force', weights: readModel(kind), say });
    reportCurves(answered, { kind, title: 'the fitted weights', weights, say });
  }
}

/** No threshold finds more: the others are not among the listed names that are compared. */
function reportCeiling(answered: readonly Answered[], kind: Kind, say: Say): void {
  say('aliases whose entry is among the names that are compared, in per cent:');
  for (const part of ['train', 'validation', 'test'] satisfies Part[]) {
    const aliases = chooseCases(answered, { kind, part }, isAlias);
    const compared = aliases.filter(({ candidates }) => candidates.some((one) => one.isTarget));
    say(`${part.padEnd(12)}${percent(compared.length / aliases.length)} of ${aliases.length}`);
  }
}

/**
 * What each model finds where `validation` holds at most one per cent of every population: the weights
 * in force, the fitted ones, and a model with all products of the measures.
 */
function reportFrontier(
  answered: readonly Answered[],
  { kind, fitted, say }: { kind: Kind; fitted: Weights; say: Say },
): void {
  const products = fitWeights(answered, {
    kind,
    commonWeight: 1,
    scale: 1,
    features: listProducts,
  });
  const models: readonly (readonly [string, Judged])[] = [
    ['the weights in force', { weights: readModel(kind) }],
    ['the fitted weights', { weights: fitted }],
    ['with all products of two measures', { weights: products, features: listProducts }],
  ];
  say(
    `\naliases of test found, settled to <= ${100 * heldMax} % held in every population of validation`,
  );
  say(''.padEnd(nameWidth) + ['own', 'any', 'known'].map(cell).join(''));
  const aliases = chooseCases(answered, { kind, part: 'test' }, isAlias);
  for (const [name, judged] of models) {
    const settled = { ...judged, weights: settle(answered, kind, judged) };
    const share = (isNameAlone: boolean, isOwn: boolean): string => {
      const scores = scoreAll(aliases, { ...settled, isNameAlone }, isOwn);
      return percent(shareFrom(scores, defaultThresholdPermille));
    };
    const cells = [share(true, true), share(true, false), share(false, true)];
    say(name.padEnd(nameWidth) + cells.map(cell).join(''));
  }
  say('own: the entry itself; any: some entry; known: own, with date of birth and country');
}

function reportCurves(
  answered: readonly Answered[],
  given: { kind: Kind; title: string; weights: Weights; say: Say },
): void {
  const { kind, title, weights, say } = given;
  say(`\n${title}, test, in per cent at thresholds`);
  say(
    ''.padEnd(nameWidth) + cell('names') + curveThresholds.map((at) => cell(String(at))).join(''),
  );
  const row = (name: string, scores: readonly number[]): void => {
    const cells = curveThresholds.map((at) => cell(percent(shareFrom(scores, at))));
    say(name.padEnd(nameWidth) + cell(String(scores.length)) + cells.join(''));
  };
  const choose = (has: (asked: Asked) => boolean): Answered[] =>
    chooseCases(answered, { kind, part: 'test' }, has);
  const alone = { weights, isNameAlone: true };
  const known = { weights, isNameAlone: false };
  const aliases = choose(isAlias);
  row(`found: ${groups.alias}, own entry`, scoreAll(aliases, alone, true));
  row(`found: ${groups.alias}, any entry`, scoreAll(aliases, alone));
  row('... own entry, with date of birth and country', scoreAll(aliases, known, true));
  row('... any entry, with date of birth and country', scoreAll(aliases, known));
  for (const group of listGroups(answered, kind)) {
    row(
      `found: ${group}`,
      scoreAll(
        choose((asked) => asked.group === group),
        alone,
        true,
      ),
    );
  }
  for (const { name, has, isNameAlone } of populations[kind]) {
    row(`held: ${name}`, scoreAll(choose(has), { weights, isNameAlone }));
  }
  if (kind === 'person') {
    const common = choose(({ group }) => isCommonest(group));
    row('held: commonest, names alone', scoreAll(common, alone));
  }
}

/** The other names of the lists: disguises, and names in another script. */
function listGroups(answered: readonly Answered[], kind: Kind): string[] {
  const named = answered.filter(({ asked }) => asked.target !== undefined && asked.kind === kind);
  return [...new Set(named.map(({ asked }) => asked.group))].filter((one) => one !== groups.alias);
}

function percent(share: number): string {
  return (100 * share).toFixed(1);
}

function cell(text: string): string {
  return text.padStart(7);
}
