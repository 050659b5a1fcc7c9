import { writeFileSync } from 'node:fs';
import {
  type ArgumentsOf,
  type Client,
  downloadReceipt,
  type Payout,
  type PayoutAddress,
  watchPayout,
  writeJson,
} from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { exitCodes, Failure } from '../failure.ts';
import { getPayoutAddress, getRecipient, takeListed } from '../find.ts';
import type { Output } from '../output.ts';
import { formatFields, formatTable, printable } from '../table.ts';
import {
  formatArrival,
  formatCode,
  formatMoney,
  formatTime,
  privateMode,
  readCount,
} from '../values.ts';
import { commitPayout, describeCommit, findRefusal } from './commit.ts';
import { describeDryRun } from './dry-run.ts';

export const payoutCommands = [
  defineCommand({
    name: 'payout list',
    about: 'list payouts and quotes, newest first',
    options: {
      recipient: { value: 'recipient', about: 'of this recipient' },
      status: { value: 'status', about: 'such as PENDING, PROCESSING, HOLD, COMPLETED' },
      reference: { value: 'id', about: 'with this client_transfer_id' },
      country: { value: 'code', about: 'to this country' },
      from: { value: 'time', about: 'committed from (2026-11-22 or 2026-11-22T09:00:00, UTC)' },
      to: { value: 'time', about: 'committed up to' },
      limit: { value: 'count', about: 'how many (20)' },
    },
    examples: ['payout list --status HOLD', 'payout list --recipient ana --json'],
    next: 'payout show <payout>',
    run: async ({ connect, output, signal }, values) => {
      const { recipient, status, reference, country, from, to, limit = '20' } = values;
      const client = connect();
      const user = recipient && (await getRecipient(client, recipient, signal)).user_token;
      const filter = {
        user_token: user || undefined,
        status: status?.toUpperCase(),
        client_transfer_id: reference,
        country: country?.toUpperCase(),
        from,
        to,
      } as ArgumentsOf<'listPayouts'>;
      const payouts = await takeListed(
        client.listPayouts(filter, { signal }),
        readCount(limit, '--limit'),
        output,
      );
      output.result(payouts, () => formatPayouts(output, payouts));
      output.next('outlay payout show <payout>');
    },
  }),
  defineCommand({
    name: 'payout show',
    about: 'show a payout, what happened to it, and who has to act',
    words: ['payout'],
    examples: ['payout show rent-november', 'payout show payout_0198… --json'],
    next: 'payout watch <payout>',
    run: async ({ connect, output, signal }, { payout: name }) => {
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      const payout = await client.getPayout({ ...address }, { signal });
      output.result(payout, () => describePayout(output, payout));
      if (payout.status === 'PENDING') output.next(`outlay payout commit ${address.payout_token}`);
    },
  }),
  defineCommand({
    name: 'payout commit',
    about: 'pay a quote; repeating it pays nothing twice',
    words: ['payout'],
    options: {
      idempotencyKey: { value: 'key', about: 'of an earlier attempt whose answer was lost' },
      dryRun: { about: 'show what the commit would do' },
    },
    examples: ['payout commit payout_0198…', 'payout commit payout_0198… --dry-run'],
    next: 'payout watch <payout>',
    run: async (context, { payout: name, idempotencyKey, dryRun }) => {
      const { connect, output, signal } = context;
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      // Nothing of a dry run is unknown, and no advice may repeat it without the option.
      const committed = dryRun
        ? await client.commitPayout({ ...address }, { signal, dryRun })
        : await commitPayout(context, client, { ...address, idempotencyKey });
      const { dry_run: found } = committed;
      output.result(committed, () =>
        found === undefined ? describeCommit(committed) : describeDryRun(output, found),
      );
      const refusal = findRefusal(committed);
      if (refusal !== undefined) throw refusal;
      output.next(`outlay payout ${dryRun ? 'commit' : 'watch'} ${address.payout_token}`);
    },
  }),
  defineCommand({
    name: 'payout cancel',
    about: 'cancel a scheduled payout that has not run yet',
    words: ['payout'],
    examples: ['payout cancel rent-december'],
    next: 'payout show <payout>',
    run: async ({ connect, output, signal }, { payout: name }) => {
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      const payout = await client.cancelPayout({ ...address }, { signal });
      output.result(payout, () => describePayout(output, payout));
    },
  }),
  defineCommand({
    name: 'payout watch',
    about: 'follow a payout until it is paid or canceled (exit code 1); --json: one line a change',
    words: ['payout'],
    examples: ['payout watch rent-november'],
    next: 'payout receipt <payout>',
    run: async (context, { payout: name }) => {
      const { connect, output, signal } = context;
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      const payout = await followPayout(context, client, {
        ...address,
        show: (state, steps) => output.line(state, () => steps),
      });
      if (payout.status !== 'COMPLETED') throw ended(payout);
      output.next(`outlay payout receipt ${address.payout_token}`);
    },
  }),
  defineCommand({
    name: 'payout receipt',
    about: 'save the signed receipt of a payout (PDF)',
    words: ['payout'],
    options: { file: { value: 'path', about: 'where to (receipt-<payout>.pdf)' } },
    examples: ['payout receipt rent-november', 'payout receipt rent-november --file rent.pdf'],
    next: 'receipt verify rent.pdf --key <public key>',
    run: async ({ connect, output, signal }, { payout: name, file }) => {
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      const saved = await saveReceipt(client, { ...address, file, signal });
      output.result(saved, () => `Saved ${saved.file}`);
    },
  }),
  defineCommand({
    name: 'payout proof',
    about: 'save the proof that nothing about a payout was changed (JSON)',
    words: ['payout'],
    options: { file: { value: 'path', about: 'where to (proof-<payout>.json)' } },
    examples: ['payout proof rent-november', 'payout proof rent-november --file proof.json'],
    next: 'proof verify proof.json --key <public key>',
    run: async ({ connect, output, signal }, { payout: name, file }) => {
      const client = connect();
      const address = await getPayoutAddress(client, name, signal);
      const { payout_token } = address;
      const path = file ?? `proof-${payout_token}.json`;
      const proof = writeJson(await client.getPayoutProof({ ...address }, { signal }));
      writeFileSync(path, `${proof}\n`, { mode: privateMode });
      output.result({ payout_token, file: path }, () => `Saved ${path}`);
      output.next(`outlay proof verify ${path} --key <public key>`);
    },
  }),
];

