import { getCurrency } from '../../core/currency.ts';
import { formatScaled } from '../../core/money.ts';
import type {
  CallContext,
  ExclusiveResource,
  Instruction,
  RailAnswer,
  RailCalls,
  RailFunds,
  RailHost,
  RailModule,
  RecoveredPayment,
} from '../contract/contract.ts';
import { toCurrencyUnits } from '../kit/amounts.ts';
import { openCounters } from '../kit/counters.ts';
import type { RailCall } from '../kit/guarded-calls.ts';
import { logRpcFailure } from '../kit/json-rpc.ts';
import { listSetupProblems } from './check.ts';
import { connectCluster } from './cluster.ts';
import { configSchema, nameNetwork, type SolanaConfig } from './config.ts';
import { openKey } from './key.ts';
import { type OrderReading, readInstruction } from './order.ts';
import type { SolanaParts } from './parts.ts';
import { runPass } from './pass.ts';
import {
  addressAttribute,
  openCursor,
  openPayments,
  openUnknown,
  type Payment,
} from './payment.ts';
import { compareRecords, findOwnTransfer, readReference } from './scan.ts';
import { readBalance } from './sign.ts';
import type { readTransfer } from './transfer.ts';

/**
 * SPL tokens such as USDC on Solana. `send` only records the instruction and `query` answers from the
 * records; everything that touches the chain happens in `work`.
 */

async function create(config: SolanaConfig, host: RailHost): Promise<RailCalls> {
  const parts: SolanaParts = {
    config,
    host,
    payer: await openKey(config.key.secretKey),
    payments: openPayments(host, config),
    unknown: openUnknown(host),
    cursor: openCursor(host),
    spent: openCounters(host.store, { collection: 'spent', first: 0 }),
  };
  const network = nameNetwork(config);
  return {
    send: (instruction) => send(parts, instruction),
    query: (instruction, context) => query(parts, instruction, context),
    cancel: (instruction, context) => cancel(parts, instruction, context),
    work: (context) => runPass(parts, context),
    workIdleMs: config.pollSeconds * 1000,
    networks: Object.fromEntries(config.tokens.map(({ currency }) => [currency, network])),
    check: (context) => listSetupProblems(parts, context),
    readFunds: (context) => readFunds(parts, context),
    recover: (sinceMs, context) => recover(parts, sinceMs, context),
    findUnknownPayments: async (context) =>
      (await findMissing(parts, context)) === 'missing'
        ? "the chain has transactions of the account that the rail's records lack"
        : undefined,
  };
}

async function send(parts: SolanaParts, instruction: Instruction): Promise<RailAnswer> {
  const { payments, host, config, payer } = parts;
  const known = await payments.answer(instruction);
  if (known !== undefined) return known;
  const reading = readInstruction(config, payer.address, instruction);
  if (reading.kind === 'refused') {
    // Recorded, so that it stays refused when the configuration changes.
    const value = { ...makePayment(instruction, reading), reason: reading.reason };
    return (await payments.enter(instruction, { state: 'rejected', value })).answer;
  }
  const value = makePayment(instruction, reading);
  const { answer } = await payments.enter(instruction, { state: 'waiting', value });
  host.wake();
  return answer;
}

/** `reachable`: the chain shows no transaction that the records lack. */
async function findMissing(
  parts: SolanaParts,
  { signal }: CallContext,
): Promise<'complete' | 'missing' | 'unreachable'> {
  try {
    await compareRecords(parts, await connectCluster(parts, signal));
  } catch (error) {
    logRpcFailure(parts.host, error);
    return 'unreachable';
  }
  const [open] = await parts.unknown.page({ state: 'open', count: 1 });
  return open === undefined ? 'complete' : 'missing';
}

async function isUnclear(
  parts: SolanaParts,
  { reference }: Instruction,
  context: CallContext,
): Promise<RailAnswer | undefined> {
  if ((await findMissing(parts, context)) === 'unreachable') {
    return { outcome: 'unknown', reason: 'unreachable' };
  }
  // Found on the chain, and not linked to its payment yet.
  return (await parts.unknown.find(reference)) === undefined
    ? undefined
    : { outcome: 'unknown', reason: 'review', code: 'transaction_found' };
}

const query: RailCall<SolanaParts> = async (parts, instruction, context) => {
  const known = await parts.payments.answer(instruction);
  if (known !== undefined) return known;
  // Without a record nothing was signed, if the records are complete.
  const unclear = await isUnclear(parts, instruction, context);
  return unclear ?? { outcome: 'retry', reason: 'other' };
};

