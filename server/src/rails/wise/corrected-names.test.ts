import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type HostGround, openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  newInstruction,
  openWiseRail,
  type WiseRail,
} from '../../../testing/setups/wise.ts';

/** A client may correct the name of a recipient while Wise has the payment. */

let ground: HostGround;
let subject: WiseRail;
before(async () => {
  ground = await openHostGround();
  subject = await openWiseRail(ground);
});
after(async () => {
  await subject.close();
  await ground.close();
});

function correct(instruction: ReturnType<typeof newInstruction>) {
  const { beneficiary } = instruction;
  return { ...instruction, beneficiary: { ...beneficiary, lastName: 'Corrected' } };
}

test('a payment whose recipient has a corrected name is still answered for', async () => {
  const instruction = newInstruction();
  assert.equal((await subject.rail.send(instruction, context)).outcome, 'accepted');
  const corrected = correct(instruction);
  assert.equal((await subject.rail.query(corrected, context)).outcome, 'accepted');
  assert.equal((await subject.rail.send(corrected, context)).outcome, 'accepted');
  assert.equal(subject.wise.find(instruction.reference)?.fundings, 1);
  assert.equal((await subject.rail.cancel?.(corrected, context))?.outcome, 'rejected');
});

test('another account under the same reference is another payment', async () => {
  const instruction = newInstruction();
  await subject.rail.send(instruction, context);
  const attributes = { ...instruction.attributes, BankAccountNumber: 'DE02120300000000202051' };
  const answer = await subject.rail.query({ ...instruction, attributes }, context);
  assert.deepEqual(answer, { outcome: 'unknown', reason: 'duplicate' });
});
