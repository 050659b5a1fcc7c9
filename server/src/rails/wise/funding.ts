import type { CallContext, Instruction, RailAnswer } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { readMinor } from '../kit/amounts.ts';
import type { Payment, PaymentValue } from './payments.ts';
import {
  completedPaymentsSchema,
  deliveryEstimateSchema,
  fundingSchema,
  type Transfer,
  transferSchema,
} from './protocol.ts';
import { noteStatus, readReturn } from './refunds.ts';
import { done, readStop, type Setup, type Step, unknown } from './setup.ts';
import { describeFee, isTransferOf, readStanding, refunded } from './states.ts';

/** The funding of a transfer from the balance, which pays, and its outcome. */

type Known = { readonly instruction: Instruction; readonly record: Payment };

/**
 * Funds the transfer. The record says so before the request leaves, with the revision that the caller
 * saw, so that of several processes one funds.
 */
export async function fundTransfer(
  setup: Setup,
  { instruction, record, transferId }: Known & { readonly transferId: string },
  context: CallContext,
): Promise<RailAnswer> {
  const { api, config, host, payments } = setup;
  if (isRateOver(setup, record)) return giveUp(setup, { instruction, record, transferId }, context);
  const fundingCount = record.value.fundingCount + 1;
  const value: PaymentValue = {
    ...record.value,
    transferId,
    fundingCount,
    fundedAtMs: host.realNowMs(),
  };
  if (!(await payments.write(record, { state: 'funding', value }))) return unknown('busy');
  const sent = { ...record, state: 'funding', revision: record.revision + 1, value } as const;
  const answer = await api(
    {
      method: 'POST',
      path: `/v3/profiles/${config.profileId}/transfers/${transferId}/payments`,
      body: { type: 'BALANCE' },
      isApproved: true,
    },
    fundingSchema,
    context,
  );
  if (answer.kind === 'answered' && answer.value.status === 'COMPLETED') {
    // Where another writer was faster, its record stays, and a query finds the funding.
    await payments.write(sent, { state: 'funded', value: { ...value, fundingCount: 0 } });
    return acceptTransfer(setup, { instruction, record: sent, transferId }, context);
  }
  if (answer.kind === 'answered') {
    const isShort = /insufficient/i.test(answer.value.errorCode ?? '');
    return undoFunding(
      setup,
      { instruction, record: sent },
      isShort ? 'no_funds' : 'payer_refused',
    );
  }
  if (answer.kind === 'unauthorized') {
    return undoFunding(setup, { instruction, record: sent }, 'not_configured');
  }
  if (answer.kind === 'unclear') return unknown(answer.reason, answer.retryAfterMs);
  return unknown('not_understood');
}

/**
 * A funding that was refused: `retry`, unless an earlier funding without an answer may still be carried
 * out. Wise refuses to fund a transfer twice, so a refusal does not prove that it is not funded.
 */
async function undoFunding(
  setup: Setup,
  { instruction, record }: Known,
  reason: Reason,
): Promise<RailAnswer> {
  const { value } = record;
  if (value.fundingCount > 1 || value.transferId === undefined) return unknown(reason);
  const { transferId } = value;
  const context = { signal: AbortSignal.timeout(setup.config.timeoutSeconds * 1000) };
  const found = await readTransfer(setup, { transferId, instruction }, context);
  if (found.kind === 'stopped' || readStanding(found.value.status) !== 'unfunded') {
    return unknown(reason);
  }
  const next = { state: 'open', value: { ...value, fundingCount: 0 } } as const;
  const isUndone = await setup.payments.write(record, next);
  return isUndone ? { outcome: 'retry', reason } : unknown(reason);
}

/** After that, Wise converts at a rate that was never quoted. */
function isRateOver({ config, host }: Setup, { value }: Payment): boolean {
  if (value.currency === config.sourceCurrency) return false;
  return (value.order?.fixedUntilMs ?? 0) <= host.realNowMs();
}

