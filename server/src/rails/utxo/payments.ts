import type { Charge, Instruction, RailAnswer, RailHost } from '../contract/contract.ts';
import { type Destination, getDustMinor, readAddress, readMainAddress } from './addresses.ts';
import type { Config } from './config.ts';
import { splitFee } from './fees.ts';
import type { Network } from './networks.ts';
import {
  changePayment,
  type Family,
  type FamilyValue,
  findFamily,
  findPayment,
  getNewest,
  type Payment,
  type Refusal,
} from './records.ts';
import { listForgotten, type MemoryState, readMemoryState } from './wallet-records.ts';

/**
 * What the service is told about one payment. All of it comes from the rail's own memory: the node
 * is looked at by the pass (`watch.ts`), which writes down what it saw. So a node that is down
 * delays, and never makes an answer wrong.
 */

export type PaymentContext = {
  readonly config: Config;
  readonly network: Network;
  readonly host: RailHost;
};

/** The attribute that holds a wallet's address. */
const addressAttribute = 'BankAccountNumber';

/** Where the money goes, or why it cannot go there. */
function readDestination(
  { config, network }: PaymentContext,
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
  const { host } = context;
  const { reference, amountMinor } = instruction;
  const known = await findPayment(host.store, reference);
  if (known !== undefined) return answerKnown(context, known, instruction);
  const destination = readDestination(context, instruction);
  const isRefused = typeof destination === 'string';
  // Such a memory may lack this very payment. Every pass compares before it makes anything.
  if (!isRefused && (await readMemoryState(host)) === 'behind') return answerUnknown('behind');
  const change = changePayment({ reference, revision: 0 }, isRefused ? 'rejected' : 'waiting', {
    address: isRefused ? '' : destination.address,
    script: isRefused ? '' : destination.script,
    amountMinor,
    askedAtMs: host.nowMs(),
    familyKey: null,
    formerFamilyKeys: [],
    reason: isRefused ? destination : null,
  });
  if (await host.store.write([change])) {
    if (isRefused) return { outcome: 'rejected', reason: destination };
    host.wake();
    return { outcome: 'accepted', checkAtMs: getBatchTime(context, host.nowMs()) };
  }
  const other = await findPayment(host.store, reference);
  if (other === undefined) return { outcome: 'unknown', reason: 'no_answer' };
  return answerKnown(context, other, instruction);
}

/** Compares the memory with the wallet as it is now. */
export type Compare = () => Promise<MemoryState | 'unread'>;

function answerUnknown(memory: Exclude<Awaited<ReturnType<Compare>>, 'current'>): RailAnswer {
  return memory === 'behind'
    ? { outcome: 'unknown', reason: 'review', code: 'memory_behind' }
    : { outcome: 'unknown', reason: 'unreachable' };
}

export async function queryPayment(
  context: PaymentContext,
  instruction: Instruction,
  compare: Compare,
): Promise<RailAnswer> {
  const payment = await findPayment(context.host.store, instruction.reference);
  if (payment !== undefined) return answerKnown(context, payment, instruction);
  const memory = await compare();
  // Without a record nothing was made, if the memory is complete: `send` holds what it lacks.
  return memory === 'current' ? { outcome: 'retry', reason: 'other' } : answerUnknown(memory);
}

