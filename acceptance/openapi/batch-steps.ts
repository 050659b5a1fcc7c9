import { type Known, readText, type Step } from './steps.ts';

/** A batch, from its file to its commit. */

const batchOf = (known: Known, name = 'batch_token') => ({ batch_token: known[name] ?? '' });

/** A row that is in order; each of them needs an identifier of its own. */
const rowOf = (known: Known, transferId: string) => ({
  client_transfer_id: transferId,
  user_token: known['user_token'],
  destination_token: known['bank_token'],
  destination_currency_code: 'MXN',
  source_amount: 25,
});

export const batchSteps: Step[] = [
  {
    operationId: 'createBatch',
    summary: 'Two rows, one of them with faults',
    request: (known) => ({
      headers: { 'idempotency-key': 'payroll-november' },
      body: [
        rowOf(known, 'payroll-november-1'),
        { ...rowOf(known, 'payroll-november-2'), user_token: 'nobody', source_amount: 0.001 },
      ],
    }),
    keep: (body) => ({ batch_token: readText(body, 'batch_token') }),
  },
  {
    operationId: 'createBatch',
    summary: 'The key of another file',
    status: 422,
    request: (known) => ({
      headers: { 'idempotency-key': 'payroll-november' },
      body: [rowOf(known, 'payroll-december-1')],
    }),
  },
  {
    operationId: 'createBatch',
    summary: 'A file that does not end',
    status: 400,
    isWrong: true,
    request: () => ({ headers: { 'content-type': 'text/csv' }, body: 'a,b' }),
  },
  {
    operationId: 'createBatchFromCsv',
    summary: 'One row',
    request: (known) => {
      const row = rowOf(known, 'payroll-withdrawn-1');
      const lines = [Object.keys(row), Object.values(row)].map((cells) => `${cells.join(',')}\n`);
      return { headers: { 'content-type': 'text/csv' }, body: lines.join('') };
    },
    keep: (body) => ({ other_token: readText(body, 'batch_token') }),
  },
  {
    operationId: 'cancelBatch',
    summary: 'A draft',
    request: (known) => ({ params: batchOf(known, 'other_token') }),
  },
  {
    operationId: 'listBatches',
    summary: 'The newest one',
    itemsMax: 1,
    request: () => ({ query: { number_of_records: '1' } }),
  },
  {
    operationId: 'listBatchRows',
    summary: 'Rows with faults',
    request: (known) => ({ params: batchOf(known), query: { status: 'INVALID' } }),
  },
  {
    operationId: 'quoteBatch',
    summary: 'A draft',
    request: (known) => ({ params: batchOf(known) }),
  },
  { operationId: 'getBatch', summary: 'Quoted', request: (known) => ({ params: batchOf(known) }) },
  {
    operationId: 'getBatchResult',
    summary: 'CSV',
    request: (known) => ({ params: batchOf(known), headers: { accept: 'text/csv' } }),
  },
  {
    operationId: 'commitBatch',
    summary: 'With an invalid row',
    request: (known) => ({ params: batchOf(known), body: { mode: 'all' } }),
  },
  {
    operationId: 'commitBatch',
    summary: 'Without it',
    request: (known) => ({ params: batchOf(known), body: { mode: 'valid' } }),
  },
  {
    operationId: 'getBatch',
    summary: 'Committed',
    isHidden: true,
    isSettled: ({ text }) => text.includes('"status":"COMMITTED"'),
    request: (known) => ({ params: batchOf(known) }),
  },
];
