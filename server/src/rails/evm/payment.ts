import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import type { Charge, RailAnswer, RailHost } from '../contract/contract.ts';
import { openPaymentBook, type PaymentBook } from '../kit/payment-book.ts';
import { minorUnits, type TypedRecord } from '../kit/records.ts';
import { toMinorUnitsUp } from './amounts.ts';
import type { Receipt } from './chain.ts';
import { type EvmConfig, getCoin } from './config.ts';
import { type Nonces, readRecordedState } from './nonce-records.ts';
import type { Transfer, Verdict } from './transaction.ts';

/**
 * The record of one payment, under its reference.
 *
 * waiting: nothing is signed. signed: has a nonce, and may be mined at any time. mined: in a block
 * that is not deep enough. paid: deep enough to be reported as paid, still tracked. final, rejected,
 * unclear, displaced: finished. unclear: mined, and its events do not prove that all of it arrived.
 * displaced: reported as paid, and then the chain took another transaction in its place.
 */
const paymentStates = [
  'waiting',
  'signed',
  'mined',
  'paid',
  'final',
  'rejected',
  'unclear',
  'displaced',
] as const;
export type PaymentState = (typeof paymentStates)[number];

/** The attribute that holds the recipient's address. */
export const addressAttribute = 'BankAccountNumber';

const hexText = z.templateLiteral(['0x', z.string()]);

const attemptSchema = z.object({
  hash: hexText,
  /** null: found on the chain, without a record of its signing. */
  raw: hexText.nullable(),
  gas: minorUnits,
  maxFeePerGas: minorUnits,
  maxPriorityFeePerGas: minorUnits,
  signedAtMs: z.number(),
});

const minedSchema = z.object({
  hash: hexText,
  blockHash: hexText,
  blockNumber: z.int(),
  verdict: z.enum(['paid', 'reverted', 'unclear']),
  /** Paid for the transaction, wei. */
  feeWei: minorUnits,
});

const paymentSchema = z.object({
  currency: z.string(),
  amountMinor: minorUnits,
  /** As instructed; checked before anything is signed. */
  recipient: z.string(),
  contract: hexText.nullable(),
  /** The amount in the smallest units of the coin or the token. */
  units: minorUnits,
  committedAtMs: z.number(),
  nonce: z.int().nullable(),
  /** All transactions signed under the nonce, oldest first. */
  attempts: z.array(attemptSchema),
  /** Assigned nonces that another transaction of the account used. */
  lostNonces: z.array(z.object({ nonce: z.int(), hashes: z.array(hexText), by: hexText })),
  mined: minedSchema.nullable(),
  /** Why it is rejected. */
  reason: z
    .enum([
      'cancelled',
      'amount_refused',
      'currency_refused',
      'recipient_refused',
      'payer_refused',
      'invalid_details',
      'account_blocked',
    ])
    .nullable(),
  /** Why a waiting payment is not signed. */
  waitsFor: z.enum(['no_funds', 'gas_price', 'fee_share']).nullable(),
  /** Since when it waits for a fee within its share of the amount. */
  feeWaitSinceMs: z.number().nullable().default(null),
});

export type Payment = z.infer<typeof paymentSchema>;
export type Attempt = z.infer<typeof attemptSchema>;
export type Mined = z.infer<typeof minedSchema>;
export type StoredPayment = TypedRecord<PaymentState, Payment>;
export type EvmPayments = PaymentBook<PaymentState, Payment>;

export function openPayments(host: RailHost, nonces: Nonces, config: EvmConfig): EvmPayments {
  return openPaymentBook(host, {
    collection: 'payment',
    states: paymentStates,
    value: paymentSchema,
    isSame: ({ value }, { currency, amountMinor, attributes }) =>
      value.currency === currency &&
      value.amountMinor === amountMinor &&
      value.recipient.toLowerCase() === (attributes[addressAttribute] ?? '').toLowerCase(),
    answer: async (stored) => {
      // With records restored from a backup it may wait although the chain has paid it.
      if (stored.state === 'waiting' && (await readRecordedState(nonces)) === 'behind') {
        return recordsBehind;
      }
      return describeAnswer(stored, {
        checkAtMs: host.nowMs() + config.pollSeconds * 1000,
        coin: getCoin(config),
      });
    },
  });
}

/** While records are missing, the outcome of a payment is unknown. */
export const recordsBehind: RailAnswer = {
  outcome: 'unknown',
  reason: 'review',
  code: 'memory_behind',
};

export function describeAmount({ currency, amountMinor }: Payment) {
  return { currency, amountMinor, scale: getCurrency(currency).scale };
}

export function makeTransfer(payment: Pick<Payment, 'recipient' | 'units' | 'contract'>): Transfer {
  return {
    recipient: payment.recipient as Address,
    units: payment.units,
    contract: payment.contract,
  };
}

export function describeMined(receipt: Receipt, verdict: Verdict): Mined {
  return {
    hash: receipt.transactionHash,
    blockHash: receipt.blockHash,
    blockNumber: receipt.blockNumber,
    verdict,
    feeWei: receipt.gasUsed * receipt.effectiveGasPrice + receipt.l1Fee,
  };
}

export function listHashes(payment: Payment): Hex[] {
  return payment.attempts.map(({ hash }) => hash);
}

/** The network fee, rounded up to a billionth of the coin, its minor unit here. */
export function listCharges({ mined }: Payment, coin: string): Charge[] {
  if (mined === null) return [];
  const amountMinor = toMinorUnitsUp(mined.feeWei, getCurrency(coin).scale);
  return amountMinor === 0n
    ? []
    : [{ id: mined.hash, kind: 'network', currency: coin, amountMinor }];
}

function describeAnswer(
  { state, value: payment }: StoredPayment,
  { checkAtMs, coin }: { readonly checkAtMs: number; readonly coin: string },
): RailAnswer {
  const hash = payment.mined?.hash ?? payment.attempts.at(-1)?.hash;
  const extras = {
    ...(hash === undefined ? {} : { providerReference: hash }),
    ...(payment.mined === null ? {} : { charges: listCharges(payment, coin) }),
  };
  switch (state) {
    case 'waiting': {
      const code = payment.waitsFor === null ? {} : { code: payment.waitsFor };
      return { outcome: 'accepted', checkAtMs, ...code };
    }
    case 'signed':
    case 'mined':
      // Without the fee, since the block may still be displaced.
      return {
        outcome: 'accepted',
        checkAtMs,
        ...(hash === undefined ? {} : { providerReference: hash }),
      };
    case 'paid':
    case 'final':
      return { outcome: 'paid', ...extras };
    case 'rejected': {
      const code = payment.mined === null ? {} : { code: 'reverted' };
      return { outcome: 'rejected', reason: payment.reason ?? 'other', ...extras, ...code };
    }
    case 'unclear':
      return { outcome: 'unknown', reason: 'not_understood', code: 'transfer_event', ...extras };
    case 'displaced':
      return { outcome: 'returned', reason: 'replaced', ...extras };
  }
}
