import { RE2JS } from 're2js';

/**
 * Regular expressions that counterparties wrote. They run in time linear in the value (RE2), and what is
 * shown to clients, whose engines may backtrack, is a simple form of them or nothing.
 */

/** UTF-16 code units of an expression; longer ones are not run. */
export const patternLengthMax = 500;

/** Compiled expressions, the least recently compiled first. */
const compiled = new Map<string, RE2JS | undefined>();
const compiledMax = 1000;

/** Whether a part of the value matches; undefined: the expression cannot be run here. */
export function matchesForeignPattern(pattern: string, value: string): boolean | undefined {
  return compile(pattern)?.matcher(value).find();
}

/** Whether the expression can be run here: the dialect is RE2's, and its program is small. */
export function isRunnable(pattern: string): boolean {
  return compile(pattern) !== undefined;
}

function compile(pattern: string): RE2JS | undefined {
  if (compiled.has(pattern)) return compiled.get(pattern);
  if (compiled.size >= compiledMax) {
    for (const [oldest] of compiled) {
      compiled.delete(oldest);
      break;
    }
  }
  const expression = pattern.length > patternLengthMax ? undefined : tryCompile(pattern);
  compiled.set(pattern, expression);
  return expression;
}

function tryCompile(pattern: string): RE2JS | undefined {
  try {
    return RE2JS.compile(pattern);
  } catch {
    // Look-around, back-references, or a program that is too large.
    return undefined;
  }
}

/** The most repetitions that are shown; of more the length of a value is the limit. */
const repetitionsMax = 255;
/** A sequence with so few parts of variable length cannot make an engine backtrack for long. */
const variablePartsMax = 3;

/** An anchored sequence of single characters and classes, each with a number of repetitions. */
const part =
  /(?<atom>\\d|\\w|\[(?:[^\]\\^]|\\[dw\-./])+\]|[A-Za-z0-9 ]|\\?[-/]|\\\.)(?<count>\{\d{1,3}(?:,\d{0,3})?\}|[?*+])?(?![?*+{])/y;

/**
 * The expression with the same meaning in RE2 and in ECMAScript (without flags, with `u` and with `v`):
 * anchored, without groups and alternatives, every repetition bounded. Undefined where there is none.
 */
export function writePublicPattern(pattern: string): string | undefined {
  if (pattern.length > patternLengthMax || !/^\^.*\$$/s.test(pattern)) return undefined;
  const inner = pattern.slice(1, -1);
  let text = '';
  let variableParts = 0;
  part.lastIndex = 0;
  while (part.lastIndex < inner.length) {
    const groups = part.exec(inner)?.groups;
    if (groups === undefined) return undefined;
    const atom = writeAtom(groups['atom'] ?? '');
    const count = writeCount(groups['count']);
    if (atom === undefined || count === undefined) return undefined;
    if (count.isVariable) variableParts += 1;
    text += atom + count.text;
  }
  return variableParts > variablePartsMax || text === '' ? undefined : `^${text}$`;
}

function writeAtom(atom: string): string | undefined {
  if (atom === '\\d') return '[0-9]';
  if (atom === '\\w') return '[0-9A-Za-z_]';
  if (atom === '\\-') return '-';
  if (atom === '/') return '\\/';
  return atom.startsWith('[') ? writeClass(atom.slice(1, -1)) : atom;
}

/** Ranges of letters and digits, and single characters; letters with accents as ranges too. */
const classItem =
  /(?<range>[A-Za-z0-9À-ɏ]-[A-Za-z0-9À-ɏ])|(?<escape>\\[dw\-./])|(?<single>[A-Za-z0-9À-ɏ ,.:'_\-/()])(?!-.)/y;

const classEscapes: Readonly<Record<string, string>> = { '\\d': '0-9', '\\w': '0-9A-Za-z_' };

function writeClass(inner: string): string | undefined {
  const items = new Set<string>();
  classItem.lastIndex = 0;
  while (classItem.lastIndex < inner.length) {
    const groups = classItem.exec(inner)?.groups;
    if (groups === undefined) return undefined;
    const { range, escape, single = '' } = groups;
    if (range !== undefined) {
      if (range.charCodeAt(0) > range.charCodeAt(2)) return undefined;
      items.add(range);
    } else if (escape !== undefined) {
      items.add(classEscapes[escape] ?? writeClassCharacter(escape.slice(1)));
    } else {
      items.add(writeClassCharacter(single));
    }
  }
  return `[${[...items].join('')}]`;
}

/** What the `v` flag reserves is escaped. */
function writeClassCharacter(character: string): string {
  return /[-/()]/.test(character) ? `\\${character}` : character;
}

function writeCount(count = ''): { text: string; isVariable: boolean } | undefined {
  if (count === '') return { text: '', isVariable: false };
  if (count === '?') return { text: '?', isVariable: true };
  if (count === '*') return { text: `{0,${repetitionsMax}}`, isVariable: true };
  if (count === '+') return { text: `{1,${repetitionsMax}}`, isVariable: true };
  const [, least = '', comma, most = ''] = /^\{(\d{1,3})(,?)(\d{0,3})\}$/.exec(count) ?? [];
  const from = Number(least);
  const to = comma === '' ? from : most === '' ? repetitionsMax : Number(most);
  if (from > to || to > repetitionsMax) return undefined;
  return from === to
    ? { text: `{${from}}`, isVariable: false }
    : { text: `{${from},${to}}`, isVariable: true };
}
