import { formatScaled, readDecimal } from './money.ts';

/**
 * JSON read and written without loss. `JSON.parse` turns 100.10 into a double, keeps the last of
 * repeated keys and overflows the stack on deep input, so bodies are read here: one pass, linear
 * time, numbers kept as their text. The grammar is that of RFC 8259.
 */

declare global {
  interface JSON {
    /** A primitive's JSON text that `JSON.stringify` writes as it is (V8 11.4 and later). */
    rawJSON(text: string): unknown;
  }
}

/** A number as it is written. What it means is decided where its currency or range is known. */
export class JsonNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toJSON(): unknown {
    return JSON.rawJSON(this.text);
  }
}

export type ExactObject = { [key: string]: ExactJson };

export type ExactJson = null | boolean | string | JsonNumber | ExactJson[] | ExactObject;

/** The text is no JSON that can be kept exactly. Its message never repeats the text. */
export class JsonFault extends Error {
  readonly pointer: string;
  /** As editors count, from 1; '' where the fault is that of the whole text. */
  readonly place: string;
  constructor(message: string, pointer: string, place = '') {
    super(message);
    this.name = 'JsonFault';
    this.pointer = pointer;
    this.place = place;
  }
}

export const depthMax = 32;

const decoder = new TextDecoder('utf-8', { fatal: true });

/** @throws JsonFault when the bytes are not UTF-8 or not exact JSON. */
export function parseExactBytes(bytes: Buffer): ExactJson {
  let text: string;
  try {
    text = decoder.decode(bytes);
  } catch (cause) {
    throw Object.assign(new JsonFault('the body is not UTF-8', ''), { cause });
  }
  return parseExactJson(text);
}

export function isExactObject(value: ExactJson): value is ExactObject {
  const isOther = value === null || Array.isArray(value) || value instanceof JsonNumber;
  return typeof value === 'object' && !isOther;
}

/** @throws JsonFault when the text is not an exact JSON object. */
export function parseExactObject(text: string): ExactObject {
  const value = parseExactJson(text);
  if (!isExactObject(value)) throw new JsonFault('must be an object', '');
  return value;
}

/** @throws JsonFault when the text is not exact JSON. */
export function parseExactJson(text: string): ExactJson {
  return new Reader(text).readDocument();
}

