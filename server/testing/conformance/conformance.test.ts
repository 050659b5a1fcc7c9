import assert from 'node:assert/strict';
import { after, describe, test } from 'node:test';
import { createChecks } from './checks.ts';
import { listCases, testConformance } from './conformance.ts';
import { describeMiniRail, type PlantedDefect, plantedDefects } from './mini-rail.ts';
import { closeGround, draftInstruction } from './test-run.ts';

testConformance(describeMiniRail('none'));

const form = 'every output has the documented form';
const leaks = 'keys, states, logs, errors and codes hold no personal data';

/** The case that has to find each defect. */
const found: Record<Exclude<PlantedDefect, 'none'>, string> = {
  new_key_each_time: 'an order does not arrive after a query has answered retry',
  forgets_what_was_sent: 'two sends of a reference in sequence are one payment',
  ignores_revisions: 'concurrent sends of a reference are one payment',
  silence_is_refusal: 'a reset before the first byte of the answer',
  silence_is_retry: 'status 500 after booking',
  believes_404: 'status 404 from an intermediary',
  throws: form,
  believes_anybody: 'forged callbacks are refused',
  callback_needs_record: 'callbacks of unknown payments have no effect',
  resends_refused: 'a payment that is paid is not paid again by another send',
  logs_names: leaks,
  keys_by_account: leaks,
  says_zero: form,
  says_own_words: form,
  books_first: 'killed after each step, a successor completes the payment',
  never_asks: 'queries make up for lost callbacks',
  orders_while_stopped: 'a query of a stopped payment orders nothing',
};

test('no short personal text of a draft can be part of a number or hash by chance', () => {
  const rule = { lengthMax: 36, charset: /^[0-9a-f-]+$/ };
  const { beneficiary, pickupCode } = draftInstruction(rule, Date.now());
  const { countryCode: _country, ...person } = beneficiary;
  const texts = [...Object.values(person), pickupCode].filter((text) => text !== '');
  assert.deepEqual(
    texts.filter((text) => text.length < 10 && /^[0-9a-f]*$/i.test(text)),
    [],
  );
});

describe('a rail with a defect does not pass', { concurrency: 4 }, () => {
  after(closeGround);
  for (const defect of plantedDefects) {
    test(defect, async () => {
      assert.ok(await isFound(defect), 'the case that has to find it passed');
    });
  }
});

/** Runs cases that provoke the defect, and the case that has to find it. */
async function isFound(defect: Exclude<PlantedDefect, 'none'>): Promise<boolean> {
  const subject = describeMiniRail(defect);
  const options = { subject, checks: createChecks() };
  const wanted = found[defect];
  const looksBack = wanted === form || wanted === leaks;
  const provoking = [
    'a payment is made once and is paid',
    'a payment that is rejected is not paid again by another send',
    'a reset before the first byte of the answer',
  ];
  for (const { name, run } of listCases(subject)) {
    if (name !== wanted && !(looksBack && provoking.includes(name))) continue;
    try {
      await run(options);
    } catch {
      if (name === wanted) return true;
    }
  }
  return false;
}
