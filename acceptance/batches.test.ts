import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  type Batch,
  commit,
  commitAsRead,
  countOf,
  createSender,
  csv,
  describeRows,
  pathOf,
  quote,
  type Row,
  readRows,
  type Sender,
  upload,
  uploadRows,
  waitUntilCommitted,
  writeCsv,
} from './batch-kit.ts';
import { subtract } from './exact.ts';
import { createPayout, describeUser, pay } from './recipients.ts';
import {
  type Api,
  advance,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';

import { assertProblem, patterns } from './shapes.ts';

/** Batches of payouts: from the draft to the result. */

let service: Service;
let sender: Sender;
let api: Api;

before(async () => {
  service = await startService();
  sender = await createSender(service, { funds: '10000', count: 3 });
  api = sender.api;
});
after(() => service.stop());

test('a batch is quoted and committed as a whole, and every row becomes one payout', async () => {
  const own = await createSender(service, { funds: '5000' });
  const rows = describeRows(own, 7, { 'metadata.run': 'november' });
  const draft = await uploadRows(own.api, rows);
  assert.equal((await commit(own.api, draft, 'all')).status, 'failure');
  const quoted = await quote(own.api, draft);
  assert.equal(quoted.status, 'QUOTED');
  assert.match(quoted.expiration, /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}$/);
  const [funds] = quoted.funds;
  assert.ok(funds !== undefined);
  assert.equal(funds.available.text, '5000');
  assert.deepEqual(await commit(own.api, draft, 'all'), {
    batch_token: draft.batch_token,
    status: 'success',
    errors: '',
  });
  assert.equal((await commit(own.api, draft, 'all')).status, 'success');
  const committed = await waitUntilCommitted(own.api, draft);
  assert.equal(countOf(committed, 'committed'), '7');
  assert.equal(await readBalance(own.api), subtract('5000', funds.needed.text));
  const found = ok(
    await own.api.get<Record<string, string>[]>(
      `/payout/${rows[0]?.['user_token']}?metadata[run]=november`,
    ),
  );
  assert.deepEqual(
    found.map((payout) => payout['client_transfer_id']).toSorted(),
    rows.map((row) => row['client_transfer_id']).toSorted(),
  );
  assert.equal((await commit(own.api, draft, 'all')).status, 'success');
  assert.equal((await own.api.post(`${pathOf(draft)}/cancel`, undefined)).status, 409);
  assert.equal((await own.api.post(`${pathOf(draft)}/quote`, undefined)).status, 409);

  const again = await uploadRows(own.api, rows);
  assert.equal(countOf(again, 'repeated'), '7');
  const changed = rows.map((row) => ({ ...row, source_amount: '33' }));
  const other = await uploadRows(own.api, changed);
  assert.deepEqual(new Set(other.faults.map(({ code }) => code)), new Set(['duplicate_transfer']));
  assert.equal(await readBalance(own.api), subtract('5000', funds.needed.text));
});

test('the mode decides about invalid rows, and funds are checked for the whole batch', async () => {
  const own = await createSender(service, { funds: '50' });
  const rows = describeRows(own, 2);
  const mixed = await quote(
    own.api,
    await uploadRows(own.api, [...rows, { ...rows[0], client_transfer_id: '' }]),
  );
  const refused = await commit(own.api, mixed, 'all');
  assert.equal(refused.status, 'failure');
  assert.match(refused.errors, /1 row is invalid/);
  const short = await quote(own.api, await uploadRows(own.api, describeRows(own, 3)));
  const unfunded = await commit(own.api, short, 'all');
  assert.equal(unfunded.status, 'failure');
  assert.match(unfunded.errors, /^insufficient funds: [\d.]+ USD are needed and 50 available$/);
  const [, needed = ''] = /: ([\d.]+) USD/.exec(unfunded.errors) ?? [];
  assert.equal(unfunded.code, 'insufficient_funds');
  assert.deepEqual(
    unfunded.shortfalls?.map((one) => [one.amount.text, one.currency_code]),
    [[subtract(needed, '50'), 'USD']],
  );
  assert.equal(await readBalance(own.api), '50');
  assert.equal((await commit(own.api, mixed, 'valid')).status, 'success');
  const committed = await waitUntilCommitted(own.api, mixed);
  assert.equal(countOf(committed, 'committed'), '2');
  assert.equal(countOf(committed, 'invalid'), '1');
});

