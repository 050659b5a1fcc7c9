import { reportMissing } from '../kit/missing-reports.ts';
import { addBankingDays, fromEastern, toEastern } from './banking-days.ts';
import type { Context } from './records.ts';

/**
 * Notices that the bank's files stay away. Return files have no numbers, and most banks send one only
 * where there is something to return, so that only a bank which promises files can be missed
 * (`filesEveryBankingDays`).
 */

const key = 'last';

/** A file of the bank has been read, or was at that time. */
export async function noteFile({ arrivals }: Context, atMs: number): Promise<void> {
  const { day } = toEastern(atMs);
  await arrivals.update(key, (record) =>
    record !== undefined && record.value.day >= day ? undefined : { state: 'read', value: { day } },
  );
}

/**
 * Opens an exception for each period without a file, at the time at which payments begin to count as
 * paid. While it is open nothing settles by the calendar, since a return may be in the missing file.
 */
export async function reportMissingFiles(context: Context): Promise<void> {
  const { host, config, arrivals } = context;
  const { filesEveryBankingDays, paidAt } = config;
  if (filesEveryBankingDays === 0) return;
  const record = await arrivals.find(key);
  if (record === undefined) return await noteFile(context, host.nowMs());
  const { day } = record.value;
  const isPast = (one: string) => fromEastern({ day: one, time: paidAt }) <= host.nowMs();
  let dueDay: string | undefined;
  for (let next = addBankingDays(day, filesEveryBankingDays); isPast(next); ) {
    dueDay = next;
    next = addBankingDays(next, filesEveryBankingDays);
  }
  if (dueDay === undefined) return;
  const detail =
    `no file of the bank has come since ${day}, and one was due by ${dueDay}: ask the bank, put what it ` +
    'has into the inbox, then close this exception. Until then no payment counts as paid';
  await reportMissing(host, { id: `no-file-${dueDay}`, detail });
}
