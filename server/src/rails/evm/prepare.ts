import type { Address } from 'viem';
import { isRevert } from './chain.ts';
import { findFeeLimits } from './config.ts';
import { addGasMargin, chooseOffer, type FeeMarket, type FeeOffer, isPayable } from './fees.ts';
import { type Funds, openFunds } from './funds.ts';
import { isStillRight } from './order.ts';
import type { Pass } from './parts.ts';
import { describeAmount, type KeptPayment, makeTransfer, type Payment } from './payment.ts';
import { findRefusalReason, type RefusalReason } from './refusal.ts';
import { RpcError } from './rpc.ts';
import { isRefusal, makePayload } from './transaction.ts';

/** Whether a waiting payment can be signed now, and for what fee. */

export type Plan =
  | { readonly kind: 'ready'; readonly gas: bigint; readonly offer: FeeOffer }
  | { readonly kind: 'waits'; readonly waitsFor: NonNullable<Payment['waitsFor']> }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'left' };

type Desk = { readonly pass: Pass; readonly funds: Funds; readonly market: FeeMarket };

export async function prepare(desk: Desk, kept: KeptPayment): Promise<Plan> {
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
  const fee = planFee(desk, payment, gas);
  if (fee.kind !== 'ready') return fee;
  const coin = gas * fee.offer.maxFeePerGas + (transfer.contract === null ? transfer.units : 0n);
  return (await funds.find(null)) < coin ? waitForFunds : fee;
}

function planFee({ pass, market }: Desk, payment: Payment, gas: bigint): Plan {
  const limits = findFeeLimits(pass.config, pass.limits, describeAmount(payment));
  const offer = chooseOffer(limits, market, gas);
  if (offer !== undefined) return { kind: 'ready', gas, offer };
  // Too small an amount to be paid at any price of gas.
  if (isPayable(pass.limits, gas) && !isPayable(limits, gas)) {
    return { kind: 'refused', reason: 'amount_refused' };
  }
  const isByShare = chooseOffer(pass.limits, market, gas) !== undefined;
  return { kind: 'waits', waitsFor: isByShare ? 'fee_share' : 'gas_price' };
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
  const refuse = async (): Promise<Plan> => ({
    kind: 'refused',
    reason: await findRefusalReason(pass, payment),
  });
  const from: Address = pass.account.address;
  const payload = makePayload(makeTransfer(payment));
  try {
    if (payment.contract !== null) {
      const { to, data } = payload;
      if (isRefusal(await chain.call({ from, to, data }, head.number))) return await refuse();
    }
    const gas = await chain.estimateGas({ from, ...payload });
    if (gas < 21_000n) {
      throw new RpcError(`${chain.endpoint} estimates less gas than there is`, { kind: 'garbage' });
    }
    return addGasMargin(gas) > limits.gasMax ? await refuse() : gas;
  } catch (error) {
    if (isRevert(error)) return (await isStillCovered(pass, payment)) ? refuse() : waitForFunds;
    if (error instanceof RpcError && error.kind === 'refused') return { kind: 'left' };
    throw error;
  }
}
