import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createChecks } from './checks.ts';
import { listCases, testConformance } from './conformance.ts';
import { type CallbackServer, openCallbackServer } from './delivery.ts';
import { describeMiniRail, type PlantedDefect, plantedDefects } from './mini-rail.ts';
import { railName } from './test-run.ts';

testConformance(describeMiniRail('none'));

let callbackServer: CallbackServer;
before(async () => {
  callbackServer = await openCallbackServer(railName);
});
after(() => callbackServer.close());

const form = 'every word of it had the documented form';
const leaks = 'nothing of a person was in keys, states, logs, errors and codes';

/** The case that has to find each defect. */
const found: Record<Exclude<PlantedDefect, 'none'>, string> = {
  new_key_each_time: 'what a query says was never sent does not arrive afterwards',
  forgets_what_was_sent: 'sent twice, one after the other, it is one payment',
  ignores_revisions: 'sent twice at the same moment it is one payment',
  silence_is_refusal: 'a reset before the first byte of the answer',
  silence_is_retry: 'an error 500 for what was booked',
  believes_404: 'an error 404 by somebody in between',
  throws: form,
  believes_anybody: 'forged callbacks are refused',
  callback_needs_record: 'callbacks about payments of somebody else do no fault',
  resends_refused: 'once paid, it is not paid again, however often it is sent',
  logs_names: leaks,
  keys_by_account: leaks,
  says_zero: form,
  says_own_words: form,
  books_first: 'killed after each step, the successor brings it to its end',
  never_asks: 'callbacks that get lost are made up for by asking',
};

for (const defect of plantedDefects) {
  test(`a rail with the defect ${defect} does not pass`, async () => {
    assert.ok(await isFound(defect), 'the case that has to find it passed');
  });
}

/** Runs cases that provoke the defect, and the case that has to find it. */
async function isFound(defect: Exclude<PlantedDefect, 'none'>): Promise<boolean> {
  const subject = describeMiniRail(defect);
  const options = { subject, checks: createChecks(), callbackServer };
  const wanted = found[defect];
  const looksBack = wanted === form || wanted === leaks;
  const provoking = [
    'a payment is made once and ends as paid',
    'once rejected, it is not paid again, however often it is sent',
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
