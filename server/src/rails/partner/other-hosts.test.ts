import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  context,
  newInstruction,
  openPartnerRail,
  type PartnerProcess,
  type PartnerRail,
  startPartner,
  waitUntil,
} from '../../../testing/setups/partner.ts';

/** Rails of one partner with another database, clock or key. */

let partner: PartnerProcess;
let subject: PartnerRail;

before(async () => {
  partner = await startPartner({ fee: '0.75', settleMs: 100, collectMs: null });
  subject = await openPartnerRail({ keys: partner.keys, url: partner.url });
});
after(async () => {
  await subject.close();
  await partner.close();
});

test('after a restore from backup the partner is found to know the payment', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  const restored = await openPartnerRail({ keys: partner.keys, url: partner.url });
  try {
    // The callback address differs, so that the partner sees another body under the reference.
    const answer = await restored.rail.send(instruction, context);
    assert.equal(answer.outcome === 'accepted' || answer.outcome === 'paid', true);
  } finally {
    await restored.close();
  }
});

test('signatures are of real time, also where the environment is ahead', async () => {
  const ahead = await openPartnerRail({
    keys: partner.keys,
    url: partner.url,
    nowMs: () => Date.now() + 40 * 86_400_000,
  });
  try {
    const answer = await ahead.rail.send(newInstruction(), context);
    assert.equal(answer.outcome, 'accepted');
    await waitUntil(() => ahead.host.observations.length === 1, 'a callback');
  } finally {
    await ahead.close();
  }
});

test('the check finds a wrong key and a partner that is not there', async () => {
  assert.deepEqual(await subject.rail.check?.(context), []);
  const stranger = await openPartnerRail({
    keys: { ...partner.keys, outlay: { ...partner.keys.partner, id: 'outlay-1' } },
    url: partner.url,
  });
  try {
    assert.deepEqual(await stranger.rail.check?.(context), [
      'the partner answers 401 to GET /health',
    ]);
    // It was not booked for certain, so that it may be sent when the key is corrected.
    assert.deepEqual(await stranger.rail.send(newInstruction(), context), {
      outcome: 'retry',
      reason: 'not_configured',
    });
  } finally {
    await stranger.close();
  }
});
