import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  commit,
  createSender,
  describeRows,
  quote,
  uploadRows,
  waitUntilCommitted,
} from './batch-kit.ts';
import { add, type ExactNumber, exact, subtract } from './exact.ts';
import { createRecipient, deliveryCases, pay } from './recipients.ts';
import { isoOf, moveTo, readNowMs } from './schedule-kit.ts';
import {
  type Api,
  advance,
  type Balance,
  createAccount,
  daySeconds,
  fund,
  ok,
  type Service,
  startService,
} from './service.ts';
import { assertProblem, locate } from './shapes.ts';

/** Statements of balances, as a bookkeeping system downloads them. */

let service: Service;
let api: Api;
let path: string;
/** Days with entries, UTC. */
let days: string[];

const readDay = async (): Promise<string> =>
  ok(await api.get<{ now: string }>('/sandbox/clock')).now.slice(0, 10);

before(async () => {
  service = await startService();
  // The next noon, so that no day ends while the tests fill it.
  const dayMs = daySeconds * 1000;
  const noonMs = (Math.floor((await readNowMs(service.demo)) / dayMs) + 1.5) * dayMs;
  await moveTo(service.demo, isoOf(noonMs));
  const account = await createAccount(service, { USD: '500.05', BTC: '1' });
  api = account.api;
  const recipient = await createRecipient(api, deliveryCases.bank);
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const usd = balances.find((balance) => balance.currency_code === 'USD');
  path = `/account/balance/${usd?.token}/statement`;
  const first = await readDay();
  await pay(api, recipient, { source_amount: exact('33.33'), client_transfer_id: '=1+1' });
  await advance(api, daySeconds);
  const second = await readDay();
  const payout = await pay(api, recipient, { source_amount: exact('20') });
  await api.post(`/sandbox/payout/${payout.payout_token}`, { outcome: 'rejected' });
  await fund(api, 'USD', '0.95');
  await advance(api, daySeconds);
  days = [first, second];
});
after(() => service.stop());

type Statement = Record<string, ExactNumber & string> & {
  entries: Record<string, ExactNumber & string>[];
};

test('the statement of a day adds up, and the next day opens with its closing balance', async () => {
  let closing = '0';
  for (const day of days) {
    const statement = ok(await api.get<Statement>(`${path}?date=${day}`));
    assert.equal(statement['from_date'], day);
    assert.equal(statement['opening_balance']?.text, closing);
    for (const entry of statement.entries) {
      const amount = entry['amount'] ?? '';
      const isDebit = entry['credit_debit_indicator'] === 'DBIT';
      closing = isDebit ? subtract(closing, amount) : add(closing, amount);
      assert.equal(entry['balance_after']?.text, closing);
      assert.equal(entry['booking_time']?.slice(0, 10), day);
    }
    assert.equal(statement['closing_balance']?.text, closing);
  }
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const usd = balances.find((balance) => balance.currency_code === 'USD');
  assert.equal(usd?.balance.text, closing);
});

test('every form of a past day has the same bytes later', async () => {
  const [first, second] = days;
  const forms = ['json', 'csv', 'camt.053', 'pdf'];
  const period = `from=${first}&to=${second}`;
  const read = () =>
    Promise.all(forms.map((format) => api.get(`${path}?${period}&format=${format}`)));
  const replies = await read();
  assert.deepEqual(
    replies.map(({ status, headers }) => [status, headers['content-type']?.split(';')[0]]),
    [
      [200, 'application/json'],
      [200, 'text/csv'],
      [200, 'application/xml'],
      [200, 'application/pdf'],
    ],
  );
  await fund(api, 'USD', '7');
  await advance(api, daySeconds);
  const again = await read();
  assert.deepEqual(
    again.map(({ bytes }) => bytes),
    replies.map(({ bytes }) => bytes),
  );
  const [, csv, camt, pdf] = replies;
  assert.match(csv?.text ?? '', /,"'=1\+1",USD\r\n/);
  assert.match(camt?.text ?? '', /urn:iso:std:iso:20022:tech:xsd:camt\.053\.001\.08/);
  assert.match(pdf?.text ?? '', /^%PDF-/);
});

test('a batch is one entry, for its reserve', async () => {
  const sender = await createSender(service, { funds: '1000', count: 2 });
  const batch = await uploadRows(sender.api, describeRows(sender, 2));
  await quote(sender.api, batch);
  await commit(sender.api, batch);
  await waitUntilCommitted(sender.api, batch);
  const [balance] = ok(await sender.api.get<Balance[]>('/account/balance'));
  const day = await readDay();
  await advance(sender.api, daySeconds);
  const statement = ok(
    await sender.api.get<Statement>(`/account/balance/${balance?.token}/statement?date=${day}`),
  );
  const [funded, reserved] = statement.entries;
  assert.deepEqual([funded?.['type'], reserved?.['type']], ['fund', 'reserve']);
  assert.equal(reserved?.['batch_token'], batch.batch_token);
  assert.equal(reserved?.['balance_after']?.text, subtract('1000', reserved?.['amount'] ?? ''));
  assert.equal(
    statement['closing_balance']?.text,
    statement.entries.at(-1)?.['balance_after']?.text,
  );
});

test('the Accept header chooses the form', async () => {
  const at = `${path}?date=${days[0]}`;
  for (const [accept, type] of [
    ['text/csv', 'text/csv'],
    ['application/pdf', 'application/pdf'],
    ['application/xml;q=0.9, text/csv;q=0.1', 'application/xml'],
    ['*/*', 'application/json'],
    ['text/csv, */*', 'text/csv'],
  ] as const) {
    const reply = await api.get(at, { accept });
    assert.equal(reply.headers['content-type']?.split(';')[0], type, accept);
  }
  assertProblem(await api.get(at, { accept: 'image/png' }), 406, 'not_acceptable');
});

test('a month is the range of its days', async () => {
  const [year, month] = (days[0] ?? '').split('-').map(Number);
  const last = new Date(Date.UTC(year ?? 0, month ?? 0, 0)).toISOString().slice(0, 10);
  await advance(api, 32 * daySeconds);
  const monthly = await api.get(`${path}?month=${days[0]?.slice(0, 7)}`);
  const range = await api.get(`${path}?from=${days[0]?.slice(0, 7)}-01&to=${last}`);
  assert.equal(monthly.status, 200);
  assert.equal(monthly.text, range.text);
});

test('a statement that cannot be is refused with the reason', async () => {
  const today = await readDay();
  const open = assertProblem(await api.get(`${path}?date=${today}`), 400, 'period_open');
  assert.equal(open.errors?.[0]?.code, 'period_open');
  const none = assertProblem(await api.get(path), 400, 'required');
  assert.deepEqual(locate(none), ['date']);
  const wrong = await api.get(`${path}?date=2026-02-30&month=2026-13&format=xls`);
  const faults = locate(assertProblem(wrong, 400, 'invalid_request'));
  assert.deepEqual(faults.toSorted(), ['date', 'format', 'month']);
  const balances = ok(await api.get<Balance[]>('/account/balance'));
  const btc = balances.find((balance) => balance.currency_code === 'BTC');
  const crypto = `/account/balance/${btc?.token}/statement?date=${days[0]}`;
  assertProblem(await api.get(`${crypto}&format=camt.053`), 406, 'not_acceptable');
  assert.equal(ok(await api.get<Statement>(crypto))['closing_balance']?.text, '1');
});
