import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { habits } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import { faultMatching } from '../../../testing/fault-proxy/fault-proxy.ts';
import { context, instruct, openScene, type Scene } from '../../../testing/setups/fspiop.ts';
import { nameTransfer } from './payment.ts';

/** What time does to a payment, by a clock that the test turns. */

const clock = { aheadMs: 0 };
let scene: Scene;
before(async () => {
  // A quote is asked for again by itself where a busy machine takes longer than this to answer.
  const config = { againMs: 1_000 };
  scene = await openScene({ nowMs: () => Date.now() + clock.aheadMs, config });
});
after(() => scene.close());

function observed(reference: string) {
  return scene.host.observations.filter((one) => one.reference === reference);
}

const minuteMs = 60_000;

test('a quote that ran out before the transfer was begun is replaced by another one', async () => {
  const instruction = instruct();
  const transferId = nameTransfer(instruction.reference);
  const quotes = scene.simulator.counts.get('POST /quotes') ?? 0;
  await scene.rail.send(instruction, context);
  await scene.until(async () => {
    const record = await scene.host.store.get('payments', transferId);
    // The terms may have come by now.
    if (record?.state !== 'quote' && record?.state !== 'transfer_due') return false;
    await scene.simulator.settle();
    return true;
  });
  clock.aheadMs += 2 * minuteMs;
  await scene.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
  assert.equal((scene.simulator.counts.get('POST /quotes') ?? 0) - quotes, 2);
});

test('a payment whose terms do not come in time is given up, and the service hears of it', async () => {
  scene.simulator.callbackTo('http://127.0.0.1:1');
  const instruction = instruct();
  assert.equal((await scene.rail.send(instruction, context)).outcome, 'accepted');
  await scene.simulator.settle();
  clock.aheadMs += 4 * minuteMs;
  await scene.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'rejected');
  assert.equal(observation.reason, 'payer_unavailable');
  assert.equal((await scene.rail.query(instruction, context)).outcome, 'rejected');
  scene.simulator.callbackTo(scene.host.callbackUrl);
});

test('a transfer about which nothing is heard is not dead when it has expired', async () => {
  const instruction = instruct({ habit: habits.lostCallbacks });
  const transferId = nameTransfer(instruction.reference);
  await scene.rail.send(instruction, context);
  await scene.until(() => scene.simulator.books.find(transferId) !== undefined);
  await scene.simulator.settle();
  clock.aheadMs += 60 * minuteMs;
  const answer = await scene.rail.query(instruction, context);
  assert.notEqual(answer.outcome, 'rejected');
  await scene.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
});

test('a transfer that never arrived is dead when the hub refuses it, and not before', async () => {
  const instruction = instruct();
  const transferId = nameTransfer(instruction.reference);
  scene.proxy.decide(faultMatching(/^POST \/transfers/, { kind: 'reset' }, 1));
  await scene.rail.send(instruction, context);
  await scene.until(async () => {
    const record = await scene.host.store.get('payments', transferId);
    return record?.state === 'transfer';
  });
  clock.aheadMs += 60 * minuteMs;
  const late = await scene.rail.query(instruction, context);
  assert.equal(late.outcome, 'unknown');
  await scene.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'rejected');
  assert.equal(observation.code, '3303');
  assert.equal(scene.simulator.books.find(transferId)?.state, 'ABORTED');
});

test('a hub that cannot be reached leaves a payment to be sent again', async () => {
  const instruction = instruct();
  scene.proxy.decide(faultMatching(/^GET \/parties/, { kind: 'reset' }, 1));
  const first = await scene.rail.send(instruction, context);
  assert.equal(first.outcome, 'retry');
  assert.equal((await scene.rail.query(instruction, context)).outcome, 'retry');
  assert.equal((await scene.rail.send(instruction, context)).outcome, 'accepted');
  await scene.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
});

test('the setup is checked by asking', async () => {
  assert.deepEqual(await scene.rail.check?.(context), []);
  const broken = await openScene({ config: { hubUrl: 'http://127.0.0.1:1' } });
  assert.equal((await broken.rail.check?.(context))?.length, 1);
  await broken.close();
});
