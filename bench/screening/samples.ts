import { createHash } from 'node:crypto';
import type { ListEntry } from '../../server/src/screening/list-entry.ts';
import { readWords } from '../../server/src/screening/names.ts';
import type { ScreenedPerson } from '../../server/src/screening/screening.ts';
import { asPerson, type Chance, changes, makeCases, type Target } from './cases.ts';

/** What the model is fitted on, chosen by and measured with: names of the lists, in three parts. */

/**
 * `train` gives the weights, `validation` the choice of features and constants, `test` the figures that
 * are published. Nothing may be chosen by the figures of `test`.
 */
export type Part = 'train' | 'validation' | 'test';
export const parts = ['train', 'validation', 'test'] as const satisfies readonly Part[];

/** A name to screen. `target` is the entry that must be found; an ordinary name has none. */
export type Asked = {
  readonly part: Part;
  readonly kind: 'person' | 'organisation';
  /** What it is shown under: a kind of disguise, or a population of ordinary names. */
  readonly group: string;
  readonly person: ScreenedPerson;
  readonly target?: Target;
};

/** Half of the keys are `train`, a quarter each the others; the same in every run. */
export function partOf(key: string): Part {
  const byte = createHash('sha256').update(`part 2 ${key}`).digest().readUInt8(0);
  if (byte < 128) return 'train';
  return byte < 192 ? 'validation' : 'test';
}

export type BenchList = { readonly list: string; readonly entries: readonly ListEntry[] };

export const groups = {
  alias: 'an alias that the list lacks',
  script: 'in another script, the list in Latin letters only',
} as const;

/**
 * Takes one alias out of each entry that has one, and all names that are not in Latin letters.
 * @returns the remaining lists, and the names taken out as cases.
 */
export function holdOut(lists: readonly BenchList[]): { lists: BenchList[]; cases: Asked[] } {
  const cases: Asked[] = [];
  const remaining = lists.map(({ list, entries }) => ({
    list,
    entries: entries.map((entry) => {
      const latin = entry.names.filter(({ text }) => isLatin(text));
      if (latin.length === 0) return entry;
      const foreign = entry.names.find(({ text }) => !isLatin(text));
      if (foreign !== undefined)
        cases.push(askFor(list, entry, { text: foreign.text, group: groups.script }));
      const alias = chooseAlias(list, { ...entry, names: latin });
      if (alias === undefined) return { ...entry, names: latin };
      cases.push(askFor(list, entry, { text: alias, group: groups.alias }));
      const key = keyOf(alias);
      return { ...entry, names: latin.filter(({ text }) => keyOf(text) !== key) };
    }),
  }));
  return { lists: remaining, cases };
}

function isLatin(text: string): boolean {
  return !/[^\p{Script=Latin}\p{Script=Common}\p{Script=Inherited}]{2}/u.test(text);
}

/** Names with the same key are found as equal. */
function keyOf(text: string): string {
  return readWords(text.replaceAll(/\s*\([^()]*\)\s*/g, ' '))
    .map((word) => word.text)
    .toSorted()
    .join(' ');
}

/** One of the aliases, other than the primary name, by hash. */
function chooseAlias(list: string, entry: ListEntry): string | undefined {
  const primary = keyOf(entry.names[0]?.text ?? '');
  const candidates = entry.names
    .slice(1)
    .filter(({ text, quality }) => quality === 'alias' && !['', primary].includes(keyOf(text)))
    .map(({ text }) => ({ text, rank: rankOf(`${list} ${entry.entryId} ${text}`) }));
  return candidates.toSorted((a, b) => (a.rank < b.rank ? -1 : 1))[0]?.text;
}

function rankOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}

/** Listed names have the date of birth and the country of their entry. */
function askFor(
  list: string,
  entry: ListEntry,
  { text, group }: { text: string; group: string },
): Asked {
  const isPerson = entry.kind === 'person';
  const person = isPerson ? asPerson(text) : { ...asPerson(''), businessName: text };
  return {
    part: partOf(`${list} ${entry.entryId}`),
    kind: entry.kind,
    group,
    person: {
      ...person,
      dateOfBirth: entry.births[0]?.from ?? '',
      countryCode: entry.countries[0] ?? '',
    },
    target: { list, entryId: entry.entryId },
  };
}

const personChanges = [
  'as listed',
  'words in another order',
  'one wrong letter',
  'two wrong letters',
  'a middle name left out',
  'a middle name more',
  'a name as its initial',
  'another transliteration',
] as const;
const organisationChanges = ['as listed', 'one wrong letter', 'words in another order'] as const;

/** Primary names in disguise, `count` for each change. */
export function disguise(lists: readonly BenchList[], count: number): Asked[] {
  return [
    ...disguiseKind(lists, { kind: 'person', names: personChanges, count }),
    ...disguiseKind(lists, { kind: 'organisation', names: organisationChanges, count }),
  ];
}

function disguiseKind(
  lists: readonly BenchList[],
  wanted: { kind: Asked['kind']; names: readonly string[]; count: number },
): Asked[] {
  const { kind, names, count } = wanted;
  const primary = lists.flatMap(({ list, entries }) =>
    entries
      .filter((entry) => entry.kind === kind)
      .map((entry) => ({ list, entryId: entry.entryId, text: entry.names[0]?.text ?? '' })),
  );
  return names.flatMap((name, index) => {
    const change = changes[name];
    if (change === undefined) throw new Error(`no change ${name}`);
    return makeCases(primary, change, { count, seed: 300 + index }).map(({ person, target }) => ({
      part: partOf(`${target.list} ${target.entryId}`),
      kind,
      group: name,
      person: kind === 'person' ? person : { ...asPerson(''), businessName: person.firstName },
      target,
    }));
  });
}

/** A date of birth of an adult, which says nothing about the name. */
export function drawBirth(chance: Chance): string {
  const day = new Date(Date.UTC(1945, 0, 1 + Math.floor(chance() * 60 * 365)));
  return day.toISOString().slice(0, 10);
}