test('two batches with the same rows pay them once, and the rest is released', async () => {
  const own = await createSender(service, { funds: '1000' });
  const rows = describeRows(own, 3);
  const first = await quote(own.api, await uploadRows(own.api, rows));
  const second = await quote(own.api, await uploadRows(own.api, rows));
  assert.equal((await commit(own.api, first, 'all')).status, 'success');
  assert.equal((await commit(own.api, second, 'all')).status, 'success');
  await waitUntilCommitted(own.api, first);
  const repeated = await waitUntilCommitted(own.api, second);
  assert.equal(countOf(repeated, 'refused'), '3');
  const needed = first.funds[0]?.needed.text ?? '';
  assert.equal(await readBalance(own.api), subtract('1000', needed));
});

test('a batch can be canceled before its commit only, and by its account only', async () => {
  const draft = await uploadRows(api, describeRows(sender, 1));
  const other = await createAccount(service, {});
  assert.equal((await other.api.get(pathOf(draft))).status, 404);
  assert.equal((await other.api.get(`${pathOf(draft)}/result`)).status, 404);
  assert.equal((await other.api.put(pathOf(draft), { mode: 'all' })).status, 404);
  assert.equal((await other.api.post(`${pathOf(draft)}/cancel`, undefined)).status, 404);
  const cancelled = ok(await api.post<Batch>(`${pathOf(draft)}/cancel`, undefined));
  assert.equal(cancelled.status, 'CANCELLED');
  assert.equal((await api.post(`${pathOf(draft)}/quote`, undefined)).status, 409);
  assert.equal((await commit(api, draft)).status, 'failure');
  assert.equal((await api.get('/batches/batch_nothing')).status, 404);
});

test('batches and their rows are found by status, time, transfer and recipient', async () => {
  const own = await createSender(service, { funds: '1000' });
  const rows = describeRows(own, 2);
  const batch = await uploadRows(own.api, rows);
  const find = async (query: string) =>
    ok(await own.api.get<Batch[]>(`/batches?${query}`)).map((found) => found.batch_token);
  assert.deepEqual(await find('status=DRAFT&from=2020-01-01&to=9999-12-31'), [batch.batch_token]);
  assert.deepEqual(await find('status=COMMITTED'), []);
  assert.deepEqual(await find('to=2020-01-01'), []);
  const findRows = async (query: string) =>
    ok(await own.api.get<{ client_transfer_id: string }[]>(`${pathOf(batch)}/rows?${query}`));
  const second = String(rows[1]?.['client_transfer_id']);
  const found = await findRows(`client_transfer_id=${second}`);
  assert.deepEqual(
    found.map((row) => row.client_transfer_id),
    [second],
  );
  assert.equal((await findRows(`user_token=usr_${randomUUID()}`)).length, 0);
});

test('no text in the result file is a spreadsheet formula', async () => {
  const [plain, formula, quoted] = describeRows(sender, 3);
  const id = `=HYPERLINK(${randomUUID().slice(0, 8)})`;
  const draft = await uploadRows(api, [
    { ...plain },
    { ...formula, client_transfer_id: id },
    { ...quoted, client_transfer_id: '"a, ""b"" ; @c"' },
  ]);
  const file = await api.get(`${pathOf(draft)}/result`, { accept: 'text/csv' });
  assert.equal(file.status, 200);
  assert.match(String(file.headers['content-type']), /^text\/csv/);
  assert.equal(
    file.headers['content-disposition'],
    `attachment; filename="${draft.batch_token}.csv"`,
  );
  const [header, first, second, third] = file.text.split('\r\n');
  assert.match(header ?? '', /^row,line,status,client_transfer_id,/);
  assert.match(first ?? '', /^1,2,VALID,[0-9a-f-]{36},usr_/);
  assert.ok(second?.includes(`,"'${id}",`), second);
  assert.ok(third?.includes('"a, ""b"" ; @c"'), third);
  const lines = await fetch(`${api.baseUrl}/v0.1.4${pathOf(draft)}/result`, {
    headers: { accept: 'application/x-ndjson', authorization: `Bearer ${api.token}` },
  });
  const parsed = (await lines.text()).trim().split('\n');
  assert.equal(parsed.length, 3);
  assert.equal((JSON.parse(parsed[1] ?? '') as Row)['client_transfer_id'], id);
});

test('a batch does not pay a committed payout again', async () => {
  const [recipient] = sender.recipients;
  assert.ok(recipient !== undefined);
  const [row] = describeRows(sender, 1);
  assert.ok(row !== undefined);
  const paid = await pay(api, recipient, {
    client_transfer_id: row['client_transfer_id'],
    source_amount: 20.1,
  });
  const draft = await uploadRows(api, [row]);
  assert.equal(countOf(draft, 'repeated'), '1');
  const [shown] = await readRows(api, draft);
  assert.equal(shown?.['status'], 'REPEATED');
  assert.equal(shown?.['payout_token'], paid.payout_token);
  const pending = await createPayout(api, recipient);
  assert.equal(pending['status'], 'PENDING');
});

