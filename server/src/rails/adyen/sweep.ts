import { z } from 'zod';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { decodeReference } from '../contract/references.ts';
import { noteListReading } from '../kit/list-readings.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { openRecords } from '../kit/records.ts';
import { reportUnreadable } from '../kit/unreadable-entries.ts';
import type { UnreadableTransfer } from './adyen-api.ts';
import { isFeeTransfer, listMoneyProblems, listReturns } from './money-moves.ts';
import type { Outcome } from './outcomes.ts';
import { isNews, type PaymentRecord, type PaymentValue } from './payments.ts';
import type { Setup } from './transfers.ts';
import {
  describeFeeTransfer,
  describeObservations,
  findEchoFault,
  isOurs,
  type TransferObservation,
} from './webhooks.ts';
import type { Transfer } from './wire.ts';

/**
 * Reads the list of transfers for webhooks that were lost: those of the last day at every turn, and once
 * a day all that are younger than `watchDays`, for late returns. A transfer is listed by its creation,
 * since Adyen cannot be asked for changes. A pass reads some pages and the next one continues after
 * them.
 */

const dayMs = 24 * 3_600_000;
/** Of a hundred transfers each: a long list must not keep a process from stopping. */
const pagesMax = 10;
const morePagesMs = 100;

const positionSchema = z.object({
  sinceMs: z.int(),
  untilMs: z.int(),
  cursor: z.string(),
  /** When the last reading of all days began, real time. */
  wholeAtMs: z.int(),
});
type Position = z.output<typeof positionSchema>;

function openPositions({ store }: RailHost) {
  const collection = 'sweep';
  return openRecords(store, { collection, states: ['reading', 'done'], value: positionSchema });
}
const positionKey = 'position';

const list = { name: 'transfers', what: "Adyen's list of transfers" } as const;

/** Returns when the next pass makes sense; undefined: when the list is due again. */
export async function sweep(setup: Setup, { signal }: CallContext): Promise<number | undefined> {
  const { host, api, config } = setup;
  const positions = openPositions(host);
  let record = await positions.find(positionKey);
  for (let read = 0; read < pagesMax; read += 1) {
    const position =
      record?.state === 'reading'
        ? record.value
        : beginAgain(host.realNowMs(), config.watchDays, record?.value.wholeAtMs ?? 0);
    const page = await api.listTransfers(
      {
        createdSinceMs: position.sinceMs,
        createdUntilMs: position.untilMs,
        ...(position.cursor !== '' && { cursor: position.cursor }),
      },
      signal,
    );
    if (!page.ok) {
      host.log('warn', 'the list of transfers cannot be read', describeStatus(page.result));
      await noteListReading(host, { ...list, isRead: false });
      return undefined;
    }
    for (const entry of page.unreadable) await reportUnreadableTransfer(host, entry);
    for (const entry of page.transfers) await report(setup, entry.transfer, entry.raw);
    const isLast = page.nextCursor === undefined || page.nextCursor === position.cursor;
    if (isLast) await noteListReading(host, { ...list, isRead: true });
    // A short list of a day leaves no trace.
    if (isLast && record?.value.wholeAtMs === position.wholeAtMs && record.state === 'done') {
      return undefined;
    }
    const seen = { key: positionKey, revision: record?.revision ?? 0 };
    const isWritten = await positions.write(seen, {
      state: isLast ? 'done' : 'reading',
      value: { ...position, cursor: isLast ? '' : (page.nextCursor ?? '') },
    });
    // Another process has read further, and continues from there.
    if (!isWritten || isLast) return undefined;
    record = await positions.find(positionKey);
  }
  return host.nowMs() + morePagesMs;
}

function beginAgain(untilMs: number, watchDays: number, wholeAtMs: number): Position {
  const isWhole = untilMs - wholeAtMs >= dayMs;
  const days = isWhole ? watchDays : 1;
  const sinceMs = untilMs - days * dayMs;
  return { sinceMs, untilMs, cursor: '', wholeAtMs: isWhole ? untilMs : wholeAtMs };
}

