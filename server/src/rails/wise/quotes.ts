import { readDecimal } from '../../core/money.ts';
import type { CallContext, Instruction } from '../contract/contract.ts';
import type { PayerDeclaration } from '../contract/declarations.ts';
import type { Reason } from '../contract/reasons.ts';
import { readMinor } from '../kit/amounts.ts';
import type { Api, ApiResult } from './api.ts';
import type { WiseConfig } from './config.ts';
import { type PaymentOption, quoteSchema, type WiseQuote, writeAmount } from './protocol.ts';

/** Quotes: what a payment of an exact amount costs from the balance. A quote orders nothing. */

export type QuoteSetup = { readonly api: Api; readonly config: WiseConfig };

/** One amount of the two, minor units. */
export type QuoteAmount = { readonly targetMinor: bigint } | { readonly sourceMinor: bigint };

export async function requestQuote(
  { api, config }: QuoteSetup,
  asked: {
    readonly payer: PayerDeclaration;
    readonly currency: string;
    readonly amount: QuoteAmount;
  },
  context: CallContext,
): Promise<ApiResult<WiseQuote>> {
  const { payer, currency, amount } = asked;
  const { sourceCurrency, profileId } = config;
  const payOut = payer.options['payOut'];
  return api(
    {
      method: 'POST',
      path: `/v3/profiles/${profileId}/quotes`,
      body: {
        sourceCurrency,
        targetCurrency: currency,
        ...('targetMinor' in amount
          ? { targetAmount: writeAmount(amount.targetMinor, currency) }
          : { sourceAmount: writeAmount(amount.sourceMinor, sourceCurrency) }),
        // Without it the prices are those of a bank transfer.
        preferredPayIn: 'BALANCE',
        ...(payOut === undefined ? {} : { payOut }),
      },
    },
    quoteSchema,
    context,
  );
}

/** The option that pays from the balance by the quote's way of paying out. */
function findOption(quote: WiseQuote): PaymentOption | undefined {
  const fromBalance = quote.paymentOptions.filter(({ payIn }) => payIn === 'BALANCE');
  return fromBalance.find(({ payOut }) => payOut === quote.payOut) ?? fromBalance[0];
}

/** The cost of a payment, in minor units of the source currency. */
export type Cost = {
  /** All that leaves the balance, with the fee. */
  readonly sourceMinor: bigint;
  readonly feeMinor: bigint;
  /** The real time until which the rate is fixed, milliseconds. */
  readonly fixedUntilMs: number;
  readonly arrivesAtMs: number | undefined;
  /** Whether it is paid out over SWIFT, where banks between may take fees of a refund. */
  readonly isSwift: boolean;
};

export type CostReading =
  | { readonly ok: true; readonly cost: Cost }
  | { readonly ok: false; readonly reason: Reason; readonly code: string };

/** What the payment would cost under the quote, or why it cannot be ordered by it. */
export function readCost(
  quote: WiseQuote,
  wanted: {
    readonly sourceCurrency: string;
    readonly currency: string;
    /** Undefined where the source amount was given. */
    readonly targetMinor: bigint | undefined;
  },
): CostReading {
  const refuse = (reason: Reason, code: string) => ({ ok: false, reason, code }) as const;
  const { sourceCurrency, currency, targetMinor } = wanted;
  if (quote.notices.some(({ type }) => type === 'BLOCKED')) {
    return refuse('payer_unavailable', 'quote.blocked');
  }
  const option = findOption(quote);
  if (option === undefined) return refuse('payer_unavailable', 'quote.no_balance_option');
  if (option.disabled) {
    const code = option.disabledReason?.code ?? '';
    const isAmount = /amount|limit/i.test(code);
    return refuse(isAmount ? 'amount_refused' : 'payer_unavailable', cleanCode(code));
  }
  if (sourceCurrency !== currency && quote.rateType !== 'FIXED') {
    // A floating rate leaves open what the recipient gets.
    return refuse('payer_unavailable', 'quote.rate_not_fixed');
  }
  const { value } = option.price.total;
  const sourceMinor = readMinor(option.sourceAmount, sourceCurrency);
  const feeMinor = readMinor(value.amount, sourceCurrency);
  const isSame =
    option.sourceCurrency === sourceCurrency &&
    option.targetCurrency === currency &&
    value.currency === sourceCurrency &&
    (targetMinor === undefined || readMinor(option.targetAmount, currency) === targetMinor);
  if (!isSame || sourceMinor === undefined || feeMinor === undefined || sourceMinor <= feeMinor) {
    return refuse('payer_unavailable', 'quote.other_amount');
  }
  return {
    ok: true,
    cost: {
      sourceMinor,
      feeMinor,
      fixedUntilMs: quote.rateExpirationTime ?? quote.expirationTime,
      arrivesAtMs: option.estimatedDelivery ?? undefined,
      isSwift: [quote.payOut, option.payOut].some((payOut) => payOut?.startsWith('SWIFT')),
    },
  };
}

function cleanCode(code: string): string {
  return /^[A-Za-z0-9._-]{1,100}$/.test(code) ? code : 'quote.disabled';
}

/**
 * Whether the payment costs more than it was quoted at, with what the operator bears: amount divided
 * by rate, plus the fee, plus `bearBasisPoints` of the source amount; rounded up.
 */
export function isDearer(cost: Cost, instruction: Instruction, scales: Scales): boolean {
  const { quoted, amountMinor } = instruction;
  if (quoted === undefined) return false;
  const rate = readDecimal(quoted.rate);
  if (rate === undefined || rate.digits <= 0n) return true;
  // amount / rate, in minor units of the source.
  const dividend = amountMinor * 10n ** BigInt(rate.scale + scales.source);
  const divisor = rate.digits * 10n ** BigInt(scales.target);
  const sourceMinor = divideUp(dividend, divisor);
  const borneMinor = divideUp(sourceMinor * BigInt(quoted.bearBasisPoints), 10_000n);
  return cost.sourceMinor > sourceMinor + quoted.feeMinor + borneMinor;
}

/** Digits after the point of the two currencies. */
export type Scales = { readonly source: number; readonly target: number };

export function divideUp(dividend: bigint, divisor: bigint): bigint {
  return (dividend + divisor - 1n) / divisor;
}
