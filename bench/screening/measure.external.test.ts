import assert from 'node:assert/strict';
import { join } from 'node:path';
import { test } from 'node:test';
import { defaultThresholdPermille } from '../../server/src/screening/screening.ts';
import { createScreeningTest } from '../../server/testing/setups/screening.ts';
import { measure, thresholds } from './report.ts';

/** On the true lists: OUTLAY_SHARED_DATA names the folder that has `sanctions/` in it. */

const sharedData = process.env['OUTLAY_SHARED_DATA'] ?? '';

/** Shares that must be found at the default threshold; a little below what was measured. */
const recallMin: Readonly<Record<string, number>> = {
  'person, as listed': 0.995,
  'person, words in another order': 0.995,
  'person, one wrong letter': 0.95,
  'person, two wrong letters': 0.92,
  'person, a middle name left out': 0.95,
  'person, a name as its initial': 0.94,
  'person, two words as one': 0.94,
  'person, one word as two': 0.94,
  'person, another transliteration': 0.96,
  'organisation, as listed': 0.995,
  'organisation, one wrong letter': 0.93,
  'person, in Arabic and other scripts': 0.78,
  'person, alias that the list lacks': 0.78,
};
const heldMax = 0.02;

test('the true lists are found in disguise, and ordinary people are left alone', async () => {
  assert.ok(sharedData !== '', 'OUTLAY_SHARED_DATA is not set');
  await using screening = await createScreeningTest();
  const report = await measure({
    db: screening.db,
    folder: join(sharedData, 'sanctions'),
    casesEach: 200,
    ordinaryPeople: 1_000,
    nowMs: () => Date.now(),
    say: () => undefined,
  });
  assert.deepEqual(
    report.lists.map(({ list, entries }) => [list, entries > 900]),
    [
      ['ofac_sdn', true],
      ['un_consolidated', true],
    ],
  );
  const column = thresholds.findIndex((threshold) => threshold === defaultThresholdPermille);
  assert.ok(column >= 0, 'the default threshold is not among those that are measured');
  for (const [name, share] of Object.entries(recallMin)) {
    const line = report.recall.find((one) => one.name === name);
    assert.ok(line !== undefined && line.count > 0, name);
    const found = (line.hits[column] ?? 0) / line.count;
    assert.ok(found >= share, `${name}: ${found} found`);
  }
  const [, held] = report.falseMatches;
  assert.ok(
    held !== undefined && (held.hits[column] ?? 0) / held.count <= heldMax,
    'too many held',
  );
});
