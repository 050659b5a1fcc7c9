import { randomInt, randomUUID } from 'node:crypto';
import { getCurrency } from '../../../src/core/currency.ts';
import { JsonNumber } from '../../../src/core/exact-json.ts';
import { formatAmount, readDecimal } from '../../../src/core/money.ts';

/** The books of the simulated Wise: balances, quotes, recipients and transfers. */

export type Quote = {
  readonly id: string;
  readonly sourceCurrency: string;
  readonly targetCurrency: string;
  /** Of the whole, with the fee; minor units. */
  readonly sourceMinor: bigint;
  readonly targetMinor: bigint;
  readonly feeMinor: bigint;
  readonly rate: string;
  readonly isTargetGiven: boolean;
  readonly payOut: string;
  readonly createdAtMs: number;
  targetAccount?: string;
  transferId?: string;
};

export type Recipient = {
  readonly id: string;
  readonly currency: string;
  readonly type: string;
  readonly name: string;
  readonly details: Readonly<Record<string, unknown>>;
};

export type Transfer = {
  readonly id: string;
  readonly reference: string;
  readonly targetAccount: string;
  readonly quote: Quote;
  readonly details: Readonly<Record<string, unknown>>;
  readonly createdAtMs: number;
  /** The batch group that it was created in, which alone funds it. */
  readonly groupId?: string;
  status: string;
  /** Canceled before it was paid out. */
  wasStopped: boolean;
  /** How often it was funded from the balance. */
  fundings: number;
  fundedAtMs: number;
};

export type BatchGroup = {
  readonly id: string;
  readonly name: string;
  readonly sourceCurrency: string;
  readonly transfers: Transfer[];
  version: number;
  status: 'NEW' | 'COMPLETED' | 'CANCELLED';
};

export type Books = {
  readonly groups: Map<string, BatchGroup>;
  readonly balances: Map<string, bigint>;
  readonly quotes: Map<string, Quote>;
  readonly recipients: Map<string, Recipient>;
  readonly transfers: Map<string, Transfer>;
  /** By customerTransactionId. */
  readonly byReference: Map<string, Transfer>;
  nextId(): string;
};

export function openBooks(balances: Readonly<Record<string, string>>): Books {
  // Identifiers of two simulators differ.
  let last = randomInt(10_000_000, 2 ** 47);
  const read = (text: string, code: string): bigint => toMinor(Number(text), code) ?? 0n;
  return {
    balances: new Map(Object.entries(balances).map(([code, text]) => [code, read(text, code)])),
    groups: new Map(),
    quotes: new Map(),
    recipients: new Map(),
    transfers: new Map(),
    byReference: new Map(),
    nextId: () => {
      last += 1;
      return String(last);
    },
  };
}

/** Undefined where the amount has more digits than the currency. */
export function toMinor(amount: number, code: string): bigint | undefined {
  const decimal = readDecimal(String(amount));
  const { scale } = getCurrency(code);
  if (decimal === undefined || decimal.digits <= 0n || decimal.scale > scale) return undefined;
  return decimal.digits * 10n ** BigInt(scale - decimal.scale);
}

export function toNumber(minor: bigint, code: string): JsonNumber {
  return new JsonNumber(formatAmount(minor, getCurrency(code)));
}

/** US dollars for one unit, in millionths. */
const dollars: Readonly<Record<string, bigint>> = {
  USD: 1_000_000n,
  EUR: 1_100_000n,
  GBP: 1_300_000n,
  MXN: 55_000n,
  INR: 12_000n,
  JPY: 6_700n,
  PHP: 17_000n,
};

export function isServed(code: string): boolean {
  return dollars[code] !== undefined;
}

/** Units of the target for one of the source, six digits. */
export function findRate(source: string, target: string, worseBasisPoints = 0): string {
  if (source === target) return '1';
  const from = dollars[source] ?? 1n;
  const to = dollars[target] ?? 1n;
  const millionths = (from * 1_000_000n * BigInt(10_000 - worseBasisPoints)) / (to * 10_000n);
  const text = millionths.toString().padStart(7, '0');
  return `${text.slice(0, -6)}.${text.slice(-6)}`.replace(/\.?0+$/, '');
}

export type Pricing = {
  readonly fixedMinor: bigint;
  readonly basisPoints: bigint;
  readonly worseBasisPoints: number;
  /** The fixed fee of an order; undefined: as in the prices that are read before. */
  readonly orderFixedMinor?: bigint | undefined;
};

const divideUp = (dividend: bigint, divisor: bigint): bigint => (dividend + divisor - 1n) / divisor;

