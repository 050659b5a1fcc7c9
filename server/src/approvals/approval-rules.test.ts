import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DocumentFaults } from '../core/json-document.ts';
import { matchRules, type PayoutFacts, readPolicyContent } from './approval-rules.ts';

const facts: PayoutFacts = {
  amountMinor: 100_000n,
  sourceCurrency: 'USD',
  balance: '0197a000-0000-7000-8000-000000000001',
  destinationCurrency: 'MXN',
  country: 'MEX',
  deliveryType: 'BANK_DEPOSIT',
  rail: 'sepa_de',
  creator: '0197a000-0000-7000-8000-000000000002',
  isNewRecipient: false,
  metadata: { team: 'payroll', order: '17' },
};

const twice = (minor: bigint): bigint => minor * 2n;

function isHeld(when: unknown, changes: Partial<PayoutFacts> = {}, convert = twice): boolean {
  const { rules } = readPolicyContent(JSON.stringify({ rules: [{ name: 'one', when }] }));
  return matchRules(rules, { ...facts, ...changes }, convert).length === 1;
}

test('all conditions of a rule must hold, and of a list one value', () => {
  assert.ok(isHeld({}));
  assert.ok(isHeld({ country: ['DEU', 'MEX'], delivery_type: ['BANK_DEPOSIT'] }));
  assert.ok(!isHeld({ country: ['DEU', 'MEX'], delivery_type: ['CASH_PICKUP'] }));
  assert.ok(isHeld({ source_currency: ['USD'], destination_currency: ['MXN'], rail: ['sepa_de'] }));
  assert.ok(!isHeld({ rail: ['ach'] }));
  assert.ok(isHeld({ balance: [facts.balance], creator: [facts.creator] }));
  assert.ok(!isHeld({ creator: [facts.balance] }));
  assert.ok(isHeld({ metadata: { team: ['sales', 'payroll'], order: ['17'] } }));
  assert.ok(!isHeld({ metadata: { team: ['payroll'], project: ['x'] } }));
  assert.ok(isHeld({ recipient: 'known' }));
  assert.ok(!isHeld({ recipient: 'new' }));
  assert.ok(isHeld({ recipient: 'new' }, { isNewRecipient: true }));
});

test('bounds of the amount hold exactly, in the currency of the rule', () => {
  const usd = (bounds: object) => ({ amount: { currency: 'USD', ...bounds } });
  assert.ok(isHeld(usd({ at_least: '1000', at_most: '1000.00' })));
  assert.ok(!isHeld(usd({ above: '1000' })));
  assert.ok(!isHeld(usd({ below: '1000' })));
  assert.ok(isHeld(usd({ above: '999.99', below: '1000.01' })));
  const eur = (bounds: object) => ({ amount: { currency: 'EUR', ...bounds } });
  assert.ok(isHeld(eur({ at_least: '2000' })));
  assert.ok(!isHeld(eur({ above: '2000' })));
});

test('a payout that cannot be compared is held', () => {
  const { rules } = readPolicyContent(
    JSON.stringify({
      rules: [
        { name: 'rate', when: { amount: { currency: 'EUR', above: '1000000' } } },
        { name: 'creator', when: { creator: [facts.balance] } },
      ],
    }),
  );
  const held = matchRules(rules, { ...facts, creator: undefined }, () => undefined);
  assert.deepEqual(
    held.map(({ name }) => name),
    ['rate', 'creator'],
  );
});

test('every fault of a policy is reported with its place', () => {
  const faulty = {
    rules: [
      { name: 'a', when: { country: ['MX'], amount: { currency: 'USD' } } },
      { name: 'b', when: { amount: { currency: 'USD', above: '1,000' }, colour: 'red' } },
      { name: 'c', when: {}, approvers: 0 },
      { name: 'd', when: { balance: [facts.balance.toUpperCase()] } },
    ],
  };
  assert.throws(
    () => readPolicyContent(JSON.stringify(faulty)),
    (error) => {
      assert.ok(error instanceof DocumentFaults);
      const places = error.faults.map((fault) => fault.split(':')[0]);
      assert.deepEqual(places, [
        'rules.0.when.amount',
        'rules.0.when.country.0',
        'rules.1.when.amount.above',
        'rules.1.when',
        'rules.2.approvers',
        'rules.3.when.balance.0',
      ]);
      return true;
    },
  );
  assert.throws(() => readPolicyContent('{'), /the policy must be JSON/);
  const same = {
    rules: [
      { name: 'a', when: {} },
      { name: 'a', when: {} },
    ],
  };
  assert.throws(() => readPolicyContent(JSON.stringify(same)), /the same name/);
});

test('a policy is refused while one of its examples is held by other rules than it says', () => {
  const policy = (holds: string[]) => ({
    rules: [{ name: 'large', when: { amount: { currency: 'USD', above: '10000' } } }],
    examples: [
      { payout: { amount: '10000' }, holds: [] },
      { payout: { amount: '10000.01' }, holds },
    ],
  });
  assert.equal(readPolicyContent(JSON.stringify(policy(['large']))).examples.length, 2);
  assert.throws(
    () => readPolicyContent(JSON.stringify(policy([]))),
    /examples\.1: held by large, not by none/,
  );
});
