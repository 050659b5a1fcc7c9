import assert from 'node:assert/strict';
import { test } from 'node:test';
import { AppError } from '../../core/errors.ts';
import { JsonNumber } from '../../core/exact-json.ts';
import { rowForm } from '../upload.routes.ts';
import type { FileFormat, FileRow } from './file-row.ts';
import { readFileRows } from './file-rows.ts';

const limits = { bytesMax: 1_000_000, rowsMax: 1000, rowBytesMax: 1000 };
const header =
  'client_transfer_id,user_token,destination_token,destination_currency_code,source_amount';

type Read = { rows: FileRow[]; ignored: string[] };

/** Reads the file in pieces of this size. */
async function read(file: string | Buffer, format: FileFormat, pieceBytes = 7): Promise<Read> {
  const bytes = Buffer.from(file);
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < bytes.length; at += pieceBytes) {
      yield bytes.subarray(at, at + pieceBytes);
    }
  }
  const rows: FileRow[] = [];
  const ignored = new Set<string>();
  for await (const portion of readFileRows(pieces(), format, {
    limits,
    columns: rowForm.columns,
    ignored,
  })) {
    rows.push(...portion);
  }
  return { rows, ignored: [...ignored] };
}

async function refuse(file: string | Buffer, format: FileFormat, expected: string): Promise<void> {
  const sizes = file.length > 100_000 ? [64 * 1024] : [1, 7, 1_000_000];
  for (const pieceBytes of sizes) {
    await assert.rejects(read(file, format, pieceBytes), (error) => {
      assert.ok(error instanceof AppError, String(error));
      const code = error.options.faults?.[0]?.code ?? error.code;
      assert.equal(code, expected, error.message);
      return true;
    });
  }
}

test('columns are found by name, in any order', async () => {
  const file = [
    '\ufeffSource_Amount , user_token,client_transfer_id,destination_token,destination_currency_code,note,metadata.Ref',
    '100.10,usr_1,a,d,MXN,hello,"x, ""y"""',
    '7,usr_2,b,d,MXN,,',
  ].join('\r\n');
  const { rows, ignored } = await read(file, 'csv');
  assert.deepEqual(
    rows.map(({ fields }) => ({ ...fields, metadata: { ...(fields['metadata'] as object) } })),
    [
      {
        source_amount: '100.10',
        user_token: 'usr_1',
        client_transfer_id: 'a',
        destination_token: 'd',
        destination_currency_code: 'MXN',
        metadata: { Ref: 'x, "y"' },
      },
      {
        source_amount: '7',
        user_token: 'usr_2',
        client_transfer_id: 'b',
        destination_token: 'd',
        destination_currency_code: 'MXN',
        metadata: {},
      },
    ],
  );
  assert.deepEqual(ignored, ['note']);
});

test('a semicolon separates cells if the header uses it', async () => {
  const { rows } = await read(`${header.replaceAll(',', ';')}\na;u;d;MXN;1,5\n`, 'csv');
  assert.equal(rows[0]?.fields['source_amount'], '1,5');
});

test('an amount whose point may separate thousands is refused in a file with semicolons, and only there', async () => {
  const semicolons = header.replaceAll(',', ';');
  for (const [amount, ways] of [
    ['1.000', 'write 1000 or 1.0000'],
    ['12.500', 'write 12500 or 12.5000'],
    ['1.234.567', 'write 1234567 or 1234.5670'],
  ] as const) {
    const { rows } = await read(`${semicolons}\na;u;d;MXN;${amount}\n`, 'csv');
    assert.equal(rows[0]?.fault?.column, 'source_amount');
    assert.equal(rows[0]?.fault?.code, 'amount_not_a_number');
    assert.ok(rows[0]?.fault?.detail.endsWith(ways), rows[0]?.fault?.detail);
  }
  for (const amount of ['1000', '1.00', '1.0000', '1234.567', '0.125']) {
    const { rows } = await read(`${semicolons}\na;u;d;MXN;${amount}\n`, 'csv');
    assert.equal(rows[0]?.fault, undefined, amount);
  }
  const { rows } = await read(`${header}\na,u,d,MXN,1.000\n`, 'csv');
  assert.equal(rows[0]?.fields['source_amount'], '1.000');
});