const cancel: RailCall<SolanaParts> = async (parts, instruction, context) => {
  const { payments } = parts;
  const known = await payments.find(instruction.reference);
  if (known === undefined || known.state === 'waiting') {
    const unclear = await isUnclear(parts, instruction, context);
    if (unclear !== undefined) return unclear;
  }
  const reason = 'cancelled' as const;
  return payments.cancel(instruction, {
    tombstone: { state: 'rejected', value: { ...makePayment(instruction, undefined), reason } },
    withdraw: ({ state, value }) =>
      state === 'waiting' ? { state: 'rejected', value: { ...value, reason } } : undefined,
  });
};

function makePayment(instruction: Instruction, reading: OrderReading | undefined): Payment {
  const order = reading?.kind === 'order' ? reading.order : undefined;
  return {
    currency: instruction.currency,
    amountMinor: instruction.amountMinor,
    recipient: instruction.attributes[addressAttribute] ?? '',
    mint: order?.token.mint ?? '',
    units: order?.units ?? 0n,
    committedAtMs: instruction.committedAtMs,
    attempts: [],
    landed: null,
    reason: null,
    waitsFor: null,
  };
}

const coinDecimals = 9;

async function readFunds(parts: SolanaParts, { signal }: CallContext): Promise<RailFunds[]> {
  const cluster = await connectCluster(parts, signal);
  const lamports = await cluster.getBalance(parts.payer.address);
  const funds: RailFunds[] = [
    { currency: 'SOL', amount: formatScaled(BigInt(lamports), coinDecimals) },
  ];
  for (const token of parts.config.tokens) {
    const units = await readBalance(parts, cluster, token);
    if (units === undefined) continue;
    funds.push({ currency: token.currency, amount: formatScaled(units, token.decimals) });
  }
  return funds;
}

/**
 * What the account has sent since then, by the references that its transactions carry.
 *
 * @throws Error where a payment cannot be read: a list that lacks it would look complete
 */
async function recover(
  parts: SolanaParts,
  sinceMs: number,
  { signal }: CallContext,
): Promise<RecoveredPayment[]> {
  const { payer, host, config } = parts;
  const cluster = await connectCluster(parts, signal);
  await compareRecords(parts, cluster);
  // The chain has real time, and the environment's clock may be ahead.
  const sinceSeconds = (sinceMs - (host.nowMs() - host.realNowMs())) / 1000;
  const found: RecoveredPayment[] = [];
  for (const listed of await cluster.listSignatures(payer.address, { sinceSeconds })) {
    const { signature, memo, err, slot, blockTime } = listed;
    const reference = readReference(memo);
    const isEarlier = typeof blockTime === 'number' && blockTime < sinceSeconds;
    if (reference === undefined || isEarlier) continue;
    const transfer = await findOwnTransfer(parts, cluster, signature);
    if (transfer === undefined) continue;
    const money = readMoney(config, transfer);
    if (money === undefined) {
      throw new Error(`transaction ${signature} moves a token that is not configured`);
    }
    found.push({
      reference,
      ...money,
      outcome: err ? 'rejected' : 'paid',
      providerReference: signature,
      atMs: (blockTime ?? 0) * 1000,
      detail: `slot ${slot}`,
    });
  }
  return found;
}

function readMoney(
  { tokens }: SolanaConfig,
  { mint, units }: Pick<NonNullable<ReturnType<typeof readTransfer>>, 'mint' | 'units'>,
) {
  const token = tokens.find((one) => one.mint === mint);
  if (token === undefined) return undefined;
  const scales = { currency: getCurrency(token.currency).scale, chain: token.decimals };
  return { currency: token.currency, amountMinor: toCurrencyUnits(units, scales) };
}

export const railModule: RailModule<SolanaConfig> = {
  kind: 'solana',
  about: 'SPL tokens such as USDC on Solana, by JSON-RPC.',
  corridors: [
    { countries: 'any', deliveryType: 'CRYPTOCURRENCY', currencies: ['USDC', 'USDT', 'EURC'] },
  ],
  reference: { lengthMax: 64, charset: /^[0-9A-Za-z_-]+$/ },
  pace: { concurrencyMax: 16, perSecondMax: null },
  configSchema,
  listExclusives,
  create,
};

async function listExclusives(config: SolanaConfig): Promise<ExclusiveResource[]> {
  const { address } = await openKey(config.key.secretKey);
  return [{ what: 'the paying address', value: `${nameNetwork(config)}:${address}` }];
}
