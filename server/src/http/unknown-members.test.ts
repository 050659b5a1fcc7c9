import assert from 'node:assert/strict';
import { test } from 'node:test';
import { z } from 'zod';
import { findMeant } from '../core/nearest-word.ts';
import { listRoutes } from '../routes.ts';
import type { BaseServices, Route } from './route.ts';
import { findUnknownMembers } from './unknown-members.ts';

/** The specification's operations with a body whose members it names. */
const lenient: Readonly<Record<string, Route<BaseServices>['unknownMembers']>> = {
  createUser: 'ignored',
  updateUser: 'ignored',
  storeAttributes: 'ignored unless misspelled',
  createPayout: 'ignored unless misspelled',
};

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

test('operations beyond the specification refuse unknown members of a body by name', () => {
  const strict = writes.filter(({ operationId }) => !(operationId in lenient));
  assert.ok(strict.length >= 60, String(strict.length));
  for (const route of strict) {
    const faults = findUnknownMembers(route, { 'colour/~': 1, reasn: 'a' });
    assert.deepEqual(
      faults.map(({ pointer, code }) => ({ pointer, code })),
      [
        { pointer: '/colour~1~0', code: 'unknown_member' },
        { pointer: '/reasn', code: 'unknown_member' },
      ],
      route.operationId,
    );
  }
});

test('the first fault names the members of the operation', () => {
  assert.deepEqual(findDetails('rotateWebhookSecret', { overlap_hour: 0 }), [
    'overlap_hour is not a member of this request, which allows signature, overlap_hours',
  ]);
});

test("the specification's operations ignore unknown members", () => {
  for (const [operationId, expected] of Object.entries(lenient)) {
    const route = getRoute(operationId);
    assert.equal(route.unknownMembers, expected, operationId);
    assert.deepEqual(findUnknownMembers(route, { colour: 'blue', status: 'ACTIVE' }), []);
  }
  assert.deepEqual(findDetails('createUser', { dateOfBirth: '1990-01-01', address: '' }), []);
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
  const names = Array.from({ length: 5000 }, (_, index) => [`${'p'.repeat(2000)}${index}`, '']);
  const faults = findUnknownMembers(route, Object.fromEntries(names));
  assert.equal(faults.length, 50);
  assert.ok(faults.every(({ detail }) => detail.length < 300));
});
