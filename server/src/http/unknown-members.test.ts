import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { findMeant } from '../core/nearest-word.ts';
import { listRoutes } from '../routes.ts';
import type { BaseServices, Route } from './route.ts';
import { findUnknownMembers } from './unknown-members.ts';

const lenient = new Set(['createUser', 'updateUser']);

const writes = (listRoutes() as Route<BaseServices>[]).filter(
  ({ body }) => body instanceof z.ZodObject,
);

function getRoute(operationId: string): Route<BaseServices> {
  const route = writes.find((one) => one.operationId === operationId);
  assert.ok(route !== undefined, operationId);
  return route;
}

function findDetails(operationId: string, json: object): (string | undefined)[] {
  return findUnknownMembers(getRoute(operationId), json).map(({ detail }) => detail);
}

test('every operation refuses other spellings of its members, but those of recipients', () => {
  assert.ok(writes.length >= 60, String(writes.length));
  for (const route of writes) {
    const { operationId, body } = route;
    const [name = ''] = Object.keys((body as z.ZodObject).shape).filter(({ length }) => length > 5);
    if (name === '') continue;
    const faults = findUnknownMembers(route, { 'colour/~': 1, [name.slice(1)]: 'a' });
    const expected = [{ pointer: `/${name.slice(1)}`, code: 'unknown_member' }];
    assert.deepEqual(
      faults.map(({ pointer, code }) => ({ pointer, code })),
      lenient.has(operationId) ? [] : expected,
      operationId,
    );
  }
});

test('a member of which the name is escaped in a pointer', () => {
  const faults = findUnknownMembers(getRoute('createWebhook'), { 'event/types': [] });
  assert.equal(faults[0]?.pointer, '/event~1types');
});

test('what looks like no member is ignored', () => {
  for (const route of writes) {
    assert.deepEqual(findUnknownMembers(route, { weather: 'fine', x: 1 }), [], route.operationId);
  }
  assert.deepEqual(findDetails('createUser', { dateOfBirth: '1990-01-01', address: '' }), []);
});

test('a body of thousands of unknown members is judged in bounded work', () => {
  const many = (count: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`weather_${index}`, 0]));
  const misspelled = { event_type: 0 };
  assert.equal(findDetails('createWebhook', { ...many(999), ...misspelled }).length, 1);
  assert.deepEqual(findDetails('createWebhook', { ...many(1000), ...misspelled }), []);
});

test('what ignoring would have done', () => {
  for (const [operation, name, meant] of [
    ['rotateWebhookSecret', 'overlap_hour', 'overlap_hours'],
    ['createWebhook', 'event_type', 'event_types'],
  ] as const) {
    assert.deepEqual(findDetails(operation, { [name]: 0 }), [
      `${name} is not a member of this request: did you mean ${meant}?`,
    ]);
  }
});

test('a misspelled member of a payout is refused, since ignoring it could pay now or too much', () => {
  const misspelled: Record<string, string> = {
    schedule_for: 'scheduled_for',
    scheduledFor: 'scheduled_for',
    scheduled_at: 'scheduled_for',
    max_source_amont: 'max_source_amount',
    minDestinationAmount: 'min_destination_amount',
    source_currency: 'source_currency_code',
    client_transfer_ID: 'client_transfer_id',
    notifyUser: 'notify_user',
  };
  for (const [name, meant] of Object.entries(misspelled)) {
    assert.deepEqual(findDetails('createPayout', { [name]: 1 }), [
      `${name} is not a member of this request: did you mean ${meant}?`,
    ]);
    assert.deepEqual(findDetails('createPayout', { [name]: 1, [meant]: 1 }), [], name);
  }
});

test('the members of a payout, sent back as a request, are no misspelling of another', () => {
  const request = ['destination_token', 'destination_currency_code', 'source_amount'];
  const answer =
    `payout_token user_token exchange_rate mid_rate margin fee fees expiration pickup_code
    status status_reason reason_code actor payer_logo payer_name delivery_type country_code attrs
    estimated_availability created_at committed_at completed_at canceled_at timeline cancelable
    total_debit network rail_reference transaction_hash runs_at runs_until refund`.split(/\s+/);
  const body = Object.fromEntries([...request, ...answer].map((name) => [name, '']));
  assert.deepEqual(findDetails('createPayout', body), []);
});

test('short names are misspelled by case alone', () => {
  assert.equal(findMeant('To', ['by', 'to']), 'to');
  assert.equal(findMeant('at', ['by', 'to']), undefined);
});

test('what is no object is left to the schema, and thousands of names get a bounded list', () => {
  const route = getRoute('createWebhook');
  for (const json of [undefined, null, [], 'a']) {
    assert.deepEqual(findUnknownMembers(route, json), []);
  }
  const names = Array.from({ length: 5000 }, (_, index) => [`description_${index}`, '']);
  const faults = findUnknownMembers(route, Object.fromEntries(names));
  assert.equal(faults.length, 50);
  assert.ok(faults.every(({ detail }) => detail.length < 300));
});
