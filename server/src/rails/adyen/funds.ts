import { parse } from 'csv-parse/sync';
import { z } from 'zod';
import { findCurrency, getCurrency } from '../../core/currency.ts';
import { formatAmount, parseAmount } from '../../core/money.ts';
import type { CallContext, RailFunds, RailHost } from '../contract/contract.ts';
import { minorUnits, openRecords } from '../kit/records.ts';
import { reportUnreadable } from '../kit/unreadable-entries.ts';
import { getReportsUrl } from './config.ts';
import { hasOtherScale } from './currencies.ts';
import { describeStatus } from './sweep.ts';
import type { Setup } from './transfers.ts';
import { balanceAccountSchema, type ReportNotice } from './wire.ts';

/**
 * What is left on the balance account: by the Configuration API, or, where the API key has no role
 * for it, by the newest Balance Report, which Adyen announces by a webhook every day.
 */

const balancesSchema = z.object({
  asOfMs: z.int(),
  balances: z.array(
    z.object({ currency: z.string(), isNegative: z.boolean(), amountMinor: minorUnits }),
  ),
});
const noticeSchema = z.object({ downloadUrl: z.string(), tries: z.int() });

const openNotices = ({ store }: RailHost) =>
  openRecords(store, {
    collection: 'reports',
    states: ['announced', 'read', 'given_up'],
    value: noticeSchema,
  });
const openBalances = ({ store }: RailHost) =>
  openRecords(store, { collection: 'balances', states: ['known'], value: balancesSchema });
const balancesKey = 'newest';

const balanceReport = 'balanceplatform_balance_report';

/** Other reports are for people: the notice is stored, and nothing is downloaded. */
export async function addReport(
  host: RailHost,
  { fileName, reportType, downloadUrl }: ReportNotice,
): Promise<void> {
  if (reportType !== balanceReport) return;
  await openNotices(host).write(
    { key: fileName, revision: 0 },
    { state: 'announced', value: { downloadUrl, tries: 0 } },
  );
  host.wake();
}

const triesMax = 20;

/** Downloads the Balance Reports that were announced. */
export async function readReports(setup: Setup, { signal }: CallContext): Promise<void> {
  const { host, api, config } = setup;
  const notices = openNotices(host);
  for (const notice of await notices.page({ state: 'announced', count: 10 })) {
    const { downloadUrl, tries } = notice.value;
    const rows = isPermitted(downloadUrl, getReportsUrl(config))
      ? readReport(await api.call({ method: 'GET', url: downloadUrl, signal }))
      : 'other_host';
    if (typeof rows === 'object') await keepNewest(setup, rows);
    else host.log('warn', 'a balance report cannot be read', { detail: rows });
    const isOver = rows === 'other_host' || tries + 1 >= triesMax;
    if (typeof rows !== 'object' && isOver) {
      const detail = `balance report ${notice.key}: ${rows}; it is not downloaded again`;
      const name = `balance-report:${notice.key}`;
      await reportUnreadable(host, { name, raw: Buffer.from(detail), detail });
    }
    const state = typeof rows === 'object' ? 'read' : isOver ? 'given_up' : 'announced';
    await notices.write(notice, { state, value: { downloadUrl, tries: tries + 1 } });
  }
}

/** The API key goes to no other host than the configured one. */
function isPermitted(downloadUrl: string, reportsUrl: string): boolean {
  return URL.parse(downloadUrl)?.origin === new URL(reportsUrl).origin;
}

/** The columns that are read; the report may have more. */
const rowSchema = z.object({
  'Balance Account': z.string(),
  'Closing Balance Currency': z.string(),
  'Closing Balance Amount': z.string(),
  'Closing Date': z.string().regex(/^\d{4}-\d{2}-\d{2} \d{2}:\d{2}:\d{2}$/),
});
type Row = z.output<typeof rowSchema>;

function readReport(result: {
  readonly kind: string;
  readonly status?: number;
  readonly text?: string;
}): readonly Row[] | string {
  if (result.status !== 200 || result.text === undefined)
    return String(describeStatus(result)['status'] ?? result.kind);
  try {
    const rows: unknown = parse(result.text, { columns: true, bom: true, skip_empty_lines: true });
    const parsed = z.array(rowSchema).max(100_000).safeParse(rows);
    return parsed.success ? parsed.data : 'not the columns of a balance report';
  } catch {
    return 'not a CSV file';
  }
}

async function keepNewest({ host, config }: Setup, rows: readonly Row[]): Promise<void> {
  const ours = rows.filter((row) => row['Balance Account'] === config.balanceAccountId);
  const [first] = ours;
  if (first === undefined) return;
  // Without an offset. Central European time is never later than this.
  const asOfMs = Date.parse(`${first['Closing Date'].replace(' ', 'T')}Z`) - 7_200_000;
  const balances = ours.flatMap((row) => {
    const text = row['Closing Balance Amount'];
    const currency = findCurrency(row['Closing Balance Currency']);
    if (currency === undefined || hasOtherScale(currency.code)) return [];
    if (/^-?0+(?:\.0+)?$/.test(text)) {
      return [{ currency: currency.code, isNegative: false, amountMinor: 0n }];
    }
    const amount = parseAmount(text.replace(/^-/, ''), currency);
    if (!amount.ok) return [];
    return [
      { currency: currency.code, isNegative: text.startsWith('-'), amountMinor: amount.minor },
    ];
  });
  await openBalances(host).update(balancesKey, (known) =>
    known !== undefined && known.value.asOfMs >= asOfMs
      ? undefined
      : { state: 'known', value: { asOfMs, balances } },
  );
}

/** @throws Error where neither the API nor a report tells. */
export async function readFunds(setup: Setup, { signal }: CallContext): Promise<RailFunds[]> {
  const { api, host } = setup;
  const result = await api.getBalanceAccount(signal);
  const account = balanceAccountSchema.safeParse('json' in result ? result.json : undefined);
  if ('status' in result && result.status === 200 && account.success) {
    return account.data.balances
      .filter(({ currency }) => findCurrency(currency) !== undefined && !hasOtherScale(currency))
      .map(({ currency, available }) => ({ currency, amount: formatMinor(available, currency) }));
  }
  host.log('warn', 'the balance account cannot be read', describeStatus(result));
  const known = await openBalances(host).find(balancesKey);
  if (known === undefined) throw new Error('the balance of the Adyen balance account is not known');
  const aheadMs = host.nowMs() - host.realNowMs();
  return known.value.balances.map(({ currency, isNegative, amountMinor }) => ({
    currency,
    amount: `${isNegative ? '-' : ''}${formatAmount(amountMinor, getCurrency(currency))}`,
    asOfMs: known.value.asOfMs + aheadMs,
  }));
}

function formatMinor(value: number, currency: string): string {
  const amount = formatAmount(BigInt(Math.abs(value)), getCurrency(currency));
  return value < 0 ? `-${amount}` : amount;
}
