import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newInstruction } from '../../../testing/setups/partner.ts';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import type { EventPage } from './callbacks.ts';
import { beginSending } from './records.ts';
import { findUnknownPayments, recoverPayments } from './recovery.ts';

let host: TestHost;
before(async () => {
  host = await openTestHost({ name: 'partner' });
});
after(() => host.close());

function newEvent(reference: string, state: string, occurredAt: string) {
  const payment = { reference, amount: '5.00', currency: 'EUR', state, charges: [], returns: [] };
  return { id: `${reference}-${state}`, occurred_at: occurredAt, payment };
}

test('of the events of a payment the latest counts, however its time is written', async () => {
  const events = [
    newEvent('a', 'accepted', '2030-01-15T17:59:00Z'),
    newEvent('a', 'rejected', '2030-01-15T17:59:00.250Z'),
    // Listed late.
    newEvent('b', 'paid', '2030-01-15T17:59:00.5Z'),
    newEvent('b', 'accepted', '2030-01-15T17:59:00Z'),
  ];
  const fetchPage = async (cursor: string): Promise<EventPage> =>
    cursor === '0' ? { events, next: 'last' } : { events: [], next: cursor };
  const found = await recoverPayments(host, fetchPage);
  assert.deepEqual(
    found.map(({ reference, outcome }) => [reference, outcome]),
    [
      ['a', 'rejected'],
      ['b', 'paid'],
    ],
  );
});

test('an event about a payment whose recipient was erased is no sign of a restore', async () => {
  const order = { body: '', untilS: 0 };
  const instruction = newInstruction();
  const { reference } = instruction;
  await beginSending(host.store, instruction, order);
  await host.eraseRecipient(reference);
  const events = [newEvent(reference, 'paid', '2030-01-15T17:59:00Z')];
  const fetchPage = async (cursor: string): Promise<EventPage> =>
    cursor === '0' ? { events, next: 'last' } : { events: [], next: cursor };
  assert.equal(await findUnknownPayments(host, fetchPage), undefined);
});
