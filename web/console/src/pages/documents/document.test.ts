import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRefusal } from '../../../../../sdk/src/errors.ts';
import { compareUsd } from '../backtest/figures.ts';
import { describeConditions } from '../rules/words.ts';
import {
  faultAt,
  faultsWithin,
  listFaults,
  readDocument,
  readEntries,
  setMember,
  toCount,
} from './document.ts';

test('a document that is no object, or whose entries are none, has no form', () => {
  for (const text of ['', '[]', 'null', '"x"', '{"rules": [1'])
    assert.equal(readDocument(text), undefined, text);
  assert.deepEqual(readEntries({}, 'rules'), []);
  assert.equal(readEntries({ rules: [1] }, 'rules'), undefined);
  assert.equal(readEntries({ rules: 'all' }, 'rules'), undefined);
});

test('a form sets a member in its place, removes an empty one, and keeps those it does not know', () => {
  const rule = { name: 'large', when: { creator: ['c'] }, approvers: 2 };
  const changed = setMember(rule, 'name', 'larger');
  assert.equal(JSON.stringify(changed), JSON.stringify({ ...rule, name: 'larger' }));
  assert.deepEqual(setMember(rule, 'approvers', toCount('')), {
    name: 'large',
    when: { creator: ['c'] },
  });
  for (const empty of [undefined, '', [], {}]) {
    assert.deepEqual(setMember({ a: 1 }, 'a', empty), {});
  }
  assert.equal(toCount('12'), 12);
  assert.equal(toCount('1.5'), '1.5', 'the service refuses it with its place');
});

test('faults of the service are found at their places', () => {
  const detail =
    'policy has faults: rules.0.when.amount: needs one of above, at_least, below, at_most; ' +
    'rules.10.name: too long; examples.0: held by none, not by large';
  const faults = listFaults(refuse([{ pointer: '/policy', detail }]));
  assert.deepEqual(
    faults.map(({ place }) => place),
    ['rules.0.when.amount', 'rules.10.name', 'examples.0'],
  );
  assert.match(faultAt(faultsWithin(faults, 'rules.0'), 'when.amount') ?? '', /^needs one of/);
  assert.deepEqual(faultsWithin(faults, 'rules.1'), [], 'not those of rule 10');

  const unknown = 'changes rails.0.rail: unknown rail x; known: bank_mx, partner';
  assert.deepEqual(listFaults(refuse([{ pointer: '/changes', detail: unknown }])), [
    { place: 'rails.0.rail', detail: 'unknown rail x; known: bank_mx, partner' },
  ]);
  assert.deepEqual(listFaults(new Error('offline')), []);
});

function refuse(faults: { pointer: string; detail: string }[]): Error {
  const body = {
    title: 'Invalid',
    status: 400,
    code: 'invalid_request',
    detail: '',
    errors: faults,
  };
  return createRefusal({ status: 400, body, retryAfterMs: undefined });
}

test('a rule is described in words, including fields that the form does not know', () => {
  const when = {
    amount: { currency: 'USD', above: '10000', at_most: '20000.5' },
    country: ['MEX', 'BRA'],
    delivery_type: ['BANK_DEPOSIT'],
    recipient: 'new',
    metadata: { team: ['payroll'] },
    weekday: 'Sunday',
  };
  assert.deepEqual(describeConditions(when), [
    'Amount: above 10,000.00 USD and at most 20,000.50 USD',
    'Country: MEX or BRA',
    'Delivery: Bank deposit',
    'Recipient: new, without a completed payout',
    'Metadata team: payroll',
    'Weekday: "Sunday"',
  ]);
  assert.deepEqual(describeConditions({}), []);
  assert.deepEqual(describeConditions({ amount: { currency: 'US', above: 'much' } }), [
    'Amount: above much US',
  ]);
});

test('figures of both sides are compared exactly', () => {
  const compare = (before: string, after: string): string => compareUsd(before, after).difference;
  assert.equal(compare('0.1', '0.3'), '+0.20');
  assert.equal(compare('1.25', '1'), '-0.25');
  assert.equal(compare('-1.50', '-1.5'), '');
  assert.equal(compare('0.02', '9007199254740993.01'), '+9,007,199,254,740,992.99');
});
