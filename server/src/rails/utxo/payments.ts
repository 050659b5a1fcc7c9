import type { Charge, Instruction, RailAnswer } from '../contract/contract.ts';
import { openPaymentBook } from '../kit/payment-book.ts';
import { type Destination, getDustMinor, readAddress, readMainAddress } from './addresses.ts';
import { splitFee } from './fees.ts';
import type { Network } from './networks.ts';
import {
  findReplacementSet,
  getNewest,
  type PaymentContext,
  type PaymentValue,
  paymentStates,
  paymentValue,
  type RecordState,
  type Refusal,
  type ReplacementSet,
  type ReplacementSetValue,
  readRecordedState,
  type StoredPayment,
} from './records.ts';
import { listUnknownTransactions } from './unknown-transactions.ts';

/**
 * Answers about one payment, from the rail's records alone: passes watch the node and record what
 * they see (`watch.ts`). A node that is down delays an answer and never makes it wrong.
 */

/** The attribute that holds a wallet's address. */
const addressAttribute = 'BankAccountNumber';

type BookContext = Omit<PaymentContext, 'payments'>;

export function openPayments(context: BookContext): PaymentContext['payments'] {
  return openPaymentBook(context.host, {
    collection: 'payment',
    states: paymentStates,
    value: paymentValue,
    isSame: ({ state, value }, instruction) => {
      // A rejection holds for any instruction of the reference.
      if (state === 'rejected') return true;
      const destination = readDestination(context, instruction);
      return (
        typeof destination !== 'string' &&
        destination.script === value.script &&
        instruction.amountMinor === value.amountMinor
      );
    },
    answer: (payment) => describeAnswer(context, payment),
  });
}

/** Where the money goes, or why it cannot go there. */
function readDestination(
  { config, network }: BookContext,
  { currency, amountMinor, deliveryType, attributes }: Instruction,
): Destination | Refusal {
  if (currency !== network.currency || deliveryType !== 'CRYPTOCURRENCY') return 'currency_refused';
  const read = config.mainAddresses ? readMainAddress : readAddress;
  const destination = read(network, attributes[addressAttribute] ?? '');
  if (destination === undefined) return 'invalid_details';
  return amountMinor < getDustMinor(network, destination.script) ? 'amount_refused' : destination;
}

export async function sendPayment(
  context: PaymentContext,
  instruction: Instruction,
): Promise<RailAnswer> {
  const { host, stores, payments } = context;
  const known = await payments.answer(instruction);
  if (known !== undefined) return known;
  const destination = readDestination(context, instruction);
  const payment = makePayment(context, instruction);
  if (typeof destination === 'string') {
    const value = { ...payment, reason: destination };
    return (await payments.enter(instruction, { state: 'rejected', value })).answer;
  }
  // Records that are behind may lack this very payment. Every pass compares before it pays.
  if ((await readRecordedState(stores)) === 'behind') return answerUnknown('behind');
  const { address, script } = destination;
  const value = { ...payment, address, script };
  const { answer } = await payments.enter(instruction, { state: 'waiting', value });
  host.wake();
  return answer;
}

function makePayment({ host }: PaymentContext, { amountMinor }: Instruction): PaymentValue {
  return {
    address: '',
    script: '',
    amountMinor,
    askedAtMs: host.nowMs(),
    replacementSetKey: null,
    formerFamilyKeys: [],
    reason: null,
  };
}

/** Compares the records with the wallet now. */
export type CompareRecords = () => Promise<RecordState | 'unread'>;

function answerUnknown(state: 'behind' | 'unread'): RailAnswer {
  return state === 'behind'
    ? { outcome: 'unknown', reason: 'review', code: 'memory_behind' }
    : { outcome: 'unknown', reason: 'unreachable' };
}

export async function queryPayment(
  { payments }: PaymentContext,
  instruction: Instruction,
  compare: CompareRecords,
): Promise<RailAnswer> {
  const known = await payments.answer(instruction);
  if (known !== undefined) return known;
  const state = await compare();
  // Without a record nothing was paid, if the records are complete.
  return state === 'current' ? { outcome: 'retry', reason: 'other' } : answerUnknown(state);
}

