import { z } from 'zod';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { openRecords } from '../kit/records.ts';
import { isNews, type PaymentRecord, type PaymentValue } from './payments.ts';
import type { Setup } from './transfers.ts';
import { describeObservation, findEchoFault, isOurs } from './webhooks.ts';
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
      return undefined;
    }
    for (const entry of page.transfers) await report(setup, entry.transfer, entry.raw);
    const isLast = page.nextCursor === undefined || page.nextCursor === position.cursor;
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
}): Record<string, string | number> {
  return result.status === undefined ? { detail: result.kind } : { status: result.status };
}

/** Reports what is new of a payment of ours, once. */
async function report(setup: Setup, transfer: Transfer, raw: Uint8Array): Promise<void> {
  const { host, payments, config } = setup;
  if (!isOurs(transfer, config.balanceAccountId)) return;
  const record = await payments.find(transfer.reference);
  if (record === undefined) return;
  const observation = describeObservation(transfer, host.nowMs());
  const fault = findEchoFault(transfer, record) ?? (observation ? undefined : 'unknown status');
  if (fault !== undefined || observation === undefined) {
    await reportMisfit(host, { transfer, raw, detail: fault ?? '' });
    return;
  }
  const { outcome } = observation;
  if (!isNews(record.value.reported, outcome)) return;
  await host.receive({
    id: `poll:${observation.id}`,
    channel: 'poll',
    raw,
    observations: [observation],
  });
  await markReported(setup, record, { transferId: transfer.id, outcome });
}

async function markReported(
  { payments }: Setup,
  record: PaymentRecord,
  { transferId, outcome }: { transferId: string; outcome: Exclude<PaymentValue['reported'], ''> },
): Promise<void> {
  const { state, value } = record;
  // A refusal or a cancellation stays what it is: the contradiction is in the observation.
  const isKept = state === 'refused' || state === 'cancelled';
  await payments.write(record, {
    state: isKept ? state : 'known',
    value: isKept
      ? { ...value, reported: outcome }
      : { ...value, transferId, reported: outcome, body: '' },
  });
}

async function reportMisfit(
  host: RailHost,
  { transfer, raw, detail }: { transfer: Transfer; raw: Uint8Array; detail: string },
): Promise<void> {
  const id = `misfit:${transfer.id}:${transfer.status}`;
  const problem = { id, kind: 'not_understood', detail: `a transfer: ${detail}` } as const;
  const message = { id, channel: 'poll', raw, observations: [], problems: [problem] } as const;
  if ((await host.receive(message)) === 'new') {
    host.log('error', 'a listed transfer cannot be applied', { code: transfer.status });
  }
}
