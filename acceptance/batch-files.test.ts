import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Batch,
  countOf,
  createSender,
  csv,
  describeRows,
  type Line,
  pathOf,
  readRows,
  refusalOf,
  type Sender,
  upload,
  uploadRows,
  writeCsv,
  writeObjects,
} from './batch-kit.ts';
import { exact } from './exact.ts';
import { createUser } from './recipients.ts';
import { type Api, ok, type Service, startService } from './service.ts';

/** The files of batches: formats, faults and repeated uploads. */

let service: Service;
let sender: Sender;
let api: Api;

before(async () => {
  service = await startService();
  sender = await createSender(service, { funds: '10000', count: 3 });
  api = sender.api;
});
after(() => service.stop());

test('the same rows as CSV, JSON lines and JSON array give the same draft', async () => {
  const rows = describeRows(sender, 4);
  const objects = writeObjects(rows);
  const drafts = [
    ok(await upload(api, `\ufeff${writeCsv(rows)}`)),
    ok(await upload(api, writeCsv(rows, ';'))),
    ok(await upload(api, objects.join('\n'), { 'content-type': 'application/x-ndjson' })),
    ok(
      await upload(api, `[${objects.join()}]`, {
        'content-type': 'application/json; charset=utf-8',
      }),
    ),
  ];
  for (const draft of drafts) {
    assert.equal(draft.status, 'DRAFT');
    assert.deepEqual(draft.rows, drafts[0]?.rows);
    assert.equal(countOf(draft, 'valid'), '4');
    assert.deepEqual(draft.totals, drafts[0]?.totals);
  }
  const [total] = drafts[0]?.totals ?? [];
  assert.deepEqual(total?.['source_amount'], exact('86.4'));
});

test('faults are reported by row and column, and other rows are valid', async () => {
  const [good, twice, other] = describeRows(sender, 3);
  assert.ok(good !== undefined && twice !== undefined && other !== undefined);
  const user = await createUser(api, { country: 'MEX' });
  const rows: Line[] = [
    good,
    { ...good, source_amount: '21' },
    { ...twice, client_transfer_id: '', user_token: 'nobody', source_amount: '1.234' },
    { ...twice, source_currency_code: 'CHF' },
    { ...other, destination_token: 'x', destination_amount: '5' },
    { ...other, client_transfer_id: ' x', destination_currency_code: 'KES', source_amount: '' },
    { ...other, client_transfer_id: randomUUID(), user_token: user },
    { ...other, client_transfer_id: randomUUID(), source_amount: '99999999' },
    { ...other, client_transfer_id: 'x'.repeat(51), destination_currency_code: 'QQQ' },
    { ...other, client_transfer_id: randomUUID(), notify_user: 'perhaps', note: 'hello' },
    { ...other, client_transfer_id: randomUUID(), source_amount: '2E+1' },
    { ...other, client_transfer_id: randomUUID() },
  ];
  const draft = await uploadRows(api, rows);
  assert.deepEqual(draft.ignored_columns, ['note']);
  assert.equal(countOf(draft, 'valid'), '2');
  assert.equal(countOf(draft, 'invalid'), '10');
  const found = draft.faults.map(({ row, column, code }) => `${row.text} ${column} ${code}`);
  assert.deepEqual(found, [
    '2 client_transfer_id repeated_in_file',
    '3 client_transfer_id required',
    '3 user_token unknown_user',
    '3 source_amount amount_too_precise',
    '4 source_currency_code no_balance_in_currency',
    '5 destination_amount amounts_exclusive',
    '5 destination_token unknown_destination',
    '6 client_transfer_id invalid_value',
    '6 source_amount required',
    '6 destination_currency_code currency_not_delivered',
    '7 attr_set_token addtl_attr_req',
    '8 source_amount above_maximum',
    '9 client_transfer_id too_long',
    '9 destination_currency_code unknown_currency',
    '10 notify_user invalid_type',
    '11 source_amount amount_not_a_number',
  ]);
  assert.equal(draft.faults[0]?.line.text, '3');
  const invalid = await readRows(api, draft, '&status=INVALID');
  assert.equal(invalid.length, 10);
  assert.ok(draft.faults_path.endsWith(`${pathOf(draft)}/rows?status=INVALID`));
});

test('a misspelled column is not ignored, since the rows could be paid from another balance', async () => {
  const [row] = describeRows(sender, 1);
  assert.ok(row !== undefined);
  for (const name of ['source_currency', 'Schedule_For', 'attr_set_tokn']) {
    const reply = await upload(api, writeCsv([{ ...row, [name]: 'EUR' }]), csv);
    assert.deepEqual(refusalOf(reply), {
      status: 400,
      code: 'unknown_member',
      first: 'unknown_member',
    });
  }
  const line = JSON.stringify({ ...row, source_currency: 'EUR' });
  const draft = ok(await upload(api, line, { 'content-type': 'application/x-ndjson' }));
  assert.deepEqual(
    draft.faults.map(({ column, code }) => `${column} ${code}`),
    ['source_currency unknown_member'],
  );
  const kept = {
    destination_name: 'Bank',
    amount: '1',
    currency: 'EUR',
    source_currency_code: 'USD',
  };
  const own = await uploadRows(api, [{ ...row, ...kept, source_currency: 'EUR' }]);
  assert.equal(countOf(own, 'valid'), '1');
  assert.deepEqual(own.ignored_columns, [
    'destination_name',
    'amount',
    'currency',
    'source_currency',
  ]);
});

