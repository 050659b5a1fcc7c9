import type { InboundMessage, RailObservation } from '../contract/contract.ts';
import {
  type Context,
  changePayment,
  findPayment,
  getContents,
  type KnownFile,
  type KnownPayment,
  listFiles,
  moveFile,
} from './books.ts';

/**
 * Nobody says that an ACH credit has arrived: it counts as paid when its settlement and the time
 * for an ordinary return have passed and nothing came back. Returns that lie in the inbox have been
 * read before this looks at the calendar, and nothing settles while any part of what the bank sent is
 * not applied: it may be the return of any payment.
 */
export async function settleFiles(context: Context): Promise<void> {
  const { host, warned } = context;
  const unresolved = await host.countUnresolvedInbound();
  if (unresolved === 0) {
    warned.delete(settlingHeld);
  } else {
    if (!warned.has(settlingHeld)) {
      host.log('warn', 'no payment settles while inbound problems are open', { unresolved });
    }
    warned.add(settlingHeld);
    return;
  }
  for (const file of await listFiles(context, 'collected')) {
    const { paidDueMs } = file.value;
    if (paidDueMs !== undefined && paidDueMs <= context.host.nowMs()) {
      await settle(context, file, paidDueMs);
    }
  }
}

/** Among the warnings that were given already. */
const settlingHeld = 'settling held';

const chunkSize = 200;

async function settle(context: Context, file: KnownFile, paidDueMs: number): Promise<void> {
  const { entries } = await getContents(context, file.key);
  for (let start = 0; start < entries.length; start += chunkSize) {
    const chunk = entries.slice(start, start + chunkSize);
    const filed: KnownPayment[] = [];
    for (const { reference } of chunk) {
      const payment = await findPayment(context, reference);
      if (payment?.state === 'filed') filed.push(payment);
    }
    if (filed.length === 0) continue;
    const observations = filed.map((payment) => observePaid(payment, paidDueMs));
    // Heard before it is written down: after a crash in between it is heard again, and known.
    await context.host.receive(describeMessage(file, start, observations));
    const changes = filed.map((payment) =>
      changePayment(payment, { state: 'paid', value: payment.value }),
    );
    if (await context.host.store.write(changes)) continue;
    for (const { key } of filed) await markPaid(context, key);
  }
  await moveFile(context, file, { state: 'settled', value: file.value });
}

function observePaid({ key, value }: KnownPayment, paidDueMs: number): RailObservation {
  return {
    id: `paid-${key}`,
    reference: key,
    outcome: 'paid',
    ...(value.trace === undefined ? {} : { providerReference: value.trace }),
    atMs: paidDueMs,
  };
}

/**
 * Named by its place in the file and its first reference, so that it has the same name whoever says
 * it; what it leaves out was told before, or came back.
 */
function describeMessage(
  file: KnownFile,
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

async function markPaid(context: Context, reference: string): Promise<void> {
  const payment = await findPayment(context, reference);
  if (payment?.state !== 'filed') return;
  const { value } = payment;
  await context.host.store.write([changePayment(payment, { state: 'paid', value })]);
}

/** When the next file is due, in the environment's milliseconds. */
export async function findNextSettling(context: Context): Promise<number | undefined> {
  const files = await listFiles(context, 'collected');
  const due = files.flatMap(({ value: { paidDueMs } }) =>
    paidDueMs === undefined ? [] : [paidDueMs],
  );
  return due.length === 0 ? undefined : Math.min(...due);
}
