/**
 * An exact decimal: an amount, a fee, a rate. It keeps the digits as the service wrote them and is
 * never a binary floating point number.
 */
export class Decimal {
  /** The digits, as in JSON: `12.5`. */
  readonly text: string;

  /** @throws TypeError unless the text is a decimal number as JSON writes it. */
  constructor(text: string) {
    // A number would pass the pattern as its text, with the digits that it lost.
    if (typeof text !== 'string') throw new TypeError("A decimal must be a text such as '12.50'");
    if (!jsonNumber.test(text))
      throw new TypeError(`${JSON.stringify(text)} is not a decimal number`);
    this.text = text;
  }

  plus(other: Decimal): Decimal {
    const [left, right, scale] = align(this, other);
    return format(left + right, scale);
  }

  minus(other: Decimal): Decimal {
    const [left, right, scale] = align(this, other);
    return format(left - right, scale);
  }

  /** Negative, zero or positive, as for `Array.sort`. */
  compare(other: Decimal): number {
    const [left, right] = align(this, other);
    return left < right ? -1 : Number(left > right);
  }

  /** By value: 1.50 equals 1.5. */
  equals(other: Decimal): boolean {
    return this.compare(other) === 0;
  }

  toString(): string {
    return this.text;
  }

  /** A string, so that `JSON.stringify` of an answer loses no digit. */
  toJSON(): string {
    return this.text;
  }

  /** @throws TypeError where JavaScript would compute with a floating point number, or join digits (`+`). */
  [Symbol.toPrimitive](hint: string): string {
    if (hint === 'string') return this.text;
    throw new TypeError(
      'Use plus, minus, compare and text: a Decimal is not a floating point number',
    );
  }
}

/**
 * The amount that this text writes, such as `decimal('12.50')`.
 * @throws TypeError unless the text is a decimal number as JSON writes it.
 */
export function decimal(text: string): Decimal {
  return new Decimal(text);
}

const jsonNumber = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;
const parts = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/;

/** Beyond it, a short text would become a number that fills the memory. */
const exponentMax = 1000;

type Scaled = { digits: bigint; scale: number };

/** digits x 10^-scale, with a scale of zero or more. */
function readScaled({ text }: Decimal): Scaled {
  const [, sign, whole = '', fraction = '', exponent = '0'] = parts.exec(text) ?? [];
  if (Math.abs(Number(exponent)) > exponentMax) throw new RangeError(`${text} is out of range`);
  const scale = fraction.length - Number(exponent);
  const digits = BigInt(`${whole}${fraction}${'0'.repeat(Math.max(0, -scale))}`);
  return { digits: sign === '-' ? -digits : digits, scale: Math.max(0, scale) };
}

function align(one: Decimal, other: Decimal): [bigint, bigint, number] {
  const [left, right] = [readScaled(one), readScaled(other)];
  const scale = Math.max(left.scale, right.scale);
  const scaled = (value: Scaled): bigint => value.digits * 10n ** BigInt(scale - value.scale);
  return [scaled(left), scaled(right), scale];
}

/** The shortest plain decimal. */
function format(digits: bigint, scale: number): Decimal {
  const sign = digits < 0n ? '-' : '';
  const padded = String(digits < 0n ? -digits : digits).padStart(scale + 1, '0');
  const whole = padded.slice(0, padded.length - scale);
  const fraction = padded.slice(padded.length - scale).replace(/(?<!0)0+$/, '');
  return new Decimal(`${sign}${whole}${fraction === '' ? '' : `.${fraction}`}`);
}
