import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newInstruction, payers } from '../../../testing/setups/paypal.ts';
import { configSchema } from './config.ts';
import {
  checkPayer,
  checkRecipient,
  createOrder,
  formatValue,
  matchesItems,
  readReceiver,
} from './order.ts';

const limits = { itemMax: { USD: '20000' } };
const [byEmail, byPhone] = payers;

function withEmail(email: string) {
  const instruction = newInstruction();
  return { ...instruction, beneficiary: { ...instruction.beneficiary, email } };
}

test('amounts are written as PayPal wants them', () => {
  assert.equal(formatValue(10_010n, 'USD'), '100.10');
  assert.equal(formatValue(5n, 'EUR'), '0.05');
  assert.equal(formatValue(1500n, 'JPY'), '1500');
  assert.equal(formatValue(150_000n, 'HUF'), '1500');
});

test('a recipient without a readable address is refused early', () => {
  const codes = (email: string) =>
    checkRecipient(byEmail, withEmail(email), limits).map(({ field, code }) => `${field} ${code}`);
  assert.deepEqual(codes('ana@example.com'), []);
  assert.deepEqual(codes(''), ['email missing']);
  const wrong = ['ana', 'ana@example', 'a na@example.com', 'añа@example.com', 'a@b@example.com'];
  for (const email of [...wrong, `${'a'.repeat(60)}@${'b'.repeat(70)}.com`]) {
    assert.deepEqual(codes(email), ['email invalid'], email);
  }
});

test('a telephone number must be a whole one', () => {
  const check = (PhoneNumber: string) =>
    checkRecipient(byPhone, { ...newInstruction(), attributes: { PhoneNumber } }, limits);
  assert.deepEqual(check('+14085551234'), []);
  assert.equal(check('')[0]?.code, 'missing');
  assert.equal(check('+1408')[0]?.code, 'invalid');
  const draft = { ...newInstruction(), attributes: undefined };
  assert.deepEqual(checkRecipient(byPhone, draft, limits), []);
  assert.deepEqual(readReceiver(byPhone, newInstruction()), {
    type: 'PHONE',
    receiver: '1-4085551234',
  });
});

test('an amount must be whole where PayPal knows no decimals, and within the limit', () => {
  const check = (currency: string, amountMinor: bigint) =>
    checkRecipient(byEmail, newInstruction({ currency, amountMinor }), limits).map(
      ({ code }) => code,
    );
  assert.deepEqual(check('HUF', 150_000n), []);
  assert.deepEqual(check('HUF', 150_050n), ['amount_refused']);
  assert.deepEqual(check('TWD', 101n), ['amount_refused']);
  assert.deepEqual(check('USD', 2_000_000n), []);
  assert.deepEqual(check('USD', 2_000_001n), ['amount_refused']);
});

test('a payer that can never be paid is refused at the start', () => {
  assert.ok(byEmail !== undefined && byPhone !== undefined);
  const collected = (types: readonly string[]) => ({
    currency: 'USD',
    attributes: types.map((type) => ({ type, isOptional: false })),
    sample: {},
  });
  assert.deepEqual(checkPayer(byEmail, collected([])), []);
  assert.deepEqual(checkPayer(byPhone, collected(['PhoneNumber'])), []);
  assert.match(checkPayer(byPhone, collected([]))[0] ?? '', /needs PhoneNumber/);
  const odd = { ...byEmail, options: { recipient: 'fax' } };
  assert.match(checkPayer(odd, collected([]))[0] ?? '', /must be "email" or "phone"/);
});

test('an order that is not what was instructed is noticed', () => {
  const { reference, currency, amountMinor, beneficiary } = newInstruction();
  const other = newInstruction({ amountMinor: 20_020n });
  const items = [
    { type: 'EMAIL', receiver: beneficiary.email, reference, currency, amountMinor },
    {
      type: 'EMAIL',
      receiver: other.beneficiary.email,
      reference: other.reference,
      currency,
      amountMinor: 20_020n,
    },
  ] as const;
  const body = createOrder('batch-1', items, { emailSubject: 'Hello' });
  assert.equal(matchesItems(body, 'batch-1', items), true);
  assert.equal(matchesItems(body, 'batch-2', items), false);
  assert.equal(matchesItems(body, 'batch-1', items.slice(0, 1)), false);
  assert.equal(matchesItems(body, 'batch-1', items.toReversed()), false);
  for (const [from, to] of [
    ['100.10', '100.11'],
    ['200.20', '200.21'],
    ['USD', 'EUR'],
    ['@example.com', '@example.org'],
    [reference, 'another'],
  ] as const) {
    assert.equal(matchesItems(body.replace(from, to), 'batch-1', items), false, from);
  }
});

test('a configuration has an address that keeps the secret', () => {
  const config = {
    clientId: 'client-1234',
    clientSecret: 'secret-1234567890',
    webhookId: '1JE4291016473214C',
    emailSubject: 'Hello',
  };
  assert.equal(configSchema.parse(config).baseUrl, 'https://api-m.paypal.com');
  const parse = (changes: object) => configSchema.safeParse({ ...config, ...changes }).success;
  assert.equal(parse({ baseUrl: 'https://api-m.sandbox.paypal.com/' }), true);
  assert.equal(parse({ baseUrl: 'http://127.0.0.1:8080' }), true);
  assert.equal(parse({ baseUrl: 'http://api-m.paypal.com' }), false);
  assert.equal(parse({ clientSecret: 'with:a:colon:inside' }), false);
  assert.equal(parse({ itemMax: { USD: 'much' } }), false);
  assert.equal(parse({ itemMax: { EUR: '8000' } }), true);
});
