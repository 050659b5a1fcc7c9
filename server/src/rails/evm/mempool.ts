import type { Hex } from 'viem';
import { assert } from '../../core/errors.ts';
import { findFeeLimits } from './config.ts';
import { type FeeMarket, type FeeOffer, raiseOffer } from './fees.ts';
import type { Pass } from './parts.ts';
import {
  type Attempt,
  changePayment,
  describeAmount,
  type KeptPayment,
  makeTransfer,
  type Payment,
} from './payment.ts';
import { RpcError } from './rpc.ts';
import { type SignedTransaction, signTransfer, type TransactionPlan } from './transaction.ts';

/** What is signed and not mined: told to the network again, and offered for more in time. */

/** A node says so of what it has or has had; it is what was wanted. */
const knownWords = /already known|known transaction|already imported|nonce too low|already in/;

export async function broadcast(pass: Pass, reference: string, raw: Hex): Promise<void> {
  try {
    await pass.chain.broadcast(raw);
  } catch (error) {
    if (!(error instanceof RpcError) || error.kind !== 'refused') throw error;
    if (knownWords.test(error.words)) return;
    // It stays signed, and every pass offers it again: only the chain ends that.
    pass.host.log('warn', 'a signed transaction is not taken at present', {
      reference,
      code: error.code,
    });
  }
}

/** @param unmined In the order of their nonces. */
export async function broadcastUnmined(pass: Pass, unmined: readonly KeptPayment[]): Promise<void> {
  for (const { reference, payment } of unmined) {
    const raw = payment.attempts.at(-1)?.raw ?? null;
    if (raw !== null) await broadcast(pass, reference, raw);
  }
}

/** No payment is worth more attempts, and each of them stays in its record. */
const attemptsMax = 40;

/**
 * Signs again, under the same nonce and for more, what has waited too long: the one that is next on
 * the chain, and those that offer less than a block asks for. Only one of them can ever be mined.
 */
export async function replaceStuck(pass: Pass, unmined: readonly KeptPayment[]): Promise<void> {
  const waitMs = pass.config.fees.replaceAfterSeconds * 1000;
  const { baseFeePerGas } = pass.head;
  const lowest = unmined[0]?.payment.nonce ?? pass.sent;
  // Not healed here: whether the node is right cannot be told from here (README, "Limits").
  if (lowest > pass.sent) {
    pass.host.log('warn', 'by this node a nonce is left out, or it is behind', {
      sent: pass.sent,
      lowest,
    });
  }
  const stuck = unmined.filter(({ payment }) => {
    const last = payment.attempts.at(-1);
    // One that was found in the chain has no bytes here, and no fee that is known.
    if (last === undefined || last.raw === null) return false;
    const isOld = last.signedAtMs + waitMs <= pass.host.nowMs();
    const isNext = payment.nonce === pass.sent;
    return isOld && (isNext || BigInt(last.maxFeePerGas) < baseFeePerGas);
  });
  if (stuck.length === 0) return;
  const market = { baseFee: baseFeePerGas, priorityFee: await pass.chain.suggestPriorityFee() };
  for (const kept of stuck) await replace(pass, kept, market);
}

async function replace(pass: Pass, kept: KeptPayment, market: FeeMarket): Promise<void> {
  const { payment, reference } = kept;
  const last = payment.attempts.at(-1);
  assert(last !== undefined && payment.nonce !== null, 'a signed payment has an attempt');
  if (payment.attempts.length >= attemptsMax) return;
  const gas = BigInt(last.gas);
  const previous = {
    gas,
    maxFeePerGas: BigInt(last.maxFeePerGas),
    maxPriorityFeePerGas: BigInt(last.maxPriorityFeePerGas),
  };
  const limits = findFeeLimits(pass.config, pass.limits, describeAmount(payment));
  const offer = raiseOffer(limits, market, previous);
  if (offer === undefined) {
    pass.host.log('warn', 'a transaction waits, and the limits allow no higher fee', { reference });
    return;
  }
  const attempt = await sign(pass, payment, { nonce: payment.nonce, gas, offer });
  const attempts = [...payment.attempts, attempt];
  const change = changePayment(kept, 'signed', { ...payment, attempts });
  if (await pass.host.store.write([change])) {
    pass.host.log('info', 'a transaction is offered for more', {
      reference,
      attempts: attempts.length,
    });
  }
}

/** @returns what to keep in the payment's record, before anybody else sees the bytes. */
export async function sign(
  pass: Pass,
  payment: Payment,
  about: { readonly nonce: number; readonly gas: bigint; readonly offer: FeeOffer },
): Promise<Attempt> {
  const { nonce, gas, offer } = about;
  const plan: TransactionPlan = { chainId: pass.config.chainId, nonce, gas, ...offer };
  const signed = await signTransfer(pass.account, makeTransfer(payment), plan);
  return describeAttempt(signed, plan, pass.host.nowMs());
}

function describeAttempt(
  signed: SignedTransaction,
  plan: TransactionPlan,
  signedAtMs: number,
): Attempt {
  return {
    ...signed,
    gas: plan.gas.toString(),
    maxFeePerGas: plan.maxFeePerGas.toString(),
    maxPriorityFeePerGas: plan.maxPriorityFeePerGas.toString(),
    signedAtMs,
  };
}
