import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createRecipient, deliveryCases, type Recipient } from './recipients.ts';
import { type Api, createAccount, ok, type Service, startService } from './service.ts';

/** The result of a batch, corrected and sent again. */

let service: Service;
let api: Api;
let recipient: Recipient;

before(async () => {
  service = await startService();
  api = (await createAccount(service, { USD: '100000' })).api;
  recipient = await createRecipient(api, deliveryCases.bank);
});
after(() => service.stop());

type Batch = {
  batch_token: string;
  ignored_columns: string[];
  rows: Record<'total' | 'valid' | 'invalid' | 'repeated', { text: string }>;
};

const upload = async (file: string, type: string): Promise<Batch> =>
  ok(await api.post<Batch>('/batches', file, { 'content-type': type }));

// Not by the client of these tests, which reads NDJSON as one JSON value.
const result = async (token: string, accept: string): Promise<string> =>
  (
    await fetch(`${api.baseUrl}/${api.version}/batches/${token}/result`, {
      headers: { accept, authorization: `Bearer ${api.token}` },
    })
  ).text();

const countsOf = ({ rows }: Batch) => [rows.valid.text, rows.invalid.text, rows.total.text];

/** Texts that a spreadsheet would run, with apostrophes of their own, and a column of the client. */
const notes = ['=1+1', "'=1+1", "''+5", "it's", 'a "b", c', '-5', 'line\nbreak'];

/** Metadata take no line break. */
const plain = (note: string): string => note.replaceAll('\n', ' ');

function describeFile(): string {
  const { userToken, payer, attrSetToken } = recipient;
  const quote = (cell: string): string => `"${cell.replaceAll('"', '""')}"`;
  const lines = notes.map((note, index) => {
    const amount = index === 1 ? '12.345' : '12.34';
    const cells = [`r-${index}`, userToken, payer.destination_token, 'MXN', amount, attrSetToken];
    return [...cells, plain(note), note].map(quote).join(',');
  });
  const header =
    'client_transfer_id,user_token,destination_token,Destination_Currency_Code,source_amount,' +
    'attr_set_token,metadata.note,Our Remark';
  return `${[header, ...lines].join('\r\n')}\r\n`;
}

for (const [name, accept] of [
  ['CSV', 'text/csv'],
  ['NDJSON', 'application/x-ndjson'],
] as const) {
  test(`the ${name} result has every column of the input, and is uploaded again corrected`, async () => {
    const first = await upload(describeFile(), 'text/csv');
    assert.deepEqual(countsOf(first), ['6', '1', '7']);
    assert.deepEqual(first.ignored_columns, ['Our Remark']);
    const written = await result(first.batch_token, accept);
    assert.match(written, /12\.345/, 'the value that has a fault');
    const second = await upload(written.replace('12.345', '12.34'), accept);
    assert.deepEqual(countsOf(second), ['7', '0', '7']);
    const lines = (await result(second.batch_token, 'application/x-ndjson')).trim().split('\n');
    const inputs = lines.map((line) => JSON.parse(line).input as Record<string, unknown>);
    for (const [index, note] of notes.entries()) {
      const input = inputs[index] ?? {};
      assert.equal(input['Our Remark'], note);
      const { note: entry } = (input['metadata'] ?? {}) as { note?: string };
      assert.equal(input['metadata.note'] ?? entry, plain(note));
      assert.equal(input['source_amount'], '12.34');
    }
  });
}
