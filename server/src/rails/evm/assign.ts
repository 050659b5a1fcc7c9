import type { Counter } from '../kit/counters.ts';
import { RpcError } from '../kit/json-rpc.ts';
import type { FeeMarket } from './fees.ts';
import { type Funds, openFunds } from './funds.ts';
import { broadcast, sign } from './mempool.ts';
import type { Pass } from './parts.ts';
import type { Payment, StoredPayment } from './payment.ts';
import { type Plan, prepare } from './prepare.ts';
import type { RefusalReason } from './refusal.ts';
import { findUnknownTransaction, type UnknownTransaction } from './unknown-transactions.ts';

/** Assigns nonces to waiting payments and signs them, within funds, fee limits and `inFlightMax`. */

type SigningContext = {
  readonly pass: Pass;
  readonly funds: Funds;
  readonly market: FeeMarket;
  readonly unknownTransactions: UnknownTransaction[];
  nonce: Counter;
  /** How many more transactions may be in flight. */
  room: number;
};

type Step = 'signed' | 'unchanged' | 'conflict';

/** Waiting payments examined in one pass. */
const pageSize = 100;

/** @returns whether more payments could be signed without a pause. */
export async function assignWaiting(
  pass: Pass,
  start: { readonly next: Counter; readonly unmined: readonly StoredPayment[] },
): Promise<boolean> {
  const room = pass.config.inFlightMax - start.unmined.length;
  if (room <= 0) return false;
  const { waiting, isRestarted } = await listWaiting(pass);
  if (waiting.length === 0) return false;
  const signing: SigningContext = {
    pass,
    funds: openFunds(pass, start.unmined),
    market: {
      baseFee: pass.head.baseFeePerGas,
      priorityFee: await pass.chain.suggestPriorityFee(),
    },
    unknownTransactions: await Array.fromAsync(pass.unknownTransactions.list({ state: 'open' })),
    nonce: start.next,
    room,
  };
  for (const [index, stored] of waiting.entries()) {
    if (signing.room === 0) return false;
    const step = await handle(signing, stored);
    if (step === 'conflict') return true;
    const isLast = index === waiting.length - 1;
    pass.progress.waitingAfter = isLast && waiting.length < pageSize ? '' : stored.key;
  }
  // After a full round nothing changes until the next block.
  return waiting.length === pageSize && !isRestarted;
}

async function listWaiting({
  payments,
  progress,
}: Pass): Promise<{ waiting: readonly StoredPayment[]; isRestarted: boolean }> {
  const query = { state: 'waiting', count: pageSize } as const;
  const after = progress.waitingAfter;
  const waiting = await payments.page({ ...query, after });
  if (waiting.length > 0 || after === '') return { waiting, isRestarted: false };
  progress.waitingAfter = '';
  return { waiting: await payments.page(query), isRestarted: true };
}

/** A payment that fails stays as it is and does not stop the others. */
async function handle(signing: SigningContext, stored: StoredPayment): Promise<Step> {
  try {
    return await assign(signing, stored);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    // Without the message, which may contain addresses.
    const fault = error instanceof Error ? error.name : typeof error;
    signing.pass.host.log('error', 'signing a payment failed', { reference: stored.key, fault });
    return 'unchanged';
  }
}

async function assign(signing: SigningContext, stored: StoredPayment): Promise<Step> {
  const { pass } = signing;
  const unknown = findUnknownTransaction(pass.host, signing.unknownTransactions, stored.value);
  if (unknown !== undefined) return adopt(signing, stored, unknown);
  const plan = await prepare(signing, stored);
  switch (plan.kind) {
    case 'unchanged':
      return 'unchanged';
    case 'waits':
      return wait(pass, stored, plan.waitsFor);
    case 'refused':
      return refuse(pass, stored, plan.reason);
    case 'ready':
      return signAndSend(signing, stored, plan);
  }
}

