import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import {
  canonicalizeJson,
  depthMax,
  type ExactJson,
  formatPointer,
  JsonFault,
  JsonNumber,
  parseExactBytes,
  parseExactJson,
} from './exact-json.ts';

/** The long form tries more texts. */
const isLong = process.env['OUTLAY_TEST_LONG'] === '1';

/** With doubles in place of texts: what JSON.parse would have given. */
function toPlain(value: ExactJson): unknown {
  if (value instanceof JsonNumber) return Number(value.text);
  if (Array.isArray(value)) return value.map(toPlain);
  if (value === null || typeof value !== 'object') return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, toPlain(member)]));
}

const text = fc.string({ unit: 'grapheme', maxLength: 12 }).filter((one) => !one.includes('\0'));
const { value: document } = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom(null, true, false),
    text,
    fc
      .double({ noNaN: true, noDefaultInfinity: true, min: -1e50, max: 1e50 })
      .filter((one) => one === 0 || Math.abs(one) > 1e-40),
    fc.integer(),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(
      text.filter((key) => key !== '__proto__'),
      tie('value'),
      { maxKeys: 4 },
    ),
  ),
}));

const space = fc.constantFrom('', ' ', '\n', '\t', '\r\n  ');

test('every document of JSON.stringify is read as JSON.parse reads it', () => {
  fc.assert(
    fc.property(document, fc.constantFrom(undefined, 1, '\t'), (value, indent) => {
      const source = JSON.stringify(value, null, indent);
      assert.deepEqual(toPlain(parseExactJson(source)), JSON.parse(source));
      assert.deepEqual(toPlain(parseExactBytes(Buffer.from(source))), JSON.parse(source));
    }),
  );
});

test('JSON is read and written again without loss', () => {
  fc.assert(
    fc.property(document, (value) => {
      const read = parseExactJson(JSON.stringify(value));
      assert.deepEqual(parseExactJson(JSON.stringify(read)), read);
      assert.deepEqual(
        parseExactJson(canonicalizeJson(read)),
        parseExactJson(canonicalizeJson(parseExactJson(canonicalizeJson(read)))),
      );
    }),
  );
});

/** Mostly near JSON: the pieces that it is made of, in any order. */
const pieces = fc.array(
  fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ':',
    ',',
    '"a"',
    '"',
    '\\',
    '\\u0041',
    '1',
    '-',
    '0',
    '.5',
    'e9',
    'true',
    'false',
    'null',
    'nul',
    ' ',
    '\n',
    '\u0001',
    '\ufeff',
    '/**/',
    "'",
    '01',
    '+1',
    'NaN',
    '\u00a0',
    '\u2028',
  ),
  { maxLength: 12 },
);

test('whatever JSON.parse refuses is refused here, and nothing else throws than the one fault', () => {
  const check = (source: string): void => {
    let plain: { value: unknown } | undefined;
    try {
      plain = { value: JSON.parse(source) };
    } catch {
      plain = undefined;
    }
    try {
      const value = parseExactJson(source);
      assert.ok(plain !== undefined, `taken: ${JSON.stringify(source)}`);
      assert.deepEqual(toPlain(value), plain.value);
    } catch (error) {
      if (!(error instanceof JsonFault)) throw error;
    }
  };
  fc.assert(
    fc.property(pieces, (parts) => check(parts.join(''))),
    { numRuns: isLong ? 3_000 : 500 },
  );
  fc.assert(fc.property(fc.string({ unit: 'binary' }), check));
  fc.assert(
    fc.property(
      document,
      fc.nat(),
      fc.string({ unit: 'binary', maxLength: 2 }),
      (value, at, junk) => {
        const source = JSON.stringify(value);
        const index = at % (source.length + 1);
        check(source.slice(0, index) + junk + source.slice(index));
        check(source.slice(0, index));
      },
    ),
  );
});

test('space is taken where JSON has it', () => {
  fc.assert(
    fc.property(fc.array(space, { minLength: 9, maxLength: 9 }), (s) => {
      const source = `${s[0]}{${s[1]}"a"${s[2]}:${s[3]}[${s[4]}1${s[5]},${s[6]}2${s[7]}]}${s[8]}`;
      assert.deepEqual(toPlain(parseExactJson(source)), { a: [1, 2] });
    }),
  );
});

test('numbers keep every digit', () => {
  const digits = '12345678901234567890.123456789012345678901234567890';
  assert.equal(
    JSON.stringify(parseExactJson(`[${digits},100.10,-0,1E+2]`)),
    `[${digits},100.10,-0,1E+2]`,
  );
  for (const wrong of [
    '1e400',
    '1e-400',
    '1'.repeat(61),
    '01',
    '1.',
    '.5',
    '-',
    '+1',
    'Infinity',
    '0x1',
    '1e',
  ]) {
    assert.throws(() => parseExactJson(wrong), JsonFault, wrong);
  }
});