/** A payment in a transaction cannot be canceled: the transaction may have spread anywhere. */
export async function cancelPayment(
  context: PaymentContext,
  instruction: Instruction,
  compare: CompareRecords,
): Promise<RailAnswer> {
  const { payments } = context;
  const known = await payments.find(instruction.reference);
  if (known === undefined || known.state === 'waiting') {
    const state = await compare();
    if (state !== 'current') return answerUnknown(state);
    const destination = readDestination(context, instruction);
    if (typeof destination !== 'string') {
      const findUnknown = await listUnknownTransactions(context);
      const { script } = destination;
      if (findUnknown({ script, amountMinor: instruction.amountMinor }) !== undefined) {
        return { outcome: 'unknown', reason: 'duplicate' };
      }
    }
  }
  const reason = 'cancelled' as const;
  return payments.cancel(instruction, {
    tombstone: { state: 'rejected', value: { ...makePayment(context, instruction), reason } },
    withdraw: ({ state, value }) =>
      state === 'waiting' ? { state: 'rejected', value: { ...value, reason } } : undefined,
  });
}

async function describeAnswer(
  context: BookContext,
  { key: reference, state, value }: StoredPayment,
): Promise<RailAnswer> {
  const { host, stores } = context;
  switch (state) {
    case 'rejected':
      return { outcome: 'rejected', reason: value.reason ?? 'other' };
    case 'held':
      return { outcome: 'unknown', reason: 'duplicate' };
    case 'waiting': {
      // With records restored from a backup it may wait although the wallet has paid it.
      if ((await readRecordedState(stores)) === 'behind') return answerUnknown('behind');
      const dueAtMs = value.askedAtMs + context.config.batch.waitSeconds * 1000;
      return { outcome: 'accepted', checkAtMs: Math.max(dueAtMs, host.nowMs() + retryMs) };
    }
    case 'sent': {
      const { replacementSetKey } = value;
      const set =
        replacementSetKey === null
          ? undefined
          : await findReplacementSet(stores, replacementSetKey);
      if (set === undefined) return { outcome: 'unknown', reason: 'not_understood' };
      return answerFromSet(context, reference, set);
    }
  }
}

const retryMs = 10_000;

function answerFromSet(
  { network, host }: BookContext,
  reference: string,
  set: ReplacementSet,
): RailAnswer {
  const entry = set.payments.find((other) => other.reference === reference);
  if (entry === undefined) return { outcome: 'unknown', reason: 'not_understood' };
  const { confirmed } = set;
  const providerReference = confirmed?.txid ?? getNewest(set).txid;
  if (entry.isPaid && set.state === 'dead') {
    return { outcome: 'returned', reason: 'replaced', providerReference };
  }
  if (entry.isPaid) {
    return { outcome: 'paid', providerReference, charges: listCharges(network, set, reference) };
  }
  const blocks = Math.max(1, entry.depthNeeded - (confirmed?.depth ?? 0));
  const checkAtMs = host.nowMs() + Math.max(retryMs, blocks * network.blockSeconds * 1000);
  return { outcome: 'accepted', providerReference, checkAtMs };
}

/** The payment's share of the network fee of the version in the chain. */
export function listCharges(
  network: Network,
  { payments, versions, confirmed }: ReplacementSetValue,
  reference: string,
): Charge[] {
  const version = versions.find(({ txid }) => txid === confirmed?.txid);
  const index = payments.findIndex((payment) => payment.reference === reference);
  if (version === undefined || index < 0) return [];
  const amountMinor = splitFee(version.feeMinor, payments.length)[index] ?? 0n;
  if (amountMinor === 0n) return [];
  // Without the transaction's id: after a reorganization its replacement is the same charge.
  return [{ id: 'network', kind: 'network', currency: network.currency, amountMinor }];
}
