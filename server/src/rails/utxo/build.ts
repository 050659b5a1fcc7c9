import type { Coin } from './coin-selection.ts';
import { getOutputWeight } from './coin-selection.ts';
import {
  type Composed,
  compose,
  listFreeCoins,
  noFeeMin,
  type PassContext,
  readRates,
} from './compose.ts';
import { getDepthNeeded } from './config.ts';
import { boundRate, getFeeMinor } from './fees.ts';
import { notifyRefused } from './notify.ts';
import {
  addTransaction,
  formatReplacementSetKey,
  type Refusal,
  type ReplacementSet,
  type ReplacementSetValue,
  type StoredPayment,
  setCounterKey,
} from './records.ts';
import { holdUnknownTransactions } from './unknown-transactions.ts';

/** Builds a transaction from waiting payments and records it before it is broadcast. */

export type BuildResult =
  | { readonly kind: 'built'; readonly set: ReplacementSet }
  /** `dueAtMs`: when waiting payments are due; undefined: none waits. */
  | { readonly kind: 'idle'; readonly dueAtMs: number | undefined };

/** Waiting payments examined in one pass. */
const waitingMax = 5000;

export async function buildReplacementSet(context: PassContext): Promise<BuildResult> {
  const { config, host, stores, payments } = context;
  const waiting = await listWaiting(context);
  const [oldest] = waiting;
  if (oldest === undefined) return { kind: 'idle', dueAtMs: undefined };
  const dueAtMs = oldest.value.askedAtMs + config.batch.waitSeconds * 1000;
  if (waiting.length < config.batch.payoutsMax && host.nowMs() < dueAtMs) {
    return { kind: 'idle', dueAtMs };
  }
  const counter = await stores.counters.read(setCounterKey);
  const coins = await listFreeCoins(context);
  const changeScript = await context.signer.getChangeScript(counter.next);
  const { composed, batch } = await composeBatch(context, {
    coins,
    changeScript,
    waiting: await holdUnknownTransactions(context, waiting),
  });
  if (composed.kind !== 'composed') {
    const fields = { waiting: waiting.length, coins: coins.length, why: composed.kind };
    context.note('warn', 'no waiting payment can be made', fields);
    const reason = composed.kind === 'insufficientFunds' ? 'no_funds' : 'amount_refused';
    await refuseOverdue(context, waiting, reason);
    return { kind: 'idle', dueAtMs: undefined };
  }
  const key = formatReplacementSetKey(counter.next);
  const { version } = composed;
  const value: ReplacementSetValue = {
    changeScript,
    payments: batch.map((payment) => describePayment(context, payment)),
    versions: [version],
    sinceBlockHash: context.tip.hash,
    confirmed: null,
    displacedBy: null,
  };
  const isWritten = await host.store.write([
    stores.counters.change(counter, counter.next + 1),
    stores.sets.change({ key, revision: 0 }, { state: 'open', value }),
    addTransaction(stores, version.txid, key),
    ...batch.flatMap((payment) =>
      payments.change(payment, {
        state: 'sent',
        value: { ...payment.value, replacementSetKey: key },
      }),
    ),
  ]);
  // Another process was faster, or a payment was canceled; the next pass continues.
  if (!isWritten) return { kind: 'idle', dueAtMs: host.nowMs() };
  return { kind: 'built', set: { ...value, key, state: 'open', revision: 1 } };
}

/** The oldest first. */
async function listWaiting({ payments }: PassContext): Promise<StoredPayment[]> {
  const waiting: StoredPayment[] = [];
  for await (const payment of payments.list({ state: 'waiting' })) {
    waiting.push(payment);
    if (waiting.length === waitingMax) break;
  }
  return waiting.toSorted((left, right) => left.value.askedAtMs - right.value.askedAtMs);
}

type BatchPlan = {
  readonly coins: readonly Coin[];
  readonly changeScript: string;
  readonly waiting: readonly StoredPayment[];
};

type Attempt = { readonly composed: Composed; readonly batch: readonly StoredPayment[] };

