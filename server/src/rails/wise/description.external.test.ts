import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { bouncingEnd, refusedEnd } from '../../../testing/counterparties/wise/forms.ts';
import type { Exchange } from '../../../testing/counterparties/wise/wise-simulator.ts';
import { openDescription } from '../../../testing/setups/openapi-description.ts';
import { openHostGround } from '../../../testing/setups/rail.ts';
import {
  context,
  germanPayer,
  newInstruction,
  openWiseRail,
  philippinePayer,
  toAmerica,
  toGermany,
  toPhilippines,
  usPayer,
  type WiseRail,
  wisePayer,
} from '../../../testing/setups/wise.ts';

/**
 * Every request of the rail, and every answer and webhook of the simulator, against Wise's official
 * OpenAPI description, during whole walks. OUTLAY_SHARED_DATA names the folder that has it in
 * `providers/wise`.
 */
const file = join(
  process.env['OUTLAY_SHARED_DATA'] ?? 'shared/data',
  'providers/wise/wise-platform-openapi.yml',
);
const skip = existsSync(file) ? false : 'the description of Wise is not there';

test('everything that is exchanged is as the description says', { skip }, async () => {
  const description = openDescription([file]);
  const exchanges: Exchange[] = [];
  const webhooks: string[] = [];
  const ground = await openHostGround();
  const subject = await openWiseRail(ground, {
    wise: {
      balances: { EUR: '2000' },
      callbackUrl: 'http://127.0.0.1:9/rails/wise',
      onExchange: (exchange) => exchanges.push(exchange),
      onWebhook: (body) => webhooks.push(body),
    },
    host: { payers: [wisePayer, usPayer, germanPayer, philippinePayer] },
  });
  const restored = await openWiseRail(ground);
  try {
    await walk(subject);
    const { url: baseUrl, token } = subject.wise;
    await findUnfunded(subject, await restored.again({ baseUrl, credentials: { token } }));
  } finally {
    await subject.close();
    await restored.close();
    await ground.close();
  }
  const faults = [
    ...exchanges.flatMap((exchange) => description.listFaults(exchange)),
    ...webhooks
      .filter((body) => !body.includes('transfers#refund'))
      .flatMap((body) => description.listWebhookFaults('transfers#state-change', body)),
  ];
  // The description has answers of success only, and 404, 409 and 429 for some operations.
  const undescribed = [
    ...[401, 403, 422].map((status) => `status ${status} is not described`),
    'answer 409: a body is not described',
  ];
  const others = faults.filter((fault) => !undescribed.some((text) => fault.endsWith(text)));
  assert.deepEqual([...new Set(others)], []);
  assert.ok(exchanges.length > 100, `${exchanges.length} exchanges`);
  assert.ok(webhooks.length > 20, `${webhooks.length} webhooks`);
  assert.deepEqual([...description.seen.keys()].toSorted(), operations);
});

test('the validation finds members, types, paths and queries that are not described', {
  skip,
}, () => {
  const description = openDescription([file]);
  const created = {
    method: 'POST',
    path: '/v1/transfers',
    headers: { 'content-type': 'application/json' },
    status: 200,
    answer: '{"id":1,"quote":null,"status":"processing"}',
    body: '{"targetAccount":1,"quoteUuid":"8fa9be20-ba43-4b15-abbb-9424e1481050","customerTransactionId":"54a6bc09-cef9-49a8-9041-f1f0c654cd88"}',
  };
  assert.deepEqual(description.listFaults(created), []);
  const broken = [
    { ...created, path: '/v1/transfer' },
    { ...created, path: '/v1/transfers?x=1' },
    { ...created, body: created.body.replace('targetAccount', 'target') },
    { ...created, body: created.body.replace(':1,', ':"1",') },
    { ...created, body: created.body.replace('54a6bc09', 'z') },
    { ...created, headers: { 'content-type': 'text/plain' } },
    { ...created, answer: '{"id":"1"}' },
    { ...created, answer: '{"identifier":1}' },
    { ...created, status: 418 },
  ];
  for (const exchange of broken) {
    assert.ok(description.listFaults(exchange).length > 0, JSON.stringify(exchange));
  }
  const event = '{"schema_version":"4.0.0","data":{"resource":{"id":"1"}}}';
  assert.ok(description.listWebhookFaults('transfers#state-change', event).length > 0);
});

