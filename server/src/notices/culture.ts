import type { Currency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';

/** Amounts and times as the recipient's culture writes them (CLDR, by `Intl`). */

export type Culture = {
  /** ISO 639-1. */
  readonly language: string;
  /** BCP 47: the language as it is used in the recipient's country. */
  readonly locale: string;
  readonly direction: 'ltr' | 'rtl';
  readonly timeZone: string;
};

const rightToLeftScripts: ReadonlySet<string | undefined> = new Set(['Arab', 'Hebr', 'Thaa']);

/** @param options `country` is ISO 3166-1 alpha-2, `timeZone` an IANA name */
export function openCulture(options: {
  language: string;
  country: string;
  timeZone: string;
}): Culture {
  const { language, country, timeZone } = options;
  const { script } = new Intl.Locale(language).maximize();
  return {
    language,
    locale: `${language}-${country}`,
    direction: rightToLeftScripts.has(script) ? 'rtl' : 'ltr',
    timeZone,
  };
}

/** Exact: `Intl` takes the decimal text as it is. A currency without an ISO code stands behind. */
export function formatMoney(minor: bigint, currency: Currency, { locale }: Culture): string {
  const decimal = formatAmount(minor, currency) as Intl.StringNumericLiteral;
  const { code, scale, isCrypto } = currency;
  if (isCrypto) return `${formatCoins(decimal, { locale, scale })}\u00a0${code}`;
  return new Intl.NumberFormat(locale, {
    style: 'currency',
    currency: code,
    minimumFractionDigits: scale,
    maximumFractionDigits: scale,
  }).format(decimal);
}

/**
 * With the separators of money, which differ from those of other numbers in some locales: English in
 * Germany has €1,234.56 and 1.234,56.
 */
function formatCoins(
  decimal: Intl.StringNumericLiteral,
  { locale, scale }: { locale: string; scale: number },
): string {
  const format = new Intl.NumberFormat(locale, {
    style: 'currency',
    // No currency.
    currency: 'XXX',
    minimumFractionDigits: 0,
    maximumFractionDigits: scale,
  });
  const outside: ReadonlySet<string> = new Set(['currency', 'literal']);
  const parts = format.formatToParts(decimal).filter(({ type }) => !outside.has(type));
  return parts.map(({ value }) => value).join('');
}

/** With the time zone, since the recipient may read it elsewhere. */
export function formatMoment(at: Date, { locale, timeZone, direction }: Culture): string {
  const format = new Intl.DateTimeFormat(locale, {
    year: 'numeric',
    month: 'long',
    day: 'numeric',
    hour: 'numeric',
    minute: '2-digit',
    timeZone,
    timeZoneName: 'short',
  });
  return direction === 'ltr' ? format.format(at) : isolateClock(format.formatToParts(at));
}

const clockParts: ReadonlySet<string> = new Set(['hour', 'minute', 'dayPeriod', 'timeZoneName']);

/**
 * In a text from right to left, "8:30 PM GMT+5" would be shown with its parts exchanged: it becomes an
 * isolate from left to right (UAX 9, section 2.4.2), unless it is in the script of the text.
 */
function isolateClock(parts: readonly Intl.DateTimeFormatPart[]): string {
  const join = (from: number, to?: number): string =>
    parts
      .slice(from, to)
      .map(({ value }) => value)
      .join('');
  const first = parts.findIndex(({ type }) => clockParts.has(type));
  const last = parts.findLastIndex(({ type }) => clockParts.has(type)) + 1;
  const clock = join(first, last);
  if (!/\p{sc=Latin}/u.test(clock) || /[\p{sc=Arabic}\p{sc=Hebrew}]/u.test(clock)) return join(0);
  return `${join(0, first)}\u2066${clock}\u2069${join(last)}`;
}
