import { readFileSync, statSync, writeFileSync } from 'node:fs';
import { type AnswerOf, type Client, OutlayError, ProblemError } from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { exitCodes, Failure, UsageError } from '../failure.ts';
import type { Output } from '../output.ts';
import { formatFields, printable } from '../table.ts';
import {
  checkWritable,
  findFault,
  formatCode,
  formatMoney,
  privateMode,
  quoteWord,
  readCount,
} from '../values.ts';
import { followCommitted, repeatSafely } from './commit.ts';

type Batch = AnswerOf<'getBatch'>;

export const batchCommands = [
  defineCommand({
    name: 'batch send',
    about: 'pay a file of payouts: check, quote, commit, and save the result of every row',
    words: ['file'],
    options: {
      name: { value: 'text', about: 'of the batch' },
      mode: { value: 'mode', about: 'all (default): pays nothing if a row has faults; or valid' },
      yes: { about: 'commit without asking' },
      result: { value: 'path', about: 'where to save the result (<file>.result.csv)' },
      idempotencyKey: { value: 'key', about: 'of an upload that was interrupted' },
    },
    examples: ['batch send payroll.csv', 'batch send payroll.csv --mode valid --yes --json'],
    next: 'payout list',
    run: sendBatch,
  }),
  defineCommand({
    name: 'batch show',
    about: 'show a batch: its faults, or how far it is',
    words: ['batch'],
    examples: ['batch show batch_0198…'],
    next: 'batch result <batch>',
    run: async ({ connect, output, signal }, { batch: batch_token }) => {
      const batch = await connect().getBatch({ batch_token, include_payouts: true }, { signal });
      output.result(batch, () => describeBatch(output, batch));
    },
  }),
  defineCommand({
    name: 'batch commit',
    about: 'pay a quoted batch; repeating it pays nothing twice',
    words: ['batch'],
    options: {
      mode: { value: 'mode', about: 'all (default) or valid' },
      quoteNumber: { value: 'number', about: 'of the quote that was read: pays no other one' },
      result: { value: 'path', about: 'where to save the result (<batch>.result.csv)' },
      idempotencyKey: { value: 'key', about: 'of an earlier attempt whose answer was lost' },
    },
    examples: ['batch commit batch_0198… --mode valid'],
    next: 'batch show <batch>',
    run: async (context, values) => {
      const { batch: batch_token, result = `${batch_token}.result.csv`, idempotencyKey } = values;
      const mode = readMode(values.mode);
      const quoteNumber =
        values.quoteNumber === undefined
          ? undefined
          : readCount(values.quoteNumber, '--quote-number');
      checkWritable(result, '--result');
      const client = context.connect();
      const batch = await client.getBatch({ batch_token }, { signal: context.signal });
      await payBatch(context, client, { batch, mode, quoteNumber, result, idempotencyKey });
    },
  }),
  defineCommand({
    name: 'batch result',
    about: 'save every row of a batch with its outcome (CSV)',
    words: ['batch'],
    options: { file: { value: 'path', about: 'where to (<batch>.result.csv)' } },
    examples: ['batch result batch_0198… --file result.csv'],
    next: 'batch send result.csv (corrected; rows that are paid are not paid again)',
    run: async ({ connect, output, signal }, { batch: batch_token, file }) => {
      const saved = await saveResult(connect(), {
        batch_token,
        path: file ?? `${batch_token}.result.csv`,
        signal,
      });
      output.result(saved, () => `Saved ${saved.file}`);
    },
  }),
];

type Sending = {
  readonly file: string;
  readonly name: string | undefined;
  readonly mode: string | undefined;
  readonly yes: boolean;
  readonly result: string | undefined;
  readonly idempotencyKey: string | undefined;
};

/** An upload of the largest file may take so long. */
const uploadMsMax = 600_000;

