import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { Ajv2020 } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';
import { reach as reachWith, type Stored, store as storeWith } from './attribute-kit.ts';
import {
  type Attribute,
  attributePath,
  chooseValues,
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  type DeliveryCase,
  type Destination,
  deliveryCases,
  readAttributes,
} from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, createAccount, ok, type Service } from './service.ts';
import { assertProblem, assertShape, locate, patterns, shapes } from './shapes.ts';

/** The attributes that destinations need, and storing their values. */

let service: Service;
let api: Api;
serveTests({ USD: '1000' }, (served) => {
  ({ service, api } = served);
});

const reach = (delivery: DeliveryCase) => reachWith(api, delivery);
const store = (destination: Destination, values: unknown, attrSetToken?: string) =>
  storeWith(api, destination, { values, attrSetToken });

test('patterns and choices can be used by a client', async () => {
  for (const country of [
    'MEX',
    'DEU',
    'GBR',
    'USA',
    'IND',
    'BRA',
    'NGA',
    'AUS',
    'CAN',
    'JPN',
    'PHL',
    'KEN',
    'ZAF',
    'CHN',
  ]) {
    const lookup = ok(
      await api.get<{
        companies: {
          services: {
            payers: { destination_token: string; exchange_rate: { currency_symbol: string }[] }[];
          }[];
        }[];
      }>(`/country/${country}`),
    );
    const userToken = await createUser(api, { country });
    for (const payer of lookup.companies.flatMap((c) => c.services.flatMap((s) => s.payers))) {
      for (const { currency_symbol: currency } of payer.exchange_rate) {
        const destination = { userToken, destinationToken: payer.destination_token, currency };
        for (const attribute of await readAttributes(api, destination)) {
          assertShape(attribute, shapes.attribute);
          assert.notEqual(attribute.label, '');
          assert.notEqual(attribute.expected_value, '');
          assert.ok(new RegExp(`^(?:${attribute.validation})$`, 'u'), attribute.validation);
          if (attribute.input_type === 'options') {
            for (const choice of attribute.validation.split('|')) {
              assert.match(choice, /^[A-Za-z0-9_ -]+$/);
              assert.ok(attribute.expected_value.includes(choice));
            }
          }
        }
      }
    }
  }
});

test('equal values return the same set, others a new one, and a named set gets a new version', async () => {
  const destination = await reach(deliveryCases.crypto);
  const [attribute] = await readAttributes(api, destination);
  const values = (value: string) => [{ token: attribute?.token, value }];
  const first = 'LaMT348PWRnrqeeWArpwQPbuanpXDZGEUz';
  const second = 'ltc1qw508d6qejxtdg4y5r3zarvary0c5xw7kgmn4n9';
  const one = ok(await store(destination, values(first))).attr_set_token;
  assert.match(one, patterns.attributeSet);
  assert.equal(ok(await store(destination, values(first))).attr_set_token, one);
  const two = ok(await store(destination, values(second))).attr_set_token;
  assert.notEqual(two, one);
  assert.equal((await readAttributes(api, destination))[0]?.value, second);
  assert.equal(ok(await store(destination, values(second), one)).attr_set_token, one);
  const [latest] = await readAttributes(api, destination);
  assert.equal(latest?.attr_set_token, one);
  assert.equal(latest?.last_attr_value_used, true);
  const otherUser = await reach(deliveryCases.crypto);
  const refused = await store(otherUser, values(first), one);
  assert.deepEqual(locate(assertProblem(refused, 400)), ['/attr_set_token']);
});

test('the currency in the path must be one of the destination', async () => {
  const destination = await reach(deliveryCases.bank);
  for (const currency of ['LTC', 'EUR', 'mxn', 'XX', 'TOOLONG', '%20%20%20', 'M-N', '12']) {
    const path = attributePath({ ...destination, currency });
    for (const reply of [
      await api.get(path),
      await api.post(path, { values: [{ token: 'a', value: 'b' }] }),
    ]) {
      assert.deepEqual(locate(assertProblem(reply, 400)), ['currency'], currency);
    }
  }
});