export function formatPayouts(output: Output, payouts: readonly Payout[]): string {
  return formatTable(output, payouts, {
    columns: [
      { title: 'created', read: ({ created_at }) => formatTime(created_at) },
      { title: 'status', read: ({ status }) => formatCode(status) },
      {
        title: 'costs',
        isRight: true,
        read: (payout) => formatMoney(payout.total_debit, payout.source_currency_code),
      },
      {
        title: 'arrives',
        isRight: true,
        read: ({ destination_amount, destination_currency_code: currency, network }) =>
          formatArrival(destination_amount, { currency, network }),
      },
      { title: 'payer', read: ({ payer_name }) => payer_name },
      { title: 'reference', read: ({ client_transfer_id }) => client_transfer_id },
      { title: 'token', read: ({ payout_token }) => payout_token },
    ],
    empty: 'No payout.',
  });
}

export function describePayout(output: Output, payout: Payout): string {
  const steps = payout.timeline.map((step) => describeStep(output, step));
  return [describeTerms(output, payout), ...(steps.length === 0 ? [] : ['', ...steps])].join('\n');
}

/** When the money is expected; "" where it has arrived or will not. */
export function describeExpected({ status, estimated_availability }: Payout): string {
  const hasEnded = status === 'COMPLETED' || status === 'CANCELLED';
  return hasEnded ? '' : formatTime(estimated_availability);
}