const operations = [
  'GET /v1/delivery-estimates/{transferId}',
  'GET /v1/quotes/{quoteId}/account-requirements',
  'GET /v1/simulation/transfers/{transferId}/{status}',
  'GET /v1/transfers',
  'GET /v1/transfers/{transferId}',
  'GET /v1/transfers/{transferId}/payments',
  'GET /v3/profiles/{profileId}/batch-groups/{batchGroupId}',
  'GET /v3/profiles/{profileId}/quotes/{quoteId}',
  'GET /v3/profiles/{profileId}/subscriptions',
  'GET /v4/profiles/{profileId}/balances',
  'PATCH /v3/profiles/{profileId}/batch-groups/{batchGroupId}',
  'PATCH /v3/profiles/{profileId}/quotes/{quoteId}',
  'POST /oauth/token',
  'POST /v1/accounts',
  'POST /v1/quotes/{quoteId}/account-requirements',
  'POST /v1/simulation/balance/topup',
  'POST /v1/transfer-requirements',
  'POST /v1/transfers',
  'POST /v2/accounts/{accountId}/quotes/{quoteId}/compatibility',
  'POST /v3/profiles/{profileId}/batch-groups',
  'POST /v3/profiles/{profileId}/batch-groups/{batchGroupId}/transfers',
  'POST /v3/profiles/{profileId}/batch-payments/{batchGroupId}/payments',
  'POST /v3/profiles/{profileId}/quotes',
  'POST /v3/profiles/{profileId}/subscriptions',
  'POST /v3/profiles/{profileId}/transfers/{transferId}/payments',
  'PUT /v1/transfers/{transferId}/cancel',
  'transfers#state-change',
];