async function sendBatch(context: Context, values: Sending): Promise<void> {
  const { connect, output, signal } = context;
  const { file, yes, result = `${file}.result.csv` } = values;
  const faults = [
    findFault(() => readMode(values.mode)),
    findFault(() => checkWritable(result, '--result')),
    yes || output.isInteractive
      ? undefined
      : '--yes must be given when there is no terminal to confirm in',
  ].filter((fault) => fault !== undefined);
  if (faults.length > 0) throw new UsageError(faults.join('; '), 'outlay batch send --help');
  const mode = readMode(values.mode);
  const client = connect();
  const text = readText(file);
  const draft = await upload(client, { ...values, text, signal }).catch((error: unknown) => {
    throw describeUpload(error, { ...values, mode });
  });
  const { batch_token, rows } = draft;
  const paying = { mode, result, idempotencyKey: undefined, quoteNumber: undefined };
  // A repeated upload is answered as at first, whatever has happened to the batch since.
  const now = await client.getBatch({ batch_token }, { signal });
  if (now.status === 'COMMITTING' || now.status === 'COMMITTED') {
    output.note(`${batch_token} was committed before`);
    return payBatch(context, client, { ...paying, batch: now });
  }
  if (rows.valid === 0 || (rows.invalid > 0 && mode === 'all')) {
    throw refuseRows(output, draft, { file, mode });
  }
  const quote = await client.quoteBatch({ batch_token }, { signal });
  if (!output.isJson) output.note(describeBatch(output, quote));
  await confirm(context, quote, yes);
  const { quote_number: quoteNumber } = quote;
  await payBatch(context, client, { ...paying, batch: quote, quoteNumber });
}

type Mode = 'all' | 'valid';

function readMode(mode = 'all'): Mode {
  if (mode === 'all' || mode === 'valid') return mode;
  throw new UsageError('--mode must be all or valid');
}

type BatchOrder = {
  readonly batch: Batch;
  readonly mode: Mode;
  /** The only quote that is paid; undefined: the newest. */
  readonly quoteNumber: number | undefined;
  /** Where the result is saved. */
  readonly result: string;
  readonly idempotencyKey: string | undefined;
};

/** Commits a quoted batch, and follows it until its result can be saved. */
async function payBatch(
  context: Context,
  client: Client,
  { batch: quote, mode, quoteNumber, result, idempotencyKey }: BatchOrder,
): Promise<void> {
  const { output, signal } = context;
  const { batch_token } = quote;
  const body = { mode, quote_number: quoteNumber };
  const named = quoteNumber === undefined ? '' : ` --quote-number ${quoteNumber}`;
  const commit = await repeatSafely(context, {
    key: idempotencyKey,
    send: (options) => client.commitBatch({ batch_token, body }, options),
    show: `outlay batch show ${batch_token}`,
    repeat: (withKey) => `outlay batch commit ${batch_token} --mode ${mode}${named}${withKey}`,
  });
  if (commit.status !== 'success') {
    output.result({ ...quote, commit }, () => `Not committed: ${batch_token}`);
    const { errors, status, code = status } = commit;
    throw new Failure(`not paid: ${errors || status}`, { code, hasResult: true });
  }
  const { batch, saved } = await followCommitted(context, {
    known: { ...quote, commit, result: null },
    next: `outlay batch show ${batch_token}`,
    follow: async () => {
      const followed = await followBatch(context, client, quote);
      const path = { batch_token, path: result, signal };
      return { batch: followed, saved: await saveResult(client, path) };
    },
  });
  output.result({ ...batch, commit, result: saved.file }, () =>
    [describeBatch(output, batch), `Result: ${saved.file}`].join('\n'),
  );
  const { refused } = batch.rows;
  if (refused > 0) {
    const message = `${refused} rows were refused at the commit: see ${saved.file}`;
    throw new Failure(message, { code: 'rows_refused', hasResult: true });
  }
  output.next(`outlay batch show ${batch_token}`);
}

const contentTypes: Readonly<Record<string, string>> = {
  ndjson: 'application/x-ndjson',
  jsonl: 'application/x-ndjson',
  json: 'application/json',
};

function upload(
  client: Client,
  { file, text, name, idempotencyKey, signal }: Sending & { text: string; signal: AbortSignal },
): Promise<Batch> {
  const ending = file.slice(file.lastIndexOf('.') + 1).toLowerCase();
  return client.createBatch(
    { body: text, name },
    {
      signal,
      contentType: contentTypes[ending] ?? 'text/csv',
      timeoutMs: uploadMsMax,
      idempotencyKey,
    },
  );
}

/** @throws UsageError for a folder. */
function readText(file: string): string {
  if (statSync(file).isDirectory()) throw new UsageError(`${file} is a folder, not a file`);
  return readFileSync(file, 'utf8');
}

/** An upload that may have arrived is continued with its key. */
function describeUpload(
  error: unknown,
  { file, name, mode }: Pick<Sending, 'file' | 'name'> & { mode: Mode },
): unknown {
  if (!(error instanceof OutlayError) || !error.outcomeUnknown) return error;
  const { idempotencyKey: key } = error;
  // The key stands for the file and its name.
  const named = name === undefined ? '' : ` --name ${quoteWord(name)}`;
  const chosen = mode === 'all' ? '' : ` --mode ${mode}`;
  return new Failure(`${error.message}. Nothing was paid.`, {
    exitCode: exitCodes.unknown,
    code: error instanceof ProblemError ? error.code : 'not_reachable',
    next: `outlay batch send ${quoteWord(file)}${named}${chosen} --idempotency-key ${key}`,
  });
}

