import { Decimal } from './decimal.ts';
import { wholeNumbers } from './generated/operations.ts';

/**
 * JSON without floating point numbers. Node before 21 cannot show a reviver the digits of a number,
 * so numbers become marked strings before `JSON.parse` sees them.
 */

const numberToken = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const afterKey = /\s*:/y;
const [stringMark, numberMark] = ['s', 'n'];

/**
 * Counts and sequences are numbers; every other number is a `Decimal`.
 * @throws SyntaxError if the text is not JSON.
 */
export function parseJson(text: string): unknown {
  return unmark(JSON.parse(markValues(text)), '');
}

/** Marks string values with one letter and numbers with another; keys stay as they are. */
function markValues(text: string): string {
  let marked = '';
  let index = 0;
  let copied = 0;
  const mark = (end: number, replacement: string): void => {
    marked += text.slice(copied, index) + replacement;
    index = copied = end;
  };
  while (index < text.length) {
    const character = text[index] ?? '';
    if (character === '"') {
      const end = findStringEnd(text, index);
      if (matchAt(afterKey, text, end) !== undefined) index = end;
      else mark(end, `"${stringMark}${text.slice(index + 1, end)}`);
      continue;
    }
    const digits = /[-\d]/.test(character) ? matchAt(numberToken, text, index) : undefined;
    if (digits === undefined) index += 1;
    else mark(index + digits.length, `"${numberMark}${digits}"`);
  }
  return marked + text.slice(copied);
}

/** After the closing quote; after the text where there is none. */
function findStringEnd(text: string, start: number): number {
  let quote = text.indexOf('"', start + 1);
  while (quote !== -1 && isEscaped(text, quote)) quote = text.indexOf('"', quote + 1);
  return quote === -1 ? text.length : quote + 1;
}

function isEscaped(text: string, index: number): boolean {
  let first = index;
  while (text[first - 1] === '\\') first -= 1;
  return (index - first) % 2 === 1;
}

function matchAt(pattern: RegExp, text: string, index: number): string | undefined {
  pattern.lastIndex = index;
  return pattern.exec(text)?.[0];
}

/** `name` is the property that holds the value; `name.*` stands for the values of a map. */
function unmark(value: unknown, name: string): unknown {
  if (typeof value === 'string') {
    const content = value.slice(1);
    return value.startsWith(numberMark) ? readNumber(content, name) : content;
  }
  if (Array.isArray(value)) return value.map((item) => unmark(item, name));
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, member]): [string, unknown] => {
    const isOfMap = wholeNumbers.has(`${name}.*`);
    return [key, unmark(member, isOfMap ? `${name}.*` : key)];
  });
  return Object.fromEntries(entries);
}

function readNumber(text: string, name: string): number | Decimal {
  const isWhole = wholeNumbers.has(name) && /^-?\d+$/.test(text);
  return isWhole && Number.isSafeInteger(Number(text)) ? Number(text) : new Decimal(text);
}

/**
 * A `Decimal` becomes a JSON number with its digits.
 * @throws TypeError for a floating point number, which would have lost digits before it came here, and for
 * collections, bytes, streams and promises, of which nothing would be left.
 */
export function writeJson(value: unknown): string {
  if (value instanceof Decimal) return value.text;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number' && !Number.isSafeInteger(value)) {
    throw new TypeError(`${value} is a floating point number: write decimal('${value}')`);
  }
  if (Array.isArray(value)) return `[${value.map((item) => writeJson(item ?? null)).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value ?? null);
  if (Symbol.iterator in value || Symbol.asyncIterator in value || value instanceof Promise) {
    const name = Object.prototype.toString.call(value).slice('[object '.length, -1);
    throw new TypeError(`${name} cannot be written as JSON: give an object, a list or a text`);
  }
  if ('toJSON' in value) return JSON.stringify(value);
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .map(([key, member]) => `${JSON.stringify(key)}:${writeJson(member)}`);
  return `{${members.join(',')}}`;
}
