import type { Address } from 'viem';
import { RpcError } from '../kit/json-rpc.ts';
import { isRevert } from './chain.ts';
import { findFeeLimits } from './config.ts';
import { addGasMargin, chooseOffer, type FeeMarket, type FeeOffer, isPayable } from './fees.ts';
import { type Funds, openFunds } from './funds.ts';
import { isUnchanged } from './order.ts';
import type { Pass } from './parts.ts';
import { describeAmount, makeTransfer, type Payment, type StoredPayment } from './payment.ts';
import { findRefusalReason, type RefusalReason } from './refusal.ts';
import { isRefusal, makePayload } from './transaction.ts';

/** Decides whether a waiting payment can be signed now, and with which fee. */

export type Plan =
  | { readonly kind: 'ready'; readonly gas: bigint; readonly offer: FeeOffer }
  | { readonly kind: 'waits'; readonly waitsFor: NonNullable<Payment['waitsFor']> }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  | { readonly kind: 'unchanged' };

type PlanContext = { readonly pass: Pass; readonly funds: Funds; readonly market: FeeMarket };

export async function prepare(signing: PlanContext, stored: StoredPayment): Promise<Plan> {
  const { pass, funds } = signing;
  const { value: payment, key: reference } = stored;
  if (!(await isConfigured(signing, payment))) {
    pass.host.log('error', 'a payment does not match the configuration of the rail', { reference });
    return { kind: 'unchanged' };
  }
  const transfer = makeTransfer(payment);
  if ((await funds.find(transfer.contract)) < transfer.units) return waitForFunds;
  const simulated = await simulateTransfer(pass, payment);
  if (typeof simulated !== 'bigint') return simulated;
  const gas = addGasMargin(simulated);
  const fee = planFee(signing, payment, gas);
  if (fee.kind !== 'ready') return fee;
  const coin = gas * fee.offer.maxFeePerGas + (transfer.contract === null ? transfer.units : 0n);
  return (await funds.find(null)) < coin ? waitForFunds : fee;
}

function planFee({ pass, market }: PlanContext, payment: Payment, gas: bigint): Plan {
  const limits = findFeeLimits(pass.config, pass.limits, describeAmount(payment));
  const offer = chooseOffer(limits, market, gas);
  if (offer !== undefined) return { kind: 'ready', gas, offer };
  // The amount is too small at any price of gas.
  if (isPayable(pass.limits, gas) && !isPayable(limits, gas)) {
    return { kind: 'refused', reason: 'amount_refused' };
  }
  const isByShare = chooseOffer(pass.limits, market, gas) !== undefined;
  return { kind: 'waits', waitsFor: isByShare ? 'fee_share' : 'gas_price' };
}

async function isConfigured({ pass, funds }: PlanContext, payment: Payment): Promise<boolean> {
  if (!isUnchanged(pass.config, pass.account.address, payment)) return false;
  const token = pass.config.tokens.find(({ currency }) => currency === payment.currency);
  return token === undefined || funds.hasDecimals(token.address, token.decimals);
}

const waitForFunds: Plan = { kind: 'waits', waitsFor: 'no_funds' };

/** The estimate uses the newest block, in which tokens may have left since the pass began. */
async function isStillCovered(pass: Pass, payment: Payment): Promise<boolean> {
  if (payment.contract === null) return true;
  const head = await pass.chain.getHead();
  const balance = await openFunds({ ...pass, head }, []).find(payment.contract);
  return balance >= payment.units;
}

/** Lets the node simulate the transfer, so that one that must fail costs nothing. */
async function simulateTransfer(pass: Pass, payment: Payment): Promise<bigint | Plan> {
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
      throw new RpcError(`${chain.endpoint} estimates less gas than the minimum`, {
        kind: 'garbage',
      });
    }
    return addGasMargin(gas) > limits.gasMax ? await refuse() : gas;
  } catch (error) {
    if (isRevert(error)) return (await isStillCovered(pass, payment)) ? refuse() : waitForFunds;
    if (error instanceof RpcError && error.kind === 'refused') return { kind: 'unchanged' };
    throw error;
  }
}
