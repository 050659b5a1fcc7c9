import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCompany, createPayer, createRail } from '../../testing/setups/destinations.ts';
import { measureRequirements } from './requirement-ages.ts';

test('the age is that of the payer that was not read for the longest time', () => {
  const payers = ['first', 'second', 'never'].map((key) => createPayer(key));
  const times = new Map([
    ['first', 90_000],
    ['second', 40_000],
  ]);
  const asking = {
    ...createRail('asking', [createCompany('first')], payers),
    findRequirementsTime: (payerKey: string) => times.get(payerKey),
  };
  const unread = { ...asking, name: 'unread', findRequirementsTime: () => undefined };
  const plain = createRail('plain', [createCompany('first')], payers);
  assert.deepEqual(measureRequirements([asking, unread, plain], 100_000), [
    { rail: 'asking', ageMs: 60_000 },
  ]);
});
