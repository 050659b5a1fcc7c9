import type { ListEntry } from '../../server/src/screening/list-entry.ts';
import type { ScreenedPerson } from '../../server/src/screening/screening.ts';
import { regions } from './names.ts';

/** What is asked: listed names as people write them, and ordinary names. The same in every run. */

export type Target = { readonly list: string; readonly entryId: string };
export type Case = { readonly person: ScreenedPerson; readonly target: Target };

/** Numbers from 0 to below 1 that follow from a seed (mulberry32). */
export function createChance(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

export type Chance = () => number;

export function pick<T>(items: readonly T[], chance: Chance): T {
  const item = items[Math.floor(chance() * items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

/** So many of the items, in their order. */
export function sample<T>(items: readonly T[], count: number, chance: Chance): T[] {
  const ranked = items.map((item, index) => ({ item, index, rank: chance() }));
  return ranked
    .toSorted((a, b) => a.rank - b.rank)
    .slice(0, count)
    .toSorted((a, b) => a.index - b.index)
    .map(({ item }) => item);
}

export function asPerson(name: string): ScreenedPerson {
  return {
    firstName: name,
    middleName: '',
    lastName: '',
    businessName: '',
    dateOfBirth: '',
    countryCode: '',
  };
}

/** A name in another form, or undefined where it has no such form. */
export type Change = (words: readonly string[], chance: Chance) => readonly string[] | undefined;

const letters = 'abcdefghijklmnopqrstuvwxyz'.split('');

function mistype(word: string, chance: Chance): string {
  const place = 1 + Math.floor(chance() * (word.length - 1));
  const [start, letter, rest] = [word.slice(0, place), word[place] ?? '', word.slice(place + 1)];
  switch (Math.floor(chance() * 4)) {
    case 0:
      return start + rest;
    case 1:
      return start + pick(letters, chance) + letter + rest;
    case 2:
      return start + pick(letters, chance) + rest;
    default:
      return start + rest.slice(0, 1) + letter + rest.slice(1);
  }
}

function mistypeSome(
  words: readonly string[],
  count: number,
  chance: Chance,
): string[] | undefined {
  const long = words.flatMap((word, index) => (/^[a-z]{4,}$/i.test(word) ? [index] : []));
  if (long.length === 0) return undefined;
  const changed = [...words];
  for (let edits = 0; edits < count; edits += 1) {
    const index = pick(long, chance);
    changed[index] = mistype(changed[index] ?? '', chance);
  }
  return changed.join(' ') === words.join(' ') ? undefined : changed;
}

/** Spellings that are exchanged between the usual ways to write foreign names in Latin letters. */
const respellings: readonly (readonly [RegExp, string])[] = [
  [/kh/i, 'h'],
  [/q/i, 'k'],
  [/ou/i, 'u'],
  [/u/i, 'ou'],
  [/j/i, 'dj'],
  [/y$/i, 'i'],
  [/iy/i, 'y'],
  [/ee/i, 'i'],
  [/ei/i, 'ey'],
  [/ay/i, 'ai'],
  [/sh/i, 'ch'],
  [/w/i, 'v'],
  [/ov$/i, 'off'],
  [/dh/i, 'd'],
  [/th/i, 't'],
  [/ah$/i, 'a'],
  [/ai/i, 'ay'],
  [/ss/i, 's'],
  [/mm/i, 'm'],
  [/e/i, 'a'],
  [/i/i, 'y'],
];

function respell(words: readonly string[], chance: Chance): string[] | undefined {
  const changed = [...words];
  let count = 0;
  for (let tries = 0; tries < 12 && count < 2; tries += 1) {
    const index = Math.floor(chance() * words.length);
    const [pattern, spelling] = pick(respellings, chance);
    const word = changed[index] ?? '';
    if (word.length < 4 || word !== words[index] || !pattern.test(word)) continue;
    changed[index] = word.replace(pattern, spelling);
    count += 1;
  }
  return count === 0 ? undefined : changed;
}

const longOnly = (words: readonly string[], countMin: number): boolean => words.length >= countMin;

export const changes: Readonly<Record<string, Change>> = {
  'as listed': (words) => words,
  'words in another order': (words) => (longOnly(words, 2) ? words.toReversed() : undefined),
  'one wrong letter': (words, chance) => mistypeSome(words, 1, chance),
  'two wrong letters': (words, chance) => mistypeSome(words, 2, chance),
  'a middle name left out': (words, chance) => {
    if (!longOnly(words, 3)) return undefined;
    const out = 1 + Math.floor(chance() * (words.length - 2));
    return words.filter((_, index) => index !== out);
  },
  'a middle name more': (words, chance) =>
    longOnly(words, 2)
      ? [words[0] ?? '', pick(pick(regions, chance).given, chance), ...words.slice(1)]
      : undefined,
  'a name as its initial': (words, chance) => {
    if (!longOnly(words, 3)) return undefined;
    const short = Math.floor(chance() * (words.length - 1));
    return words.map((word, index) => (index === short ? word.slice(0, 1) : word));
  },
  'two words as one': (words, chance) => {
    if (!longOnly(words, 3)) return undefined;
    const place = Math.floor(chance() * (words.length - 1));
    return [
      ...words.slice(0, place),
      words.slice(place, place + 2).join(''),
      ...words.slice(place + 2),
    ];
  },
  'one word as two': (words, chance) => {
    const long = words.flatMap((word, index) => (word.length >= 8 ? [index] : []));
    if (long.length === 0 || words.length < 2) return undefined;
    const at = pick(long, chance);
    return words.flatMap((word, index) =>
      index === at
        ? [word.slice(0, Math.ceil(word.length / 2)), word.slice(Math.ceil(word.length / 2))]
        : [word],
    );
  },
  'another transliteration': respell,
};

/** Cases of one change, for names of the lists with at least two words. */
export function makeCases(
  names: readonly (Target & { text: string })[],
  change: Change,
  options: { count: number; seed: number },
): Case[] {
  const chance = createChance(options.seed);
  const cases: Case[] = [];
  for (const { text, list, entryId } of sample(names, names.length, chance)) {
    const words = text.split(/[\s,-]+/).filter((word) => word !== '');
    const changed = words.length < 2 ? undefined : change(words, chance);
    if (changed !== undefined)
      cases.push({ person: asPerson(changed.join(' ')), target: { list, entryId } });
    if (cases.length === options.count) break;
  }
  return cases;
}

/** Ordinary people with a date of birth and a country. */
export function makeOrdinaryPeople(
  count: number,
  seed: number,
): { region: string; person: ScreenedPerson }[] {
  const chance = createChance(seed);
  return Array.from({ length: count }, (_, index) => {
    const region = regions[index % regions.length] ?? pick(regions, chance);
    const some = (from: readonly string[], many: number): string =>
      sample(from, many, chance).join(' ');
    const day = new Date(Date.UTC(1945, 0, 1 + Math.floor(chance() * 60 * 365)));
    return {
      region: region.name,
      person: {
        firstName: some(region.given, region.givenCount),
        middleName: '',
        lastName: some(region.family, region.familyCount),
        businessName: '',
        dateOfBirth: day.toISOString().slice(0, 10),
        countryCode: region.country,
      },
    };
  });
}

export function listNames(
  list: string,
  entries: readonly ListEntry[],
  kind: ListEntry['kind'],
): (Target & { text: string })[] {
  return entries
    .filter((entry) => entry.kind === kind)
    .map((entry) => ({ list, entryId: entry.entryId, text: entry.names[0]?.text ?? '' }));
}
