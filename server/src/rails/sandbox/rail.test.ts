import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Instruction } from '../contract/contract.ts';
import { createSandboxRail, type ScriptedOutcome } from './rail.ts';

const instruction = {
  reference: '0198d1b4a6c87d3f9a1b2c3d4e5f60718001',
  payerKey: 'mex-bank',
  countryCode: 'MEX',
  deliveryType: 'BANK_DEPOSIT',
  currency: 'MXN',
  amountMinor: 180_000n,
  attributes: {},
  committedAtMs: 0,
  availableAtMs: 60_000,
} as unknown as Instruction;
const context = { signal: new AbortController().signal };

async function readReference(changes: Partial<Instruction>, script?: ScriptedOutcome) {
  const rail = createSandboxRail({ nowMs: () => 0, findScript: async () => script });
  const given = { ...instruction, ...changes };
  const sent = await rail.send(given, context);
  const queried = await rail.query(given, context);
  assert.equal(sent.providerReference, queried.providerReference, 'the same whenever it is asked');
  return sent.providerReference;
}

test('a payment that was taken on has a number of the payer', async () => {
  const number = await readReference({});
  assert.match(number ?? '', /^SBX[0-9A-F]{12}$/);
  assert.equal(await readReference({}, 'completed'), number);
  assert.notEqual(await readReference({ reference: `${instruction.reference}2` }), number);
});

test('on a chain it has a transaction hash of the form of the chain', async () => {
  const deliveryType = 'CRYPTOCURRENCY';
  assert.match((await readReference({ deliveryType, currency: 'USDC' })) ?? '', /^0x[0-9a-f]{64}$/);
  assert.match((await readReference({ deliveryType, currency: 'BTC' })) ?? '', /^[0-9a-f]{64}$/);
});

test('what was refused, or is not known to have arrived, has none', async () => {
  assert.equal(await readReference({}, 'rejected'), undefined);
  assert.equal(await readReference({}, 'unknown'), undefined);
});
