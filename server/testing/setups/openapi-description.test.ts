import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { type DescribedExchange, describeApi, openDescription } from './openapi-description.ts';

const yaml = `
openapi: 3.1.0
servers: [{ url: https://pay.example/api/v2 }]
paths:
  /payments:
    parameters:
      - { name: X-Tenant, in: header, required: true, schema: { type: string, minLength: 2 } }
    post:
      parameters:
        - $ref: '#/components/parameters/Dry'
        - { name: ids, in: query, schema: { type: array, items: { type: integer } } }
      requestBody: { $ref: '#/components/requestBodies/Payment' }
      responses:
        '201': { $ref: '#/components/responses/Payment' }
        4XX: { description: No body }
  /payments/{id}:
    get:
      parameters: [{ name: id, in: path, required: true, schema: { type: string, format: uuid } }]
      responses: { '200': { $ref: '#/components/responses/Payment' } }
  /payments/latest:
    get: { responses: { '200': { description: Text, content: { text/plain: {} } } } }
  /token:
    post:
      requestBody:
        content:
          application/x-www-form-urlencoded:
            schema: { type: object, required: [grant], properties: { grant: { type: string } } }
      responses: { default: { description: Any } }
webhooks:
  paid:
    post:
      requestBody:
        content:
          application/json:
            schema: { $ref: '#/components/schemas/Payment' }
            examples:
              right: { value: { amount: 1, state: paid, memo: { any: 1 } } }
              wrong: { value: { amount: one, state: paid } }
components:
  parameters:
    Dry: { name: dry, in: query, schema: { type: boolean } }
  requestBodies:
    Payment:
      required: true
      content: { application/json: { schema: { $ref: '#/components/schemas/Order' } } }
  responses:
    Payment:
      description: A payment
      content: { application/json: { schema: { $ref: '#/components/schemas/Payment' } } }
  schemas:
    Order:
      type: object
      required: [amount]
      properties:
        amount: { type: integer }
        example: { type: string }
        memo: { type: object }
        to: { oneOf: [{ $ref: '#/components/schemas/Bank' }, { $ref: '#/components/schemas/Card' }] }
    Payment:
      allOf:
        - $ref: '#/components/schemas/Order'
        - { properties: { state: { enum: [paid] } }, required: [state] }
    Bank: { type: object, properties: { iban: { type: string } }, required: [iban] }
    Card: { type: object, properties: { pan: { type: string } }, required: [pan] }
`;