test('hostile documents are refused, each with where it went wrong', () => {
  const faults: [string, string][] = [
    ['{"a":1,"a":2}', ''],
    ['{"x":{"b":1,"\\u0062":2}}', '/x'],
    ['{"__proto__":{"polluted":true}}', ''],
    ['{"\\u005f_proto__":1}', ''],
    ['["ok","\\u0000"]', '/1'],
    ['{"a/b":{"c~d":"\\ud800"}}', '/a~1b/c~0d'],
    ['"\\udc00\\ud800"', ''],
    ['{"a":1e999}', '/a'],
    ['[1,2,]', '/2'],
    ['{"a":1,}', ''],
    ['[1] 2', ''],
    ['', ''],
    ['\ufeff[]', ''],
    ['"\u0000"', ''],
    ['"a\nb"', ''],
  ];
  for (const [source, pointer] of faults) {
    assert.throws(
      () => parseExactJson(source),
      (error) => error instanceof JsonFault && error.pointer === pointer,
      JSON.stringify(source),
    );
  }
  assert.equal(({} as Record<string, unknown>)['polluted'], undefined);
});

test('a fault says what was expected, and where', () => {
  const faults: [source: string, message: string, place: string][] = [
    ['{bad', 'expected a key in double quotes', 'line 1, column 2'],
    ['{"a" 1}', 'expected a colon', 'line 1, column 6'],
    ['{\n  "a": 1\n  "b": 2}', 'expected a comma or }', 'line 3, column 3'],
    ['[1 2]', 'expected a comma or ]', 'line 1, column 4'],
    ['{"a":', 'a value is missing: the text ends', 'line 1, column 6'],
    ['{"a":01}', 'expected a comma or }', 'line 1, column 7'],
    ['{"a":yes}', 'expected a value', 'line 1, column 6'],
    ['{} {}', 'unexpected text after the value', 'line 1, column 4'],
  ];
  for (const [source, message, place] of faults) {
    assert.throws(() => parseExactJson(source), { message, place }, source);
  }
});

test('bytes that are not UTF-8 are refused', () => {
  for (const bytes of [
    [0x22, 0xff, 0x22],
    [0x22, 0xed, 0xa0, 0x80, 0x22],
    [0x22, 0xc0, 0x80, 0x22],
    [0x22, 0xe2, 0x82],
  ]) {
    assert.throws(() => parseExactBytes(Buffer.from(bytes)), JsonFault);
  }
});

test('depth is bounded, before the stack is', () => {
  const nest = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  parseExactJson(nest(depthMax));
  assert.throws(() => parseExactJson(nest(depthMax + 1)), JsonFault);
  assert.throws(() => parseExactJson('['.repeat(1_000_000)), JsonFault);
  assert.throws(() => parseExactJson('{"a":'.repeat(200_000)), JsonFault);
});

test('a long document of any shape is read in linear time: no work is repeated', () => {
  // Quadratic work would take minutes on these; nothing is timed.
  const many = 200_000;
  parseExactJson(JSON.stringify(Array.from({ length: many }, (_, index) => index)));
  parseExactJson(
    JSON.stringify(
      Object.fromEntries(
        Array.from({ length: many }, (_, index) => [`k${index}`, '\\"'.repeat(3)]),
      ),
    ),
  );
  parseExactJson(JSON.stringify('\\'.repeat(many)));
  assert.throws(() => parseExactJson(`"${'\\"'.repeat(many)}`), JsonFault);
  assert.throws(() => parseExactJson(`[${'1'.repeat(many)}]`), JsonFault);
});

test('one canonical text per value: spelling, order of keys and form of numbers do not matter', () => {
  const same = [
    '{"b":[1.50,true],"a":"\\u00e9","c":-0}',
    ' { "a" : "é", "c" : 0.0, "b" : [ 15e-1 , true ] } ',
    '{"c":0,"a":"\u00e9","b":[0.15E+1,true]}',
  ].map((source) => canonicalizeJson(parseExactJson(source)));
  assert.equal(new Set(same).size, 1);
  fc.assert(
    fc.property(document, document, (a, b) => {
      const [left, right] = [a, b].map((value) =>
        canonicalizeJson(parseExactJson(JSON.stringify(value))),
      );
      const isEqual =
        JSON.stringify(JSON.parse(left ?? '')) === JSON.stringify(JSON.parse(right ?? ''));
      assert.equal(left === right, isEqual);
      // Number and text of the same digits are two values.
      assert.notEqual(canonicalizeJson(new JsonNumber('1')), canonicalizeJson('1'));
    }),
  );
});

test('pointers escape what RFC 6901 says', () => {
  assert.equal(formatPointer([]), '');
  assert.equal(formatPointer(['a/b', 'm~n', 0, '']), '/a~1b/m~0n/0/');
});