test('a file with tabs, or in UTF-16 as spreadsheets save it, is rejected with what separates columns', async () => {
  const [row] = describeRows(sender, 1);
  const text = writeCsv(row === undefined ? [] : [row]).replaceAll(',', '\t');
  for (const body of [text, Buffer.from(`\ufeff${text}`, 'utf16le')]) {
    const reply = await upload(api, body, csv);
    assert.equal(reply.status, 400);
    assert.match(JSON.stringify(reply.body), /must be UTF-8, with commas or semicolons/);
  }
});

test('an unreadable file is refused as a whole and stores nothing', async () => {
  const before = ok(await api.get<Batch[]>('/batches')).length;
  const lines = { 'content-type': 'application/x-ndjson' };
  const array = { 'content-type': 'application/json' };
  const [row] = describeRows(sender, 1);
  const good = writeCsv(row === undefined ? [] : [row]);
  const cases: [string | Buffer, Record<string, string>, number, string][] = [
    ['', csv, 400, 'empty_file'],
    ['a,b\n1,2', csv, 400, 'missing_column'],
    [`${good}\n"`, csv, 400, 'malformed_csv'],
    [`${good}\n${'x'.repeat(70_000)}`, csv, 400, 'row_too_long'],
    [Buffer.from([0xff, 0xfe, 0x61, 0]), csv, 400, 'missing_column'],
    ['{}{', array, 400, 'malformed_json'],
    ['[{}', array, 400, 'malformed_json'],
    ['\n\n', lines, 400, 'empty_file'],
  ];
  for (const [body, headers, status, first] of cases) {
    const reply = await upload(api, body, headers);
    // Several columns are missing at once.
    const code = first === 'missing_column' ? 'invalid_request' : first;
    assert.deepEqual(refusalOf(reply), { status, code, first });
  }
  const xml = await upload(api, '<a/>', { 'content-type': 'application/xml' });
  assert.equal(xml.status, 415);
  const zipped = await upload(api, good, { ...csv, 'content-encoding': 'gzip' });
  assert.equal(zipped.status, 415);
  assert.equal(ok(await api.get<Batch[]>('/batches')).length, before);
});

test('invalid UTF-8 is a fault of its row', async () => {
  const [first, second] = describeRows(sender, 2);
  assert.ok(first !== undefined && second !== undefined);
  const draft = await uploadRows(api, [first, { ...second, client_transfer_id: 'a\0b' }]);
  assert.deepEqual(
    draft.faults.map(({ column, code }) => `${column} ${code}`),
    ['client_transfer_id invalid_value'],
  );
  const bytes = Buffer.from(writeCsv([{ ...first, client_transfer_id: 'ab' }]), 'latin1');
  bytes[bytes.indexOf('ab')] = 0xe9;
  assert.equal(ok(await upload(api, bytes)).faults[0]?.code, 'invalid_encoding');
});

test('with a key the same file returns the same batch, and another file is refused', async () => {
  const rows = describeRows(sender, 3);
  const headers = { ...csv, 'idempotency-key': randomUUID() };
  const first = ok(await upload(api, writeCsv(rows), headers));
  const again = ok(await upload(api, writeCsv(rows), headers));
  assert.equal(again.batch_token, first.batch_token);
  for (const other of [
    rows.slice(0, 2),
    rows.toReversed(),
    [...rows, ...describeRows(sender, 1)],
  ]) {
    const reply = await upload(api, writeCsv(other), headers);
    assert.equal(refusalOf(reply).code, 'idempotency_key_reused');
  }
  const objects = writeObjects(rows).join('\n');
  const lines = { ...headers, 'content-type': 'application/x-ndjson' };
  assert.equal((await upload(api, objects, lines)).status, 422);
});

const readNewest = async (): Promise<Batch | undefined> =>
  ok(await api.get<Batch[]>('/batches?number_of_records=1'))[0];

/** Sends the beginning of a file that is said to be longer, and hangs up when it is being received. */
async function breakOff(body: string, headers: Record<string, string>): Promise<void> {
  const { hostname, port } = new URL(api.baseUrl);
  const request = httpRequest({
    hostname,
    port,
    method: 'POST',
    path: '/v0.1.4/batches',
    headers: { ...headers, authorization: `Bearer ${api.token}`, 'content-length': '1000000' },
  });
  const failed = new Promise<void>((resolve) => request.on('error', () => resolve()));
  request.write(body);
  for (let tries = 0; tries < 3_000; tries += 1) {
    if ((await readNewest())?.status === 'RECEIVING') break;
    await sleep(20);
  }
  request.destroy(new Error('hung up'));
  await failed;
}

test('an interrupted upload cannot be quoted, and continues with its key', async () => {
  const rows = describeRows(sender, 1200);
  const text = writeCsv(rows);
  const headers = { ...csv, 'idempotency-key': randomUUID() };
  await breakOff(text.slice(0, Math.floor(text.length * 0.7)), headers);
  const left = await readNewest();
  assert.equal(left?.status, 'RECEIVING');
  assert.equal((await api.post(`${pathOf(left)}/quote`, undefined)).status, 409);
  let reply = await upload(api, text, headers);
  for (let tries = 0; reply.status === 409 && tries < 600; tries += 1) {
    await sleep(100);
    reply = await upload(api, text, headers);
  }
  const draft = ok(reply);
  assert.equal(draft.batch_token, left.batch_token);
  assert.equal(draft.status, 'DRAFT');
  assert.equal(countOf(draft, 'valid'), '1200');
});