/** The transfer is too old to be funded at its price: it is canceled, which is final, and refused. */
async function giveUp(
  setup: Setup,
  { instruction, record, transferId }: Known & { readonly transferId: string },
  context: CallContext,
): Promise<RailAnswer> {
  const { reference } = instruction;
  setup.host.log('warn', 'the rate of a transfer expired before it was funded', { reference });
  if (!(await cancelAtWise(setup, transferId, context))) return unknown('no_answer');
  const value = { ...record.value, transferId };
  return refusePayment(
    setup,
    { ...record, value },
    { reason: 'price_worse', code: 'rate.expired' },
  );
}

async function refusePayment(
  { payments }: Setup,
  record: Payment,
  { reason, code }: { readonly reason: Reason; readonly code: string },
): Promise<RailAnswer> {
  const value = { ...record.value, reason, code };
  const isWritten = await payments.write(record, { state: 'refused', value });
  return isWritten ? { outcome: 'rejected', reason, code } : unknown('busy');
}

/** Whether the transfer is canceled for certain; never funded, or its money goes back. */
export async function cancelAtWise(
  { api }: Setup,
  transferId: string,
  context: CallContext,
): Promise<boolean> {
  const path = `/v1/transfers/${transferId}/cancel`;
  const answer = await api({ method: 'PUT', path }, transferSchema, context);
  if (answer.kind !== 'answered' || answer.value.id !== transferId) return false;
  return readStanding(answer.value.status) === 'cancelled';
}

export async function readTransfer(
  { api, host }: Setup,
  asked: { readonly transferId: string; readonly instruction: Instruction },
  context: CallContext,
): Promise<Step<Transfer>> {
  const { transferId, instruction } = asked;
  const { reference } = instruction;
  const path = `/v1/transfers/${transferId}`;
  const answer = await api({ method: 'GET', path }, transferSchema, context);
  if (answer.kind !== 'answered') return readStop(answer, 'not_understood');
  const { id, customerTransactionId, targetCurrency } = answer.value;
  const isSame =
    id === transferId &&
    customerTransactionId === reference &&
    targetCurrency === instruction.currency;
  if (isSame) return done(answer.value);
  host.log('error', 'the answer is about another transfer', { reference });
  return { kind: 'stopped', stop: { kind: 'later', reason: 'not_understood' } };
}

/** The state of a payment for which a funding may have left. */
export async function followTransfer(
  setup: Setup,
  known: Known,
  context: CallContext,
): Promise<RailAnswer> {
  const { instruction, record } = known;
  const { transferId, order } = record.value;
  if (transferId === undefined) return unknown('not_understood');
  const found = await readTransfer(setup, { transferId, instruction }, context);
  if (found.kind === 'stopped') {
    const { stop } = found;
    return unknown(stop.reason, stop.kind === 'later' ? stop.retryAfterMs : undefined);
  }
  const transfer = found.value;
  const extras = {
    providerReference: transferId,
    ...describeFee(order?.feeMinor, setup.config.sourceCurrency),
  };
  switch (readStanding(transfer.status)) {
    case 'paid': {
      const amountMinor = readMinor(transfer.targetValue, instruction.currency);
      if (amountMinor === undefined || amountMinor === 0n) return unknown('not_understood');
      return { outcome: 'paid', amountMinor, ...extras };
    }
    case 'refunded':
      return answerRefunded(setup, transferId, extras);
    case 'under_way':
      return acceptTransfer(setup, { ...known, transferId }, context);
    case 'cancelled':
      return readCancelled(setup, { ...known, transferId }, context);
    case 'unfunded':
      return resumeFunding(setup, { ...known, transfer }, context);
    case undefined:
      setup.host.log('error', 'a transfer has a status that is not known', {
        reference: instruction.reference,
        status: transfer.status,
      });
      return { outcome: 'unknown', reason: 'not_understood', providerReference: transferId };
  }
}