test('an expired quote is reported, and can be renewed', async () => {
  const own = await createSender(service, { funds: '1000' });
  const rows = describeRows(own, 2);
  const quoted = await quote(own.api, await uploadRows(own.api, rows));
  await advance(own.api, 24 * 3600);
  assert.equal((await commit(own.api, quoted, 'all')).status, 'ex_rate_expired');
  const anew = await quote(own.api, quoted);
  assert.ok(anew.expiration > quoted.expiration);
  assert.equal((await commit(own.api, quoted, 'all')).status, 'success');
  const committed = await waitUntilCommitted(own.api, quoted);
  assert.equal(countOf(committed, 'committed'), '2');
});

test('a commit can name the quote whose prices were read', async () => {
  const own = await createSender(service, { funds: '100.00' });
  const draft = await uploadRows(own.api, describeRows(own, 1));
  assert.equal(draft.quote_number.text, '0');
  const read = await quote(own.api, draft);
  assert.equal(read.quote_number.text, '1');
  const later = await quote(own.api, draft);
  assert.equal(later.quote_number.text, '2');

  const refused = await commitAsRead(own.api, read);
  assert.deepEqual([refused.status, refused.code], ['failure', 'quote_changed']);
  assert.equal(refused.errors, 'the batch was quoted again: read its prices, and commit quote 2');
  assert.equal((await commitAsRead(own.api, later)).status, 'success');
  // It is committed at other prices than the one who repeats this has read.
  const repeated = await commitAsRead(own.api, read);
  assert.deepEqual(
    [repeated.code, repeated.errors],
    ['quote_changed', 'quote 2 of the batch was committed'],
  );
  assert.equal((await commitAsRead(own.api, later)).status, 'success');
  assert.equal((await waitUntilCommitted(own.api, read)).quote_number.text, '2');
});

test('a repeated upload gets its first answer, and its key is refused for other requests', async () => {
  const own = await createSender(service, { funds: '1000' });
  const file = writeCsv(describeRows(own, 2));
  const key = { 'idempotency-key': randomUUID() };
  const first = await upload(own.api, file, { ...csv, ...key });
  const batch = ok(first);
  assert.equal(batch.status, 'DRAFT');
  assert.equal(first.headers['idempotent-replayed'], undefined);
  await commit(own.api, await quote(own.api, batch));
  await waitUntilCommitted(own.api, batch);
  const again = await upload(own.api, file, { ...csv, ...key });
  assert.equal(again.text, first.text);
  assert.equal(again.headers['idempotent-replayed'], 'true');
  const user = await own.api.post('/user', describeUser(), key);
  assertProblem(user, 422, 'idempotency_key_reused');
  const cancel = await own.api.post(`${pathOf(batch)}/cancel`, undefined, key);
  assertProblem(cancel, 422, 'idempotency_key_reused');
  assertProblem(await upload(own.api, `${file}x`, { ...csv, ...key }), 422);
  const other = { 'idempotency-key': randomUUID() };
  ok(await own.api.post('/user', describeUser(), other));
  const refused = await upload(own.api, file, { ...csv, ...other });
  assertProblem(refused, 422, 'idempotency_key_reused');
});

test('a draft names the rows that use stored attributes', async () => {
  const own = await createSender(service, { funds: '1000' });
  const [recipient] = own.recipients;
  const [plain, named] = describeRows(own, 2);
  const set = recipient?.attrSetToken ?? '';
  const draft = await uploadRows(own.api, [{ ...plain }, { ...named, attr_set_token: set }]);
  assert.equal(countOf(draft, 'stored_details'), '1');
  const [first, second] = await readRows(own.api, draft);
  assert.deepEqual([first?.['details'], first?.['attr_set_token']], ['stored', set]);
  assert.match(first?.['details_stored_on'] ?? '', patterns.localTime);
  assert.deepEqual([second?.['details'], second?.['attr_set_token']], ['row', set]);
  const file = await own.api.get(`${pathOf(draft)}/result`, { accept: 'text/csv' });
  const [header, row] = file.text.split('\r\n');
  assert.match(
    header ?? '',
    /,faults,details,attr_set_token,details_stored_on,mid_rate,margin,input\./,
  );
  assert.ok(row?.includes(`,stored,${set},`), row);
});
