import { assert } from '../core/errors.ts';

/** One character of a value that a pattern admits. */
export type Slot = {
  readonly choices: readonly string[];
  /** Whether every decimal digit fits here. */
  readonly isAnyDigit: boolean;
};

/** Beyond this many repetitions a made-up value gets no longer. */
const repetitionsUsual = 12;

const letters = Array.from('abcdefghijklmnopqrstuvwxyz');

function expandRanges(classBody: string): string[] {
  const characters: string[] = [];
  // The only escapes of our classes are a slash and a hyphen, both written last.
  const escaped = /\\([/-])/g;
  for (const [, character = ''] of classBody.matchAll(escaped)) characters.push(character);
  const body = classBody.replace(escaped, '');
  for (let index = 0; index < body.length; index += 1) {
    const first = body.charCodeAt(index);
    const isRange = body[index + 1] === '-' && index + 2 < body.length;
    const last = isRange ? body.charCodeAt(index + 2) : first;
    for (let code = first; code <= last; code += 1) characters.push(String.fromCharCode(code));
    if (isRange) index += 2;
  }
  return characters;
}

function toSlot(characters: readonly string[]): Slot {
  const digits = characters.filter((character) => /[0-9]/.test(character));
  return {
    choices: digits.length > 0 ? digits : characters,
    isAnyDigit: digits.length === 10,
  };
}

/**
 * The characters of one value that a pattern of ours admits: of alternatives the first, of
 * repetitions a usual number. Reads the part of the pattern language that our patterns use.
 */
export function expandPattern(pattern: string): Slot[] {
  let position = 0;

  function readClass(): Slot {
    const end = pattern.indexOf(']', position);
    const body = pattern.slice(position + 1, end);
    position = end + 1;
    // What a class leaves out is control characters and spaces: letters fit.
    return body.startsWith('^') ? toSlot(letters) : toSlot(expandRanges(body));
  }

  function readAtom(): Slot[] {
    const character = pattern[position] ?? '';
    if (character === '[') return [readClass()];
    if (character === '(') {
      position += pattern.startsWith('(?:', position) ? 3 : 1;
      const slots = readAlternatives();
      position += 1;
      return slots;
    }
    if (character === '\\') position += 1;
    const literal = pattern[position] ?? '';
    position += 1;
    return [toSlot([literal])];
  }

  function readCount(): number {
    const match = /^(?:\{(\d+)(?:,(\d*))?\}|[?*+])/.exec(pattern.slice(position));
    if (match === null) return 1;
    position += match[0].length;
    if (match[0] === '+') return 1;
    if (match[1] === undefined) return 0;
    const minimum = Number(match[1]);
    const maximum = match[2] === undefined ? minimum : Number(match[2] || minimum);
    return Math.max(minimum, Math.min(maximum, repetitionsUsual));
  }

  function readSequence(): Slot[] {
    const slots: Slot[] = [];
    while (position < pattern.length && pattern[position] !== '|' && pattern[position] !== ')') {
      if (pattern[position] === '^' || pattern[position] === '$') {
        position += 1;
        continue;
      }
      const atom = readAtom();
      const count = readCount();
      for (let index = 0; index < count; index += 1) slots.push(...atom);
    }
    return slots;
  }

  function readAlternatives(): Slot[] {
    const first = readSequence();
    while (pattern[position] === '|') {
      position += 1;
      readSequence();
    }
    return first;
  }

  const slots = readAlternatives();
  assert(position === pattern.length, `a pattern that cannot be read: ${pattern}`);
  return slots;
}