async function walk(subject: WiseRail): Promise<void> {
  const { rail, wise } = subject;
  const call = async (method: string, path: string, body?: object): Promise<number> => {
    const response = await fetch(wise.url + path, {
      method,
      headers: { authorization: `Bearer ${wise.token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    await response.arrayBuffer();
    return response.status;
  };
  // A payment moved along by the simulation endpoints, as in Wise's sandbox, and one that bounces.
  const moved = newInstruction();
  assert.equal((await rail.send(moved, context)).outcome, 'accepted');
  const id = wise.find(moved.reference)?.id ?? '';
  for (const status of ['processing', 'funds_converted', 'outgoing_payment_sent']) {
    assert.equal(await call('GET', `/v1/simulation/transfers/${id}/${status}`), 200);
  }
  assert.equal((await rail.query(moved, context)).outcome, 'paid');
  assert.equal((await rail.cancel?.(moved, context))?.outcome, 'paid');
  for (const status of ['bounced_back', 'funds_refunded']) {
    assert.equal(await call('GET', `/v1/simulation/transfers/${id}/${status}`), 200);
  }
  assert.equal((await rail.query(moved, context)).outcome, 'returned');
  await bounce(subject);
  // Refresh of the requirements, refusals, cancels, too little money and a top-up.
  assert.equal((await rail.send(toAmerica(), context)).outcome, 'accepted');
  await refresh(subject);
  const attributes = { BankRoutingNumber: '231470', BankAccountNumber: `2882${refusedEnd}` };
  assert.equal((await rail.send(newInstruction({ attributes }), context)).outcome, 'rejected');
  const early = newInstruction();
  await rail.send(early, context);
  assert.equal((await rail.cancel?.(early, context))?.outcome, 'rejected');
  const large = newInstruction({ amountMinor: 900_000n });
  assert.deepEqual(await rail.send(large, context), { outcome: 'retry', reason: 'no_funds' });
  const topUp = { profileId: 30_000_001, balanceId: 200_001, currency: 'EUR', amount: 50_000 };
  assert.equal(await call('POST', '/v1/simulation/balance/topup', topUp), 200);
  assert.equal((await rail.send(large, context)).outcome, 'accepted');
  assert.equal((await rail.send(toGermany(), context)).outcome, 'accepted');
  assert.equal((await rail.send(toGermany('Mismatch'), context)).outcome, 'rejected');
  await repeatFunding(subject);
  await payGroups(subject);
  const subscription = {
    name: 'Outlay',
    trigger_on: 'transfers#state-change',
    delivery: { version: '4.0.0', url: 'https://pay.example/rails/wise' },
  };
  assert.equal(
    await call('POST', `/v3/profiles/${wise.profileId}/subscriptions`, subscription),
    200,
  );
  await rail.check?.(context);
  await rail.readFunds?.(context);
  await rail.readPrices?.(context);
  await rail.recover?.(Date.now() - 60_000, context);
  await rail.findUnknownPayments?.(context);
  await useOAuth(subject);
}

/** A form with banks, branches and a date, in passes and for two kinds of recipients. */
async function refresh({ rail }: WiseRail): Promise<void> {
  const attributes = {
    BankRoutingNumber: 'BPI',
    BankAccountBranchNumber: '001',
    BankAccountNumber: '1234567890',
    IdentificationNumber: '123456789',
  };
  const person = toPhilippines(attributes, { dateOfBirth: '1985-12-10' });
  const business = toPhilippines(attributes, { businessName: 'Byron Ltd' });
  for (const instruction of [person, business]) {
    for (let pass = 0; pass < 2; pass += 1) {
      rail.checkRecipient?.(instruction);
      await rail.work?.(context);
    }
    assert.deepEqual(rail.checkRecipient?.(instruction), []);
    assert.equal((await rail.send(instruction, context)).outcome, 'accepted');
  }
}

async function bounce({ rail, wise }: WiseRail): Promise<void> {
  const attributes = { BankRoutingNumber: '231470', BankAccountNumber: `2882${bouncingEnd}` };
  const instruction = newInstruction({ attributes });
  await rail.send(instruction, context);
  for (const status of ['funds_converted', 'outgoing_payment_sent', 'bounced_back', 'cancelled']) {
    wise.move(instruction.reference, status);
    await rail.query(instruction, context);
  }
  wise.move(instruction.reference, 'funds_refunded');
  await rail.work?.(context);
}

async function repeatFunding({ rail, wise, again }: WiseRail): Promise<void> {
  const lost = newInstruction();
  wise.setFaults([{ on: /\/transfers\/\d+\/payments/, kind: 'reset_before', count: 1 }]);
  assert.equal((await rail.send(lost, context)).outcome, 'unknown');
  assert.equal((await rail.query(lost, context)).outcome, 'accepted');
  // The transfer is there, and its answer was lost: the next send finds it, under its own quote.
  const twice = newInstruction();
  wise.setFaults([{ on: /^POST \/v1\/transfers$/, kind: 'reset_after', count: 1 }]);
  assert.equal((await rail.send(twice, context)).outcome, 'retry');
  const other = await again({ fundingSeconds: 60 });
  assert.equal((await other.send(twice, context)).outcome, 'accepted');
}

/** A group that is funded after a break, and one that Wise cancels. */
async function payGroups({ wise, again }: WiseRail): Promise<void> {
  const rail = await again({ batchGroups: { waitSeconds: 0 } });
  const all = [newInstruction(), toAmerica()];
  for (const one of all) assert.equal((await rail.send(one, context)).outcome, 'accepted');
  wise.setFaults([{ on: /batch-payments/, kind: 'reset_before', count: 1 }]);
  await rail.work?.(context);
  await rail.work?.(context);
  for (const { reference } of all) assert.equal(wise.find(reference)?.fundings, 1);
  const unpaid = newInstruction({ amountMinor: 9_000_000n });
  await rail.send(unpaid, context);
  await rail.work?.(context);
  assert.equal(wise.find(unpaid.reference)?.fundings, 0);
  const stopped = await again({ batchGroups: {} }, {}, { realNowMs: () => Date.now() + 3_600_000 });
  await stopped.work?.(context);
  assert.equal((await stopped.query(unpaid, context)).outcome, 'rejected');
}

/** Another database finds a transfer that was never funded, and pays it at the price of its quote. */
async function findUnfunded({ rail, wise }: WiseRail, restored: WiseRail['rail']): Promise<void> {
  const instruction = newInstruction();
  wise.setFaults([{ on: /\/transfers\/\d+\/payments/, kind: 'forbidden', count: 1 }]);
  assert.equal((await rail.send(instruction, context)).outcome, 'retry');
  const first = wise.find(instruction.reference)?.quote.feeMinor;
  wise.setPricing({ fixedMinor: 500n });
  const answer = await restored.send(instruction, context);
  assert.equal(answer.outcome, 'accepted');
  assert.equal(answer.charges?.[0]?.amountMinor, first);
}

async function useOAuth({ wise, again }: WiseRail): Promise<void> {
  const { id, secret, refreshToken } = wise.client;
  const rail = await again({ credentials: { clientId: id, clientSecret: secret, refreshToken } });
  await rail.readFunds?.(context);
}