test('an unknown destination or user is not found', async () => {
  const destination = await reach(deliveryCases.bank);
  for (const changed of [
    { destinationToken: randomUUID() },
    { destinationToken: 'x' },
    { userToken: `usr_${randomUUID()}` },
    { userToken: 'x' },
  ]) {
    const path = attributePath({ ...destination, ...changed });
    assertProblem(await api.get(path), 404, 'not_found');
    assertProblem(await api.post(path, { values: [{ token: 'a', value: 'b' }] }), 404, 'not_found');
  }
});

test('values of one user are not shown for another', async () => {
  const destination = await reach(deliveryCases.bank);
  const values = chooseValues(deliveryCases.bank, await readAttributes(api, destination));
  ok(await store(destination, values));
  const other: Attribute[] = await readAttributes(api, {
    ...destination,
    userToken: await createUser(api),
  });
  for (const attribute of other) assert.equal(attribute.value, '');
});

test('an empty list of values is refused', async () => {
  const destination = await reach(deliveryCases.bank);
  const problem = assertProblem(await store(destination, []), 400, 'too_short');
  assert.deepEqual(locate(problem), ['/values']);
  const [attribute] = await readAttributes(api, destination);
  assert.equal(attribute?.attr_set_token, '');
});

test('the answer names the required attributes that are missing', async () => {
  const destination = await reach(deliveryCases.cash);
  const attributes = await readAttributes(api, destination);
  const values = chooseValues(deliveryCases.cash, attributes);
  const [first, ...rest] = values;
  const describe = (tokens: readonly string[]) =>
    attributes
      .filter((attribute) => tokens.includes(attribute.token) && !attribute.is_optional)
      .map(({ token, label, type }) => ({ token, label, type }));
  const partial = ok(await store(destination, [first]));
  assert.ok(partial.missing.length > 0);
  assert.deepEqual(
    partial.missing.map(({ token, label, type }) => ({ token, label, type })),
    describe(rest.map(({ token }) => token)),
  );
  for (const { why } of partial.missing) assert.match(why, /^The destination requires it/);
  const whole = ok(await store(destination, rest, partial.attr_set_token));
  assert.equal(whole.attr_set_token, partial.attr_set_token);
  assert.deepEqual(whole.missing, []);
  assert.deepEqual(
    whole.values.toSorted((a, b) => (a.token < b.token ? -1 : 1)),
    values.toSorted((a, b) => (a.token < b.token ? -1 : 1)),
    'all values of the set are echoed',
  );
});

test('a plain spelling is stored in its form, and the answer and the payout show that form', async () => {
  const destination = await reach({ ...deliveryCases.bank, country: 'DEU', currency: 'EUR' });
  const attributes = await readAttributes(api, destination);
  const iban = attributes.find(({ type }) => type === 'BankAccountNumber')?.token ?? '';
  const values = [{ token: iban, value: 'de89 3704 0044 0532 0130 00' }];
  const stored = ok(await store(destination, values));
  assert.deepEqual(stored.values, [{ token: iban, value: 'DE89370400440532013000' }]);
  const shown = (await readAttributes(api, destination)).find(({ token }) => token === iban);
  assert.equal(shown?.value, 'DE89370400440532013000');
});

const brazil = { country: 'BRA', deliveryType: 'BANK_DEPOSIT', currency: 'BRL' };