function openYaml() {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-description-'));
  try {
    const file = join(folder, 'api.yml');
    writeFileSync(file, yaml);
    return openDescription([file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

const created: DescribedExchange = {
  method: 'POST',
  path: '/api/v2/payments?dry=true&ids=1&ids=2',
  headers: { 'content-type': 'application/json; charset=utf-8', 'x-tenant': 'acme' },
  body: '{"amount":1,"example":"a","memo":{"any":1},"to":{"iban":"a"}}',
  status: 201,
  answer: '{"amount":1,"state":"paid","to":{"pan":"a"}}',
};
const json = (value: object): string => JSON.stringify(value);

test('an exchange as described has no faults, and its operation is counted', () => {
  const description = openYaml();
  assert.deepEqual(description.listFaults(created), []);
  assert.deepEqual(description.listFaults({ ...created, status: 422, answer: '' }), []);
  const id = '54a6bc09-cef9-49a8-9041-f1f0c654cd88';
  const read = { ...created, method: 'GET', path: `/api/v2/payments/${id}`, body: '', status: 200 };
  assert.deepEqual(description.listFaults(read), []);
  const latest = { ...read, path: '/api/v2/payments/latest', answer: 'as text' };
  assert.deepEqual(description.listFaults(latest), []);
  const token = {
    ...created,
    path: '/api/v2/token',
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'grant=all',
    answer: '',
  };
  assert.deepEqual(description.listFaults(token), []);
  assert.equal(description.listFaults({ ...token, body: 'grants=all' }).length, 2);
  assert.deepEqual(Object.fromEntries(description.seen), {
    'POST /payments': 2,
    'GET /payments/{id}': 1,
    'GET /payments/latest': 1,
    'POST /token': 2,
  });
});

test('every departure from the description is one fault', () => {
  const description = openYaml();
  const cases: readonly [Partial<DescribedExchange>, RegExp][] = [
    [{ path: '/payments' }, /not described/],
    [{ path: '/api/v2/payments/latest/all' }, /not described/],
    [{ method: 'DELETE' }, /not described/],
    [{ path: '/api/v2/payments?dy=true' }, /query parameter dy is not described/],
    [{ path: '/api/v2/payments?dry=yes' }, /query dry: .*boolean/],
    [{ path: '/api/v2/payments?dry=true&dry=true' }, /query dry is given more than once/],
    [{ path: '/api/v2/payments?ids=a' }, /query ids: \/0 .*integer/],
    [{ headers: { 'content-type': 'application/json' } }, /header X-Tenant is required/],
    [{ headers: { ...created.headers, 'x-tenant': 'a' } }, /header X-Tenant: /],
    [{ headers: { ...created.headers, 'content-type': 'text/plain' } }, /type "text\/plain"/],
    [{ body: '' }, /a body is required/],
    [{ body: '{' }, /request: the body is not JSON/],
    [{ body: json({ amount: 1, note: 'a' }) }, /request: .*"note"/],
    [{ body: json({ amount: 1.5 }) }, /request: \/amount/],
    [{ body: json({}) }, /request: .*amount/],
    [{ status: 500 }, /status 500 is not described/],
    [{ status: 404 }, /answer 404: a body is not described/],
    [{ answer: '' }, /answer 201: the body is not JSON/],
    [{ answer: json({ amount: 1, state: 'paid', surprise: 1 }) }, /answer 201: .*"surprise"/],
    [{ answer: json({ amount: 1, state: 'lost' }) }, /answer 201: \/state/],
  ];
  for (const [changes, expected] of cases) {
    const faults = description.listFaults({ ...created, ...changes });
    assert.equal(faults.length, 1, `${json(changes)}: ${faults.join('; ')}`);
    assert.match(faults[0] ?? '', expected);
  }
  const path = '/api/v2/payments/1';
  const read = { ...created, method: 'GET', path, body: '', status: 200 };
  assert.match(description.listFaults(read)[0] ?? '', /path id: .*uuid/);
  const nested = json({ amount: 1, to: { iban: 'a', bic: 'b' } });
  assert.ok(description.listFaults({ ...created, body: nested }).length > 0);
});

test('webhooks, schemas and the examples of the description are validated', () => {
  const description = openYaml();
  const paid = { amount: 1, state: 'paid' };
  assert.deepEqual(description.listWebhookFaults('paid', json(paid)), []);
  assert.equal(description.listWebhookFaults('paid', json({ ...paid, more: 1 })).length, 1);
  assert.equal(description.listWebhookFaults('lost', json(paid)).length, 1);
  assert.deepEqual(description.listSchemaFaults('Bank', { iban: 'a' }), []);
  assert.equal(description.listSchemaFaults('Bank', { iban: 'a', bic: 'b' }).length, 1);
  assert.equal(description.listSchemaFaults('Banks', {}).length, 1);
  const { count, wrong } = description.checkExamples();
  assert.equal(count, 2);
  assert.match(wrong.join('; '), /^paid post requestBody wrong: \/amount must be integer/);
});

test('OpenAPI 3.0: nullable types, exclusive bounds as flags, references without siblings', () => {
  const ratio = { type: 'number', minimum: 0, exclusiveMinimum: true, maximum: 1 };
  const schemas = {
    Rate: {
      type: 'object',
      properties: {
        ratio,
        note: { type: 'string', nullable: true },
        code: { $ref: '#/components/schemas/Code', minLength: 9 },
        // A dash that is escaped is an error in a pattern with the flag u.
        name: { type: 'string', pattern: '^[a\\-z]$', format: 'provider_name_v2' },
      },
    },
    Code: { type: 'string' },
  };
  const ref = { $ref: '#/components/schemas/Rate' };
  const content = { 'application/json': { schema: ref } };
  const operation = { requestBody: { content }, responses: { default: { content } } };
  const document = {
    openapi: '3.0.3',
    servers: [{ url: 'https://pay.example/v1' }],
    // The path of the server is repeated, as in PayPal's descriptions.
    paths: { '/v1/rates': { put: operation } },
    components: { schemas },
  };
  const other = { openapi: '3.0.0', paths: { '/others': { get: { responses: {} } } } };
  const description = describeApi([other, document], { hasOpenAnswers: true });
  const rate = { ratio: 0.5, note: null, code: 'a', name: '-' };
  const exchange = {
    method: 'PUT',
    path: '/v1/rates',
    headers: { 'content-type': 'application/json' },
    body: json(rate),
    status: 200,
    answer: json({ ...rate, undescribed: true }),
  };
  assert.equal(description.findOperation(exchange), 'PUT /v1/rates');
  assert.deepEqual(description.listFaults(exchange), []);
  assert.equal(describeApi([document]).listFaults(exchange).length, 1);
  for (const changes of [{ ratio: 0 }, { ratio: 1.1 }, { ratio: null }, { name: 'b' }, { x: 1 }]) {
    const body = json({ ...rate, ...changes });
    assert.equal(description.listFaults({ ...exchange, body }).length, 1, body);
  }
  assert.throws(() => describeApi([{ openapi: '2.0' }]), /OpenAPI 2\.0 is not supported/);
});
