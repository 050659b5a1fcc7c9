import { formatEther } from 'viem';
import { findCurrency } from '../../core/currency.ts';
import type { CallContext, RecoveredPayment } from '../contract/contract.ts';
import { toCurrencyUnits } from '../kit/amounts.ts';
import { coinDecimals } from './amounts.ts';
import type { SentTransaction } from './chain.ts';
import { getCoin } from './config.ts';
import { isFinal } from './nonces.ts';
import { connectChain, type EvmParts, type Pass } from './parts.ts';
import { readChain } from './pass.ts';
import { listHashes } from './payment.ts';
import { compareRecords } from './record-check.ts';
import { countSentAt, findBlockBefore, scanSent } from './scan.ts';
import { classifyReceipt, readOrder, type Transfer } from './transaction.ts';

/** Recovery of a restored database: what the account has sent according to the chain. */

/** @throws Error where no endpoint answers, or none reaches back so far. */
export async function recover(
  parts: EvmParts,
  sinceMs: number,
  context: CallContext,
): Promise<readonly RecoveredPayment[]> {
  const pass = await openPass(parts, context);
  // The chain has real time, and the environment's clock may be ahead.
  const aheadMs = pass.host.nowMs() - pass.host.realNowMs();
  const low = (await findBlockBefore(pass, sinceMs - aheadMs)) ?? 0;
  const lowCount = (await countSentAt(pass, low)) ?? -1;
  const sentTransactions = await scanSent(pass, { low, lowCount });
  const nonces = sentTransactions.map(({ transaction }) => transaction.nonce);
  await recordScan(pass, Math.min(pass.sent, ...nonces));
  const references = await listReferences(pass);
  const recovered: RecoveredPayment[] = [];
  for (const found of sentTransactions) {
    const reference = references.get(found.transaction.hash) ?? '';
    recovered.push(await describe(pass, found, reference));
  }
  return recovered;
}

/** Accepts everything that the chain counts now as sent. @throws Error while it is too early. */
export async function confirmRecovery(parts: EvmParts, context: CallContext): Promise<void> {
  const pass = await openPass(parts, context);
  const { host, sent, nonces } = pass;
  const pending = await pass.chain.countSent(pass.account.address, 'pending');
  await compareRecords(pass, Math.max(sent, pending));
  const { nonce, recovery } = await nonces.read();
  if (recovery?.state !== 'behind') return;
  const waiting = pending - Math.max(sent, nonce.next);
  if (waiting > 0) {
    throw new Error(
      `${waiting} transactions of the account wait in the mempool and are not in the rail's records: ` +
        'release the recovery when they are mined or dropped',
    );
  }
  const upTo = Math.max(sent, nonce.next);
  const next = nonce.revision === 0 ? (recovery.value.scannedFrom ?? sent) : nonce.next;
  const value = { ...recovery.value, upTo, atMs: host.nowMs() };
  const isWritten = await host.store.write([
    nonces.changeRecovery(recovery, { state: 'confirmed', value }),
    ...(nonce.revision === 0 ? [nonces.change(nonce, next)] : []),
  ]);
  if (!isWritten) throw new Error('the records changed meanwhile: release the recovery again');
  host.log('warn', 'the recovery is released', { upTo, next });
  host.wake();
}

async function openPass(parts: EvmParts, { signal }: CallContext): Promise<Pass> {
  const chain = await connectChain(parts, signal);
  if (chain === undefined) throw new Error('no endpoint serves the chain of the rail');
  return readChain(parts, chain);
}

/** Without a nonce on record, transactions are read from there once the recovery is released. */
async function recordScan({ host, nonces }: Pass, lowestNonce: number): Promise<void> {
  const { nonce, recovery } = await nonces.read();
  if (nonce.revision > 0 || recovery?.state !== 'behind') return;
  const { state, value } = recovery;
  const scannedFrom = Math.min(value.scannedFrom ?? lowestNonce, lowestNonce);
  await host.store.write([
    nonces.changeRecovery(recovery, { state, value: { ...value, scannedFrom } }),
  ]);
}

/** The reference of every recorded transaction, by hash. */
async function listReferences({ payments }: EvmParts): Promise<Map<string, string>> {
  const references = new Map<string, string>();
  for await (const { key, value } of payments.list()) {
    for (const hash of listHashes(value)) references.set(hash, key);
  }
  return references;
}

async function describe(
  pass: Pass,
  found: SentTransaction,
  reference: string,
): Promise<RecoveredPayment> {
  const { transaction, block } = found;
  const order = readOrder(transaction);
  const money = order && readMoney(pass, order);
  const about = {
    reference,
    providerReference: transaction.hash,
    atMs: block.timestamp * 1000,
  };
  const where = `nonce ${transaction.nonce}, block ${block.number}`;
  if (order === undefined || money === undefined) {
    const detail = `${where}: not a payment of this rail (${formatEther(transaction.value)} ${getCoin(pass.config)})`;
    const amountMinor = toCurrencyUnits(transaction.value, { currency: 9, chain: coinDecimals });
    return { ...about, currency: getCoin(pass.config), amountMinor, outcome: 'unknown', detail };
  }
  const outcome = await findOutcome(pass, found, order);
  return { ...about, ...money, outcome, destination: order.recipient, detail: where };
}

function readMoney({ config }: Pass, order: Transfer) {
  const token = config.tokens.find(
    ({ address }) => address.toLowerCase() === order.contract?.toLowerCase(),
  );
  if (order.contract !== null && token === undefined) return undefined;
  const currency = token?.currency ?? getCoin(config);
  const scale = findCurrency(currency)?.scale;
  if (scale === undefined) return undefined;
  const chain = token?.decimals ?? coinDecimals;
  return { currency, amountMinor: toCurrencyUnits(order.units, { currency: scale, chain }) };
}

async function findOutcome(
  pass: Pass,
  { transaction, block }: SentTransaction,
  order: Transfer,
): Promise<RecoveredPayment['outcome']> {
  const receipt = await pass.chain.findReceipt(transaction.hash);
  if (receipt === undefined || receipt.blockHash !== block.hash) return 'unknown';
  const verdict = classifyReceipt(receipt, pass.account.address, order);
  if (verdict === 'unclear') return 'unknown';
  if (!isFinal(pass, block)) return 'accepted';
  return verdict === 'paid' ? 'paid' : 'rejected';
}
