/**
 * Amounts come from the API as exact decimal text and stay text: `Intl.NumberFormat` formats decimal
 * strings without a floating point number in between.
 */

export type Exact = { toString(): string } | string | number;

/** Decimals of what is no ISO 4217 currency, and of currencies that CLDR rounds and ISO does not. */
const minorDigits: Readonly<Record<string, number>> = {
  BTC: 8,
  LTC: 8,
  ETH: 8,
  USDC: 2,
  USDT: 2,
  IQD: 3,
  LAK: 2,
  MMK: 2,
  COP: 2,
  IDR: 2,
};

function getMinorDigits(currency: string): number {
  const known = minorDigits[currency];
  if (known !== undefined) return known;
  if (!/^[A-Z]{3}$/.test(currency)) return 2;
  const format = new Intl.NumberFormat('en', { style: 'currency', currency });
  return format.resolvedOptions().maximumFractionDigits ?? 2;
}

/** Grouped, with at least the minor digits of the currency, and never fewer digits than it has. */
export function formatAmount(amount: Exact, currency: string): string {
  const text = amount.toString();
  const decimals = /\.(\d+)/.exec(text)?.[1] ?? '';
  let present = decimals.length;
  while (decimals[present - 1] === '0') present -= 1;
  const minimum = getMinorDigits(currency);
  return new Intl.NumberFormat('en-US', {
    minimumFractionDigits: minimum,
    maximumFractionDigits: Math.min(100, Math.max(minimum, present)),
  }).format(text as `${number}`);
}

/** Rates keep their digits: a rounded rate would not explain the amount beside it. */
export function formatRate(rate: Exact): string {
  const format = { minimumFractionDigits: 2, maximumFractionDigits: 12 };
  return new Intl.NumberFormat('en-US', format).format(rate.toString() as `${number}`);
}

export function formatPercent(share: number, digits = 1): string {
  const format = { style: 'percent', maximumFractionDigits: digits } as const;
  return new Intl.NumberFormat('en-US', format).format(share);
}

/** `countedMax`: where the service stopped counting. */
export function formatCount(count: number, countedMax = Number.POSITIVE_INFINITY): string {
  const text = new Intl.NumberFormat('en-US').format(count);
  return count < countedMax ? text : `${text} or more`;
}

/** "1 row", "2 rows". */
export function formatCountOf(count: number, one: string, many = `${one}s`): string {
  return `${formatCount(count)} ${count === 1 ? one : many}`;
}

/** Digits in groups of three: 1 250 000, 1'250'000, and with commas only where nothing else can be meant. */
const grouped = /^\d{1,3}(?:([\s_’'])\d{3})(?:\1\d{3})*(?:\.\d+)?$/;
const groupedByCommas = /^\d{1,3}(?:,\d{3})+\.\d+$|^\d{1,3}(?:,\d{3}){2,}$/;

/**
 * What a person typed, as JSON writes a number; undefined where it is no positive amount. A comma marks
 * decimals in many countries and thousands in others. It is read only where it must mean thousands, so
 * that no amount becomes a hundred or a thousand times as large: 10,50 and 1,250 are refused.
 */
export function readAmount(text: string): string | undefined {
  const typed = text.trim();
  const isGrouped = grouped.test(typed) || groupedByCommas.test(typed);
  const plain = isGrouped ? typed.replace(/[\s,_’']/g, '') : typed;
  if (!/^\d{1,18}(?:\.\d{1,18})?$/.test(plain)) return undefined;
  const trimmed = plain.replace(/^0+(?=\d)/, '');
  return /[1-9]/.test(trimmed) ? trimmed : undefined;
}

/** Why a text is no amount, and how to write one. */
export function describeAmountFault(text: string): string | undefined {
  if (readAmount(text) !== undefined) return undefined;
  return text.includes(',')
    ? 'The amount must have its decimals behind a point and no comma, such as 10.50 or 1250.00'
    : 'The amount must be a number above zero, such as 250 or 10.50';
}

/** In at most five characters, for the narrow edge of a chart: 40000 as `40K`. */
export function formatTick(count: number): string {
  return new Intl.NumberFormat('en-US', { notation: 'compact' }).format(count);
}
