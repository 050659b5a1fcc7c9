import { reportMissing } from '../kit/missing-reports.ts';
import { findCursor, formatTime } from './events.ts';
import type { RailParts } from './parts.ts';
import { findReportCursor } from './reconcile.ts';

/** Says that PayPal's list of events or its report has not been read for long. Times are real ones. */

const hourMs = 3_600_000;

/** Once for each time until which something was read. */
export async function reportUnreadLists({
  host,
  config,
}: Pick<RailParts, 'host' | 'config'>): Promise<void> {
  const { reportsLateHours } = config;
  const lists = [
    { name: 'events', what: 'list of events', untilMs: await findCursor(host) },
    { name: 'report', what: 'report of transactions', untilMs: await findReportCursor(host) },
  ];
  for (const { name, what, untilMs } of lists) {
    if (untilMs === undefined || host.realNowMs() - untilMs < reportsLateHours * hourMs) continue;
    const until = formatTime(untilMs);
    const detail =
      `PayPal's ${what} was last read until ${until}; what it shows of later payments and returns is not ` +
      'known: see the log for the cause, and `rail check`. It is read on from there once PayPal answers';
    await reportMissing(host, { id: `unread-${name}:${untilMs}`, detail });
  }
}