/** Until its amount is known, or a person decides, what came back of a payment over SWIFT is unknown. */
async function answerRefunded(
  { config: { sourceCurrency }, host }: Setup,
  transferId: string,
  extras: Pick<RailAnswer, 'providerReference' | 'charges'>,
): Promise<RailAnswer> {
  const noted = await noteStatus({ host, sourceCurrency }, transferId);
  const returned = noted && readReturn(noted.value, sourceCurrency);
  return returned === undefined
    ? { outcome: 'unknown', reason: 'no_answer', code: refunded, ...extras }
    : { outcome: 'returned', reason: 'sent_back', ...returned, ...extras };
}

/** Never funded: refused. Funded: under way until the money is back (`funds_refunded`). */
async function readCancelled(
  setup: Setup,
  { instruction, record, transferId }: Known & { readonly transferId: string },
  context: CallContext,
): Promise<RailAnswer> {
  const funded = await isFunded(setup, transferId, context);
  if (funded === undefined) return unknown('no_answer');
  if (funded || record.state === 'funded') {
    return acceptTransfer(setup, { instruction, record, transferId }, context);
  }
  return refusePayment(setup, record, { reason: 'payer_refused', code: 'cancelled' });
}

/**
 * The transfer waits for its money although a funding has left. It is repeated when the earlier one has
 * had the time to arrive: a transfer pays once, however often its funding is asked for.
 */
async function resumeFunding(
  setup: Setup,
  { instruction, record, transfer }: Known & { readonly transfer: Transfer },
  context: CallContext,
): Promise<RailAnswer> {
  const { config, host } = setup;
  const transferId = transfer.id;
  // Its status follows the funding with a delay; a batch group is funded again by passes.
  if (record.state === 'funded' || record.value.groupKey !== undefined)
    return acceptTransfer(setup, { instruction, record, transferId }, context);
  const agedMs = host.realNowMs() - record.value.fundedAtMs;
  if (agedMs < config.fundingSeconds * 1000 || !isTransferOf(transfer, instruction)) {
    return unknown('no_answer');
  }
  const funded = await isFunded(setup, transferId, context);
  if (funded === undefined) return unknown('no_answer');
  if (funded) return acceptTransfer(setup, { instruction, record, transferId }, context);
  if (context.isStopped === true) return unknown('no_answer');
  return fundTransfer(setup, { instruction, record, transferId }, context);
}

/** Whether Wise lists a completed payment for the transfer; undefined without a definite answer. */
export async function isFunded(
  { api }: Setup,
  transferId: string,
  context: CallContext,
): Promise<boolean | undefined> {
  const path = `/v1/transfers/${transferId}/payments`;
  const answer = await api({ method: 'GET', path }, completedPaymentsSchema, context);
  return answer.kind === 'answered' ? answer.value.length > 0 : undefined;
}

/** After the estimated arrival the status has had time to change. */
const estimateMarginMs = 60_000;
const estimateMsMax = 14 * 86_400_000;

/** Accepted, to be queried when Wise expects it to have arrived. */
async function acceptTransfer(
  { api, config, host }: Setup,
  { record, transferId }: Known & { readonly transferId: string },
  context: CallContext,
): Promise<RailAnswer> {
  const path = `/v1/delivery-estimates/${transferId}`;
  const answer = await api({ method: 'GET', path }, deliveryEstimateSchema, context);
  const extras = {
    providerReference: transferId,
    ...describeFee(record.value.order?.feeMinor, config.sourceCurrency),
  };
  if (answer.kind !== 'answered') return { outcome: 'accepted', ...extras };
  // Wise's clock is real time, and the environment's may be ahead.
  const waitMs = answer.value.estimatedDeliveryDate - host.realNowMs();
  const checkAtMs = host.nowMs() + Math.min(Math.max(waitMs, 0), estimateMsMax) + estimateMarginMs;
  return { outcome: 'accepted', checkAtMs, ...extras };
}
