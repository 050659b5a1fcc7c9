import type { CallContext, Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import { parseJson } from '../kit/answers.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import type { AdyenApi } from './adyen-api.ts';
import { type AdyenConfig, type PayerOptions, readPayerOptions } from './config.ts';
import { type CounterpartyResult, describeCounterparty } from './counterparty.ts';
import type { ApiResult } from './http-client.ts';
import { isAmount, isFeeTransfer } from './money-moves.ts';
import { createOrder, hashTarget, matchesInstruction, type Order, orderSchema } from './order.ts';
import { describeAnswer, readRefusal, readTransfer } from './outcomes.ts';
import { markKnown, type PaymentRecord, type Payments } from './payments.ts';
import type { ReturnBook } from './returns.ts';
import { problemSchema, serviceErrorSchema, type Transfer, transferSchema } from './wire.ts';

/**
 * Orders and queries of single payments. A reference is one payment for ever: it is the idempotency
 * key of its order, and the text of the order never changes.
 */

export type Setup = {
  readonly config: AdyenConfig;
  readonly host: RailHost;
  readonly api: AdyenApi;
  readonly payments: Payments;
  readonly returns: ReturnBook;
};

const dayMs = 24 * 3_600_000;

/**
 * Adyen stores an idempotency key for 31 days at least. An order is not repeated after this time, so
 * that one under a forgotten key cannot be a second payment.
 */
const keyMs = 28 * dayMs;

/** After this time an order that was sent has been processed or will never arrive. */
const settledMs = 5 * 60_000;

/** Clocks differ, and transfers are listed by the time of Adyen's clock. */
const clockMarginMs = 3_600_000;

/** Undefined where the payer is no longer configured. */
export function findOptions(host: RailHost, payerKey: string): PayerOptions | undefined {
  const payer = host.payers.find(({ key }) => key === payerKey);
  const read = payer && readPayerOptions(payer);
  return read?.ok === true ? read.options : undefined;
}

/** Undefined where the payer is no longer configured. */
export function describeRecipient(
  host: RailHost,
  instruction: Instruction,
): CounterpartyResult | undefined {
  const options = findOptions(host, instruction.payerKey);
  return options && describeCounterparty(instruction, options);
}

export const send: RailCall<Setup> = async (setup, instruction, context) => {
  const { config, host, payments } = setup;
  const options = findOptions(host, instruction.payerKey);
  const recipient = options && describeCounterparty(instruction, options);
  if (options === undefined || recipient?.ok !== true) {
    return await refuseDraft(setup, instruction, context);
  }
  const order = createOrder(instruction, recipient.counterparty, { config, options });
  const target = hashTarget(recipient.counterparty);
  const nowMs = host.realNowMs();
  const value = {
    ...describeMoney(instruction),
    target,
    body: JSON.stringify(order),
    sends: 1,
    firstSentAtMs: nowMs,
    lastSentAtMs: nowMs,
  };
  const first = { state: 'sending', value: { ...blankValue, ...value } } as const;
  const { isNew } = await payments.enter(instruction, first);
  if (isNew) return await placeOrder(setup, instruction, context);
  const again = await payments.update(instruction.reference, (record) =>
    record?.state === 'idle' && record.value.target === target ? first : undefined,
  );
  if (again.isChanged) return await placeOrder(setup, instruction, context);
  return await query(setup, instruction, context);
};

const blankValue = {
  target: '',
  body: '',
  sends: 0,
  firstSentAtMs: 0,
  lastSentAtMs: 0,
  earlierSentAtMs: 0,
  reports: 0,
  transferId: '',
  reported: '',
  reason: 'other',
  code: '',
} as const;

function describeMoney({ amountMinor, currency }: Instruction) {
  return { amountMinor, currency };
}

/** No order can be written. The payment is refused for ever, unless an order has left before. */
const refuseDraft: RailCall<Setup> = async (setup, instruction, context) => {
  const { payments, host } = setup;
  const known = await payments.answer(instruction);
  if (known !== undefined) return await query(setup, instruction, context);
  const isConfigured = findOptions(host, instruction.payerKey) !== undefined;
  if (!isConfigured) return { outcome: 'retry', reason: 'not_configured' };
  const value = {
    ...blankValue,
    ...describeMoney(instruction),
    reason: 'invalid_details',
  } as const;
  const { answer } = await payments.enter(instruction, { state: 'refused', value });
  return answer.outcome === 'rejected' ? answer : { outcome: 'unknown', reason: 'not_readable' };
};

export const query: RailCall<Setup> = async (setup, instruction, context) => {
  const looked = await lookUp(setup, instruction, context);
  if (looked !== 'not_listed') return looked;
  if (context.isStopped === true) return { outcome: 'unknown', reason: 'no_answer' };
  return await repeatOrder(setup, instruction, context);
};

/** The state of a payment; `not_listed`: an order may have left, and Adyen lists no transfer. */
async function lookUp(
  setup: Setup,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer | 'not_listed'> {
  const { payments } = setup;
  const known = await payments.answer(instruction);
  // An order leaves after its record is stored.
  if (known === undefined) return { outcome: 'retry', reason: 'unreachable' };
  if (known.outcome !== 'accepted') return known;
  const record = await payments.find(instruction.reference);
  if (record === undefined) return { outcome: 'unknown', reason: 'no_answer' };
  const found = await findTransfer(setup, record, context);
  if (found.kind === 'found') return await settle(setup, instruction, found.transfer);
  return found.kind === 'unclear' ? describeNoAnswer(found.result) : 'not_listed';
}

type Found =
  | { readonly kind: 'found'; readonly transfer: Transfer }
  | { readonly kind: 'none' }
  | { readonly kind: 'unclear'; readonly result: ApiResult };

/** By its ID where that is known, else by the reference. */
async function findTransfer(
  { api, host }: Setup,
  { key, value }: PaymentRecord,
  { signal }: CallContext,
): Promise<Found> {
  if (value.transferId !== '') {
    const result = await api.getTransfer(value.transferId, signal);
    const transfer = readOk(result);
    return transfer === undefined ? { kind: 'unclear', result } : { kind: 'found', transfer };
  }
  const nowMs = host.realNowMs();
  const page = await api.listTransfers(
    {
      reference: key,
      createdSinceMs: value.firstSentAtMs - clockMarginMs,
      createdUntilMs: Math.min(nowMs, value.firstSentAtMs + 150 * dayMs),
    },
    signal,
  );
  if (!page.ok) return { kind: 'unclear', result: page.result };
  // Whatever else the list has, it is searched for the reference here again.
  const matches = page.transfers.filter(
    ({ transfer }) => transfer.reference === key && !isFeeTransfer(transfer),
  );
  const [first] = matches;
  if (matches.length > 1 || page.unreadable.length > 0) {
    host.log('error', 'several transfers match the reference', {
      reference: key,
      count: matches.length,
    });
    return { kind: 'unclear', result: { kind: 'unclear' } };
  }
  return first === undefined ? { kind: 'none' } : { kind: 'found', transfer: first.transfer };
}

function readOk(result: ApiResult): Transfer | undefined {
  if (result.kind !== 'answered' || result.status < 200 || result.status > 202) return undefined;
  const transfer = transferSchema.safeParse(result.json);
  return transfer.success ? transfer.data : undefined;
}

/** The order is repeated under its key, so that only one of them counts. */
const repeatOrder: RailCall<Setup> = async (setup, instruction, context) => {
  const nowMs = setup.host.realNowMs();
  const { reference } = instruction;
  const { record, isChanged } = await setup.payments.update(reference, (current) => {
    if (current?.state !== 'sending' || nowMs - current.value.firstSentAtMs > keyMs)
      return undefined;
    const { sends, lastSentAtMs } = current.value;
    const times = { earlierSentAtMs: lastSentAtMs, lastSentAtMs: nowMs };
    return { state: 'sending', value: { ...current.value, sends: sends + 1, ...times } };
  });
  if (isChanged) return await placeOrder(setup, instruction, context);
  if (record?.state === 'sending') {
    setup.host.log('error', 'the idempotency key of an order without an answer has expired', {
      reference,
    });
  }
  return { outcome: 'unknown', reason: 'no_answer' };
};

const placeOrder: RailCall<Setup> = async (setup, instruction, { signal }) => {
  const { api, host, payments, config } = setup;
  const { reference } = instruction;
  const record = await payments.find(reference);
  if (record?.state !== 'sending') return { outcome: 'unknown', reason: 'no_answer' };
  const order = readOrder(record.value.body);
  const recipient = describeRecipient(host, instruction);
  const target = recipient?.ok === true ? hashTarget(recipient.counterparty) : '';
  const expected = { target, balanceAccountId: config.balanceAccountId };
  if (order === undefined || !matchesInstruction(order, instruction, expected)) {
    host.log('error', 'the order does not match its instruction and is not sent', { reference });
    return { outcome: 'unknown', reason: 'not_readable' };
  }
  const result = await api.createTransfer(record.value.body, reference, signal);
  const transfer = readOk(result);
  if (transfer !== undefined) return await settle(setup, instruction, transfer);
  return await readRefusedOrder(setup, { instruction, record, result });
};

function readOrder(body: string): Order | undefined {
  const order = orderSchema.safeParse(parseJson(body));
  return order.success ? order.data : undefined;
}

type Placed = { instruction: Instruction; record: PaymentRecord; result: ApiResult };

/** An answer without a transfer. It is definite only after the last order can no longer be processed. */
async function readRefusedOrder(setup: Setup, placed: Placed): Promise<RailAnswer> {
  const { instruction, record, result } = placed;
  const refusal = readProblem(result);
  if (refusal !== undefined && isDefinite(setup, placed)) {
    const reason = readRefusal(refusal);
    const code = refusal.errorCode;
    const { value } = record;
    const isWritten = await setup.payments.write(record, {
      state: 'refused',
      value: { ...value, body: '', reason, code, reported: 'rejected' },
    });
    if (isWritten) return { outcome: 'rejected', reason, code };
  }
  const answer = describeNoAnswer(result);
  const isNotProcessed = result.kind === 'not_sent' || isUnauthorized(result);
  if (!isNotProcessed || record.value.sends !== 1) return answer;
  const { value } = record;
  const isUndone = await setup.payments.write(record, {
    state: 'idle',
    value: { ...value, sends: 0 },
  });
  const { reference } = instruction;
  setup.host.log('warn', 'an order was not accepted and will be sent again', {
    reference,
    ...('code' in answer && answer.code !== undefined && { code: answer.code }),
  });
  return isUndone ? { ...answer, outcome: 'retry' } : answer;
}

/** "Request already processed or in progress": another order under the same key is being processed. */
const inProgressCode = '704';

function readProblem(result: ApiResult) {
  if (result.kind !== 'answered' || result.status !== 422 || result.isTransient) return undefined;
  const problem = problemSchema.safeParse(result.json);
  if (!problem.success || problem.data.status !== 422) return undefined;
  return problem.data.errorCode === inProgressCode ? undefined : problem.data;
}

/**
 * The first order is answered for itself. With several, the refusal must be the stored answer of the
 * key, and the earlier ones must have been processed or lost.
 */
function isDefinite({ host }: Setup, { instruction, record, result }: Placed): boolean {
  const { sends, earlierSentAtMs } = record.value;
  if (sends === 1) return true;
  const isStored = result.kind === 'answered' && result.storedKey === instruction.reference;
  return isStored && host.realNowMs() - earlierSentAtMs > settledMs;
}

function isUnauthorized(result: ApiResult): boolean {
  if (result.kind !== 'answered' || (result.status !== 401 && result.status !== 403)) return false;
  const { status } = result;
  const forms = [problemSchema.safeParse(result.json), serviceErrorSchema.safeParse(result.json)];
  return forms.some((form) => form.success && form.data.status === status);
}

/** `unknown`, with what Adyen says about it. */
function describeNoAnswer(result: ApiResult): RailAnswer & { outcome: 'unknown' } {
  const unknown = (reason: Reason) => ({ outcome: 'unknown', reason }) as const;
  if (result.kind === 'not_sent') return unknown('unreachable');
  if (result.kind === 'unclear') return unknown('no_answer');
  const { status, retryAfterMs } = result;
  const wait = { code: `http_${status}`, ...(retryAfterMs > 0 && { retryAfterMs }) };
  if (status === 429 || status === 503) return { ...unknown('busy'), ...wait };
  if (isUnauthorized(result)) return { ...unknown('not_configured'), ...wait };
  if (status >= 500) return { ...unknown('payer_error'), ...wait };
  return { ...unknown('not_understood'), ...wait };
}

/** An answer with another reference, amount, currency or source proves nothing. */
function isEcho(transfer: Transfer, instruction: Instruction, config: AdyenConfig): boolean {
  const source = transfer.balanceAccount?.id ?? config.balanceAccountId;
  return (
    transfer.reference === instruction.reference &&
    isAmount(transfer, instruction) &&
    transfer.direction !== 'incoming' &&
    source === config.balanceAccountId
  );
}

/** Records that Adyen has the transfer, then returns what it says. */
async function settle(
  setup: Setup,
  instruction: Instruction,
  transfer: Transfer,
): Promise<RailAnswer> {
  const { host, payments, returns, config } = setup;
  const { reference } = instruction;
  if (!isEcho(transfer, instruction, config)) {
    host.log('error', 'Adyen answered with another transfer', { reference });
    return { outcome: 'unknown', reason: 'not_understood' };
  }
  const reading = readTransfer(transfer);
  if (reading.kind === 'not_understood') {
    host.log('error', 'a transfer has a status that is not known', {
      reference,
      code: reading.code,
    });
    return { outcome: 'unknown', reason: 'not_understood', code: reading.code };
  }
  await markKnown(payments, reference, { transferId: transfer.id, outcome: reading.outcome });
  const clock = { nowMs: host.nowMs(), realNowMs: host.realNowMs() };
  if (reading.outcome !== 'returned') return describeAnswer(reading, transfer, clock);
  // What came back in all is what every message has shown, not this answer alone.
  const parts = await returns.add(transfer, reading.parts, host.realNowMs());
  return describeAnswer({ ...reading, parts }, transfer, clock);
}

/** A payment that was never ordered is refused for ever; one that waits for approval is withdrawn. */
export const cancel: RailCall<Setup> = async (setup, instruction, context) => {
  const { payments, api, config } = setup;
  const blank = { ...blankValue, ...describeMoney(instruction) };
  const tombstone = { state: 'cancelled', value: blank } as const;
  const answer = await payments.cancel(instruction, {
    tombstone,
    withdraw: ({ state, value }) =>
      state === 'idle' ? { state: 'cancelled', value: { ...value, body: '' } } : undefined,
  });
  if (answer.outcome !== 'accepted') return answer;
  const record = await payments.find(instruction.reference);
  const found = record && (await findTransfer(setup, record, context));
  if (found?.kind === 'found') {
    const { transfer } = found;
    const isTooLate = !isWaitingForApproval(transfer) || !isEcho(transfer, instruction, config);
    if (isTooLate) return await settle(setup, instruction, transfer);
    await api.cancelTransfer(transfer.id, context.signal);
  }
  // Its status says whether it was canceled. An order is not repeated to cancel it.
  const looked = await lookUp(setup, instruction, context);
  return looked === 'not_listed' ? { outcome: 'unknown', reason: 'no_answer' } : looked;
};

function isWaitingForApproval({ status, reason }: Transfer): boolean {
  return (
    status === 'pendingApproval' || status === 'approvalPending' || reason === 'pendingApproval'
  );
}
