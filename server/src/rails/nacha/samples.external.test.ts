import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { formatAchFile } from './ach-file.ts';
import { parseAchFile } from './ach-parser.ts';
import { readInboundFile } from './inbound-reader.ts';

/**
 * Sample files that others have made, right and wrong ones. `OUTLAY_SHARED_DATA` is the folder that
 * has them in `nacha`; by default `shared/data` beside the repository.
 */
const defaultData = fileURLToPath(new URL('../../../../../shared/data', import.meta.url));
const folder = path.join(process.env['OUTLAY_SHARED_DATA'] ?? defaultData, 'nacha');

/** Files that are wrong, by their names or by their arithmetic, and what is wrong with them. */
const refusals: Readonly<Record<string, RegExp>> = {
  // Pieces of files, and what a fuzzer has left of some.
  '0.ach': /line 1 must be a file header/,
  '1.ach': /line 1 must be a file header/,
  '2.ach': /line 1 must be a file header/,
  '3.ach': /line 1 must be a file header/,
  '4.ach': /control character/,
  '5.ach': /line 1 must have 94 characters and has 182/,
  'bh-ed-ad-bh-ed-ad-ed-ad.ach': /line 1 must be a file header/,
  'return-no-batch-controls.ach': /line 1 must be a file header/,
  'return-no-file-header-control.ach': /line 1 must be a file header/,
  'adv-noFileControl.ach': /the file ends where a file control/,
  // Wrong on purpose.
  'adv-invalidFileControl.ach': /file control: its sum of entries and addenda/,
  'Iat-invalidAddenda13.ach': /line 7/,
  'iat-batchHeaderErr.ach': /line 4 must be an entry or a batch control/,
  'iat-invalidAddenda11.ach': /line 5/,
  'iat-invalidAddenda12.ach': /line 6/,
  'iat-invalidAddenda14.ach': /line 8/,
  'iat-invalidAddenda16.ach': /line 10/,
  'iat-invalidAddenda17.ach': /line 11/,
  'iat-invalidAddenda18.ach': /line 12/,
  'iat-invalidAddenda99.ach': /the return code R96 is unknown/,
  'iat-invalidAddendaRecordIndicator.ach': /the addenda indicator does not agree/,
  'iat-invalidBatchControl.ach': /batch 1: header and control must have the same/,
  'iat-invalidEntryDetail.ach': /the transaction code 90 is unknown/,
  'pos-invalidEntryDetail.ach': /line 3 has a control character/,
  'pos-invalidReturnFile.ach': /the return code R96 is unknown/,
  'ppd-debit-fixedLengthInvalid.ach': /line 1 must have 94 characters and has 471/,
  'ppd-debit-invalid-entryDetail-checkDigit.ach': /check digit/,
  'ppd-mixedDebitCredit-invalid.ach': /destination and origin must be numbers/,
  'return-PPD-custom-reason-code.ach': /the return code R97 is unknown/,
  'skip-validation.ach': /destination and origin must be numbers/,
  // Meant to be right, and not: debits in a batch of credits, sums that are not those of the
  // entries, a record two places too long.
  '20110805A.ach': /batch count of the file control/,
  '20180713-IAT.ach': /class 220 must not have such entries/,
  '20180716-IAT-A17-A18.ach': /class 220 must not have such entries/,
  'flattenADVBatchesMultipleBatchHeaders.ach': /file control: its sum of credits/,
  'moov-ids.ach': /file control: its sum of the entry hash/,
  'nonascii-utf8.ach': /file control: its sum of entries and addenda/,
  'nonascii.ach': /file control: its sum of entries and addenda/,
  'shr-credit.ach': /file control: its sum of entries and addenda/,
  'txp-debit.ach': /line 4: places 88 to 94/,
};

const names = readdirSync(folder).filter((name) => name.endsWith('.ach'));

test('the sample files are there', () => {
  assert.ok(names.length >= 70, `${names.length} files`);
  for (const name of Object.keys(refusals)) assert.ok(names.includes(name), name);
});

test('every sample named invalid is among those that are refused', () => {
  const invalid = names.filter((name) => /invalid|Err\b/i.test(name));
  assert.ok(invalid.length >= 15);
  assert.deepEqual(
    invalid.filter((name) => !Object.hasOwn(refusals, name)),
    [],
  );
});

for (const name of names) {
  const refusal = refusals[name];
  const bytes = readFileSync(path.join(folder, name));
  if (refusal === undefined) {
    test(`${name} is read, and written again the same`, () => {
      const file = parseAchFile(bytes);
      assert.deepEqual(parseAchFile(Buffer.from(formatAchFile(file))), file);
    });
  } else {
    test(`${name} is refused`, () => {
      assert.throws(() => parseAchFile(bytes), refusal);
    });
  }
}

test('returns with unknown codes are read', () => {
  const bytes = readFileSync(path.join(folder, 'return-PPD-custom-reason-code.ach'));
  const [batch] = parseAchFile(bytes, 'lenient').batches;
  assert.equal(batch?.entries[0]?.addenda[0]?.values['code'], 'R97');
});

test('returns are found in files that lack header, control or batch controls', () => {
  const read = (name: string) => readInboundFile(readFileSync(path.join(folder, name)));
  const whole = read('return-WEB.ach');
  assert.deepEqual(whole.faults, []);
  assert.deepEqual(
    whole.entries.map(({ amountMinor, isBatchSound }) => [amountMinor, isBatchSound]),
    [
      [12_354n, true],
      [4_565n, true],
    ],
  );
  const headless = read('return-no-file-header-control.ach');
  assert.equal(headless.faults.length, 2);
  assert.deepEqual(
    headless.entries.map(({ isBatchSound }) => isBatchSound),
    [true, true].slice(0, headless.entries.length),
  );
  assert.ok(headless.entries.length > 0);
  const open = read('return-no-batch-controls.ach');
  assert.ok(open.entries.length > 0);
  assert.ok(open.entries.every(({ isBatchSound }) => !isBatchSound));
  assert.ok(open.faults.length > 0);
});

test('an invalid sample has faults as an inbound file, unless only its return code is unknown', () => {
  const silent = Object.keys(refusals).filter((name) => {
    const { faults } = readInboundFile(readFileSync(path.join(folder, name)));
    return faults.length === 0;
  });
  assert.deepEqual(silent.toSorted(), [
    'iat-invalidAddenda99.ach',
    'pos-invalidReturnFile.ach',
    'return-PPD-custom-reason-code.ach',
  ]);
});
