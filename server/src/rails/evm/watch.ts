import { assert } from '../../core/errors.ts';
import type { RailObservation } from '../contract/contract.ts';
import type { Receipt } from './chain.ts';
import { findConfirmations } from './config.ts';
import { broadcast } from './mempool.ts';
import { findConsumer, isFinal } from './nonces.ts';
import type { Pass } from './parts.ts';
import {
  changePayment,
  describeAmount,
  describeMined,
  type KeptPayment,
  listCharges,
  listHashes,
  type Mined,
  makeTransfer,
  type Payment,
  type PaymentState,
} from './payment.ts';
import { findRefusalReason } from './refusal.ts';
import { judgeReceipt } from './transaction.ts';
import { keepStray } from './unknown-transactions.ts';

/**
 * What became of signed transactions. A block may be displaced by another, so that nothing here is
 * decided for good before it lies deep enough: "paid" at the depth that the amount asks for, and
 * whatever would free the money again ("rejected", or another try) at the final depth.
 */

export async function followSigned(pass: Pass, kept: KeptPayment): Promise<void> {
  const { payment } = kept;
  if (payment.nonce === null || payment.nonce >= pass.sent) return;
  const mined = await findMined(pass, payment);
  if (mined === undefined) {
    await followLostNonce(pass, kept, payment.nonce);
    return;
  }
  const next = { ...payment, mined };
  if (!(await move(pass, kept, { state: 'mined', payment: next }))) return;
  await followMined(pass, { ...kept, state: 'mined', revision: kept.revision + 1, payment: next });
}