export function describeStatus(result: {
  readonly kind: string;
  readonly status?: number;
  readonly error?: string;
}): Record<string, string | number> {
  const { kind, status, error = kind } = result;
  return status === undefined ? { detail: error } : { status };
}

/** Reports what is new of a payment of ours, once. */
async function report(setup: Setup, transfer: Transfer, raw: Uint8Array): Promise<void> {
  const { host, payments, returns, config } = setup;
  if (!isOurs(transfer, config.balanceAccountId)) return;
  const record = await payments.find(transfer.reference);
  if (record === undefined) return;
  if (isFeeTransfer(transfer)) return await reportFee(setup, record, { transfer, raw });
  const observations = await describeObservations(transfer, { nowMs: host.nowMs(), returns });
  const fault = findEchoFault(transfer, record) ?? (observations ? undefined : 'unknown status');
  if (fault !== undefined || observations === undefined) {
    await reportMisfit(host, { transfer, raw, detail: fault ?? '' });
    return;
  }
  const [{ outcome }] = observations;
  const isMore = observations.length > record.value.reports;
  if (!isMore && !isNews(record.value.reported, outcome)) return;
  for (const observation of observations) await receive(host, observation, raw);
  const excess = await returns.findExcess(transfer, listReturns(transfer));
  for (const problem of [...listMoneyProblems(transfer), ...excess]) {
    await reportProblem(host, problem, raw);
  }
  const reports = Math.max(observations.length, record.value.reports);
  await markReported(setup, record, { transferId: transfer.id, outcome, reports });
}

/** The reference is of anyone's making where it is not one of ours. */
async function reportUnreadableTransfer(
  host: RailHost,
  { id, reference = '', fault, raw }: UnreadableTransfer,
): Promise<void> {
  const whose = decodeReference(reference) === undefined ? '' : ` of ${reference}`;
  const named = id === undefined ? 'a transfer' : `transfer ${id}`;
  const detail = `${named}${whose} in Adyen's list: ${fault}; look up at Adyen what became of it`;
  await reportUnreadable(host, { name: id && `transfer:${id}`, raw, detail });
}

async function receive(host: RailHost, observation: TransferObservation, raw: Uint8Array) {
  const id = `poll:${observation.id}`;
  await host.receive({ id, channel: 'poll', raw, observations: [observation] });
}

/** A fee is a transfer of its own, of which nothing else is remembered. */
async function reportFee(
  { host }: Setup,
  record: PaymentRecord,
  { transfer, raw }: { transfer: Transfer; raw: Uint8Array },
): Promise<void> {
  const [observation] = describeFeeTransfer(transfer, record, host.nowMs());
  if (observation === undefined) return;
  const fees = openRecords(host.store, {
    collection: 'fees',
    states: ['reported'],
    value: z.object({}),
  });
  if ((await fees.find(transfer.id)) !== undefined) return;
  await receive(host, observation, raw);
  await fees.write({ key: transfer.id, revision: 0 }, { state: 'reported', value: {} });
}

async function markReported(
  { payments }: Setup,
  record: PaymentRecord,
  seen: Pick<PaymentValue, 'transferId' | 'reports'> & { outcome: Outcome },
): Promise<void> {
  const { state, value } = record;
  const { transferId, outcome, reports } = seen;
  // A refusal or a cancellation stays what it is: the contradiction is in the observation.
  const isKept = state === 'refused' || state === 'cancelled';
  const reported = isNews(value.reported, outcome) ? outcome : value.reported;
  await payments.write(record, {
    state: isKept ? state : 'known',
    value: isKept
      ? { ...value, reported, reports }
      : { ...value, transferId, reported, reports, body: '' },
  });
}

async function reportMisfit(
  host: RailHost,
  { transfer, raw, detail }: { transfer: Transfer; raw: Uint8Array; detail: string },
): Promise<void> {
  const id = `misfit:${transfer.id}:${transfer.status}`;
  const problem = { id, kind: 'not_understood', detail: `a transfer: ${detail}` } as const;
  if ((await reportProblem(host, problem, raw)) === 'new') {
    host.log('error', 'a listed transfer cannot be applied', { code: transfer.status });
  }
}
