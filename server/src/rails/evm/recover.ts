import { formatEther } from 'viem';
import { findCurrency } from '../../core/currency.ts';
import type { CallContext, RecoveredPayment } from '../contract/contract.ts';
import { coinDecimals, toCurrencyUnits } from './amounts.ts';
import { compareMemory } from './memory-check.ts';
import { changeNonce, changeRecovery, type NonceMemory, readNonceMemory } from './nonce-records.ts';
import { isFinal } from './nonces.ts';
import { connectChain, type EvmParts, listPayments, type Pass } from './parts.ts';
import { look } from './pass.ts';
import { listHashes, paymentStates } from './payment.ts';
import { type Consumer, countSentAt, findBlockBefore, scanSent } from './scan.ts';
import { judgeReceipt, readOrder, type Transfer } from './transaction.ts';

/** The recovery of a database that was restored: what the account has sent by the chain's account. */

/** @throws Error where no endpoint answers, or it does not reach back so far. */
export async function recover(
  parts: EvmParts,
  sinceMs: number,
  context: CallContext,
): Promise<readonly RecoveredPayment[]> {
  const pass = await openPass(parts, context);
  const low = (await findBlockBefore(pass, sinceMs)) ?? 0;
  const lowCount = (await countSentAt(pass, low)) ?? -1;
  const consumers = await scanSent(pass, { low, lowCount });
  const nonces = consumers.map(({ transaction }) => transaction.nonce);
  await noteScan(pass, Math.min(pass.sent, ...nonces));
  const references = await listReferences(pass);
  const recovered: RecoveredPayment[] = [];
  for (const consumer of consumers) {
    const reference = references.get(consumer.transaction.hash) ?? '';
    recovered.push(await describe(pass, consumer, reference));
  }
  return recovered;
}

/**
 * Everything that the chain counts by now is accepted as sent. @throws Error while it is too early.
 */
export async function confirmRecovery(parts: EvmParts, context: CallContext): Promise<void> {
  const pass = await openPass(parts, context);
  const { host, sent } = pass;
  const pending = await pass.chain.countSent(pass.account.address, 'pending');
  await compareMemory(pass, Math.max(sent, pending));
  const memory = await readNonceMemory(host);
  const { nonce, recovery } = memory;
  if (recovery?.state !== 'behind') return;
  const waiting = pending - Math.max(sent, nonce?.next ?? 0);
  if (waiting > 0) {
    throw new Error(
      `${waiting} transactions of the account wait in the network and are not in the rail's memory: ` +
        'release the recovery when they are mined or dropped',
    );
  }
  const upTo = Math.max(sent, nonce?.next ?? 0);
  const first = nonce === undefined ? (recovery.scannedFrom ?? sent) : undefined;
  const confirmed = { ...recovery, state: 'confirmed', upTo, atMs: host.nowMs() } as const;
  const isWritten = await host.store.write([
    changeRecovery(recovery, omitRevision(confirmed)),
    ...(first === undefined ? [] : [changeNonce({ next: 0, revision: 0 }, first)]),
  ]);
  if (!isWritten) throw new Error('the memory of the rail changed meanwhile: release it again');
  host.log('warn', 'the recovery is released', { upTo, next: nonce?.next ?? first ?? 0 });
  host.wake();
}

function omitRevision({ revision: _, ...rest }: NonNullable<NonceMemory['recovery']>) {
  return rest;
}

async function openPass(parts: EvmParts, { signal }: CallContext): Promise<Pass> {
  const chain = await connectChain(parts, signal);
  if (chain === undefined) throw new Error('no endpoint answers for the chain of the rail');
  return look(parts, chain);
}

/** A memory without a nonce reads from there what was sent, once the recovery is released. */
async function noteScan({ host }: Pass, lowestNonce: number): Promise<void> {
  const { nonce, recovery } = await readNonceMemory(host);
  if (nonce !== undefined || recovery?.state !== 'behind') return;
  const scannedFrom = Math.min(recovery.scannedFrom ?? lowestNonce, lowestNonce);
  await host.store.write([changeRecovery(recovery, omitRevision({ ...recovery, scannedFrom }))]);
}

/** The reference of every transaction that the memory knows. */
async function listReferences({ host }: EvmParts): Promise<Map<string, string>> {
  const references = new Map<string, string>();
  for (const state of paymentStates) {
    for await (const { reference, payment } of listPayments(host, state)) {
      for (const hash of listHashes(payment)) references.set(hash, reference);
    }
  }
  return references;
}

async function describe(
  pass: Pass,
  consumer: Consumer,
  reference: string,
): Promise<RecoveredPayment> {
  const { transaction, block } = consumer;
  const order = readOrder(transaction);
  const money = order && readMoney(pass, order);
  const about = {
    reference,
    providerReference: transaction.hash,
    atMs: block.timestamp * 1000,
  };
  const where = `nonce ${transaction.nonce}, block ${block.number}`;
  if (order === undefined || money === undefined) {
    const detail = `${where}: no payment of this rail (${formatEther(transaction.value)} ETH)`;
    const amountMinor = toCurrencyUnits(transaction.value, { currency: 9, chain: coinDecimals });
    return { ...about, currency: 'ETH', amountMinor, outcome: 'unknown', detail };
  }
  const outcome = await findOutcome(pass, consumer, order);
  return { ...about, ...money, outcome, destination: order.recipient, detail: where };
}

function readMoney({ config }: Pass, order: Transfer) {
  const token = config.tokens.find(
    ({ address }) => address.toLowerCase() === order.contract?.toLowerCase(),
  );
  if (order.contract !== null && token === undefined) return undefined;
  const currency = token?.currency ?? 'ETH';
  const scale = findCurrency(currency)?.scale;
  if (scale === undefined) return undefined;
  const chain = token?.decimals ?? coinDecimals;
  return { currency, amountMinor: toCurrencyUnits(order.units, { currency: scale, chain }) };
}

async function findOutcome(
  pass: Pass,
  { transaction, block }: Consumer,
  order: Transfer,
): Promise<RecoveredPayment['outcome']> {
  const receipt = await pass.chain.findReceipt(transaction.hash);
  if (receipt === undefined || receipt.blockHash !== block.hash) return 'unknown';
  const verdict = judgeReceipt(receipt, pass.account.address, order);
  if (verdict === 'unclear') return 'unknown';
  if (!isFinal(pass, block)) return 'accepted';
  return verdict === 'paid' ? 'paid' : 'rejected';
}
