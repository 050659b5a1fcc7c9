import type { Address, Hex } from 'viem';
import { z } from 'zod';
import { getCurrency } from '../../core/currency.ts';
import type { Charge, Instruction, RailAnswer, StoredRecord } from '../contract/contract.ts';
import { toMinorUnitsUp } from './amounts.ts';
import type { Receipt } from './chain.ts';
import type { Transfer, Verdict } from './transaction.ts';

/**
 * What the rail remembers of one payment, under its reference.
 *
 * waiting: nothing is signed. signed: has a nonce, and may be mined at any time. mined: in a block
 * that is not deep enough. paid: deep enough to be told, watched on. final, rejected, unclear,
 * displaced: done. unclear: mined, and its events do not say that all of it arrived. displaced: told
 * as paid, and then the chain took another transaction in its place.
 */
export const paymentStates = [
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

export const paymentCollection = 'payment';

const integerText = z.string().regex(/^\d+$/);
const hexText = z.templateLiteral(['0x', z.string()]);

const attemptSchema = z.object({
  hash: hexText,
  /** null: a transaction of this account that was found on the chain and is not in this memory. */
  raw: hexText.nullable(),
  gas: integerText,
  maxFeePerGas: integerText,
  maxPriorityFeePerGas: integerText,
  signedAtMs: z.number(),
});

const minedSchema = z.object({
  hash: hexText,
  blockHash: hexText,
  blockNumber: z.int(),
  verdict: z.enum(['paid', 'reverted', 'unclear']),
  /** What the transaction cost, in wei. */
  feeWei: integerText,
});

const paymentSchema = z.object({
  currency: z.string(),
  amountMinor: integerText,
  /** As it was ordered: whether it is an address is found before anything is signed. */
  recipient: z.string(),
  contract: hexText.nullable(),
  /** The amount in the smallest units of the coin or the token. */
  units: integerText,
  committedAtMs: z.number(),
  nonce: z.int().nullable(),
  /** All that were signed under the nonce, oldest first. */
  attempts: z.array(attemptSchema),
  /** Nonces that were assigned, and consumed by a transaction that was not for this payment. */
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
  /** What a waiting payment waits for, where it is not just its turn. */
  waitsFor: z.enum(['no_funds', 'gas_price', 'fee_share']).nullable(),
  /** Since when it waits for a fee within its share of the amount. */
  feeWaitSinceMs: z.number().nullable().default(null),
});

export type Payment = z.infer<typeof paymentSchema>;
export type Attempt = z.infer<typeof attemptSchema>;
export type Mined = z.infer<typeof minedSchema>;

export type KeptPayment = {
  readonly reference: string;
  readonly state: PaymentState;
  readonly revision: number;
  readonly payment: Payment;
};

const stateSchema = z.enum(paymentStates);

export function readPayment(record: StoredRecord): KeptPayment {
  return {
    reference: record.key,
    revision: record.revision,
    state: stateSchema.parse(record.state),
    payment: paymentSchema.parse(record.value),
  };
}

export function changePayment(kept: KeptPayment, state: PaymentState, payment: Payment) {
  return {
    collection: paymentCollection,
    key: kept.reference,
    revision: kept.revision,
    next: { state, value: payment },
  };
}

export function describeAmount({ currency, amountMinor }: Payment) {
  return { currency, amountMinor: BigInt(amountMinor), scale: getCurrency(currency).scale };
}

export function makeTransfer(payment: Pick<Payment, 'recipient' | 'units' | 'contract'>): Transfer {
  return {
    recipient: payment.recipient as Address,
    units: BigInt(payment.units),
    contract: payment.contract,
  };
}

export function describeMined(receipt: Receipt, verdict: Verdict): Mined {
  return {
    hash: receipt.transactionHash,
    blockHash: receipt.blockHash,
    blockNumber: receipt.blockNumber,
    verdict,
    feeWei: (receipt.gasUsed * receipt.effectiveGasPrice).toString(),
  };
}

export function listHashes(payment: Payment): Hex[] {
  return payment.attempts.map(({ hash }) => hash);
}

/** The chain's fee in its coin, of which we keep nine decimals: rounded up to the next gwei. */
export function listCharges({ mined }: Payment): Charge[] {
  if (mined === null) return [];
  const amountMinor = toMinorUnitsUp(BigInt(mined.feeWei), getCurrency('ETH').scale);
  return amountMinor === 0n
    ? []
    : [{ id: mined.hash, kind: 'network', currency: 'ETH', amountMinor }];
}

/** An instruction under a known reference must be the one that was accepted. */
export function isSameInstruction(
  payment: Payment,
  instruction: Instruction,
  recipient: string,
): boolean {
  return (
    payment.currency === instruction.currency &&
    BigInt(payment.amountMinor) === instruction.amountMinor &&
    payment.recipient.toLowerCase() === recipient.toLowerCase()
  );
}

export function answerFor({ state, payment }: KeptPayment, checkAtMs: number): RailAnswer {
  const hash = payment.mined?.hash ?? payment.attempts.at(-1)?.hash;
  const extras = {
    ...(hash === undefined ? {} : { providerReference: hash }),
    ...(payment.mined === null ? {} : { charges: listCharges(payment) }),
  };
  switch (state) {
    case 'waiting': {
      const code = payment.waitsFor === null ? {} : { code: payment.waitsFor };
      return { outcome: 'accepted', checkAtMs, ...code };
    }
    case 'signed':
    case 'mined':
      // What a block that may yet vanish cost is not told.
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
