/** Exact JSON for clients: numbers keep their text. */

export type Json = null | boolean | string | ExactNumber | Json[] | { [key: string]: Json };

/** A JSON number as text. */
export class ExactNumber {
  readonly text: string;
  constructor(text: string) {
    this.text = text;
  }
  toJSON(): unknown {
    return rawJson(this.text);
  }
  toString(): string {
    return this.text;
  }
}

type RawJson = { rawJSON(text: string): unknown };
type SourceReviver = (key: string, value: unknown, context: { source?: string }) => unknown;

function rawJson(text: string): unknown {
  return (JSON as unknown as RawJson).rawJSON(text);
}

/** A number of a request with exactly these digits. */
export function exact(text: string): ExactNumber {
  return new ExactNumber(text);
}

/** @throws SyntaxError if the text is not JSON. */
export function parseExact(text: string): Json {
  const revive: SourceReviver = (_key, value, { source }) =>
    typeof value === 'number' ? new ExactNumber(source ?? String(value)) : value;
  return JSON.parse(text, revive as (key: string, value: unknown) => unknown) as Json;
}

/** A decimal as digits x 10^-scale. */
export type Decimal = { digits: bigint; scale: number };

export function decimalOf(value: ExactNumber | string): Decimal {
  const text = typeof value === 'string' ? value : value.text;
  const match = /^(-?\d+)(?:\.(\d+))?$/.exec(text);
  if (match === null) throw new Error(`${text} is no plain decimal`);
  const [, whole = '', fraction = ''] = match;
  return { digits: BigInt(whole + fraction), scale: fraction.length };
}

function align(a: Decimal, b: Decimal): [bigint, bigint, number] {
  const scale = Math.max(a.scale, b.scale);
  return [scaleTo(a, scale), scaleTo(b, scale), scale];
}

function scaleTo({ digits, scale }: Decimal, wanted: number): bigint {
  return digits * 10n ** BigInt(wanted - scale);
}

type Operand = ExactNumber | string;

/** The sum, as the shortest exact decimal. */
export function add(...values: Operand[]): string {
  const sum = values.map(decimalOf).reduce((left, right) => {
    const [a, b, scale] = align(left, right);
    return { digits: a + b, scale };
  });
  return formatDecimal(sum);
}

/** `from` minus the others. */
export function subtract(from: Operand, ...values: Operand[]): string {
  const { digits, scale } = decimalOf(add(...values));
  return add(from, formatDecimal({ digits: -digits, scale }));
}

/** Negative, zero or positive, for sorting. */
export function compare(left: Operand, right: Operand): number {
  const [a, b] = align(decimalOf(left), decimalOf(right));
  return a < b ? -1 : Number(a > b);
}

/** left x right, rounded down to a number of fraction digits. For non-negative values. */
export function multiplyDown(left: Operand, right: Operand, fractionDigits: number): string {
  const a = decimalOf(left);
  const b = decimalOf(right);
  const digits = a.digits * b.digits;
  const surplus = a.scale + b.scale - fractionDigits;
  const kept = surplus > 0 ? digits / 10n ** BigInt(surplus) : digits * 10n ** BigInt(-surplus);
  return formatDecimal({ digits: kept, scale: fractionDigits });
}

/** left / right, rounded up to a number of fraction digits. For positive values. */
export function divideUp(left: Operand, right: Operand, fractionDigits: number): string {
  const a = decimalOf(left);
  const b = decimalOf(right);
  const above = a.digits * 10n ** BigInt(b.scale + fractionDigits);
  const below = b.digits * 10n ** BigInt(a.scale);
  return formatDecimal({ digits: (above + below - 1n) / below, scale: fractionDigits });
}

/** The shortest exact decimal: no trailing zero, no exponent. */
export function formatDecimal({ digits, scale }: Decimal): string {
  const sign = digits < 0n ? '-' : '';
  const padded = (digits < 0n ? -digits : digits).toString().padStart(scale + 1, '0');
  const whole = padded.slice(0, padded.length - scale);
  const fraction = padded.slice(padded.length - scale).replace(/0+$/, '');
  return `${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}