/** All but its timeline. */
export function describeTerms(output: Output, payout: Payout): string {
  const { source_currency_code: source, destination_currency_code: destination, network } = payout;
  return formatFields(output, [
    ['status', formatCode(payout.status)],
    ['why', payout.status_reason],
    ['to act', payout.actor],
    [
      'costs',
      `${formatMoney(payout.total_debit, source)} (fee ${formatMoney(payout.fee, source)})`,
    ],
    ['arrives', formatArrival(payout.destination_amount, { currency: destination, network })],
    ['rate', `${payout.exchange_rate.text} ${destination} for 1 ${source}`],
    ['payer', `${payout.payer_name} (${formatCode(payout.delivery_type)})`],
    ['expected by', describeExpected(payout)],
    ['runs at', formatTime(payout.runs_at)],
    ['quote until', payout.status === 'PENDING' ? formatTime(payout.expiration) : ''],
    ['pickup code', payout.pickup_code],
    [
      'refund',
      payout.refund === undefined
        ? ''
        : formatMoney(payout.refund.amount, payout.refund.currency_code),
    ],
    ['transaction', payout.transaction_hash || payout.rail_reference],
    ['reference', payout.client_transfer_id],
    ['token', payout.payout_token],
  ]);
}

type Step = Payout['timeline'][number];

function describeStep({ colors }: Output, { status, time, reason_code, actor }: Step): string {
  const reason = reason_code === '' ? '' : ` ${reason_code}`;
  const who = actor === '' ? '' : `, to act: ${actor}`;
  return `${colors.dim(formatTime(time))}  ${colorStatus(status, colors)}${reason}${who}`;
}

function colorStatus(status: Payout['status'], colors: Output['colors']): string {
  const text = formatCode(status);
  if (status === 'COMPLETED') return colors.green(text);
  if (status === 'CANCELLED' || status === 'ERROR') return colors.red(text);
  return status === 'HOLD' ? colors.yellow(text) : text;
}

type Following = PayoutAddress & {
  /** Until it has ended, where nothing else is given. */
  seconds?: number;
  /** How many steps of the timeline are known already. */
  known?: number;
  /** With the steps of the timeline that are new, as lines. */
  show(payout: Payout, steps: string): void;
};

/** A longer timer ends at once. */
const timerMsMax = 2 ** 31 - 1;

/** Shows every new state of a payout until it has ended, or the time is over. */
export async function followPayout(
  { output, signal }: Pick<Context, 'output' | 'signal'>,
  client: Client,
  { seconds, known = 0, show, ...address }: Following,
): Promise<Payout> {
  const limit = new AbortController();
  const stop = (): void => limit.abort();
  signal.addEventListener('abort', stop);
  const timer =
    seconds === undefined ? undefined : setTimeout(stop, Math.min(seconds * 1000, timerMsMax));
  let shown = known;
  let last: Payout | undefined;
  try {
    for await (const payout of watchPayout(client, address, { signal: limit.signal })) {
      const steps = payout.timeline.slice(shown);
      shown = payout.timeline.length;
      last = payout;
      show(payout, steps.map((step) => describeStep(output, step)).join('\n'));
    }
  } catch (error) {
    if (signal.aborted) throw stopped(address);
    if (!limit.signal.aborted) throw error;
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
  return last ?? (await client.getPayout({ ...address }, { signal }));
}

function stopped({ payout_token }: PayoutAddress): Failure {
  return new Failure('Stopped following. The payout continues.', {
    exitCode: exitCodes.interrupted,
    code: 'interrupted',
    hasResult: true,
    next: `outlay payout watch ${payout_token}`,
  });
}

/** The failure of a payout that has ended without being paid. */
export function ended({ status, status_reason }: Payout): Failure {
  return new Failure(printable(`The payout is ${formatCode(status)}: ${status_reason}`), {
    code: 'not_paid',
    hasResult: true,
  });
}

export async function saveReceipt(
  client: Client,
  { file, signal, ...address }: PayoutAddress & { file?: string | undefined; signal: AbortSignal },
): Promise<{ payout_token: string; file: string; bytes: number }> {
  const { payout_token } = address;
  const path = file ?? `receipt-${payout_token}.pdf`;
  const bytes = await downloadReceipt(client, address, signal);
  writeFileSync(path, bytes, { mode: privateMode });
  return { payout_token, file: path, bytes: bytes.length };
}
