import { z } from 'zod';
import type { CallContext, RailHost } from '../contract/contract.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import { openRecords } from '../kit/records.ts';
import { isReference, type ReportedTransaction } from './messages.ts';
import type { RailParts } from './parts.ts';
import { compareReturn } from './report-returns.ts';
import { readAmount, readReport, reportLagMs, returnCodes } from './reports.ts';

/**
 * Compares PayPal's report with the records, once a day: a payout under a reference of ours that has no
 * record, or another amount, opens an exception, and the batch of one that came back is read. Times are
 * real ones.
 */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const cursorKey = 'report';

/** When the next comparison makes sense, real milliseconds. */
export async function reconcile(parts: RailParts, context: CallContext): Promise<number> {
  const { host } = parts;
  const cursors = openCursors(host);
  // What is younger may not be in the report yet.
  const toMs = host.realNowMs() - reportLagMs - hourMs;
  const cursor = await cursors.find(cursorKey);
  const seen = cursor ?? { key: cursorKey, revision: 0 };
  if (cursor !== undefined) {
    const fromMs = cursor.value.untilMs;
    const dueMs = fromMs + dayMs;
    if (toMs < dueMs) return dueMs + reportLagMs + hourMs;
    let atMs = toMs;
    for (const code of [undefined, ...returnCodes]) {
      const asked = { fromMs, toMs, ...(code && { code }) };
      const { found, refreshed } = await readReport(parts, asked, context);
      for (const one of found) {
        await (code === undefined ? compare(parts, one) : compareReturn(parts, one, context));
      }
      atMs = Math.min(atMs, refreshed.atMs ?? atMs);
    }
    if (atMs < toMs) {
      // PayPal has not filled its report so far: the rest of it is read again.
      const untilMs = Math.max(fromMs, atMs - reportLagMs);
      await cursors.write(seen, { state: 'read', value: { untilMs } });
      return host.realNowMs() + hourMs;
    }
  }
  await cursors.write(seen, { state: 'read', value: { untilMs: toMs } });
  return host.realNowMs() + dayMs;
}

/** Until when the report was compared, real time; undefined: it never was. */
export async function findReportCursor(host: Pick<RailHost, 'store'>): Promise<number | undefined> {
  return (await openCursors(host).find(cursorKey))?.value.untilMs;
}

const openCursors = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, {
    collection: 'reconciled',
    states: ['read'],
    value: z.object({ untilMs: z.number() }),
  });

async function compare(parts: RailParts, payout: ReportedTransaction): Promise<void> {
  const { host } = parts;
  const { custom_field: reference, transaction_id: transaction } = payout;
  if (!isReference(reference)) return;
  const money = readAmount(payout);
  const fault = await findFault(parts, reference, money);
  if (fault === undefined) return;
  const id = `report:${transaction}`;
  const detail = `transaction ${transaction} of ${reference} ${fault}`;
  host.log('error', "PayPal's report contradicts the records", { reference, transaction, fault });
  const problem = { id, kind: 'unmatched', detail, ...money } as const;
  await reportProblem(host, problem, JSON.stringify(payout));
}

async function findFault(
  { payments }: RailParts,
  reference: string,
  money: ReturnType<typeof readAmount>,
): Promise<string | undefined> {
  if (!(await payments.isKnown(reference))) return 'has no record';
  const record = await payments.find(reference);
  // The recipient was erased, and the record with it.
  if (record === undefined) return undefined;
  const { amountMinor, currency } = record.value;
  if (record.state === 'refused' || record.state === 'cancelled') return 'was never ordered';
  return money?.amountMinor === amountMinor && money.currency === currency
    ? undefined
    : 'has another amount';
}
