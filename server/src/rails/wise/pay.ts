import type { CallContext, Instruction, RailAnswer } from '../contract/contract.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import { cancelAtWise, followTransfer, fundTransfer, readTransfer } from './funding.ts';
import { adoptTransfer, createTransfer, describeTransfer, prepareOrder } from './order.ts';
import { describeFirst, type Payment } from './payments.ts';
import type { Transfer } from './protocol.ts';
import { type Setup, type Stop, unknown } from './setup.ts';
import { isTransferOf, readStanding } from './states.ts';

/** `send`, `query` and `cancel`, from the payment's record. */

export const send: RailCall<Setup> = async (setup, instruction, context) => {
  const { payments } = setup;
  const first = { state: 'open', value: describeFirst(instruction) } as const;
  const { answer } = await payments.enter(instruction, first);
  if (answer.outcome !== 'accepted') return answer;
  const record = await payments.find(instruction.reference);
  if (record === undefined) return unknown('no_answer');
  if (record.state !== 'open') return followPayment(setup, { instruction, record }, context);
  return orderPayment(setup, { instruction, record }, context);
};

export const query: RailCall<Setup> = async (setup, instruction, context) => {
  const { payments } = setup;
  const known = await payments.answer(instruction);
  // Nothing leaves before the book has it.
  if (known === undefined) return { outcome: 'retry', reason: 'unreachable' };
  if (known.outcome !== 'accepted') return known;
  const record = await payments.find(instruction.reference);
  if (record === undefined) return unknown('no_answer');
  if (record.state !== 'open') return followPayment(setup, { instruction, record }, context);
  // No funding has left; a send that is still under way finds another revision and does not fund.
  return stopPayment(setup, record, { kind: 'later', reason: 'unreachable' });
};

export const cancel: RailCall<Setup> = async (setup, instruction, context) => {
  const { payments } = setup;
  const tombstone = {
    state: 'cancelled',
    value: { ...describeFirst(instruction), reason: 'cancelled' },
  } as const;
  const answer = await payments.cancel(instruction, {
    tombstone,
    withdraw: ({ state, value }) =>
      state === 'open' || state === 'waiting'
        ? { state: 'cancelled', value: { ...value, reason: 'cancelled' } }
        : undefined,
  });
  const record = await payments.find(instruction.reference);
  if (record?.value.transferId === undefined) return answer;
  if (answer.outcome === 'rejected' && record.state === 'cancelled') {
    // It is never funded; Wise would cancel it by itself after 14 days.
    await cancelAtWise(setup, record.value.transferId, context);
    return answer;
  }
  if (answer.outcome !== 'accepted') return answer;
  // A batch group is funded as it was completed.
  const isGroupUnfunded = record.value.groupKey !== undefined && record.state !== 'funded';
  if (isGroupUnfunded) return query(setup, instruction, context);
  const isCancelled = await cancelAtWise(setup, record.value.transferId, context);
  if (!isCancelled) return query(setup, instruction, context);
  await payments.update(instruction.reference, (now) =>
    now === undefined || now.state === 'cancelled'
      ? undefined
      : { state: 'cancelled', value: { ...now.value, reason: 'cancelled' } },
  );
  return { outcome: 'rejected', reason: 'cancelled', providerReference: record.value.transferId };
};

type Known = { readonly instruction: Instruction; readonly record: Payment };

function followPayment(setup: Setup, known: Known, context: CallContext): Promise<RailAnswer> {
  const { state } = known.record;
  return state === 'waiting' || state === 'grouped'
    ? Promise.resolve(acceptWaiting(setup))
    : followTransfer(setup, known, context);
}

/** Passes take it from here (`batches.ts`), so that it is refused or paid. */
function acceptWaiting({ config, host }: Setup): RailAnswer {
  const waitSeconds = config.batchGroups?.waitSeconds ?? 0;
  return { outcome: 'accepted', checkAtMs: host.nowMs() + waitSeconds * 1000 + groupMs };
}

/** For the calls of a batch group, before a payment in it is asked for. */
const groupMs = 10_000;

/** Orders the payment up to the transfer, which a batch group gets in a pass. */
async function queuePayment(
  setup: Setup,
  { instruction, record }: Known,
  context: CallContext,
): Promise<RailAnswer> {
  const { host, payments } = setup;
  const prepared = await prepareOrder(setup, instruction, context);
  if (prepared.kind === 'stopped') return stopPayment(setup, record, prepared.stop);
  const order = prepared.value;
  const described = await describeTransfer(setup, { instruction, order }, context);
  if (described.kind === 'stopped') return stopPayment(setup, record, described.stop);
  const details = { ...described.value };
  const value = { ...record.value, order, details, waitingSinceMs: host.realNowMs() };
  // Another send was faster; a query finds out its outcome.
  if (!(await payments.write(record, { state: 'waiting', value }))) return unknown('busy');
  host.wake();
  return acceptWaiting(setup);
}

