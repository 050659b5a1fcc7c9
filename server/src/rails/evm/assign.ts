import type { FeeMarket } from './fees.ts';
import { type Funds, openFunds } from './funds.ts';
import { broadcast, sign } from './mempool.ts';
import { changeNonce, type NextNonce } from './nonce-records.ts';
import type { Pass } from './parts.ts';
import {
  changePayment,
  type KeptPayment,
  makeTransfer,
  type Payment,
  paymentCollection,
  readPayment,
} from './payment.ts';
import { type Plan, prepare } from './prepare.ts';
import type { RefusalReason } from './refusal.ts';
import { RpcError } from './rpc.ts';
import { findStray, listStrays, type Stray, takeStray } from './unknown-transactions.ts';

/** Signs what waits, as far as the account's funds, the fees and the network allow. */

type Desk = {
  readonly pass: Pass;
  readonly funds: Funds;
  readonly market: FeeMarket;
  readonly strays: Stray[];
  nonce: NextNonce;
  /** How many more may be signed. */
  room: number;
};

type Step = 'signed' | 'left' | 'conflict';

/** So many waiting payments are looked at in one pass. */
const lookMax = 100;

/** @returns whether more could be signed at once. */
export async function assignWaiting(
  pass: Pass,
  start: { readonly next: NextNonce; readonly unmined: readonly KeptPayment[] },
): Promise<boolean> {
  const room = pass.config.inFlightMax - start.unmined.length;
  if (room <= 0) return false;
  const { waiting, isBegunAnew } = await listWaiting(pass);
  if (waiting.length === 0) return false;
  const desk: Desk = {
    pass,
    funds: openFunds(pass, start.unmined),
    market: {
      baseFee: pass.head.baseFeePerGas,
      priorityFee: await pass.chain.suggestPriorityFee(),
    },
    strays: await listStrays(pass),
    nonce: start.next,
    room,
  };
  for (const [index, kept] of waiting.entries()) {
    if (desk.room === 0) return false;
    const step = await handle(desk, kept);
    if (step === 'conflict') return true;
    const isLast = index === waiting.length - 1;
    pass.memory.waitingAfter = isLast && waiting.length < lookMax ? '' : kept.reference;
  }
  // All of them were looked at: without a pause nothing would be otherwise.
  return waiting.length === lookMax && !isBegunAnew;
}

async function listWaiting({
  host,
  memory,
}: Pass): Promise<{ waiting: KeptPayment[]; isBegunAnew: boolean }> {
  const query = { state: 'waiting', count: lookMax };
  const after = memory.waitingAfter;
  const records = await host.store.list(paymentCollection, { ...query, after });
  if (records.length > 0 || after === '') {
    return { waiting: records.map(readPayment), isBegunAnew: false };
  }
  memory.waitingAfter = '';
  const first = await host.store.list(paymentCollection, query);
  return { waiting: first.map(readPayment), isBegunAnew: true };
}

/** A payment that something is wrong with stays where it is, and the others go on. */
async function handle(desk: Desk, kept: KeptPayment): Promise<Step> {
  try {
    return await assign(desk, kept);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    // Not its message, which may hold anything.
    const fault = error instanceof Error ? error.name : typeof error;
    const { reference } = kept;
    desk.pass.host.log('error', 'a payment cannot be signed', { reference, fault });
    return 'left';
  }
}

async function assign(desk: Desk, kept: KeptPayment): Promise<Step> {
  const { pass } = desk;
  const stray = findStray(pass.host, desk.strays, kept.payment);
  if (stray !== undefined) return adopt(desk, kept, stray);
  const plan = await prepare(desk, kept);
  switch (plan.kind) {
    case 'left':
      return 'left';
    case 'waits':
      return wait(pass, kept, plan.waitsFor);
    case 'refused':
      return refuse(pass, kept, plan.reason);
    case 'ready':
      return signAndSend(desk, kept, plan);
  }
}

async function wait(
  pass: Pass,
  kept: KeptPayment,
  waitsFor: NonNullable<Payment['waitsFor']>,
): Promise<Step> {
  const { payment, reference } = kept;
  const nowMs = pass.host.nowMs();
  const isForFee = waitsFor === 'fee_share';
  const sinceMs = payment.feeWaitSinceMs ?? nowMs;
  const waitMaxMs = pass.config.fees.waitMaxSeconds * 1000;
  if (isForFee && nowMs - sinceMs >= waitMaxMs) return refuse(pass, kept, 'amount_refused');
  if (payment.waitsFor === waitsFor) return 'left';
  pass.host.log('warn', 'a payment waits', { reference, for: waitsFor });
  const feeWaitSinceMs = isForFee ? sinceMs : null;
  const change = changePayment(kept, 'waiting', { ...payment, waitsFor, feeWaitSinceMs });
  await pass.host.store.write([change]);
  return 'left';
}

async function refuse(pass: Pass, kept: KeptPayment, reason: RefusalReason): Promise<Step> {
  // Not even signed, so that it never will be paid; the query or the sweeper learns of it.
  const change = changePayment(kept, 'rejected', { ...kept.payment, reason });
  if (await pass.host.store.write([change])) await tellRefused(pass, kept, reason);
  return 'left';
}

async function signAndSend(
  desk: Desk,
  kept: KeptPayment,
  plan: Extract<Plan, { kind: 'ready' }>,
): Promise<Step> {
  const { pass, funds, nonce } = desk;
  const attempt = await sign(pass, kept.payment, { nonce: nonce.next, ...plan });
  const payment: Payment = {
    ...kept.payment,
    nonce: nonce.next,
    attempts: [attempt],
    waitsFor: null,
  };
  const isWritten = await pass.host.store.write([
    changePayment(kept, 'signed', payment),
    changeNonce(nonce, nonce.next + 1),
  ]);
  // Somebody cancelled it, or another process is at work: these bytes are forgotten.
  if (!isWritten) return 'conflict';
  desk.nonce = { next: nonce.next + 1, revision: nonce.revision + 1 };
  desk.room -= 1;
  funds.take(null, plan.gas * plan.offer.maxFeePerGas);
  funds.take(makeTransfer(payment).contract, BigInt(payment.units));
  if (attempt.raw !== null) await broadcast(pass, kept.reference, attempt.raw);
  return 'signed';
}

/** The chain has it already: a transaction of this account that pays exactly what is ordered. */
async function adopt(desk: Desk, kept: KeptPayment, stray: Stray): Promise<Step> {
  const { pass, strays } = desk;
  const attempt = {
    hash: stray.hash,
    raw: null,
    gas: '0',
    maxFeePerGas: '0',
    maxPriorityFeePerGas: '0',
    signedAtMs: stray.minedAtMs,
  };
  const payment: Payment = { ...kept.payment, nonce: stray.nonce, attempts: [attempt] };
  const isWritten = await pass.host.store.write([
    changePayment(kept, 'signed', payment),
    takeStray(stray),
  ]);
  if (!isWritten) return 'conflict';
  strays.splice(strays.indexOf(stray), 1);
  pass.host.log('warn', 'a payment was found paid by a transaction that was not remembered', {
    reference: kept.reference,
    transaction: stray.hash,
  });
  return 'signed';
}

async function tellRefused(
  { host }: Pass,
  { reference }: KeptPayment,
  reason: RefusalReason,
): Promise<void> {
  const id = `${reference}:refused`;
  const raw = Buffer.from(JSON.stringify({ reference, outcome: 'rejected', reason }));
  const outcome = 'rejected' as const;
  const observations = [{ id, reference, outcome, reason, atMs: host.nowMs() }];
  await host.receive({ id, channel: 'poll', raw, observations });
}