/** The one of a payment's transactions that is in the chain as `pass.head` ends it. */
async function findMined(pass: Pass, payment: Payment): Promise<Mined | undefined> {
  for (const hash of listHashes(payment).toReversed()) {
    const receipt = await pass.chain.findReceipt(hash);
    if (receipt !== undefined && (await isInChain(pass, receipt))) {
      const verdict = judgeReceipt(receipt, pass.account.address, makeTransfer(payment));
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

/** How many blocks lie on it, its own included; `unknown` where this node is not so far. */
async function findDepth(pass: Pass, mined: Mined): Promise<Depth> {
  if (mined.blockNumber > pass.head.number) return 'unknown';
  const hash = await pass.chain.findBlockHash(mined.blockNumber);
  if (hash === undefined) return 'unknown';
  return hash === mined.blockHash ? pass.head.number - mined.blockNumber + 1 : 'displaced';
}

export async function followMined(pass: Pass, kept: KeptPayment): Promise<void> {
  const { payment } = kept;
  assert(payment.mined !== null, 'a mined payment has its block');
  const depth = await findDepth(pass, payment.mined);
  if (depth === 'unknown') return;
  if (depth === 'displaced') {
    pass.host.log('warn', 'a block with a payment was displaced', {
      reference: kept.reference,
      block: payment.mined.blockNumber,
    });
    const signed = { ...payment, mined: null };
    if (!(await move(pass, kept, { state: 'signed', payment: signed }))) return;
    await tellAgain(pass, kept);
    return;
  }
  if (!isDeepEnough(pass, payment, { ...payment.mined, depth })) return;
  await settle(pass, kept, payment.mined);
}

function isDeepEnough(
  pass: Pass,
  payment: Payment,
  { verdict, blockNumber, depth }: Mined & { readonly depth: number },
): boolean {
  const needed = findConfirmations(pass.config, describeAmount(payment));
  const isBlockFinal = isFinal(pass, { number: blockNumber });
  // What frees the money again must be final.
  if (verdict === 'reverted' && !isBlockFinal) return false;
  return needed === undefined ? isBlockFinal : depth >= needed;
}

async function settle(pass: Pass, kept: KeptPayment, mined: Mined): Promise<void> {
  const { payment, reference } = kept;
  switch (mined.verdict) {
    case 'paid':
      await hear(pass, kept, { outcome: 'paid' });
      await move(pass, kept, { state: 'paid', payment });
      return;
    case 'reverted': {
      const reason = await findRefusalReason(pass, payment);
      await hear(pass, kept, { outcome: 'rejected', reason, code: 'reverted' });
      await move(pass, kept, { state: 'rejected', payment: { ...payment, reason } });
      return;
    }
    case 'unclear':
      pass.host.log('error', 'a mined transfer has not the event that proves it', { reference });
      await move(pass, kept, { state: 'unclear', payment });
  }
}

/** Until the final depth, since a chain that displaces a paid transaction needs it told again. */
export async function followPaid(pass: Pass, kept: KeptPayment): Promise<void> {
  const { payment } = kept;
  assert(payment.mined !== null, 'a paid payment has its block');
  const depth = await findDepth(pass, payment.mined);
  if (depth === 'unknown') return;
  if (depth !== 'displaced') {
    const { blockNumber } = payment.mined;
    if (isFinal(pass, { number: blockNumber })) await move(pass, kept, { state: 'final', payment });
    return;
  }
  const mined = await findMined(pass, payment);
  if (mined !== undefined) {
    // It came back in another block; what it does there is judged anew.
    const state = mined.verdict === 'paid' ? 'paid' : 'mined';
    await move(pass, kept, { state, payment: { ...payment, mined } });
  } else if (payment.nonce !== null && payment.nonce < pass.sent) {
    await followDisplaced(pass, kept, payment.nonce);
  } else {
    await tellAgain(pass, kept);
  }
}

async function tellAgain(pass: Pass, { reference, payment }: KeptPayment): Promise<void> {
  const raw = payment.attempts.at(-1)?.raw ?? null;
  if (raw !== null) await broadcast(pass, reference, raw);
}

/**
 * The chain consumed the nonce of a signed payment, and none of its transactions is there. Only
 * when the one that did it is found, and lies at the final depth, can none of ours be mined any
 * more, and the payment waits for another nonce.
 */
async function followLostNonce(pass: Pass, kept: KeptPayment, nonce: number): Promise<void> {
  const { payment, reference } = kept;
  const consumer = await findConsumer(pass, nonce);
  if (consumer === undefined) return;
  const by = consumer.transaction.hash;
  // Ours after all: the node only was slow to know its receipt.
  if (listHashes(payment).includes(by)) return;
  pass.host.log('error', 'a foreign transaction used the nonce of a payment', { reference, nonce });
  if (!isFinal(pass, consumer.block)) return;
  await reportForeign(pass, by, nonce);
  const waiting: Payment = {
    ...payment,
    nonce: null,
    attempts: [],
    lostNonces: [...payment.lostNonces, { nonce, hashes: listHashes(payment), by }],
  };
  const change = changePayment(kept, 'waiting', waiting);
  await pass.host.store.write([change, keepStray(consumer, undefined)]);
}

/** Once for a transaction: whoever has the key may have moved money. */
async function reportForeign({ host }: Pass, hash: string, nonce: number): Promise<void> {
  const id = `foreign:${hash}`;
  const detail = `Transaction ${hash} used nonce ${nonce} of the account and is not in the rail's memory.`;
  const raw = Buffer.from(JSON.stringify({ event: 'foreign', hash, nonce }));
  const problems = [{ id, kind: 'unmatched' as const, detail }];
  await host.receive({ id, channel: 'poll', raw, observations: [], problems });
}

async function followDisplaced(pass: Pass, kept: KeptPayment, nonce: number): Promise<void> {
  const consumer = await findConsumer(pass, nonce);
  if (consumer === undefined || !isFinal(pass, consumer.block)) return;
  if (listHashes(kept.payment).includes(consumer.transaction.hash)) return;
  await reportForeign(pass, consumer.transaction.hash, nonce);
  await hear(pass, kept, { outcome: 'returned', reason: 'replaced' });
  await move(pass, kept, { state: 'displaced', payment: { ...kept.payment, mined: null } });
}

function move(
  pass: Pass,
  kept: KeptPayment,
  next: { readonly state: PaymentState; readonly payment: Payment },
): Promise<boolean> {
  return pass.host.store.write([changePayment(kept, next.state, next.payment)]);
}

/** Before the state changes: told twice it counts once, and not told it would be lost. */
async function hear(
  { host }: Pass,
  { reference, payment }: KeptPayment,
  what: Pick<RailObservation, 'outcome' | 'reason' | 'code'>,
): Promise<void> {
  assert(payment.mined !== null, 'only what was mined is told');
  const id = `${reference}:${what.outcome}:${payment.mined.hash}`;
  const raw = Buffer.from(JSON.stringify({ reference, outcome: what.outcome, ...payment.mined }));
  const observation: RailObservation = {
    ...what,
    id,
    reference,
    providerReference: payment.mined.hash,
    atMs: host.nowMs(),
    ...(what.outcome === 'returned' ? {} : { charges: listCharges(payment) }),
  };
  await host.receive({ id, channel: 'poll', raw, observations: [observation] });
}
