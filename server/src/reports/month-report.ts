import { writeRecord } from '../core/csv.ts';
import { findCurrency } from '../core/currency.ts';
import { formatMinor } from '../core/money.ts';
import { divideRounded } from '../core/rate.ts';
import type { Database } from '../db/postgres/pool.ts';
import {
  type MovementRow,
  type ReportLineRow,
  type ReportPeriod,
  selectMonth,
} from './month-report.sql.ts';

/**
 * The month of an environment: what was committed, refunded, returned and charged, by client, rail and
 * corridor. It is read from the journals, and adds up to the balances of the ledger.
 */

export type ReportLine = {
  account_id: string;
  account_name: string;
  /** The kind of journal. */
  kind: string;
  rail: string;
  country: string;
  delivery_type: string;
  source_currency: string;
  destination_currency: string;
  count: number;
  source_amount: string;
  fee: string;
  destination_amount: string;
  /**
   * In the destination currency: what the source is worth at the mid rate of its quote, less what is
   * delivered. Negative for refunds and returns, which take the margin back. Rounded toward zero.
   */
  fx_margin: string;
};

export type ReportBalance = {
  account_id: string;
  currency: string;
  ledger_account: string;
  opening: string;
  movement: string;
  closing: string;
};

export type MonthReport = {
  environment: string;
  /** The first day, and the day after the last, UTC. */
  from: string;
  to: string;
  /** Whether the month is over. Its numbers are final once statements or a journal have closed it. */
  has_ended: boolean;
  /** Whether opening and movement of the lines are the closing of every ledger account. */
  adds_up: boolean;
  /**
   * Earned in the month, before what rails charged: fees less refunded ones, and the margin of exchanges.
   * The latter is added up before it is rounded, so it may differ from the sum of the lines.
   */
  earned: { currency: string; fees: string; fx_margin: string }[];
  lines: ReportLine[];
  ledger: ReportBalance[];
};

/** @param month YYYY-MM, by UTC. */
export async function reportMonth(
  db: Database,
  { environment, month, accountId }: ReportRequest,
): Promise<MonthReport> {
  const period: ReportPeriod = { ...periodOf(month), accountId };
  const { hasEnded, lines, movements } = await db.systemTransaction((session) =>
    selectMonth(session, period),
  );
  return {
    environment,
    from: period.from.toISOString().slice(0, 10),
    to: period.to.toISOString().slice(0, 10),
    has_ended: hasEnded,
    adds_up: movements.every(({ opening, moved, closing }) => opening + moved === closing),
    earned: listEarned(lines),
    lines: lines.map(describeLine),
    ledger: movements.map(describeMovement),
  };
}

export type ReportRequest = {
  environment: string;
  month: string;
  accountId: string | undefined;
};

/** From the first instant to the first one after it. */
export function periodOf(month: string): { from: Date; to: Date } {
  const from = new Date(`${month}-01T00:00:00Z`);
  const to = new Date(from);
  to.setUTCMonth(to.getUTCMonth() + 1);
  return { from, to };
}

/** Minor units of the destination, exactly: `digits` x 10^-`scale`. */
type Margin = { digits: bigint; scale: number };

function findMargin(row: ReportLineRow): Margin | undefined {
  const source = findCurrency(row.source_currency);
  const destination = findCurrency(row.destination_currency);
  if (row.worth_text === null || source === undefined || destination === undefined)
    return undefined;
  const [whole = '', fraction = ''] = row.worth_text.split('.');
  const worth = {
    digits: BigInt(`${whole}${fraction}`),
    scale: fraction.length + source.scale - destination.scale,
  };
  const delivered = row.destination_amount ?? 0n;
  const isBack = row.kind === 'refund' || row.kind === 'return';
  return addMargins(worth, { digits: isBack ? delivered : -delivered, scale: 0 });
}

function addMargins(a: Margin, b: Margin): Margin {
  const scale = Math.max(a.scale, b.scale);
  const digitsOf = (one: Margin): bigint => one.digits * 10n ** BigInt(scale - one.scale);
  return { digits: digitsOf(a) + digitsOf(b), scale };
}

/** Toward zero, so that what is given back is rounded as what was earned. */
function roundMargin({ digits, scale }: Margin): bigint {
  if (scale <= 0) return digits * 10n ** BigInt(-scale);
  const size = divideRounded(digits < 0n ? -digits : digits, 10n ** BigInt(scale), 'floor');
  return digits < 0n ? -size : size;
}

const commits = new Set(['commit', 'batch_commit']);

const nothing: Margin = { digits: 0n, scale: 0 };

/** Margins are added up exactly, and each sum is rounded once. */
function listEarned(rows: readonly ReportLineRow[]): MonthReport['earned'] {
  const sums = new Map<string, { fees: bigint; margin: Margin }>();
  const add = (code: string, part: { fees?: bigint; margin?: Margin }): void => {
    const { fees, margin } = sums.get(code) ?? { fees: 0n, margin: nothing };
    sums.set(code, {
      fees: fees + (part.fees ?? 0n),
      margin: addMargins(margin, part.margin ?? nothing),
    });
  };
  for (const row of rows) {
    if (commits.has(row.kind)) add(row.source_currency, { fees: row.fee });
    if (row.kind === 'refund') add(row.source_currency, { fees: -row.fee });
    const margin = findMargin(row);
    if (margin !== undefined) add(row.destination_currency, { margin });
  }
  return [...sums]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([currency, { fees, margin }]) => ({
      currency,
      fees: formatMinor(fees, currency),
      fx_margin: formatMinor(roundMargin(margin), currency),
    }));
}

function describeLine(row: ReportLineRow): ReportLine {
  const { worth_text: _worth, ...rest } = row;
  const margin = findMargin(row);
  return {
    ...rest,
    count: Number(row.count),
    source_amount: formatMinor(row.source_amount, row.source_currency),
    fee: formatMinor(row.fee, row.source_currency),
    destination_amount:
      row.destination_amount === null
        ? ''
        : formatMinor(row.destination_amount, row.destination_currency),
    fx_margin:
      margin === undefined ? '' : formatMinor(roundMargin(margin), row.destination_currency),
  };
}

function describeMovement(row: MovementRow): ReportBalance {
  return {
    account_id: row.account_id,
    currency: row.currency,
    ledger_account: row.name,
    opening: formatMinor(row.opening, row.currency),
    movement: formatMinor(row.moved, row.currency),
    closing: formatMinor(row.closing, row.currency),
  };
}

const columns = [
  'account_id',
  'account_name',
  'kind',
  'rail',
  'country',
  'delivery_type',
  'source_currency',
  'destination_currency',
  'count',
  'source_amount',
  'fee',
  'destination_amount',
  'fx_margin',
] as const;

/** The lines of the report, without the balances of the ledger. */
export function writeCsv({ lines }: MonthReport): string {
  const rows = lines.map((line) => writeRecord(columns.map((name) => String(line[name]))));
  return [writeRecord([...columns]), ...rows].join('');
}