function refuseRows(
  output: Output,
  draft: Batch,
  { file, mode }: { file: string; mode: Mode },
): Failure {
  output.result(draft, () => describeBatch(output, draft));
  const { rows, batch_token } = draft;
  if (rows.valid === 0 && rows.invalid === 0) {
    return new Failure('Every row was paid before: nothing is left to pay', {
      code: 'nothing_to_pay',
      hasResult: true,
    });
  }
  return new Failure(`${rows.invalid} of ${rows.total} rows have faults. Nothing was paid.`, {
    code: 'invalid_rows',
    hasResult: true,
    next: [
      `correct them in the file of: outlay batch result ${batch_token}`,
      ...(mode === 'valid' || rows.valid === 0
        ? []
        : [`or: outlay batch send ${quoteWord(file)} --mode valid`]),
    ].join('; '),
  });
}

/** @throws Failure unless a person agrees. */
async function confirm({ ask }: Context, { rows }: Batch, isAgreed: boolean): Promise<void> {
  if (isAgreed) return;
  if ((await ask.confirm(`Pay ${rows.valid} rows?`)) === 'yes') return;
  throw new Failure('Nothing was paid.', {
    exitCode: exitCodes.interrupted,
    code: 'not_confirmed',
  });
}

const pollMs = 500;

/** With a bar on a terminal, until every row is a payout or refused. */
async function followBatch(
  { output, signal, sleep }: Context,
  client: Client,
  { batch_token, rows }: Batch,
): Promise<Batch> {
  const bar = output.isInteractive ? await openBar(rows.valid) : undefined;
  try {
    for (;;) {
      const batch = await client.getBatch({ batch_token }, { signal });
      bar?.update(batch.rows.committed + batch.rows.refused);
      if (batch.status !== 'COMMITTING') return batch;
      await sleep(pollMs, signal);
    }
  } finally {
    bar?.stop();
  }
}

async function openBar(total: number) {
  const { default: progress } = await import('cli-progress');
  const bar = new progress.SingleBar(
    { format: '{bar} {value} of {total} rows', stream: process.stderr },
    progress.Presets.shades_classic,
  );
  bar.start(total, 0);
  return bar;
}

async function saveResult(
  client: Client,
  { batch_token, path, signal }: { batch_token: string; path: string; signal: AbortSignal },
): Promise<{ batch_token: string; file: string }> {
  const options = { signal, accept: 'text/csv', timeoutMs: uploadMsMax };
  const rows: unknown = await client.getBatchResult({ batch_token }, options);
  writeFileSync(path, rows as string, { mode: privateMode });
  return { batch_token, file: path };
}

const faultsShown = 20;

function describeBatch(output: Output, batch: Batch): string {
  const { rows, totals, funds, faults, payouts } = batch;
  const counts = Object.entries(rows).filter(([, count]) => count > 0);
  const lines = [
    formatFields(output, [
      ['batch', batch.batch_token],
      ['name', batch.name],
      ['status', formatCode(batch.status)],
      ['quote', batch.quote_number === 0 ? '' : String(batch.quote_number)],
      ['rows', counts.map(([name, count]) => `${count} ${formatCode(name)}`).join(', ')],
      [
        'payouts',
        Object.entries(payouts)
          .map(([name, count]) => `${count} ${formatCode(name)}`)
          .join(', '),
      ],
      ['ignored', batch.ignored_columns.map((name) => `column ${name}`).join(', ')],
      ...totals.map((total): [string, string] => [
        'pays',
        `${formatMoney(total.source_amount, total.source_currency_code)} + fee ${formatMoney(total.fee, total.source_currency_code)}, arrives ${formatMoney(total.destination_amount, total.destination_currency_code)} (${total.rows} rows)`,
      ]),
      ...funds.map((one): [string, string] => [
        'needs',
        `${formatMoney(one.needed, one.currency_code)} of ${formatMoney(one.available, one.currency_code)}`,
      ]),
    ]),
    ...faults
      .slice(0, faultsShown)
      .map(({ line, column, detail }) =>
        printable(`  line ${line}${column === '' ? '' : `, ${column}`}: ${detail}`),
      ),
    ...(faults.length > faultsShown
      ? [`  … and more: outlay batch result ${batch.batch_token}`]
      : []),
  ];
  return lines.join('\n');
}
