import { assert } from '../../core/errors.ts';
import type { RailObservation } from '../contract/contract.ts';
import { reportProblem } from '../kit/problem-messages.ts';
import type { Receipt } from './chain.ts';
import { findConfirmations, getCoin } from './config.ts';
import { broadcast } from './mempool.ts';
import { findNonceUse, isFinal } from './nonces.ts';
import type { Pass } from './parts.ts';
import {
  describeAmount,
  describeMined,
  listCharges,
  listHashes,
  type Mined,
  makeTransfer,
  type Payment,
  type StoredPayment,
} from './payment.ts';
import { findRefusalReason } from './refusal.ts';
import { classifyReceipt } from './transaction.ts';
import { storeUnknownTransaction } from './unknown-transactions.ts';

/**
 * Tracks signed transactions. Since a block may be displaced, "paid" is reported only at the depth
 * that the amount needs, and whatever frees the money again ("rejected", or another transaction)
 * only when it is final.
 */

export async function trackSigned(pass: Pass, stored: StoredPayment): Promise<void> {
  const { value: payment } = stored;
  if (payment.nonce === null || payment.nonce >= pass.sent) return;
  const mined = await findMined(pass, payment);
  if (mined === undefined) {
    await trackLostNonce(pass, stored, payment.nonce);
    return;
  }
  const next = { state: 'mined', value: { ...payment, mined } } as const;
  if (!(await pass.payments.write(stored, next))) return;
  await trackMined(pass, { ...stored, ...next, revision: stored.revision + 1 });
}

/** The transaction of the payment that is in the chain up to `pass.head`. */
async function findMined(pass: Pass, payment: Payment): Promise<Mined | undefined> {
  for (const hash of listHashes(payment).toReversed()) {
    const receipt = await pass.chain.findReceipt(hash);
    if (receipt !== undefined && (await isInChain(pass, receipt))) {
      const verdict = classifyReceipt(receipt, pass.account.address, makeTransfer(payment));
      return describeMined(receipt, verdict);
    }
  }
  return undefined;
}

async function isInChain(pass: Pass, receipt: Receipt): Promise<boolean> {
  if (receipt.blockNumber > pass.head.number) return false;
  if (receipt.from.toLowerCase() !== pass.account.address.toLowerCase()) return false;
  return (await pass.chain.findBlockHash(receipt.blockNumber)) === receipt.blockHash;
}

type Depth = 'unknown' | 'displaced' | number;

/** Confirmations; `unknown` where the node does not have the block yet. */
async function findDepth(pass: Pass, mined: Mined): Promise<Depth> {
  if (mined.blockNumber > pass.head.number) return 'unknown';
  const hash = await pass.chain.findBlockHash(mined.blockNumber);
  if (hash === undefined) return 'unknown';
  return hash === mined.blockHash ? pass.head.number - mined.blockNumber + 1 : 'displaced';
}

export async function trackMined(pass: Pass, stored: StoredPayment): Promise<void> {
  const { value: payment } = stored;
  assert(payment.mined !== null, 'a mined payment has its block');
  const depth = await findDepth(pass, payment.mined);
  if (depth === 'unknown') return;
  if (depth === 'displaced') {
    pass.host.log('warn', 'a block with a payment was displaced', {
      reference: stored.key,
      block: payment.mined.blockNumber,
    });
    const next = { state: 'signed', value: { ...payment, mined: null } } as const;
    if (!(await pass.payments.write(stored, next))) return;
    await rebroadcast(pass, stored);
    return;
  }
  if (!isDeepEnough(pass, payment, { ...payment.mined, depth })) return;
  await settle(pass, stored, payment.mined);
}

function isDeepEnough(
  pass: Pass,
  payment: Payment,
  { verdict, blockNumber, depth }: Mined & { readonly depth: number },
): boolean {
  const needed = findConfirmations(pass.config, describeAmount(payment));
  const isBlockFinal = isFinal(pass, { number: blockNumber });
  // A revert frees the money, so it must be final.
  if (verdict === 'reverted' && !isBlockFinal) return false;
  return needed === undefined ? isBlockFinal : depth >= needed;
}

async function settle(pass: Pass, stored: StoredPayment, mined: Mined): Promise<void> {
  const { value: payment, key: reference } = stored;
  switch (mined.verdict) {
    case 'paid':
      await notify(pass, stored, { outcome: 'paid' });
      await pass.payments.write(stored, { state: 'paid', value: payment });
      return;
    case 'reverted': {
      const reason = await findRefusalReason(pass, payment);
      await notify(pass, stored, { outcome: 'rejected', reason, code: 'reverted' });
      await pass.payments.write(stored, { state: 'rejected', value: { ...payment, reason } });
      return;
    }
    case 'unclear':
      pass.host.log('error', 'a mined transfer lacks the event that proves it', { reference });
      await pass.payments.write(stored, { state: 'unclear', value: payment });
  }
}

