import { readWords } from '../../server/src/screening/names.ts';
import { asOrganisationWord } from '../../server/src/screening/organisation-words.ts';
import { createChance } from './cases.ts';
import type { Answered } from './extract.ts';
import { isAlias } from './operating-point.ts';
import type { BenchList } from './samples.ts';

/**
 * Abbreviations by syllables, such as "Comecarnes" for "Comercializadora de Carnes": what reading them
 * would find, and how many abbreviations of ordinary organisations it would hold. The screening does not
 * read them; this is the measurement behind that.
 */

type Part = { readonly text: string; readonly isOptional: boolean };

const lengthMin = 6;
const wordsMax = 6;

/** Particles and legal forms may be left out. */
export function readParts(name: string): Part[] {
  return readWords(name.replaceAll(/\([^()]*\)/g, ' '))
    .map(asOrganisationWord)
    .map(({ text, kind }) => ({ text, isOptional: kind !== 'word' }));
}

/** Whether a word consists of beginnings of the parts, in their order, at least one letter of each. */
export function isAbbreviation(word: string, parts: readonly Part[]): boolean {
  const needed = parts.filter(({ isOptional }) => !isOptional).length;
  if (needed < 2 || needed > wordsMax || word.length < 2 * needed) return false;
  let ends = new Set([0]);
  for (const { text, isOptional } of parts) {
    const next = new Set<number>(isOptional ? ends : []);
    for (const end of ends) {
      for (let length = 1; length <= text.length; length += 1) {
        if (word[end + length - 1] !== text[length - 1]) break;
        next.add(end + length);
      }
    }
    ends = next;
  }
  return ends.has(word.length);
}

/** The word of a name that has only one beside legal forms and particles. */
function findOnlyWord(name: string): string | undefined {
  const words = readParts(name).filter(({ isOptional }) => !isOptional);
  const [word] = words;
  return words.length === 1 && word !== undefined && word.text.length >= lengthMin
    ? word.text
    : undefined;
}

export function reportAbbreviations(
  answered: readonly Answered[],
  lists: readonly BenchList[],
  say: (line: string) => void,
): void {
  const listed = lists.flatMap(({ list, entries }) =>
    entries
      .filter(({ kind }) => kind === 'organisation')
      .flatMap(({ entryId, names }) =>
        names.map(({ text }) => ({ key: `${list} ${entryId}`, parts: readParts(text) })),
      ),
  );
  const organisations = answered.filter(({ asked }) => asked.kind === 'organisation');
  const aliases = organisations.filter(({ asked }) => isAlias(asked) && asked.part !== 'test');
  const found = aliases.filter(({ asked: { person, target } }) => {
    const word = findOnlyWord(person.businessName);
    const key = `${target?.list} ${target?.entryId}`;
    return (
      word !== undefined && listed.some((one) => one.key === key && isAbbreviation(word, one.parts))
    );
  });
  const made = abbreviateOrdinary(organisations);
  const held = made.filter((word) => listed.some(({ parts }) => isAbbreviation(word, parts)));
  say('\nabbreviations by syllables, which the screening does not read, in per cent:');
  say(
    `aliases of train and validation that are one of the entry's names: ${share(found, aliases)}`,
  );
  say(`made-up ones of ordinary organisations that are one of a listed name: ${share(held, made)}`);
}

/** Abbreviates ordinary names in the same way: one to four letters of each word. */
function abbreviateOrdinary(organisations: readonly Answered[]): string[] {
  const chance = createChance(14);
  return organisations.flatMap(({ asked: { target, person } }) => {
    const parts = readParts(person.businessName);
    if (target !== undefined || parts.filter(({ isOptional }) => !isOptional).length < 2) return [];
    const word = parts
      .filter(({ isOptional }) => !isOptional || chance() < 0.3)
      .map(({ text }) => text.slice(0, 1 + Math.floor(chance() * 4)))
      .join('');
    return word.length >= lengthMin && word.length <= 10 ? [word] : [];
  });
}

function share(some: readonly unknown[], all: readonly unknown[]): string {
  return `${((100 * some.length) / all.length).toFixed(1)} of ${all.length}`;
}
