import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { openPaypalSimulator, type PaypalSimulator } from './paypal-simulator.ts';

/** What the simulated PayPal enforces by itself, no matter what the rail does. */

const folder = mkdtempSync(join(tmpdir(), 'outlay-paypal-'));
const clock = { nowMs: Date.now() };
let paypal: PaypalSimulator;

const open = (credentials?: PaypalSimulator['credentials']): Promise<PaypalSimulator> =>
  openPaypalSimulator({
    webhookUrl: 'http://127.0.0.1:9/nowhere',
    folder,
    nowMs: () => clock.nowMs,
    ...(credentials === undefined ? {} : { credentials }),
  });

before(async () => {
  paypal = await open();
});
after(async () => {
  await paypal.close();
  rmSync(folder, { recursive: true, force: true });
});

type Answer = { status: number; json: Record<string, unknown> };

async function call(path: string, init: RequestInit): Promise<Answer> {
  const response = await fetch(paypal.baseUrl + path, init);
  return { status: response.status, json: (await response.json()) as Record<string, unknown> };
}

async function fetchToken({ clientId, clientSecret }: PaypalSimulator['credentials']) {
  const authorization = `Basic ${btoa(`${clientId}:${clientSecret}`)}`;
  const body = 'grant_type=client_credentials';
  return call('/v1/oauth2/token', { method: 'POST', headers: { authorization }, body });
}

async function order(changes: { id: string; receiver?: string; value?: string; type?: string }) {
  const { json } = await fetchToken(paypal.credentials);
  const { id, receiver = 'ana@example.com', value = '10.00', type = 'EMAIL' } = changes;
  const amount = { value, currency: 'USD' };
  return call('/v1/payments/payouts', {
    method: 'POST',
    headers: { authorization: `Bearer ${String(json['access_token'])}` },
    body: JSON.stringify({
      sender_batch_header: { sender_batch_id: id },
      items: [{ recipient_type: type, receiver, amount, sender_item_id: id }],
    }),
  });
}

test('every answer needs a token, and only known clients get one', async () => {
  const stranger = { ...paypal.credentials, clientSecret: 'another' };
  assert.equal((await fetchToken(stranger)).status, 401);
  const { status, json } = await call('/v1/reporting/balances', {});
  assert.deepEqual([status, json['name']], [401, 'AUTHENTICATION_FAILURE']);
});

test('a batch is booked once within 30 days, and remembered over a restart', async () => {
  assert.equal((await order({ id: 'batch-1' })).status, 201);
  const { credentials } = paypal;
  await paypal.close();
  paypal = await open(credentials);
  clock.nowMs += 29 * 86_400_000;
  const { status, json } = await order({ id: 'batch-1' });
  const [detail] = json['details'] as { field: string; link: { href: string }[] }[];
  const [batch] = [...paypal.books.batches.values()];
  assert.deepEqual(
    [status, json['name'], detail?.field],
    [400, 'USER_BUSINESS_ERROR', 'SENDER_BATCH_ID'],
  );
  assert.ok(detail?.link[0]?.href.endsWith(`/v1/payments/payouts/${batch?.id}`));
  assert.equal(paypal.books.batches.size, 1);
  clock.nowMs += 86_400_000;
  assert.equal((await order({ id: 'batch-1' })).status, 201);
});

test('recipients, amounts and limits are checked before anything is booked', async () => {
  const count = paypal.books.batches.size;
  paypal.setOptions({ isSandbox: true });
  for (const [index, wrong] of [
    { receiver: 'no address' },
    { value: '20000.01' },
    { value: '0.001' },
    { type: 'PHONE', receiver: '1-4085551234' },
  ].entries()) {
    const { status, json } = await order({ id: `wrong-${index}`, ...wrong });
    assert.deepEqual([status, json['name']], [400, 'VALIDATION_ERROR'], JSON.stringify(wrong));
  }
  assert.equal(paypal.books.batches.size, count);
});