test('a Pix key or bank, branch and account: every surface shows the options', async () => {
  const destination = await reach(brazil);
  const attributes = await readAttributes(api, destination);
  const tokenOf = (type: string) => attributes.find((one) => one.type === type)?.token ?? '';
  const optionsOf = (list: readonly { type: string; alternatives: { option: string }[] }[]) =>
    list.map(({ type, alternatives }) => [type, alternatives.map(({ option }) => option)]);
  const expected = [
    ['BankAccountNumber', ['pix_key', 'bank_account']],
    ['BankRoutingNumber', ['bank_account']],
    ['BankAccountBranchNumber', ['bank_account']],
  ];
  const inGroup = (attributes as (Attribute & Stored['missing'][number])[]).filter(
    ({ alternatives }) => alternatives.length > 0,
  );
  assert.deepEqual(optionsOf(inGroup), expected);
  const own = { token: tokenOf('IdentificationNumber'), value: '111.444.777-35' };
  const reason = attributes.find(({ type }) => type === 'RemittanceReason');
  const purpose = { token: reason?.token, value: reason?.validation.split('|')[0] };
  const without = ok(await store(destination, [own, purpose]));
  assert.deepEqual(optionsOf(without.missing), expected);
  const account = { token: tokenOf('BankAccountNumber'), value: '12345-6' };
  const half = ok(await store(destination, [own, purpose, account]));
  assert.deepEqual(optionsOf(half.missing), expected.slice(1));
  assert.match(half.missing[0]?.why ?? '', /Pix key/);
  const pix = { ...account, value: 'someone@example.com' };
  assert.deepEqual(ok(await store(destination, [own, purpose, pix])).missing, []);
  const bank = { token: tokenOf('BankRoutingNumber'), value: '001' };
  const branch = { token: tokenOf('BankAccountBranchNumber'), value: '1234' };
  const whole = ok(await store(destination, [own, purpose, account, bank, branch]));
  assert.deepEqual(whole.missing, []);
  // In place of the account, a CPF as Pix key could be taken for an account of that bank.
  const key = { ...account, value: '11144477735' };
  const emptied = [bank, branch].map(({ token }) => ({ token, value: '' }));
  const moved = ok(await store(destination, [key, ...emptied], whole.attr_set_token));
  assert.deepEqual(moved.missing, []);
  assert.equal(
    moved.values.find(({ token }) => token === bank.token),
    undefined,
  );
  assert.equal(moved.values.length, 3);
});

test('the JSON Schema of a destination takes what the service takes, filled with what is stored', async () => {
  const destination = await reach(deliveryCases.cash);
  const path = `${attributePath(destination)}/schema`;
  const reply = await api.get<Record<string, unknown>>(path);
  const attributes = await readAttributes(api, destination);
  const ajv = new Ajv2020({ strict: true });
  addFormats.default(ajv);
  const validate = ajv.compile(JSON.parse(reply.text));
  const form = Object.fromEntries(
    chooseValues(deliveryCases.cash, attributes).map(({ token, value }) => [token, value]),
  );
  assert.ok(validate(form), JSON.stringify(validate.errors));
  const stored = Object.entries(form).map(([token, value]) => ({ token, value }));
  assert.deepEqual(ok(await store(destination, stored)).missing, []);
  const filled = JSON.parse((await api.get(path)).text) as {
    properties: Record<string, { default: string }>;
  };
  for (const [token, value] of Object.entries(form)) {
    assert.equal(filled.properties[token]?.default, value);
  }
  const other = (await createAccount(service)).api;
  assertProblem(await other.get(path), 404);
});

test('a partial set does not replace a complete one for the next payout', async () => {
  const recipient = await createRecipient(api, deliveryCases.cash);
  const destination = {
    userToken: recipient.userToken,
    destinationToken: recipient.payer.destination_token,
    currency: 'MXN',
  };
  const attributes = await readAttributes(api, destination);
  const [first] = chooseValues(deliveryCases.cash, attributes);
  const partial = ok(await store(destination, [first]));
  assert.notEqual(partial.attr_set_token, recipient.attrSetToken);
  const [shown] = await readAttributes(api, destination);
  assert.equal(shown?.attr_set_token, recipient.attrSetToken);
  const payout = await createPayout(api, recipient, { attr_set_token: undefined });
  assert.equal(payout['attr_set_token'], recipient.attrSetToken);
  const result = await commitPayout(api, recipient, payout['payout_token']);
  assert.equal(result.status, 'success');
});
