import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { hubBehaviors } from '../../../testing/counterparties/fspiop/hub-callbacks.ts';
import { faultMatching } from '../../../testing/fault-proxy/fault-proxy.ts';
import {
  context,
  countQuotes,
  instruct,
  openTestRun,
  type TestRun,
} from '../../../testing/setups/fspiop.ts';
import { nameTransfer } from './payment.ts';

/** Time limits, with a clock that the test moves. */

const clock = { aheadMs: 0 };
let run: TestRun;
before(async () => {
  run = await openTestRun({ nowMs: () => Date.now() + clock.aheadMs });
});
after(() => run.close());

function observed(reference: string) {
  return run.host.observations.filter((one) => one.reference === reference);
}

const minuteMs = 60_000;

/** A payment whose transfer was not sent yet. On a busy machine a pass may quote and send: then another one. */
async function sendUntilQuoted() {
  for (;;) {
    const instruction = instruct();
    await run.rail.send(instruction, context);
    let state: string | undefined;
    await run.until(async () => {
      const transferId = nameTransfer(instruction.reference);
      state = (await run.host.store.get('payments', transferId))?.state;
      return state !== undefined && state !== 'lookup' && state !== 'quote_due';
    });
    // The terms may have come by now.
    if (state !== 'quote' && state !== 'transfer_due') continue;
    await run.simulator.settle();
    return instruction;
  }
}

test('a quote that expires before the transfer is requested again', async () => {
  const instruction = await sendUntilQuoted();
  clock.aheadMs += 2 * minuteMs;
  await run.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
  assert.equal(await countQuotes(run, instruction.reference), 2);
});

test('a payment without terms in time is refused and the service is notified', async () => {
  run.simulator.callbackTo('http://127.0.0.1:1');
  const instruction = instruct();
  assert.equal((await run.rail.send(instruction, context)).outcome, 'accepted');
  await run.simulator.settle();
  clock.aheadMs += 4 * minuteMs;
  await run.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'rejected');
  assert.equal(observation.reason, 'payer_unavailable');
  assert.equal((await run.rail.query(instruction, context)).outcome, 'rejected');
  run.simulator.callbackTo(run.host.callbackUrl);
});

test('an expired transfer without an answer is not refused', async () => {
  const instruction = instruct({ behavior: hubBehaviors.lostCallbacks });
  const transferId = nameTransfer(instruction.reference);
  await run.rail.send(instruction, context);
  await run.until(() => run.simulator.books.find(transferId) !== undefined);
  await run.simulator.settle();
  clock.aheadMs += 60 * minuteMs;
  const answer = await run.rail.query(instruction, context);
  assert.notEqual(answer.outcome, 'rejected');
  await run.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
});

test('a transfer that never arrived is refused only by the hub', async () => {
  const instruction = instruct();
  const transferId = nameTransfer(instruction.reference);
  run.proxy.decide(faultMatching(/^POST \/transfers/, { kind: 'reset' }, 1));
  await run.rail.send(instruction, context);
  await run.until(async () => {
    const record = await run.host.store.get('payments', transferId);
    return record?.state === 'transfer';
  });
  clock.aheadMs += 60 * minuteMs;
  const late = await run.rail.query(instruction, context);
  assert.equal(late.outcome, 'unknown');
  await run.until(() => observed(instruction.reference).length > 0);
  const [observation] = observed(instruction.reference);
  assert.equal(observation?.outcome, 'rejected');
  assert.equal(observation.code, '3303');
  assert.equal(run.simulator.books.find(transferId)?.state, 'ABORTED');
});

test('a payment can be sent again when the hub was unreachable', async () => {
  const instruction = instruct();
  run.proxy.decide(faultMatching(/^GET \/parties/, { kind: 'reset' }, 1));
  const first = await run.rail.send(instruction, context);
  assert.equal(first.outcome, 'retry');
  assert.equal((await run.rail.query(instruction, context)).outcome, 'retry');
  assert.equal((await run.rail.send(instruction, context)).outcome, 'accepted');
  await run.until(() => observed(instruction.reference).length > 0);
  assert.equal(observed(instruction.reference)[0]?.outcome, 'paid');
});

test('check reports an unreachable hub', async () => {
  assert.deepEqual(await run.rail.check?.(context), []);
  const broken = await openTestRun({ config: { hubUrl: 'http://127.0.0.1:1' } });
  assert.equal((await broken.rail.check?.(context))?.length, 1);
  await broken.close();
});
