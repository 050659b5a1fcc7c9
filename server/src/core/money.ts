import { type Currency, findCurrency } from './currency.ts';

/**
 * The most that one amount may be, in minor units. Fifteen digits are also what a client that
 * reads JSON numbers as binary doubles can hold without loss.
 */
export const amountMinorMax = 999_999_999_999_999n;

/** The fault of an amount's text, as its problem code. */
export type AmountFault =
  | 'amount_not_a_number'
  | 'amount_not_positive'
  | 'amount_too_precise'
  | 'amount_too_large';

export type AmountResult = { ok: true; minor: bigint } | { ok: false; fault: AmountFault };

const decimalPattern = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** The exact value of a decimal text as digits x 10^-scale, or undefined when it is none. */
export function readDecimal(text: string): { digits: bigint; scale: number } | undefined {
  if (text.length > 60) return undefined;
  const match = decimalPattern.exec(text);
  if (match === null) return undefined;
  const [, sign, whole = '', fraction = '', exponentText = '0'] = match;
  const exponent = Number(exponentText);
  if (Math.abs(exponent) > 60) return undefined;
  let digits = BigInt(sign + whole + fraction);
  let scale = fraction.length - exponent;
  if (scale < 0) {
    digits *= 10n ** BigInt(-scale);
    scale = 0;
  }
  while (scale > 0 && digits % 10n === 0n) {
    digits /= 10n;
    scale -= 1;
  }
  return { digits, scale };
}

/**
 * The digits of a decimal text at a scale: "1.5" at a scale of two is 150n. Undefined where it is none,
 * is negative or has more decimals.
 */
export function readScaled(text: string, scale: number): bigint | undefined {
  const decimal = readDecimal(text);
  if (decimal === undefined || decimal.digits < 0n || decimal.scale > scale) return undefined;
  return decimal.digits * 10n ** BigInt(scale - decimal.scale);
}

/**
 * An amount from its decimal text, in minor units of the currency. Digits past the currency's
 * scale are a fault and never rounded away; trailing zeros are no digits.
 */
export function parseAmount(text: string, currency: Currency): AmountResult {
  const decimal = readDecimal(text);
  if (decimal === undefined) return { ok: false, fault: 'amount_not_a_number' };
  if (decimal.digits <= 0n) return { ok: false, fault: 'amount_not_positive' };
  if (decimal.scale > currency.scale) return { ok: false, fault: 'amount_too_precise' };
  const minor = decimal.digits * 10n ** BigInt(currency.scale - decimal.scale);
  if (minor > amountMinorMax) return { ok: false, fault: 'amount_too_large' };
  return { ok: true, minor };
}

/** Minor units for an amount that our own code or data states; a fault is a defect and throws. */
export function getAmountMinor(text: string, currency: Currency): bigint {
  const result = parseAmount(text, currency);
  if (!result.ok) throw new Error(`${text} ${currency.code}: ${result.fault}`);
  return result.minor;
}

/** The shortest exact decimal of minor units: 10010n of a scale of two is "100.1". */
export function formatAmount(minor: bigint, currency: Currency): string {
  return formatScaled(minor, currency.scale);
}

/** The same of a stored code; in minor units, which it says, where the currency is no longer known. */
export function formatMinor(minor: bigint, code: string): string {
  const currency = findCurrency(code);
  return currency === undefined ? `${minor} minor units` : formatAmount(minor, currency);
}

/** The shortest exact decimal of digits x 10^-scale. */
export function formatScaled(digits: bigint, scale: number): string {
  if (scale === 0) return digits.toString();
  const negative = digits < 0n;
  const padded = (negative ? -digits : digits).toString().padStart(scale + 1, '0');
  const whole = padded.slice(0, -scale);
  let end = padded.length;
  while (end > whole.length && padded.charCodeAt(end - 1) === 48) end -= 1;
  const fraction = padded.slice(whole.length, end);
  const text = fraction === '' ? whole : `${whole}.${fraction}`;
  return negative ? `-${text}` : text;
}