/**
 * Until the block is final: a displaced transaction is broadcast again. Whether it waits to be mined, and
 * may need a higher fee.
 */
export async function trackPaid(pass: Pass, stored: StoredPayment): Promise<boolean> {
  const { value: payment } = stored;
  assert(payment.mined !== null, 'a paid payment has its block');
  const depth = await findDepth(pass, payment.mined);
  if (depth === 'unknown') return false;
  if (depth !== 'displaced') {
    const isBlockFinal = isFinal(pass, { number: payment.mined.blockNumber });
    if (isBlockFinal) await pass.payments.write(stored, { state: 'final', value: payment });
    return false;
  }
  const mined = await findMined(pass, payment);
  if (mined !== undefined) {
    // Mined again in another block, with a verdict of its own.
    const state = mined.verdict === 'paid' ? 'paid' : 'mined';
    await pass.payments.write(stored, { state, value: { ...payment, mined } });
  } else if (payment.nonce !== null && payment.nonce < pass.sent) {
    await trackDisplaced(pass, stored, payment.nonce);
  } else {
    await rebroadcast(pass, stored);
    return true;
  }
  return false;
}

async function rebroadcast(pass: Pass, { key, value }: StoredPayment): Promise<void> {
  const raw = value.attempts.at(-1)?.raw ?? null;
  if (raw !== null) await broadcast(pass, key, raw);
}

/**
 * Another transaction used the nonce of a signed payment. When that transaction is final, none of
 * the payment's can be mined, and the payment waits for another nonce.
 */
async function trackLostNonce(pass: Pass, stored: StoredPayment, nonce: number): Promise<void> {
  const { value: payment, key: reference } = stored;
  const found = await findNonceUse(pass, nonce);
  if (found === undefined) return;
  const by = found.transaction.hash;
  // The payment's own: the node did not have its receipt yet.
  if (listHashes(payment).includes(by)) return;
  pass.host.log('error', 'an unknown transaction used the nonce of a payment', {
    reference,
    nonce,
  });
  if (!isFinal(pass, found.block)) return;
  await reportUnknownTransaction(pass, by, nonce);
  const waiting: Payment = {
    ...payment,
    nonce: null,
    attempts: [],
    lostNonces: [...payment.lostNonces, { nonce, hashes: listHashes(payment), by }],
  };
  await pass.host.store.write([
    ...pass.payments.change(stored, { state: 'waiting', value: waiting }),
    storeUnknownTransaction(pass.unknownTransactions, found, undefined),
  ]);
}

/** Opens one exception per transaction: the key may have been used outside the rail. */
async function reportUnknownTransaction(
  { host }: Pass,
  hash: string,
  nonce: number,
): Promise<void> {
  const id = `foreign:${hash}`;
  const detail = `Transaction ${hash} used nonce ${nonce} of the account and is not in the rail's records.`;
  const raw = JSON.stringify({ event: 'foreign', hash, nonce });
  await reportProblem(host, { id, kind: 'unmatched', detail }, raw);
}

async function trackDisplaced(pass: Pass, stored: StoredPayment, nonce: number): Promise<void> {
  const found = await findNonceUse(pass, nonce);
  if (found === undefined || !isFinal(pass, found.block)) return;
  if (listHashes(stored.value).includes(found.transaction.hash)) return;
  await reportUnknownTransaction(pass, found.transaction.hash, nonce);
  await notify(pass, stored, { outcome: 'returned', reason: 'replaced' });
  await pass.payments.write(stored, {
    state: 'displaced',
    value: { ...stored.value, mined: null },
  });
}

/** Called before the state changes: a repeated notification counts once, a missing one is lost. */
async function notify(
  { host, config }: Pass,
  { key: reference, value: payment }: StoredPayment,
  what: Pick<RailObservation, 'outcome' | 'reason' | 'code'>,
): Promise<void> {
  assert(payment.mined !== null, 'a reported payment has its block');
  const id = `${reference}:${what.outcome}:${payment.mined.hash}`;
  const mined = { ...payment.mined, feeWei: payment.mined.feeWei.toString() };
  const raw = Buffer.from(JSON.stringify({ reference, outcome: what.outcome, ...mined }));
  const observation: RailObservation = {
    ...what,
    id,
    reference,
    providerReference: payment.mined.hash,
    atMs: host.nowMs(),
    ...(what.outcome === 'returned' ? {} : { charges: listCharges(payment, getCoin(config)) }),
  };
  await host.receive({ id, channel: 'poll', raw, observations: [observation] });
}
