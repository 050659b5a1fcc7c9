import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createRecipient, createUser, deliveryCases, findPayer } from './recipients.ts';
import { serveTests } from './serve.ts';
import { type Api, ok } from './service.ts';

/** Batches with a name, and rows that name a delivery type instead of a destination. */

let api: Api;
serveTests({ USD: '100000' }, (served) => {
  ({ api } = served);
});

type Batch = {
  batch_token: string;
  name: string;
  rows: Record<'valid' | 'repeated', { text: string }>;
  faults: { row: { text: string }; column: string; code: string; detail: string }[];
};

const upload = async (rows: readonly object[], query = ''): Promise<Batch> =>
  ok(
    await api.post<Batch>(`/batches${query}`, rows.map((row) => JSON.stringify(row)).join('\n'), {
      'content-type': 'application/x-ndjson',
    }),
  );

test('a batch has the name that its upload gave it', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank);
  const row = {
    client_transfer_id: 'named-1',
    user_token: recipient.userToken,
    destination_token: recipient.payer.destination_token,
    destination_currency_code: 'MXN',
    source_amount: 20,
  };
  const named = await upload([row], '?name=Payroll%20November');
  assert.equal(named.name, 'Payroll November');
  const [listed] = ok(await api.get<Batch[]>('/batches'));
  assert.equal(listed?.name, 'Payroll November');
  assert.equal((await upload([row])).name, '');
});

test('a row with a delivery type goes to the cheapest payer of the country', async () => {
  const recipient = await createRecipient(api, deliveryCases.bank, { query: 'amount=50' });
  const cheapest = await findPayer(api, deliveryCases.bank, 'amount=50');
  assert.equal(recipient.payer.destination_token, cheapest.destination_token);
  const row = {
    client_transfer_id: 'cheapest-1',
    user_token: recipient.userToken,
    delivery_type: 'BANK_DEPOSIT',
    destination_currency_code: 'MXN',
    source_amount: 50,
  };
  const batch = await upload([row]);
  assert.equal(batch.rows.valid.text, '1', JSON.stringify(batch.faults));
  const path = `/batches/${batch.batch_token}`;
  const [shown] = ok(await api.get<Record<string, string>[]>(`${path}/rows`));
  assert.equal(shown?.['destination_token'], cheapest.destination_token);
  assert.ok(Number(shown?.['margin']) > 0, `margin ${shown?.['margin']}`);
  ok(await api.post(`${path}/quote`, undefined));
  ok(await api.put(path, { mode: 'all' }));
  for (let tries = 0; tries < 1_200; tries += 1) {
    const { status } = ok(await api.get<{ status: string }>(path));
    if (status === 'COMMITTED') break;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  assert.equal((await upload([row])).rows.repeated.text, '1', 'it is not paid again');
  const [paid] = ok(await api.get<Record<string, unknown>[]>('/payout'));
  assert.equal(String(paid?.['mid_rate']), String(shown?.['mid_rate']));
});

test('a row with a delivery type says what stands in its way', async () => {
  const user = await createUser(api, { country: 'MEX' });
  const row = { user_token: user, destination_currency_code: 'MXN', source_amount: 50 };
  const { faults } = await upload([
    { ...row, client_transfer_id: 'a', delivery_type: 'BANK_DEPOSIT' },
    { ...row, client_transfer_id: 'b', delivery_type: 'BILL', country_code: 'ATA' },
    { ...row, client_transfer_id: 'c' },
    { ...row, client_transfer_id: 'd', delivery_type: 'PIGEON' },
  ]);
  const reported = faults.map(({ row: number, column, code }) => [number.text, column, code]);
  assert.deepEqual(reported, [
    ['1', 'attr_set_token', 'addtl_attr_req'],
    ['2', 'delivery_type', 'no_destination'],
    ['3', 'destination_token', 'required'],
    ['4', 'delivery_type', 'invalid_value'],
  ]);
  assert.match(
    faults[0]?.detail ?? '',
    /are missing: CLABE; the destination is [0-9a-f-]{36} \(.+\)$/,
  );
});
