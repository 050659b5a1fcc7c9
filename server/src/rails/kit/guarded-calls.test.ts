import assert from 'node:assert/strict';
import { test } from 'node:test';
import { context, newInstruction } from '../../../testing/setups/paypal.ts';
import type { RailHost } from '../contract/contract.ts';
import { guardCall } from './guarded-calls.ts';

test('a call that throws leaves the outcome unknown, and logs nothing personal', async () => {
  const lines: Parameters<RailHost['log']>[] = [];
  const setup = { host: { log: (...line: Parameters<RailHost['log']>) => void lines.push(line) } };
  const instruction = newInstruction();
  const { reference } = instruction;
  const answered = guardCall(setup, async () => ({ outcome: 'accepted' }));
  assert.deepEqual(await answered(instruction, context), { outcome: 'accepted' });
  assert.deepEqual(lines, []);
  const failed = guardCall(setup, () => Promise.reject(new RangeError('Jane Doe')));
  assert.deepEqual(await failed(instruction, context), { outcome: 'unknown', reason: 'other' });
  const fields = { reference, error: 'RangeError' };
  assert.deepEqual(lines, [['error', 'a call of the rail failed', fields]]);
});
