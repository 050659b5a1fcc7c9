import type { InboundMessage, RailObservation } from '../contract/contract.ts';
import { applyArchived } from './archive.ts';
import {
  type Context,
  type FileRecord,
  getContents,
  listFiles,
  type PaymentRecord,
} from './records.ts';

/**
 * No message confirms that an ACH credit has arrived: it counts as paid when its settlement and the
 * time for an ordinary return have passed and nothing came back. The inbox has been read before this
 * runs, and nothing settles while any part of the bank's files is not applied, since that part may be
 * the return of any payment. Nothing else shows that a running process has been left with an older
 * database, so files of the archive that it lacks are applied first.
 */
export async function settleFiles(context: Context, signal: AbortSignal): Promise<void> {
  if (await isSettlingHeld(context)) return;
  const nowMs = context.host.nowMs();
  const due = (await listFiles(context, 'collected')).flatMap((file) => {
    const { paidDueMs } = file.value;
    return paidDueMs !== undefined && paidDueMs <= nowMs ? [{ file, paidDueMs }] : [];
  });
  const [oldest] = due;
  if (oldest === undefined) return;
  await applyArchived(context, { sinceMs: oldest.file.value.createdAtMs, signal });
  if (await isSettlingHeld(context)) return;
  for (const { file, paidDueMs } of due) await settle(context, file, paidDueMs);
}

async function isSettlingHeld({ host, warned }: Context): Promise<boolean> {
  const unresolved = await host.countUnresolvedInbound();
  if (unresolved === 0) {
    warned.delete(settlingHeld);
    return false;
  }
  if (!warned.has(settlingHeld)) {
    host.log('warn', 'no payment settles while inbound problems are open', { unresolved });
  }
  warned.add(settlingHeld);
  return true;
}

/** Among the warnings that were logged already. */
const settlingHeld = 'settling held';

const chunkSize = 200;

async function settle(context: Context, file: FileRecord, paidDueMs: number): Promise<void> {
  const { entries } = await getContents(context, file.key);
  for (let start = 0; start < entries.length; start += chunkSize) {
    const chunk = entries.slice(start, start + chunkSize);
    const filed: PaymentRecord[] = [];
    for (const { reference } of chunk) {
      const payment = await context.payments.find(reference);
      if (payment?.state === 'filed') filed.push(payment);
    }
    if (filed.length === 0) continue;
    const observations = filed.map((payment) => observePaid(payment, paidDueMs));
    // Reported before it is stored: after a crash in between it is reported again, under the same id.
    await context.host.receive(describeMessage(file, start, observations));
    const changes = filed.flatMap((payment) =>
      context.payments.change(payment, { state: 'paid', value: payment.value }),
    );
    if (await context.host.store.write(changes)) continue;
    for (const { key } of filed) {
      await context.payments.update(key, (payment) =>
        payment?.state === 'filed' ? { state: 'paid', value: payment.value } : undefined,
      );
    }
  }
  await context.files.write(file, { state: 'settled', value: file.value });
}

function observePaid({ key, value }: PaymentRecord, paidDueMs: number): RailObservation {
  return {
    id: `paid-${key}`,
    reference: key,
    outcome: 'paid',
    ...(value.trace === undefined ? {} : { providerReference: value.trace }),
    atMs: paidDueMs,
  };
}

/**
 * The id is a function of its place in the file and its first reference, so that every process reports
 * it under the same id. Payments that it leaves out were reported before, or came back.
 */
function describeMessage(
  file: FileRecord,
  start: number,
  observations: readonly RailObservation[],
): InboundMessage {
  const references = observations.map(({ reference }) => reference);
  const text = JSON.stringify({ file: file.key, settlesOn: file.value.settlesOn, references });
  const first = references[0] ?? '';
  return {
    id: `paid-${file.key}-${start}-${first}`,
    channel: 'poll',
    raw: Buffer.from(text),
    observations,
  };
}

/** When the next file is due, in the environment's milliseconds. */
export async function findNextSettling(context: Context): Promise<number | undefined> {
  const files = await listFiles(context, 'collected');
  const due = files.flatMap(({ value: { paidDueMs } }) =>
    paidDueMs === undefined ? [] : [paidDueMs],
  );
  return due.length === 0 ? undefined : Math.min(...due);
}