export function priceQuote(
  asked: {
    readonly sourceCurrency: string;
    readonly targetCurrency: string;
    readonly sourceMinor: bigint | undefined;
    readonly targetMinor: bigint | undefined;
    readonly payOut: string;
  },
  { fixedMinor, basisPoints, worseBasisPoints }: Pricing,
  nowMs: number,
): Quote {
  const { sourceCurrency, targetCurrency, payOut } = asked;
  const rate = findRate(sourceCurrency, targetCurrency, worseBasisPoints);
  const decimal = readDecimal(rate);
  if (decimal === undefined) throw new Error('unreachable: the rate is a decimal');
  const sourceScale = 10n ** BigInt(getCurrency(sourceCurrency).scale);
  const targetScale = 10n ** BigInt(getCurrency(targetCurrency).scale);
  const rateScale = 10n ** BigInt(decimal.scale);
  const currencies = { sourceCurrency, targetCurrency };
  const common = { id: randomUUID(), ...currencies, rate, payOut, createdAtMs: nowMs };
  if (asked.targetMinor !== undefined) {
    const { targetMinor } = asked;
    const net = divideUp(targetMinor * sourceScale * rateScale, decimal.digits * targetScale);
    const feeMinor = fixedMinor + divideUp(net * basisPoints, 10_000n);
    return { ...common, sourceMinor: net + feeMinor, targetMinor, feeMinor, isTargetGiven: true };
  }
  const sourceMinor = asked.sourceMinor ?? 0n;
  const net = ((sourceMinor - fixedMinor) * 10_000n) / (10_000n + basisPoints);
  const targetMinor = (net * decimal.digits * targetScale) / (sourceScale * rateScale);
  return { ...common, sourceMinor, targetMinor, feeMinor: sourceMinor - net, isTargetGiven: false };
}

export const quoteMs = 30 * 60_000;

export function describeQuote(
  quote: Quote,
  at: { readonly profileId: string; readonly nowMs: number; readonly limitMinor: bigint },
): object {
  const { sourceCurrency, targetCurrency, createdAtMs } = quote;
  const sourceAmount = toNumber(quote.sourceMinor, sourceCurrency);
  const targetAmount = toNumber(quote.targetMinor, targetCurrency);
  const time = (ms: number): string => new Date(ms).toISOString();
  const fee = toNumber(quote.feeMinor, sourceCurrency);
  const none = toNumber(0n, sourceCurrency);
  const value = { amount: fee, currency: sourceCurrency, label: `${fee.text} ${sourceCurrency}` };
  const isOver = quote.sourceMinor > at.limitMinor;
  const options = ['BANK_TRANSFER', 'BALANCE'].map((payIn) => ({
    disabled: isOver,
    ...(isOver
      ? { disabledReason: { code: 'amount.too.high', message: 'The amount is over the limit' } }
      : {}),
    estimatedDelivery: time(at.nowMs + 3_600_000),
    formattedEstimatedDelivery: 'in an hour',
    estimatedDeliveryDelays: [],
    fee: { transferwise: fee, payIn: none, discount: none, partner: none, total: fee },
    price: { priceSetId: 238, total: { type: 'TOTAL', label: 'Total fees', value }, items: [] },
    sourceAmount,
    targetAmount,
    sourceCurrency,
    targetCurrency,
    payIn,
    payOut: quote.payOut,
    allowedProfileTypes: ['PERSONAL', 'BUSINESS'],
    payInProduct: 'CHEAP',
    feePercentage: 0.006,
  }));
  return {
    id: quote.id,
    sourceCurrency,
    targetCurrency,
    ...(quote.isTargetGiven ? { targetAmount } : { sourceAmount }),
    payOut: quote.payOut,
    preferredPayIn: 'BALANCE',
    rate: new JsonNumber(quote.rate),
    createdTime: time(createdAtMs),
    user: 55,
    profile: new JsonNumber(at.profileId),
    rateType: 'FIXED',
    rateExpirationTime: time(createdAtMs + quoteMs),
    guaranteedTargetAmountAllowed: true,
    targetAmountAllowed: true,
    guaranteedTargetAmount: quote.isTargetGiven,
    providedAmountType: quote.isTargetGiven ? 'TARGET' : 'SOURCE',
    paymentOptions: options,
    status: at.nowMs > createdAtMs + quoteMs ? 'EXPIRED' : 'PENDING',
    expirationTime: time(createdAtMs + quoteMs),
    notices: [],
  };
}

/**
 * Puts back what comes back of a transfer: all of it with the fee, or 90 percent where banks between have
 * taken their fees of a payment over SWIFT.
 */
export function refund(
  { balances }: Books,
  { quote, wasStopped }: Transfer,
): { amount: JsonNumber; currency: string } {
  const { sourceCurrency: currency, sourceMinor, payOut } = quote;
  const isLess = payOut.startsWith('SWIFT') && !wasStopped;
  const minor = isLess ? (sourceMinor * 90n) / 100n : sourceMinor;
  balances.set(currency, (balances.get(currency) ?? 0n) + minor);
  return { amount: toNumber(minor, currency), currency };
}

export function describeTransfer(transfer: Transfer, profileId: string): object {
  const { quote } = transfer;
  return {
    id: new JsonNumber(transfer.id),
    user: 55,
    targetAccount: new JsonNumber(transfer.targetAccount),
    sourceAccount: null,
    quote: null,
    quoteUuid: quote.id,
    status: transfer.status,
    rate: new JsonNumber(quote.rate),
    created: new Date(transfer.createdAtMs).toISOString(),
    business: new JsonNumber(profileId),
    transferRequest: null,
    details: transfer.details,
    hasActiveIssues: false,
    sourceCurrency: quote.sourceCurrency,
    sourceValue: toNumber(quote.sourceMinor - quote.feeMinor, quote.sourceCurrency),
    targetCurrency: quote.targetCurrency,
    targetValue: toNumber(quote.targetMinor, quote.targetCurrency),
    customerTransactionId: transfer.reference,
  };
}