/** Once it is in a transaction, it cannot be taken back: the transaction may be anywhere. */
export async function cancelPayment(
  context: PaymentContext,
  instruction: Instruction,
  compare: Compare,
): Promise<RailAnswer> {
  const { store, nowMs } = context.host;
  const { reference, amountMinor } = instruction;
  const payment = await findPayment(store, reference);
  if (payment !== undefined && payment.state !== 'waiting') {
    return answerKnown(context, payment, instruction);
  }
  const memory = await compare();
  if (memory !== 'current') return answerUnknown(memory);
  const destination = readDestination(context, instruction);
  if (typeof destination !== 'string') {
    const { script } = destination;
    const findForgotten = await listForgotten(context.host);
    // A transaction that the memory lacks pays exactly this.
    if (findForgotten({ script, amountMinor }) !== undefined) {
      return { outcome: 'unknown', reason: 'duplicate' };
    }
  }
  // A payment that was never seen is refused beforehand, so that a late `send` finds that.
  const seen = payment ?? {
    reference,
    revision: 0,
    address: '',
    script: '',
    amountMinor,
    askedAtMs: nowMs(),
    familyKey: null,
    formerFamilyKeys: [],
  };
  const change = changePayment(seen, 'rejected', { ...seen, reason: 'cancelled' });
  if (await store.write([change])) return { outcome: 'rejected', reason: 'cancelled' };
  return queryPayment(context, instruction, compare);
}

async function answerKnown(
  context: PaymentContext,
  payment: Payment,
  instruction: Instruction,
): Promise<RailAnswer> {
  if (payment.state === 'rejected') {
    return { outcome: 'rejected', reason: payment.reason ?? 'other' };
  }
  const destination = readDestination(context, instruction);
  const isSame =
    typeof destination !== 'string' &&
    destination.script === payment.script &&
    instruction.amountMinor === payment.amountMinor;
  // Another payment under this reference: nothing true can be said about this one.
  if (!isSame) return { outcome: 'unknown', reason: 'duplicate' };
  if (payment.state === 'held') return { outcome: 'unknown', reason: 'duplicate' };
  const { host } = context;
  if (payment.state === 'waiting') {
    // An older memory may have it waiting when the wallet has paid it.
    if ((await readMemoryState(host)) === 'behind') return answerUnknown('behind');
    const dueAtMs = getBatchTime(context, payment.askedAtMs);
    return { outcome: 'accepted', checkAtMs: Math.max(dueAtMs, host.nowMs() + retryMs) };
  }
  const family =
    payment.familyKey === null ? undefined : await findFamily(host.store, payment.familyKey);
  if (family === undefined) return { outcome: 'unknown', reason: 'not_understood' };
  return answerFamily(context, payment, family);
}

const retryMs = 10_000;

function answerFamily(
  { network, host }: PaymentContext,
  { reference }: Payment,
  family: Family,
): RailAnswer {
  const entry = family.payments.find((other) => other.reference === reference);
  if (entry === undefined) return { outcome: 'unknown', reason: 'not_understood' };
  const { confirmed } = family;
  const providerReference = confirmed?.txid ?? getNewest(family).txid;
  if (entry.isPaid && family.state === 'dead') {
    return { outcome: 'returned', reason: 'replaced', providerReference };
  }
  if (entry.isPaid) {
    return { outcome: 'paid', providerReference, charges: listCharges(network, family, reference) };
  }
  const blocks = Math.max(1, entry.depthNeeded - (confirmed?.depth ?? 0));
  const checkAtMs = host.nowMs() + Math.max(retryMs, blocks * network.blockSeconds * 1000);
  return { outcome: 'accepted', providerReference, checkAtMs };
}

/** The payment's part of the network fee of the version that is in the chain. */
export function listCharges(
  network: Network,
  { payments, versions, confirmed }: FamilyValue,
  reference: string,
): Charge[] {
  const version = versions.find(({ txid }) => txid === confirmed?.txid);
  const index = payments.findIndex((payment) => payment.reference === reference);
  if (version === undefined || index < 0) return [];
  const amountMinor = splitFee(version.feeMinor, payments.length)[index] ?? 0n;
  if (amountMinor === 0n) return [];
  // Without the transaction's id: what takes its place after a reorganisation is the same charge.
  return [{ id: 'network', kind: 'network', currency: network.currency, amountMinor }];
}

function getBatchTime({ config }: PaymentContext, askedAtMs: number): number {
  return askedAtMs + config.batch.waitSeconds * 1000;
}