const numberPattern = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const stringEnd = /["\\\u0000-\u001f]/g;
const numberLengthMax = 60;

class Reader {
  readonly #text: string;
  readonly #path: (string | number)[] = [];
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  readDocument(): ExactJson {
    const value = this.#readValue(0);
    this.#skipSpace();
    if (this.#at < this.#text.length) throw this.#fault('unexpected text after the value');
    return value;
  }

  #fault(message: string): JsonFault {
    const before = this.#text.slice(0, this.#at).split('\n');
    const place = `line ${before.length}, column ${(before.at(-1)?.length ?? 0) + 1}`;
    return new JsonFault(message, formatPointer(this.#path), place);
  }

  /** Something else than expected, or nothing. */
  #unexpected(expected: string): JsonFault {
    if (this.#at >= this.#text.length) return this.#fault(`${expected} is missing: the text ends`);
    return this.#fault(`expected ${expected}`);
  }

  #skipSpace(): void {
    for (;;) {
      const code = this.#text.charCodeAt(this.#at);
      if (code !== 32 && code !== 10 && code !== 13 && code !== 9) return;
      this.#at += 1;
    }
  }

  #readValue(depth: number): ExactJson {
    this.#skipSpace();
    switch (this.#text[this.#at]) {
      case '{':
        return this.#readObject(depth + 1);
      case '[':
        return this.#readArray(depth + 1);
      case '"':
        return this.#readString();
      case 't':
        return this.#readWord('true', true);
      case 'f':
        return this.#readWord('false', false);
      case 'n':
        return this.#readWord('null', null);
      default:
        return this.#readNumber();
    }
  }

  #readWord<T extends ExactJson>(word: string, value: T): T {
    if (!this.#text.startsWith(word, this.#at)) throw this.#unexpected('a value');
    this.#at += word.length;
    return value;
  }

  #readNumber(): JsonNumber {
    numberPattern.lastIndex = this.#at;
    const match = numberPattern.exec(this.#text);
    if (match === null) throw this.#unexpected('a value');
    const [text] = match;
    // A number that no decimal of sixty digits holds means nothing to anyone here.
    if (text.length > numberLengthMax || readDecimal(text) === undefined) {
      throw this.#fault('a number is out of range');
    }
    this.#at += text.length;
    return new JsonNumber(text);
  }

  #readString(): string {
    const start = this.#at + 1;
    stringEnd.lastIndex = start;
    let hasEscape = false;
    for (;;) {
      const match = stringEnd.exec(this.#text);
      if (match === null) throw this.#fault('a text does not end');
      if (match[0] === '"') break;
      if (match[0] !== '\\') throw this.#fault('a text has a raw control character');
      hasEscape = true;
      stringEnd.lastIndex = match.index + 2;
    }
    const end = stringEnd.lastIndex - 1;
    this.#at = end + 1;
    if (!hasEscape) return this.#text.slice(start, end);
    return this.#readEscapes(this.#text.slice(start - 1, end + 1));
  }

  #readEscapes(quoted: string): string {
    let value: string;
    try {
      value = JSON.parse(quoted) as string;
    } catch (cause) {
      throw Object.assign(this.#fault('a text has an unknown escape'), { cause });
    }
    if (value.includes('\0')) throw this.#fault('a text has the NUL character');
    if (!value.isWellFormed()) throw this.#fault('a text has half of a surrogate pair');
    return value;
  }

  #readArray(depth: number): ExactJson[] {
    if (depth > depthMax) throw this.#fault(`nesting is deeper than ${depthMax}`);
    const items: ExactJson[] = [];
    this.#at += 1;
    this.#skipSpace();
    if (this.#text[this.#at] === ']') {
      this.#at += 1;
      return items;
    }
    for (;;) {
      this.#path.push(items.length);
      items.push(this.#readValue(depth));
      this.#path.pop();
      this.#skipSpace();
      const next = this.#text[this.#at];
      if (next !== ']' && next !== ',') throw this.#unexpected('a comma or ]');
      this.#at += 1;
      if (next === ']') return items;
    }
  }

  #readObject(depth: number): { [key: string]: ExactJson } {
    if (depth > depthMax) throw this.#fault(`nesting is deeper than ${depthMax}`);
    const object: { [key: string]: ExactJson } = {};
    this.#at += 1;
    this.#skipSpace();
    if (this.#text[this.#at] === '}') {
      this.#at += 1;
      return object;
    }
    for (;;) {
      this.#skipSpace();
      if (this.#text[this.#at] !== '"') throw this.#unexpected('a key in double quotes');
      const key = this.#readString();
      if (Object.hasOwn(object, key)) throw this.#fault('an object has the same key twice');
      if (key === '__proto__') throw this.#fault('the key __proto__ is not allowed');
      this.#skipSpace();
      if (this.#text[this.#at] !== ':') throw this.#unexpected('a colon');
      this.#at += 1;
      this.#path.push(key);
      object[key] = this.#readValue(depth);
      this.#path.pop();
      this.#skipSpace();
      const next = this.#text[this.#at];
      if (next !== '}' && next !== ',') throw this.#unexpected('a comma or }');
      this.#at += 1;
      if (next === '}') return object;
    }
  }
}

/** A JSON Pointer (RFC 6901) to the path. */
export function formatPointer(path: readonly PropertyKey[]): string {
  return path
    .map((part) => `/${String(part).replaceAll('~', '~0').replaceAll('/', '~1')}`)
    .join('');
}

/** One text per JSON value: keys sorted, numbers in their shortest form, no spaces. */
export function canonicalizeJson(value: ExactJson): string {
  const parts: string[] = [];
  emitCanonicalJson(value, (part) => parts.push(part));
  return parts.join('');
}

/** The same piece by piece, for values too large to be held as one more text. */
export function emitCanonicalJson(value: ExactJson, emit: (part: string) => void): void {
  if (value instanceof JsonNumber) return emit(normalizeNumber(value.text));
  if (value === null || typeof value !== 'object') return emit(JSON.stringify(value));
  const isList = Array.isArray(value);
  emit(isList ? '[' : '{');
  const keys = isList ? [...value.keys()] : Object.keys(value).toSorted();
  keys.forEach((key, index) => {
    if (index > 0) emit(',');
    if (!isList) emit(`${JSON.stringify(key)}:`);
    emitCanonicalJson((value as Record<string | number, ExactJson>)[key] ?? null, emit);
  });
  emit(isList ? ']' : '}');
}

function normalizeNumber(text: string): string {
  const decimal = readDecimal(text);
  return decimal === undefined ? text : formatScaled(decimal.digits, decimal.scale);
}