test('each row has the line on which it begins', async () => {
  const file = `${header}\na,u,d,MXN,1\n\n"b\nb",u,d,MXN,1\nc,u,d,MXN,1`;
  const { rows } = await read(file, 'csv');
  assert.deepEqual(
    rows.map(({ line }) => line),
    [2, 4, 6],
  );
  const lines = await read('{"a":1}\n\n{"b":2}', 'ndjson');
  assert.deepEqual(
    lines.rows.map(({ line }) => line),
    [1, 3],
  );
  const array = await read('[\n{"a":\n1},\n {"b":2}\n]\n', 'json');
  assert.deepEqual(
    array.rows.map(({ line }) => line),
    [2, 4],
  );
});

test('a faulty row does not affect others', async () => {
  const file = Buffer.concat([
    Buffer.from(`${header}\na,u,d,MXN\nb,`),
    Buffer.from([0xff]),
    Buffer.from(',d,MXN,1\nc,u,d,MXN,1'),
  ]);
  const { rows } = await read(file, 'csv');
  assert.deepEqual(
    rows.map(({ fault }) => fault?.code),
    ['cell_count', 'invalid_encoding', undefined],
  );
  const lines = await read('{"a":1}\nnope\n[1]\n{"a":1,"a":2}\n{"b":2}', 'ndjson');
  assert.deepEqual(
    lines.rows.map(({ fault }) => fault?.code),
    [undefined, 'malformed_json', 'invalid_type', 'malformed_json', undefined],
  );
});

test('elements of an array are found whatever their texts contain, and numbers stay exact', async () => {
  const file = '\ufeff [ {"a":"]},{[\\"\\\\","n":100.10} ,{"b":[{"c":[]}]},3,"x" ] ';
  for (const pieceBytes of [1, 2, 5, 1000]) {
    const { rows, ignored } = await read(file, 'json', pieceBytes);
    assert.equal(rows.length, 4);
    assert.equal(rows[0]?.fields['a'], ']},{["\\');
    const number = rows[0]?.fields['n'];
    assert.ok(number instanceof JsonNumber);
    assert.equal(number.text, '100.10');
    assert.deepEqual(
      rows.map(({ fault }) => fault?.code),
      [undefined, undefined, 'invalid_type', 'invalid_type'],
    );
    assert.deepEqual(ignored, ['a', 'n', 'b']);
  }
});

test('an unreadable file is rejected as a whole', async () => {
  await refuse('', 'csv', 'empty_file');
  await refuse(`${header}\n`, 'csv', 'empty_file');
  await refuse('a,b\n1,2\n', 'csv', 'missing_column');
  await refuse(`${header},source_amount\n`, 'csv', 'repeated_column');
  await refuse(`${header}\n"a`, 'csv', 'malformed_csv');
  await refuse(`${header}\n"a"b,u,d,MXN,1\n`, 'csv', 'malformed_csv');
  await refuse(`${header}\n${'x'.repeat(2000)}`, 'csv', 'row_too_long');
  await refuse('', 'ndjson', 'empty_file');
  await refuse('x'.repeat(2000), 'ndjson', 'row_too_long');
  await refuse('', 'json', 'malformed_json');
  await refuse('{"a":1}', 'json', 'malformed_json');
  await refuse('[{"a":1}', 'json', 'malformed_json');
  await refuse('[{"a":1},]', 'json', 'malformed_json');
  await refuse('[,]', 'json', 'malformed_json');
  await refuse('[]', 'json', 'empty_file');
  await refuse('[{"a":1}] [', 'json', 'malformed_json');
  await refuse(`[{"a":"${'x'.repeat(2000)}"}]`, 'json', 'row_too_long');
});

test('files with too many rows or bytes are rejected', async () => {
  await refuse(`[${Array.from({ length: 1001 }, () => '{}').join()}]`, 'json', 'body_too_large');
  await refuse('\n'.repeat(1_000_001), 'ndjson', 'body_too_large');
});

test('empty lines are no rows, and count as lines', async () => {
  const { rows } = await read('\n\r\n  \n{"a":1}\n\n{"a":2}\n\n', 'ndjson', 1);
  assert.deepEqual(
    rows.map(({ line, fields }) => [line, (fields['a'] as JsonNumber).text]),
    [
      [4, '1'],
      [6, '2'],
    ],
  );
});

test('a message about a column shows no control characters', async () => {
  await assert.rejects(read(`${header}\ra,user,destination,MXN,1\r`, 'csv'), (error) => {
    assert.ok(error instanceof AppError);
    assert.match(error.message, /source_amount a is not a column/);
    return true;
  });
});
