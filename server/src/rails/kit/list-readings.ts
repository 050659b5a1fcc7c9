import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { reportMissing } from './missing-reports.ts';
import { openRecords } from './records.ts';

/**
 * Notices that a list of the counterparty, which makes up for lost callbacks, has not been read to its
 * end for days. Times are real ones.
 */

const hourMs = 3_600_000;
/** As PayPal's `reportsLateHours`: an outage of a counterparty is shorter, or people know of it. */
const lateMs = 72 * hourMs;

const openReadings = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, {
    collection: 'list_readings',
    states: ['read'],
    value: z.object({ readMs: z.int() }),
  });

/**
 * Opens an exception once for each time until which the list was read. The first attempt counts as a
 * reading, so that a list which never could be read is reported too.
 */
export async function noteListReading(
  host: Pick<RailHost, 'store' | 'receive' | 'log' | 'realNowMs'>,
  {
    name,
    what,
    isRead,
  }: { readonly name: string; readonly what: string; readonly isRead: boolean },
): Promise<void> {
  const readings = openReadings(host);
  const record = await readings.find(name);
  const nowMs = Math.floor(host.realNowMs());
  const readMs = record?.value.readMs ?? 0;
  // To the hour, so that a pass does not cost a write.
  if (record === undefined || (isRead && nowMs - readMs >= hourMs)) {
    const seen = { key: name, revision: record?.revision ?? 0 };
    await readings.write(seen, { state: 'read', value: { readMs: nowMs } });
    return;
  }
  if (isRead || nowMs - readMs < lateMs) return;
  const detail =
    `${what} was last read at ${new Date(readMs).toISOString()}; what it shows of later payments and ` +
    'returns is not known: see the log for the cause, and `rail check`. It is read again in every pass';
  await reportMissing(host, { id: `unread-${name}:${readMs}`, detail });
}
