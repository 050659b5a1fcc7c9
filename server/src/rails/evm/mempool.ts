import type { Hex } from 'viem';
import { assert } from '../../core/errors.ts';
import { RpcError } from '../kit/json-rpc.ts';
import { findFeeLimits } from './config.ts';
import { type FeeMarket, type FeeOffer, raiseOffer } from './fees.ts';
import type { Pass } from './parts.ts';
import {
  type Attempt,
  describeAmount,
  makeTransfer,
  type Payment,
  type StoredPayment,
} from './payment.ts';
import { signTransfer, type TransactionPlan } from './transaction.ts';

/** Transactions signed and not mined: broadcast again, and replaced with a higher fee in time. */

/** How nodes refuse a transaction that they already have or had. */
const knownPattern = /already known|known transaction|already imported|nonce too low|already in/;

export async function broadcast(pass: Pass, reference: string, raw: Hex): Promise<void> {
  try {
    await pass.chain.broadcast(raw);
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'refused') throw error;
    if (knownPattern.test(error.refusal)) return;
    // It stays signed, and every pass broadcasts it again until its nonce is used.
    pass.host.log('warn', 'the node refuses a signed transaction', {
      reference,
      code: error.code,
    });
  }
}

/** @param unmined In the order of their nonces. */
export async function broadcastUnmined(
  pass: Pass,
  unmined: readonly StoredPayment[],
): Promise<void> {
  for (const { key: reference, value: payment } of unmined) {
    const raw = payment.attempts.at(-1)?.raw ?? null;
    if (raw !== null) await broadcast(pass, reference, raw);
  }
}

/** Every attempt stays in the record of its payment. */
const attemptsMax = 40;

/**
 * Replaces transactions that have waited too long, under the same nonce and with a higher fee: the
 * one whose nonce is next, and those below the base fee. Only one per nonce can be mined.
 */
export async function replaceStuck(pass: Pass, unmined: readonly StoredPayment[]): Promise<void> {
  const waitMs = pass.config.fees.replaceAfterSeconds * 1000;
  const { baseFeePerGas } = pass.head;
  const lowest = unmined[0]?.value.nonce ?? pass.sent;
  // Only reported: a node out of sync looks the same (README, "Limits").
  if (lowest > pass.sent) {
    pass.host.log('warn', 'nonce gap, or the node is out of sync', {
      sent: pass.sent,
      lowest,
    });
  }
  const stuck = unmined.filter(({ value: payment }) => {
    const last = payment.attempts.at(-1);
    // A transaction found on the chain has neither bytes nor a known fee.
    if (last === undefined || last.raw === null) return false;
    const isOld = last.signedAtMs + waitMs <= pass.host.nowMs();
    const isNext = payment.nonce === pass.sent;
    return isOld && (isNext || last.maxFeePerGas < baseFeePerGas);
  });
  if (stuck.length === 0) return;
  const market = { baseFee: baseFeePerGas, priorityFee: await pass.chain.suggestPriorityFee() };
  for (const stored of stuck) await replace(pass, stored, market);
}

async function replace(pass: Pass, stored: StoredPayment, market: FeeMarket): Promise<void> {
  const { value: payment, key: reference } = stored;
  const last = payment.attempts.at(-1);
  assert(last !== undefined && payment.nonce !== null, 'a signed payment has an attempt');
  if (payment.attempts.length >= attemptsMax) return;
  const { gas } = last;
  const limits = findFeeLimits(pass.config, pass.limits, describeAmount(payment));
  const offer = raiseOffer(limits, market, last);
  if (offer === undefined) {
    pass.host.log('warn', 'a stuck transaction is at its fee limit', { reference });
    return;
  }
  const attempt = await sign(pass, payment, { nonce: payment.nonce, gas, offer });
  const attempts = [...payment.attempts, attempt];
  // One that counts as paid and was displaced stays so: it is followed by all of its hashes.
  const next = { state: stored.state, value: { ...payment, attempts } };
  if (await pass.payments.write(stored, next)) {
    pass.host.log('info', 'a transaction is replaced with a higher fee', {
      reference,
      attempts: attempts.length,
    });
  }
}

/** @returns the attempt to record before its bytes are broadcast. */
export async function sign(
  pass: Pass,
  payment: Payment,
  about: { readonly nonce: number; readonly gas: bigint; readonly offer: FeeOffer },
): Promise<Attempt> {
  const { nonce, gas, offer } = about;
  const plan: TransactionPlan = { chainId: pass.config.chainId, nonce, gas, ...offer };
  const signed = await signTransfer(pass.account, makeTransfer(payment), plan);
  return { ...signed, gas, ...offer, signedAtMs: pass.host.nowMs() };
}