async function wait(
  pass: Pass,
  stored: StoredPayment,
  waitsFor: NonNullable<Payment['waitsFor']>,
): Promise<Step> {
  const { key: reference, value } = stored;
  const nowMs = pass.host.nowMs();
  const isForFee = waitsFor === 'fee_share';
  const sinceMs = value.feeWaitSinceMs ?? nowMs;
  const waitMaxMs = pass.config.fees.waitMaxSeconds * 1000;
  if (isForFee && nowMs - sinceMs >= waitMaxMs) return refuse(pass, stored, 'amount_refused');
  if (value.waitsFor === waitsFor) return 'unchanged';
  pass.host.log('warn', 'payment waits', { reference, for: waitsFor });
  const feeWaitSinceMs = isForFee ? sinceMs : null;
  await pass.payments.write(stored, {
    state: 'waiting',
    value: { ...value, waitsFor, feeWaitSinceMs },
  });
  return 'unchanged';
}

/** The payment was never signed, so it can never be paid. */
async function refuse(pass: Pass, stored: StoredPayment, reason: RefusalReason): Promise<Step> {
  const next = { state: 'rejected', value: { ...stored.value, reason } } as const;
  if (await pass.payments.write(stored, next)) await notifyRefused(pass, stored, reason);
  return 'unchanged';
}

async function signAndSend(
  signing: SigningContext,
  stored: StoredPayment,
  plan: Extract<Plan, { kind: 'ready' }>,
): Promise<Step> {
  const { pass, funds, nonce } = signing;
  const attempt = await sign(pass, stored.value, { nonce: nonce.next, ...plan });
  const value = { ...stored.value, nonce: nonce.next, attempts: [attempt], waitsFor: null };
  const isWritten = await pass.host.store.write([
    ...pass.payments.change(stored, { state: 'signed', value }),
    pass.nonces.change(nonce, nonce.next + 1),
  ]);
  // It was canceled, or another process changed it: the signed bytes are discarded.
  if (!isWritten) return 'conflict';
  signing.nonce = { ...nonce, next: nonce.next + 1, revision: nonce.revision + 1 };
  signing.room -= 1;
  funds.take(null, plan.gas * plan.offer.maxFeePerGas);
  funds.take(value.contract, value.units);
  if (attempt.raw !== null) await broadcast(pass, stored.key, attempt.raw);
  return 'signed';
}

/** Links the payment to a transaction on the chain that already paid exactly this. */
async function adopt(
  { pass, unknownTransactions }: SigningContext,
  stored: StoredPayment,
  unknown: UnknownTransaction,
): Promise<Step> {
  const { hash, nonce, minedAtMs: signedAtMs } = unknown.value;
  const fees = { gas: 0n, maxFeePerGas: 0n, maxPriorityFeePerGas: 0n };
  const attempts = [{ hash, raw: null, ...fees, signedAtMs }];
  const isWritten = await pass.host.store.write([
    ...pass.payments.change(stored, {
      state: 'signed',
      value: { ...stored.value, nonce, attempts },
    }),
    pass.unknownTransactions.change(unknown, { state: 'taken', value: unknown.value }),
  ]);
  if (!isWritten) return 'conflict';
  unknownTransactions.splice(unknownTransactions.indexOf(unknown), 1);
  pass.host.log('warn', 'an unknown transaction was matched to a payment', {
    reference: stored.key,
    transaction: hash,
  });
  return 'signed';
}

async function notifyRefused(
  { host }: Pass,
  { key: reference }: StoredPayment,
  reason: RefusalReason,
): Promise<void> {
  const id = `${reference}:refused`;
  const raw = Buffer.from(JSON.stringify({ reference, outcome: 'rejected', reason }));
  const outcome = 'rejected' as const;
  const observations = [{ id, reference, outcome, reason, atMs: host.nowMs() }];
  await host.receive({ id, channel: 'poll', raw, observations });
}
