import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExactNumber } from './exact.ts';
import { createRecipient, deliveryCases, type Recipient } from './recipients.ts';
import {
  type Account,
  type Api,
  createAccount,
  ok,
  type Reply,
  readPages,
  type Service,
} from './service.ts';

/** Helpers of the tests of batches. */

export type Fault = {
  row: ExactNumber;
  line: ExactNumber;
  column: string;
  code: string;
  detail: string;
};
export type Batch = {
  batch_token: string;
  status: string;
  rows: Record<string, ExactNumber>;
  ignored_columns: string[];
  totals: Record<string, ExactNumber | string>[];
  funds: { currency_code: string; needed: ExactNumber; available: ExactNumber }[];
  faults: Fault[];
  faults_path: string;
  quote_number: ExactNumber;
  payouts: Record<string, ExactNumber>;
  expiration: string;
};
export type Row = Record<string, string> & { row: ExactNumber; faults: Fault[] };
export type Commit = {
  batch_token: string;
  status: string;
  errors: string;
  code?: string;
  shortfalls?: { amount: ExactNumber; currency_code: string }[];
};
export type Line = Record<string, string>;

export type Sender = Account & { recipients: Recipient[] };

/** An account with funds and recipients. */
export async function createSender(
  service: Service,
  options: { funds: string; count?: number },
): Promise<Sender> {
  const account = await createAccount(service, { USD: options.funds });
  const recipients = await Promise.all(
    Array.from({ length: options.count ?? 1 }, () =>
      createRecipient(account.api, deliveryCases.bank),
    ),
  );
  return { ...account, recipients };
}

/** Valid rows with unique ids: 20.10 USD, 21.10 and so on. */
export function describeRows({ recipients }: Sender, count: number, changes: Line = {}): Line[] {
  return Array.from({ length: count }, (_, index) => {
    const recipient = recipients[index % recipients.length];
    if (recipient === undefined) throw new Error('a sender without recipients');
    return {
      client_transfer_id: randomUUID(),
      user_token: recipient.userToken,
      destination_token: recipient.payer.destination_token,
      destination_currency_code: 'MXN',
      source_amount: `${20 + index}.10`,
      ...changes,
    };
  });
}

export function writeCsv(rows: readonly Line[], separator = ','): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const lines = rows.map((row) => columns.map((column) => row[column] ?? '').join(separator));
  return [columns.join(separator), ...lines].join('\r\n');
}

/** As JSON objects, with amounts as numbers. */
export function writeObjects(rows: readonly Line[]): string[] {
  return rows.map((row) =>
    JSON.stringify(row).replaceAll(/"(source|destination)_amount":"([^"]*)"/g, '"$1_amount":$2'),
  );
}

export const csv = { 'content-type': 'text/csv' };

export function upload(
  api: Api,
  body: string | Buffer,
  headers: Record<string, string> = csv,
): Promise<Reply<Batch>> {
  return api.call<Batch>('POST', '/batches', { body, headers });
}

export async function uploadRows(api: Api, rows: readonly Line[]): Promise<Batch> {
  return ok(await upload(api, writeCsv(rows)));
}

export function pathOf({ batch_token: token }: Pick<Batch, 'batch_token'>): string {
  return `/batches/${token}`;
}

export async function quote(api: Api, batch: Batch): Promise<Batch> {
  return ok(await api.post<Batch>(`${pathOf(batch)}/quote`, undefined));
}

export async function commit(api: Api, batch: Batch, mode = 'all'): Promise<Commit> {
  return ok(await api.put<Commit>(pathOf(batch), { mode }));
}

/** Only at the prices that were read. */
export async function commitAsRead(api: Api, read: Batch): Promise<Commit> {
  const body = { mode: 'all', quote_number: Number(read.quote_number.text) };
  return ok(await api.put<Commit>(pathOf(read), body));
}

export async function readRows(api: Api, batch: Batch, query = ''): Promise<Row[]> {
  return (await readPages<Row>(api, `${pathOf(batch)}/rows?number_of_records=2${query}`)).flat();
}

export async function waitUntilCommitted(
  api: Api,
  batch: Pick<Batch, 'batch_token'>,
): Promise<Batch> {
  for (let tries = 0; tries < 600; tries += 1) {
    const read = ok(await api.get<Batch>(pathOf(batch)));
    if (read.status === 'COMMITTED') return read;
    await sleep(50);
  }
  throw new Error('the batch is not committed after a long while');
}

/** The number of rows in this state. */
export function countOf(batch: Batch, name: string): string {
  return batch.rows[name]?.text ?? '';
}

export type Refusal = { status: number; code: string; first: string };

/** Asserts an error with the code of its first fault. */
export function refusalOf({ status, body }: Reply<unknown>): Refusal {
  const { code, errors } = body as { code: string; errors: { code: string }[] };
  return { status, code, first: errors[0]?.code ?? '' };
}
