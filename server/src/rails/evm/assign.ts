import type { Address } from 'viem';
import { isRevert } from './chain.ts';
import { addGasMargin, chooseOffer, type FeeMarket, type FeeOffer } from './fees.ts';
import { type Funds, openFunds } from './funds.ts';
import { broadcast, sign } from './mempool.ts';
import {
  changeNonce,
  findStray,
  listStrays,
  type NextNonce,
  type Stray,
  takeStray,
} from './nonces.ts';
import { isStillRight } from './order.ts';
import type { Pass } from './parts.ts';
import {
  changePayment,
  type KeptPayment,
  makeTransfer,
  type Payment,
  paymentCollection,
  readPayment,
} from './payment.ts';
import { RpcError } from './rpc.ts';
import { isRefusal, makePayload } from './transaction.ts';

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
    case 'waits': {
      const { waitsFor } = plan;
      if (kept.payment.waitsFor === waitsFor) return 'left';
      pass.host.log('warn', 'a payment waits', { reference: kept.reference, for: waitsFor });
      const change = changePayment(kept, 'waiting', { ...kept.payment, waitsFor });
      await pass.host.store.write([change]);
      return 'left';
    }
    case 'refused': {
      const { reason } = plan;
      // Not even signed, so that it never will be paid; the query or the sweeper learns of it.
      const change = changePayment(kept, 'rejected', { ...kept.payment, reason });
      if (await pass.host.store.write([change])) await tellRefused(pass, kept, reason);
      return 'left';
    }
    case 'ready':
      return signAndSend(desk, kept, plan);
  }
}

type Plan =
  | { readonly kind: 'ready'; readonly gas: bigint; readonly offer: FeeOffer }
  | { readonly kind: 'waits'; readonly waitsFor: 'no_funds' | 'gas_price' }
  | { readonly kind: 'refused'; readonly reason: 'recipient_refused' | 'payer_refused' }
  | { readonly kind: 'left' };

async function prepare(desk: Desk, kept: KeptPayment): Promise<Plan> {
  const { pass, funds } = desk;
  const { payment, reference } = kept;
  if (!(await isConfigured(desk, payment))) {
    pass.host.log('error', 'a payment does not fit the rail as it is configured', { reference });
    return { kind: 'left' };
  }
  const transfer = makeTransfer(payment);
  if ((await funds.find(transfer.contract)) < transfer.units) return waitForFunds;
  const tried = await tryTransfer(pass, payment);
  if (typeof tried !== 'bigint') return tried;
  const gas = addGasMargin(tried);
  const offer = chooseOffer(pass.limits, desk.market, gas);
  if (offer === undefined) return { kind: 'waits', waitsFor: 'gas_price' };
  const coin = gas * offer.maxFeePerGas + (transfer.contract === null ? transfer.units : 0n);
  if ((await funds.find(null)) < coin) return waitForFunds;
  return { kind: 'ready', gas, offer };
}

async function isConfigured({ pass, funds }: Desk, payment: Payment): Promise<boolean> {
  if (!isStillRight(pass.config, pass.account.address, payment)) return false;
  const token = pass.config.tokens.find(({ currency }) => currency === payment.currency);
  return token === undefined || funds.hasDecimals(token.address, token.decimals);
}

const waitForFunds: Plan = { kind: 'waits', waitsFor: 'no_funds' };

/** The estimate is as of the newest block, in which a token may have left since the pass began. */
async function isStillCovered(pass: Pass, payment: Payment): Promise<boolean> {
  if (payment.contract === null) return true;
  const head = await pass.chain.getHead();
  const balance = await openFunds({ ...pass, head }, []).find(payment.contract);
  return balance >= BigInt(payment.units);
}

/** Lets the node try the transfer, so that one that fails for certain costs nothing. */
async function tryTransfer(pass: Pass, payment: Payment): Promise<bigint | Plan> {
  const { chain, head, limits } = pass;
  const isToken = payment.contract !== null;
  const refused: Plan = {
    kind: 'refused',
    reason: isToken ? 'payer_refused' : 'recipient_refused',
  };
  const from: Address = pass.account.address;
  const payload = makePayload(makeTransfer(payment));
  try {
    if (isToken) {
      const { to, data } = payload;
      if (isRefusal(await chain.call({ from, to, data }, head.number))) return refused;
    }
    const gas = await chain.estimateGas({ from, ...payload });
    if (gas < 21_000n) {
      throw new RpcError(`${chain.endpoint} estimates less gas than there is`, { kind: 'garbage' });
    }
    return addGasMargin(gas) > limits.gasMax ? refused : gas;
  } catch (error) {
    if (isRevert(error)) return (await isStillCovered(pass, payment)) ? refused : waitForFunds;
    if (error instanceof RpcError && error.kind === 'refused') return { kind: 'left' };
    throw error;
  }
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
  reason: 'recipient_refused' | 'payer_refused',
): Promise<void> {
  const id = `${reference}:refused`;
  const raw = Buffer.from(JSON.stringify({ reference, outcome: 'rejected', reason }));
  const outcome = 'rejected' as const;
  const observations = [{ id, reference, outcome, reason, atMs: host.nowMs() }];
  await host.hear({ id, channel: 'poll', raw, observations });
}
