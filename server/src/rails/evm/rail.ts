import type {
  CallContext,
  ExclusiveResource,
  Instruction,
  RailAnswer,
  RailCalls,
  RailHost,
  RailModule,
} from '../contract/contract.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import { listSetupProblems } from './check.ts';
import { configSchema, type EvmConfig, getNetwork, readFeeLimits } from './config.ts';
import { openAccount } from './key.ts';
import { openNonces, readRecordedState } from './nonce-records.ts';
import { type Order, readInstruction } from './order.ts';
import type { EvmParts } from './parts.ts';
import { runPass } from './pass.ts';
import { addressAttribute, openPayments, type Payment, recordsBehind } from './payment.ts';
import { readFunds } from './read-funds.ts';
import { type RecordState, readRecordState } from './record-check.ts';
import { confirmRecovery, recover } from './recover.ts';
import { findUnknownTransaction, openUnknownTransactions } from './unknown-transactions.ts';

/**
 * Ether and ERC-20 tokens on Ethereum and compatible chains. `send` only records the instruction and
 * `query` answers from the records; all nonces are assigned in `work`.
 */

async function create(config: EvmConfig, host: RailHost): Promise<RailCalls> {
  const nonces = openNonces(host);
  const parts: EvmParts = {
    config,
    limits: readFeeLimits(config),
    account: await openAccount(config.key),
    host,
    nonces,
    payments: openPayments(host, nonces, config),
    unknownTransactions: openUnknownTransactions(host),
    progress: { waitingAfter: '', isCompared: false },
  };
  return {
    send: (instruction, context) => send(parts, instruction, context),
    query: (instruction, context) => query(parts, instruction, context),
    cancel: (instruction, context) => cancel(parts, instruction, context),
    work: ({ signal }: CallContext) => runPass(parts, signal),
    workIdleMs: config.pollSeconds * 1000,
    networks: listNetworks(config),
    check: (context) => listSetupProblems(parts, context),
    readFunds: (context) => readFunds(parts, context),
    recover: (sinceMs, context) => recover(parts, sinceMs, context),
    findUnknownPayments: async (context) =>
      (await readRecordState(parts, context)) === 'behind'
        ? "the chain has transactions of the account that the rail's records lack"
        : undefined,
    confirmRecovery: (context) => confirmRecovery(parts, context),
  };
}

function listNetworks(config: EvmConfig): Readonly<Record<string, string>> {
  const { name, coin } = getNetwork(config);
  return Object.fromEntries(
    [coin, ...config.tokens.map(({ currency }) => currency)].map((code) => [code, name]),
  );
}

const send: RailCall<EvmParts> = async (parts, instruction, context) => {
  const { payments, nonces, host } = parts;
  const known = await payments.answer(instruction);
  if (known !== undefined) return known;
  const reading = readInstruction(parts.config, parts.account.address, instruction);
  if (reading.kind === 'refused') {
    // Recorded, so that it stays refused when the configuration changes.
    const value = { ...makePayment(instruction, null), reason: reading.reason };
    return (await payments.enter(instruction, { state: 'rejected', value })).answer;
  }
  // Records that are behind may lack this very payment. Every pass compares again.
  const state = (await readRecordedState(nonces)) ?? (await readRecordState(parts, context));
  if (state !== 'current') return answerUnknown(state);
  const value = makePayment(instruction, reading.order);
  const { answer } = await payments.enter(instruction, { state: 'waiting', value });
  host.wake();
  return answer;
};

const query: RailCall<EvmParts> = async (parts, instruction, context) => {
  const known = await parts.payments.answer(instruction);
  if (known !== undefined) return known;
  const state = await readRecordState(parts, context);
  // Without a record nothing was signed, if the records are complete.
  return state === 'current' ? { outcome: 'retry', reason: 'other' } : answerUnknown(state);
};

function answerUnknown(state: Exclude<RecordState, 'current'>): RailAnswer {
  return state === 'behind' ? recordsBehind : { outcome: 'unknown', reason: 'unreachable' };
}

const cancel: RailCall<EvmParts> = async (parts, instruction, context) => {
  const { payments } = parts;
  const known = await payments.find(instruction.reference);
  if (known === undefined || known.state === 'waiting') {
    const state = await readRecordState(parts, context);
    if (state !== 'current') return answerUnknown(state);
    if (await isPaidByUnknownTransaction(parts, instruction)) {
      return { outcome: 'unknown', reason: 'review', code: 'transaction_found' };
    }
  }
  const reason = 'cancelled' as const;
  return payments.cancel(instruction, {
    tombstone: { state: 'rejected', value: { ...makePayment(instruction, null), reason } },
    withdraw: ({ state, value }) =>
      state === 'waiting' ? { state: 'rejected', value: { ...value, reason } } : undefined,
  });
};

/** Whether a transaction without a record, linked to no payment yet, pays exactly this. */
async function isPaidByUnknownTransaction(
  { config, account, host, unknownTransactions }: EvmParts,
  instruction: Instruction,
): Promise<boolean> {
  const reading = readInstruction(config, account.address, instruction);
  if (reading.kind === 'refused') return false;
  const open = await Array.fromAsync(unknownTransactions.list({ state: 'open' }));
  const payment = makePayment(instruction, reading.order);
  return findUnknownTransaction(host, open, payment) !== undefined;
}

/** @param order null for a payment that is rejected. */
function makePayment(instruction: Instruction, order: Order | null): Payment {
  return {
    currency: instruction.currency,
    amountMinor: instruction.amountMinor,
    recipient: instruction.attributes[addressAttribute] ?? '',
    contract: order?.contract ?? null,
    units: order?.units ?? 0n,
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

export const railModule: RailModule<EvmConfig> = {
  kind: 'evm',
  about:
    'Coins and ERC-20 tokens such as USDC and USDT, on Ethereum, Polygon, Base, Arbitrum, Optimism, ' +
    'BNB and chains like them, by JSON-RPC.',
  corridors: [
    {
      countries: 'any',
      deliveryType: 'CRYPTOCURRENCY',
      currencies: ['ETH', 'POL', 'BNB', 'USDC', 'USDT', 'EURC', 'PYUSD'],
    },
  ],
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  listExclusives,
  create,
};

/** An address counts its transactions on each chain by itself. */
async function listExclusives({ key, chainId }: EvmConfig): Promise<ExclusiveResource[]> {
  const { address } = await openAccount(key);
  return [{ what: 'the paying address', value: `eip155:${chainId}:${address}` }];
}
