import type { Coin } from './coin-selection.ts';
import { getOutputWeight } from './coin-selection.ts';
import {
  askRate,
  type Composed,
  compose,
  listFreeCoins,
  noFeeMin,
  type PassContext,
} from './compose.ts';
import { getDepthNeeded } from './config.ts';
import { boundRate, getFeeMinor } from './fees.ts';
import { holdForgotten } from './forgotten.ts';
import {
  addTransaction,
  changeCounter,
  changeFamily,
  changePayment,
  type Family,
  type FamilyValue,
  formatFamilyKey,
  getCounter,
  listWaiting,
  type Payment,
  type Refusal,
  type Version,
} from './records.ts';

/**
 * Puts waiting payments together into a transaction. It is in the store, with the payments that it
 * pays, before anybody else sees it.
 */

export type BuildResult =
  | { readonly kind: 'built'; readonly family: Family }
  /** `dueAtMs`: when what waits is to be looked at again; undefined: nothing waits. */
  | { readonly kind: 'idle'; readonly dueAtMs: number | undefined };

export async function buildFamily(context: PassContext): Promise<BuildResult> {
  const { config, host } = context;
  const waiting = (await listWaiting(host.store)).toSorted(
    (left, right) => left.askedAtMs - right.askedAtMs,
  );
  const [oldest] = waiting;
  if (oldest === undefined) return { kind: 'idle', dueAtMs: undefined };
  const dueAtMs = oldest.askedAtMs + config.batch.waitSeconds * 1000;
  if (waiting.length < config.batch.payoutsMax && host.nowMs() < dueAtMs) {
    return { kind: 'idle', dueAtMs };
  }
  const counter = await getCounter(host.store);
  const coins = await listFreeCoins(context);
  const changeScript = await context.signer.getChangeScript(counter.nextNumber);
  const { composed, batch } = await composeBatch(context, {
    coins,
    changeScript,
    waiting: await holdForgotten(context, waiting),
  });
  if (composed.kind !== 'composed') {
    const fields = { waiting: waiting.length, coins: coins.length, why: composed.kind };
    context.note('warn', 'no waiting payment can be made', fields);
    await refuseOverdue(context, waiting, composed.kind === 'poor' ? 'no_funds' : 'amount_refused');
    return { kind: 'idle', dueAtMs: undefined };
  }
  const key = formatFamilyKey(counter.nextNumber);
  const value = makeFamily(context, { batch, version: composed.version, changeScript });
  const isWritten = await host.store.write([
    changeCounter(counter, 1),
    changeFamily({ key, revision: 0 }, 'open', value),
    addTransaction(composed.version.txid, key),
    ...batch.map((payment) => changePayment(payment, 'sent', { ...payment, familyKey: key })),
  ]);
  // Another process was faster, or a payment was cancelled: the next pass sees what is left.
  if (!isWritten) return { kind: 'idle', dueAtMs: host.nowMs() };
  return { kind: 'built', family: { ...value, key, state: 'open', revision: 1 } };
}

type BatchPlan = {
  readonly coins: readonly Coin[];
  readonly changeScript: string;
  readonly waiting: readonly Payment[];
};

type Attempt = { readonly composed: Composed; readonly batch: readonly Payment[] };

/**
 * As many of the payments as the coins suffice for, the oldest first. Where those are too small for
 * what they would cost, the largest ones, so that many small payments never hold up the others.
 */
async function composeBatch(context: PassContext, plan: BatchPlan): Promise<Attempt> {
  const { asked, minimum, bounds } = await askRate(context, 0n);
  const rate = boundRate(asked, minimum, bounds);
  if (rate === undefined) return { composed: { kind: 'dear' }, batch: [] };
  const { waiting } = plan;
  const first = await shrinkBatch(context, { ...plan, rate }, waiting);
  if (first.composed.kind !== 'dear') return first;
  const byAmount = waiting.toSorted((left, right) =>
    left.amountMinor < right.amountMinor ? 1 : left.amountMinor > right.amountMinor ? -1 : 0,
  );
  return shrinkBatch(context, { ...plan, rate, isDearShrunk: true }, byAmount);
}