/** From the quote to the funding, continuing where an earlier send has stopped. */
async function orderPayment(setup: Setup, known: Known, context: CallContext): Promise<RailAnswer> {
  const { instruction, record } = known;
  const { transferId } = record.value;
  if (transferId !== undefined) {
    const found = await readTransfer(setup, { transferId, instruction }, context);
    if (found.kind !== 'done') return stopPayment(setup, record, found.stop);
    return useTransfer(setup, { ...known, transfer: found.value, isNew: false }, context);
  }
  // With an order, an earlier send may have made a transfer outside of all groups.
  const isForGroup = setup.config.batchGroups !== undefined && record.value.order === undefined;
  if (isForGroup) return queuePayment(setup, known, context);
  const ordered = await findOrder(setup, known, context);
  if ('outcome' in ordered) return ordered;
  const { order } = ordered.value;
  if (order === undefined) return unknown('other');
  const created = await createTransfer(setup, { instruction, order }, context);
  if (created.kind === 'stopped') {
    const isReused = record.value.order !== undefined && created.stop.kind === 'refused';
    if (!isReused) return stopPayment(setup, ordered, created.stop);
    // The quote of an earlier send may have expired or been used: the next send has a new one.
    const { order: _spent, ...value } = ordered.value;
    return stopPayment(setup, { ...ordered, value }, { kind: 'later', reason: 'busy' });
  }
  return useTransfer(
    setup,
    { instruction, record: ordered, transfer: created.value, isNew: true },
    context,
  );
}

/** The record with an order whose rate is still fixed. */
async function findOrder(
  setup: Setup,
  { instruction, record }: Known,
  context: CallContext,
): Promise<Payment | RailAnswer> {
  const { order } = record.value;
  if (order !== undefined && order.fixedUntilMs > setup.host.realNowMs()) return record;
  const prepared = await prepareOrder(setup, instruction, context);
  if (prepared.kind === 'stopped') return stopPayment(setup, record, prepared.stop);
  const value = { ...record.value, order: prepared.value };
  // Another send was faster; a query finds out its outcome.
  if (!(await setup.payments.write(record, { state: 'open', value }))) return unknown('busy');
  return { ...record, revision: record.revision + 1, value };
}

/** Funds the transfer of the reference, if it is this payment and waits for its money. */
async function useTransfer(
  setup: Setup,
  known: Known & { readonly transfer: Transfer; readonly isNew: boolean },
  context: CallContext,
): Promise<RailAnswer> {
  const { instruction, record, transfer, isNew } = known;
  const { reference } = instruction;
  if (transfer.customerTransactionId !== reference || !isTransferOf(transfer, instruction)) {
    setup.host.log('error', 'Wise has another transfer under this reference', { reference });
    return unknown('duplicate');
  }
  const standing = readStanding(transfer.status);
  if (standing === 'cancelled') {
    // No funding has left for it.
    const stop = { kind: 'refused', reason: 'payer_refused', code: 'cancelled' } as const;
    return stopPayment(setup, record, stop);
  }
  const isOwn = !isNew || transfer.quoteUuid === record.value.order?.quoteId;
  if (standing !== 'unfunded') return useFunded(setup, { ...known, isOwn }, context);
  if (isOwn) return fundTransfer(setup, { instruction, record, transferId: transfer.id }, context);
  const adopted = await adoptTransfer(setup, { instruction, transfer }, context);
  if (adopted.kind === 'stopped') return stopPayment(setup, record, adopted.stop);
  const value = { ...record.value, order: adopted.value };
  return fundTransfer(
    setup,
    { instruction, record: { ...record, value }, transferId: transfer.id },
    context,
  );
}

/**
 * Funded before this database knew of it, as after a restore: fee and amounts are those of its own quote.
 * Where that cannot be read they are not known.
 */
async function useFunded(
  setup: Setup,
  {
    instruction,
    record,
    transfer,
    isOwn,
  }: Known & { readonly transfer: Transfer; readonly isOwn: boolean },
  context: CallContext,
): Promise<RailAnswer> {
  const { order: recorded, ...rest } = record.value;
  const adopted = isOwn
    ? undefined
    : await adoptTransfer(setup, { instruction, transfer }, context);
  const order = isOwn ? recorded : adopted?.kind === 'done' ? adopted.value : undefined;
  const value = { ...rest, ...(order && { order }), transferId: transfer.id };
  const next = { state: 'funded', value } as const;
  if (!(await setup.payments.write(record, next))) return unknown('busy');
  const now = { ...record, ...next, revision: record.revision + 1 };
  return followTransfer(setup, { instruction, record: now }, context);
}

/**
 * Ends a send before its funding: for ever, or until it is sent again. Either is certain once the
 * record has changed, because a funding needs the revision before.
 */
async function stopPayment({ payments }: Setup, record: Payment, stop: Stop): Promise<RailAnswer> {
  const { value } = record;
  if (stop.kind === 'refused') {
    const { kind: _kind, ...refusal } = stop;
    const { reason, code } = refusal;
    const next = { state: 'refused', value: { ...value, reason, code } } as const;
    return (await payments.write(record, next))
      ? { outcome: 'rejected', ...refusal }
      : unknown('busy');
  }
  const next = { state: 'open', value: { ...value, fence: value.fence + 1 } } as const;
  const { reason, retryAfterMs } = stop;
  const wait = retryAfterMs === undefined ? {} : { retryAfterMs };
  return (await payments.write(record, next))
    ? { outcome: 'retry', reason, ...wait }
    : unknown(reason, retryAfterMs);
}
