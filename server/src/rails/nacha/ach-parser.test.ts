import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseAchFile } from './ach-parser.ts';
import { isReturnCode, readReturnCode } from './return-codes.ts';

const lines = [
  '101 12104288219876543212611201000A094101Test Bank              Outlay                         ',
  '5220Outlay                              1987654321PPDPAYOUT    261123261123   1121042880000001',
  '6220210000211234567890       00000012340000000000000a1Jo Doe                  1121042880000001',
  '705RMR*IV*0198c0ffee00700080000000000000a1\\                                        00010000001',
  '622091000019987654321        00000010000000000000000a2Al Roe                  0121042880000002',
  '822000000300112000030000000000000000000022341987654321                         121042880000001',
  '9000001000001000000030011200003000000000000000000002234                                       ',
];

type Edit = readonly [line: number, place: number, text: string];

function parse(edits: readonly Edit[] = []): ReturnType<typeof parseAchFile> {
  const edited = [...lines];
  for (const [line, place, text] of edits) {
    const before = edited[line - 1] ?? '';
    edited[line - 1] = before.slice(0, place - 1) + text + before.slice(place - 1 + text.length);
  }
  return parseAchFile(Buffer.from(edited.join('\n')));
}

test('a valid file is read', () => {
  const file = parse();
  assert.equal(file.batches[0]?.entries.length, 2);
  assert.equal(file.batches[0]?.entries[0]?.addenda.length, 1);
});

test('each fault is refused with a message that names it', () => {
  const cases: readonly (readonly [readonly Edit[], RegExp])[] = [
    [[[1, 2, '02']], /header must have priority 01/],
    [[[1, 34, '!']], /modifier must be A to Z or a digit/],
    [[[1, 14, 'TESTER']], /destination and origin must be numbers/],
    [[[2, 2, '221']], /service class 221 is unknown/],
    [[[3, 2, '20']], /entry 1: the transaction code 20 is unknown/],
    [[[3, 2, '27']], /class 220 must not have such entries/],
    [[[3, 12, '2']], /check digit of the routing number is wrong/],
    [[[3, 30, '00000O1234']], /line 3: places 30 to 39, the entry's amount, must be digits/],
    [[[3, 30, '0000001235']], /sum of credits differs from that of the entries/],
    [[[3, 79, '0']], /entry 1: the addenda indicator/],
    [[[5, 94, '1']], /entry 2: its trace number must be higher/],
    [[[4, 2, '77']], /line 4 is an addenda record of no known type/],
    [[[6, 11, '0011200004']], /sum of the entry hash/],
    [[[6, 5, '000004']], /sum of entries and addenda/],
    [[[6, 45, '1111111111']], /header and control must have the same/],
    [[[7, 2, '000002']], /batch count of the file control/],
    [[[7, 8, '000002']], /block count of the file control/],
    [[[7, 44, '000000002235']], /file control: its sum of credits/],
    [[[3, 55, '\u0007']], /line 3 has a control character/],
    [[[6, 1, '9']], /line 6 must be an entry or a batch control/],
  ];
  for (const [edits, sentence] of cases) assert.throws(() => parse(edits), sentence);
  const textOf = (count: number) => Buffer.from(lines.slice(0, count).join('\n'));
  assert.throws(
    () => parseAchFile(textOf(6)),
    /ends where a file control or a batch header is expected/,
  );
  assert.throws(() => parseAchFile(textOf(0)), /the file is empty/);
  const double = Buffer.from([...lines, ...lines].join('\n'));
  assert.throws(() => parseAchFile(double), /line 8 comes after the file control/);
});

test('a fault names no contents of the file', () => {
  const edits: readonly Edit[] = [
    [3, 40, 'Jo Doe'],
    [3, 54, 'x'.repeat(26)],
  ];
  assert.throws(
    () => parse(edits),
    (error: Error) => !error.message.includes('Jo') && !error.message.includes('1234567890'),
  );
});

test('every code from R01 to R85 that the rules have is in the table', () => {
  const missing: string[] = [];
  for (let number = 1; number <= 85; number += 1) {
    const code = `R${String(number).padStart(2, '0')}`;
    if (!isReturnCode(code)) missing.push(code);
  }
  // Numbers that the rules do not use.
  const unused = ['R48', 'R49', 'R54', 'R55', 'R56', 'R57', 'R58', 'R59', 'R60', 'R78', 'R79'];
  assert.deepEqual(missing, unused);
  assert.equal(readReturnCode('R03').reason, 'account_not_found');
  assert.deepEqual(readReturnCode('R99').reason, 'other');
});