type ShrinkPlan = BatchPlan & { readonly rate: bigint; readonly isDearShrunk?: boolean };

/** Leaves out payments from the end until the rest can be made. */
async function shrinkBatch(
  context: PassContext,
  { coins, changeScript, rate, isDearShrunk = false }: ShrinkPlan,
  ranked: readonly Payment[],
): Promise<Attempt> {
  const { payoutsMax } = context.config.batch;
  let batch = takeAffordable(context, { coins, rate }, ranked).slice(0, payoutsMax);
  let composed: Composed = { kind: 'poor' };
  while (batch.length > 0) {
    composed = await compose(context, {
      payments: batch.map((payment) => describePayment(context, payment)),
      changeScript,
      mustSpend: [],
      coins,
      rate,
      feeMin: noFeeMin,
    });
    if (composed.kind === 'composed' || (composed.kind === 'dear' && !isDearShrunk)) break;
    batch = batch.slice(0, Math.floor(batch.length * 0.8));
  }
  if (composed.kind === 'composed' && batch.length < Math.min(ranked.length, payoutsMax)) {
    const fields = { waiting: ranked.length, paidNow: batch.length, coins: coins.length };
    context.note('warn', 'not all waiting payments can be made', fields);
  }
  return { composed, batch };
}

/** A larger payment that does not fit lets smaller ones pass; it is the first one in next time. */
function takeAffordable(
  { config }: PassContext,
  { coins, rate }: { coins: readonly Coin[]; rate: bigint },
  ranked: readonly Payment[],
): Payment[] {
  const amounts = coins
    .map(({ amountMinor }) => amountMinor)
    .toSorted((left, right) => (left < right ? 1 : left > right ? -1 : 0));
  let left = amounts.slice(0, config.coins.inputsMax).reduce((sum, amount) => sum + amount, 0n);
  return ranked.filter(({ amountMinor, script }) => {
    const cost = amountMinor + getFeeMinor(getOutputWeight(script), rate);
    if (cost >= left) return false;
    left -= cost;
    return true;
  });
}

function describePayment(
  { config }: PassContext,
  { reference, address, script, amountMinor }: Payment,
): FamilyValue['payments'][number] {
  const depthNeeded = getDepthNeeded(config.confirmations, amountMinor);
  return { reference, address, script, amountMinor, depthNeeded, isPaid: false };
}

type FamilyParts = { batch: readonly Payment[]; version: Version; changeScript: string };

function makeFamily(
  context: PassContext,
  { batch, version, changeScript }: FamilyParts,
): FamilyValue {
  return {
    changeScript,
    payments: batch.map((payment) => describePayment(context, payment)),
    versions: [version],
    sinceBlockHash: context.tip.hash,
    confirmed: null,
    displacedBy: null,
  };
}

/** What nobody can pay for in time is refused, so that it can go another way or back. */
async function refuseOverdue(
  { config, host }: PassContext,
  waiting: readonly Payment[],
  reason: Refusal,
): Promise<void> {
  const beforeMs = host.nowMs() - config.waitMaxSeconds * 1000;
  for (const payment of waiting.filter(({ askedAtMs }) => askedAtMs <= beforeMs)) {
    const { reference } = payment;
    const change = changePayment(payment, 'rejected', { ...payment, reason });
    // Whoever is told before this is written is told something that is not so yet.
    if (!(await host.store.write([change]))) continue;
    const atMs = host.nowMs();
    await host.receive({
      id: `refused:${reference}`,
      channel: 'poll',
      raw: Buffer.from(JSON.stringify({ reference, reason })),
      observations: [{ id: `refused:${reference}`, reference, outcome: 'rejected', reason, atMs }],
    });
  }
}
