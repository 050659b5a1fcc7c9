import type {
  CallContext,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import { findFaults } from './check.ts';
import { configSchema, type EvmConfig, readFeeLimits } from './config.ts';
import { openAccount } from './key.ts';
import { askMemoryState, type MemoryState, readMemoryState } from './memory-check.ts';
import { addressAttribute, type Order, readInstruction } from './order.ts';
import type { EvmParts } from './parts.ts';
import { runPass } from './pass.ts';
import {
  answerFor,
  changePayment,
  isSameInstruction,
  type KeptPayment,
  type Payment,
  paymentCollection,
  readPayment,
} from './payment.ts';
import { confirmRecovery, recover } from './recover.ts';
import { findStray, listStrays } from './unknown-transactions.ts';

/**
 * Ether and ERC-20 tokens on Ethereum and on chains like it. `send` only writes down what is
 * ordered; `work` does all that touches the chain, so that there is one place where nonces are
 * assigned, and `query` answers from the rail's own memory.
 */

async function create(config: EvmConfig, host: RailHost): Promise<RailCalls> {
  const parts: EvmParts = {
    config,
    limits: readFeeLimits(config),
    account: await openAccount(config.key),
    host,
    memory: { waitingAfter: '', isCompared: false },
  };
  return {
    send: (instruction, context) => send(parts, instruction, context),
    query: (instruction, context) => query(parts, instruction, context),
    cancel: (instruction, context) => cancel(parts, instruction, context),
    work: ({ signal }: CallContext) => runPass(parts, signal),
    workIdleMs: config.pollSeconds * 1000,
    check: (context) => findFaults(parts, context),
    recover: (sinceMs, context) => recover(parts, sinceMs, context),
    findUnknownPayments: async (context) =>
      (await askMemoryState(parts, context)) === 'behind'
        ? 'the chain has transactions of the account that are not remembered here'
        : undefined,
    confirmRecovery: (context) => confirmRecovery(parts, context),
  };
}

async function send(
  parts: EvmParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const known = await findPayment(parts, instruction.reference);
  if (known !== undefined) return answer(parts, known, instruction);
  const reading = readInstruction(parts.config, parts.account.address, instruction);
  if (reading.kind === 'refused') {
    // Kept as well, so that it stays refused when the configuration changes.
    const payment = { ...makePayment(instruction, null), reason: reading.reason };
    await write(parts, { instruction, payment, state: 'rejected' });
    return answerAgain(parts, instruction);
  }
  // A memory that is behind may lack this very payment. Every pass compares once more.
  const memory = (await readMemoryState(parts)) ?? (await askMemoryState(parts, context));
  if (memory !== 'current') return answerUnknown(memory);
  const payment = makePayment(instruction, reading.order);
  await write(parts, { instruction, payment, state: 'waiting' });
  parts.host.wake();
  return answerAgain(parts, instruction);
}

async function query(
  parts: EvmParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const known = await findPayment(parts, instruction.reference);
  if (known !== undefined) return answer(parts, known, instruction);
  const memory = await askMemoryState(parts, context);
  // Without a record nothing was ever signed for it, if the memory is complete.
  return memory === 'current' ? { outcome: 'retry', reason: 'other' } : answerUnknown(memory);
}

function answerUnknown(memory: Exclude<MemoryState, 'current'>): RailAnswer {
  return memory === 'behind'
    ? { outcome: 'unknown', reason: 'review', code: 'memory_behind' }
    : { outcome: 'unknown', reason: 'unreachable' };
}

async function cancel(
  parts: EvmParts,
  instruction: Instruction,
  context: CallContext,
): Promise<RailAnswer> {
  const known = await findPayment(parts, instruction.reference);
  if (known !== undefined && known.state !== 'waiting') return answer(parts, known, instruction);
  const memory = await askMemoryState(parts, context);
  if (memory !== 'current') return answerUnknown(memory);
  if (await isPaidByStray(parts, instruction)) {
    return { outcome: 'unknown', reason: 'review', code: 'transaction_found' };
  }
  if (known === undefined) {
    // A send that is still under way must find that it is not wanted any more.
    const payment: Payment = { ...makePayment(instruction, null), reason: 'cancelled' };
    await write(parts, { instruction, payment, state: 'rejected' });
  } else {
    const payment: Payment = { ...known.payment, reason: 'cancelled' };
    // Where this fails it has been signed meanwhile, and the answer says so.
    await parts.host.store.write([changePayment(known, 'rejected', payment)]);
  }
  return answerAgain(parts, instruction);
}

/** Whether a transaction that the memory lacked, and no payment took yet, pays exactly this. */
async function isPaidByStray(parts: EvmParts, instruction: Instruction): Promise<boolean> {
  const reading = readInstruction(parts.config, parts.account.address, instruction);
  if (reading.kind === 'refused') return false;
  const payment = makePayment(instruction, reading.order);
  return findStray(parts.host, await listStrays(parts), payment) !== undefined;
}

/** @param order null for what never will be paid. */
function makePayment(instruction: Instruction, order: Order | null): Payment {
  return {
    currency: instruction.currency,
    amountMinor: instruction.amountMinor.toString(),
    recipient: instruction.attributes[addressAttribute] ?? '',
    contract: order?.contract ?? null,
    units: order?.units ?? '0',
    committedAtMs: instruction.committedAtMs,
    nonce: null,
    attempts: [],
    lostNonces: [],
    mined: null,
    reason: null,
    waitsFor: null,
    feeWaitSinceMs: null,
  };
}

async function write(
  { host }: EvmParts,
  what: { instruction: Instruction; payment: Payment; state: 'waiting' | 'rejected' },
): Promise<void> {
  const { instruction, payment, state } = what;
  const kept: KeptPayment = { reference: instruction.reference, revision: 0, state, payment };
  // Where it fails, somebody else was first, and what is there now is what counts.
  await host.store.write([changePayment(kept, state, payment)]);
}

async function findPayment(
  { host }: EvmParts,
  reference: string,
): Promise<KeptPayment | undefined> {
  const record = await host.store.get(paymentCollection, reference);
  return record === undefined ? undefined : readPayment(record);
}

async function answerAgain(parts: EvmParts, instruction: Instruction): Promise<RailAnswer> {
  const known = await findPayment(parts, instruction.reference);
  if (known === undefined) return { outcome: 'unknown', reason: 'no_answer' };
  return answer(parts, known, instruction);
}

async function answer(
  parts: EvmParts,
  known: KeptPayment,
  instruction: Instruction,
): Promise<RailAnswer> {
  const recipient = instruction.attributes[addressAttribute] ?? '';
  if (!isSameInstruction(known.payment, instruction, recipient)) {
    parts.host.log('error', 'another instruction came under a known reference', {
      reference: instruction.reference,
    });
    return { outcome: 'unknown', reason: 'duplicate' };
  }
  // An older memory may have it waiting when the chain has paid it.
  if (known.state === 'waiting' && (await readMemoryState(parts)) === 'behind') {
    return answerUnknown('behind');
  }
  return answerFor(known, parts.host.nowMs() + parts.config.pollSeconds * 1000);
}

export const railModule: RailModule<EvmConfig> = {
  kind: 'evm',
  about: 'Ether and ERC-20 tokens such as USDC, on Ethereum and chains like it, by JSON-RPC.',
  corridors: [{ countries: 'any', deliveryType: 'CRYPTOCURRENCY', currencies: ['ETH', 'USDC'] }],
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  create,
};