/**
 * As many payments as the coins cover, the oldest first. Where the fee is too high for those, the
 * largest ones, so that many small payments never block the others.
 */
async function composeBatch(context: PassContext, plan: BatchPlan): Promise<Attempt> {
  const { requested, minimum, bounds } = await readRates(context, 0n);
  const rate = boundRate(requested, minimum, bounds);
  if (rate === undefined) return { composed: { kind: 'feeTooHigh' }, batch: [] };
  const { waiting } = plan;
  const first = await shrinkBatch(context, { ...plan, rate }, waiting);
  if (first.composed.kind !== 'feeTooHigh') return first;
  const byAmount = waiting.toSorted((left, right) =>
    compareDescending(left.value.amountMinor, right.value.amountMinor),
  );
  return shrinkBatch(context, { ...plan, rate, isShrunkForFee: true }, byAmount);
}

type ShrinkPlan = BatchPlan & { readonly rate: bigint; readonly isShrunkForFee?: boolean };

/** Drops payments from the end until the rest can be made. */
async function shrinkBatch(
  context: PassContext,
  { coins, changeScript, rate, isShrunkForFee = false }: ShrinkPlan,
  ranked: readonly StoredPayment[],
): Promise<Attempt> {
  const { payoutsMax } = context.config.batch;
  let batch = takeAffordable(context, { coins, rate }, ranked).slice(0, payoutsMax);
  let composed: Composed = { kind: 'insufficientFunds' };
  while (batch.length > 0) {
    composed = await compose(context, {
      payments: batch.map((payment) => describePayment(context, payment)),
      changeScript,
      mustSpend: [],
      coins,
      rate,
      feeMin: noFeeMin,
    });
    if (composed.kind === 'composed' || (composed.kind === 'feeTooHigh' && !isShrunkForFee)) break;
    batch = batch.slice(0, Math.floor(batch.length * 0.8));
  }
  if (composed.kind === 'composed' && batch.length < Math.min(ranked.length, payoutsMax)) {
    const fields = { waiting: ranked.length, paidNow: batch.length, coins: coins.length };
    context.note('warn', 'not all waiting payments can be made', fields);
  }
  return { composed, batch };
}

/** A payment that the coins do not cover is skipped; it comes first in the next batch. */
function takeAffordable(
  { config }: PassContext,
  { coins, rate }: { coins: readonly Coin[]; rate: bigint },
  ranked: readonly StoredPayment[],
): StoredPayment[] {
  const amounts = coins.map(({ amountMinor }) => amountMinor).toSorted(compareDescending);
  let left = amounts.slice(0, config.coins.inputsMax).reduce((sum, amount) => sum + amount, 0n);
  return ranked.filter(({ value: { amountMinor, script } }) => {
    const cost = amountMinor + getFeeMinor(getOutputWeight(script), rate);
    if (cost >= left) return false;
    left -= cost;
    return true;
  });
}

function compareDescending(left: bigint, right: bigint): number {
  return left < right ? 1 : left > right ? -1 : 0;
}

function describePayment(
  { config }: PassContext,
  { key: reference, value: { address, script, amountMinor } }: StoredPayment,
): ReplacementSetValue['payments'][number] {
  const depthNeeded = getDepthNeeded(config.confirmations, amountMinor);
  return { reference, address, script, amountMinor, depthNeeded, isPaid: false };
}

/** Payments that wait too long are rejected, so that they can fail over or be refunded. */
async function refuseOverdue(
  { config, host, payments }: PassContext,
  waiting: readonly StoredPayment[],
  reason: Refusal,
): Promise<void> {
  const beforeMs = host.nowMs() - config.waitMaxSeconds * 1000;
  for (const payment of waiting.filter(({ value }) => value.askedAtMs <= beforeMs)) {
    const value = { ...payment.value, reason };
    // Recorded first: a notification must not precede a rejection that may fail.
    if (!(await payments.write(payment, { state: 'rejected', value }))) continue;
    await notifyRefused(host, payment.key, reason);
  }
}
