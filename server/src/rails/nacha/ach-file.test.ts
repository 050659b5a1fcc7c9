import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  makeForeignEntry,
  makeInstruction,
  readTestConfig,
  withIat,
} from '../../../testing/setups/nacha.ts';
import type { Instruction } from '../contract/contract.ts';
import { formatAchFile } from './ach-file.ts';
import { parseAchFile } from './ach-parser.ts';
import { type BuiltFile, buildFile } from './build-file.ts';
import { type Draft, draftEntry } from './drafts.ts';
import { checkBuiltFile, listEntries } from './final-check.ts';

const created = { day: '2026-11-20', time: '10:00' };

function draft(instruction: Instruction): Draft {
  const config = readTestConfig(withIat());
  const result = draftEntry(instruction, config, undefined);
  assert.ok(result.ok);
  return result.draft;
}

function build(
  drafts: readonly Draft[],
  changes: Readonly<Record<string, unknown>> = {},
): BuiltFile {
  const config = readTestConfig({ ...withIat(), ...changes });
  const plan = { config, created, modifier: 'A', effectiveOn: '2026-11-23', drafts, traceFirst: 1 };
  return buildFile({ ...plan, referenceCode: '0A1B2C3D' });
}

function parseText(text: string) {
  return parseAchFile(Buffer.from(text, 'ascii'));
}

test('a file has the records of the rules, character by character', () => {
  const { text } = build([draft(makeInstruction('0198c0ffee00700080000000000000a1'))]);
  const filler = '9'.repeat(94);
  assert.deepEqual(text.split('\n'), [
    '101 12104288219876543212611201000A094101Test Bank              Outlay Payments Inc    0A1B2C3D',
    '5220Outlay                              1987654321PPDPAYOUT    261123261123   1121042880000001',
    '6220210000211234567890       00000012340000000000000a1Zoe Fournier            1121042880000001',
    '705RMR*IV*0198c0ffee00700080000000000000a1\\                                        00010000001',
    '822000000200021000020000000000000000000012341987654321                         121042880000001',
    '9000001000001000000020002100002000000000000000000001234                                       ',
    ...Array.from({ length: 4 }, () => filler),
    '',
  ]);
});

test('an IAT entry has its seven mandatory addenda and our reference', () => {
  const { text } = build([
    draft(makeForeignEntry('0198c0ffee00700080000000000000a3', { screening: 'clear' })),
  ]);
  const lines = text.split('\n');
  assert.deepEqual(lines.slice(1, 12), [
    '5220                FF3               CA1987654321IATPAYOUT    USDUSD261123   1121042880000001',
    '6220910000190008             0000001234000123456789                          01121042880000001',
    '710REM000000000000001234                      Bek Solutions                            0000001',
    '711Outlay Payments Inc                15 West Place Street                             0000001',
    '712Jacobstown*PA\\                     US*19305\\                                        0000001',
    '713Test Bank                          01121042882                         US           0000001',
    '714Citadel Bank                       02CITDCATTXXX                       CA           0000001',
    '7150000000000000a32121 Front Street                                                    0000001',
    '716Lettertown*AB\\                     CA*80014\\                                        0000001',
    '717RMR*IV*0198c0ffee00700080000000000000a3\\                                        00010000001',
    '822000000900091000010000000000000000000012341987654321                         121042880000001',
  ]);
});

test("a balanced file debits the operator's account with the sum of its credits", () => {
  const drafts = [
    draft(makeInstruction('a1', { amountMinor: 9_999_999_999n })),
    draft(makeInstruction('a2')),
    draft(makeForeignEntry('a3')),
  ];
  const built = build(drafts, {
    settlement: { kind: 'balanced', routingNumber: '121042882', accountNumber: '99887766' },
  });
  const { control } = parseText(built.text);
  assert.equal(control.debitTotal, control.creditTotal);
  assert.equal(BigInt(control.creditTotal), 9_999_999_999n + 2n * 1234n);
  // More than one entry can hold is taken in two.
  assert.equal(built.offsetTraces.length, 2);
  checkBuiltFile(built, drafts);
});

test('a written file reads back the same, with either line end', () => {
  const drafts = ['a1', 'a2', 'a3'].map((reference) => draft(makeInstruction(reference)));
  const { file, text } = build([...drafts, draft(makeForeignEntry('a4'))]);
  const read = parseText(text);
  assert.equal(formatAchFile(read), text);
  assert.deepEqual(parseText(formatAchFile(file, '\r\n')), read);
  assert.deepEqual(parseText(text.replaceAll('\n', '')), read);
  assert.deepEqual(
    listEntries(read).map(({ reference, trace }) => `${reference} ${trace}`),
    ['a1 121042880000001', 'a2 121042880000002', 'a3 121042880000003', 'a4 121042880000004'],
  );
});

test('a file is filled up to blocks of ten records', () => {
  for (const count of [1, 2, 3, 4, 5, 6, 7, 8]) {
    const drafts = Array.from({ length: count }, (_, index) => draft(makeInstruction(`r${index}`)));
    const lines = build(drafts).text.split('\n').slice(0, -1);
    assert.equal(lines.length % 10, 0);
    assert.equal(Number(parseText(lines.join('\n')).control.blockCount), lines.length / 10);
  }
});

test('the final check refuses an entry that differs from what was ordered', () => {
  const drafts = [draft(makeInstruction('a1')), draft(makeInstruction('a2'))];
  const [first, second] = drafts as [Draft, Draft];
  const built = build(drafts);
  checkBuiltFile(built, drafts);
  const tamper = (change: Partial<Draft>) => [{ ...first, ...change } as Draft, second];
  const wrong = /entry of a1 differs from what was ordered/;
  assert.throws(() => checkBuiltFile(built, tamper({ amountMinor: 1235n })), wrong);
  assert.throws(() => checkBuiltFile(built, tamper({ account: '1234567891' })), wrong);
  assert.throws(() => checkBuiltFile(built, tamper({ routingNumber: '121042882' })), wrong);
  assert.throws(() => checkBuiltFile(built, tamper({ transactionCode: '32' })), wrong);
  assert.throws(() => checkBuiltFile(built, [first]), /was not ordered/);
  assert.throws(() => checkBuiltFile(build([first]), drafts), /lacks 1 entries/);
  assert.throws(() => checkBuiltFile(build([first, first]), [first]), /was not ordered/);
});
