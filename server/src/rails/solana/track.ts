import type { RailObservation } from '../contract/contract.ts';
import { logRpcFailure } from '../kit/json-rpc.ts';
import { type Cluster, listClusters, type SignatureStatus } from './cluster.ts';
import { isRightCluster } from './config.ts';
import type { SolanaParts } from './parts.ts';
import { type Attempt, listCharges, type Payment, type StoredPayment } from './payment.ts';

/**
 * Follows signed transactions to a final block. What has not landed is sent again, the very same
 * bytes. Only when no block can include them does the payment wait for another signature.
 */

/** Beyond the last valid block, for nodes that count blocks differently by a few. */
const safetyBlocks = 32;
/** How many signatures one call may ask for. */
const pageSize = 200;

export async function trackSigned(
  parts: SolanaParts,
  cluster: Cluster,
  signal: AbortSignal,
): Promise<void> {
  const signed = await Array.fromAsync(parts.payments.list({ state: 'signed' }));
  for (let start = 0; start < signed.length; start += pageSize) {
    const page = signed.slice(start, start + pageSize);
    const attempts = page.map(({ value }) => getLast(value));
    // The height comes first: what lands afterwards has a later block.
    const height = await cluster.getBlockHeight();
    const { statuses } = await cluster.getStatuses(attempts.map(({ signature }) => signature));
    for (const [index, stored] of page.entries()) {
      const seen = { status: statuses[index] ?? null, height };
      await follow(parts, { cluster, signal, stored }, seen);
    }
  }
}

function getLast({ attempts }: Payment): Attempt {
  const last = attempts.at(-1);
  if (last === undefined) throw new Error('a signed payment has an attempt');
  return last;
}

type Followed = {
  readonly cluster: Cluster;
  readonly signal: AbortSignal;
  readonly stored: StoredPayment;
};

async function follow(
  parts: SolanaParts,
  { cluster, signal, stored }: Followed,
  { status, height }: { readonly status: SignatureStatus; readonly height: number },
): Promise<void> {
  const attempt = getLast(stored.value);
  if (status !== null) {
    // A block that is not final may be dropped, and its transactions may land in another one.
    if (status.confirmationStatus === 'finalized') await settle(parts, cluster, stored);
    return;
  }
  // What was found on the chain landed, whatever a node says that has forgotten it.
  if (attempt.wire === null) return;
  if (height > attempt.lastValidBlockHeight + safetyBlocks) {
    if (await isProvenLost(parts, attempt, signal)) await renew(parts, stored);
    return;
  }
  await send(parts, cluster, stored);
}

/** A refusal changes nothing: the next pass sees whether it landed. */
export async function send(
  { host }: SolanaParts,
  cluster: Cluster,
  { key: reference, value }: Pick<StoredPayment, 'key' | 'value'>,
): Promise<void> {
  const { wire } = getLast(value);
  if (wire === null) return;
  try {
    await cluster.broadcast(wire);
  } catch (error) {
    logRpcFailure(host, error, { reference });
  }
}

/** Without an answer of each endpoint it is not proven, and the other payments continue. */
async function isProvenLost(
  parts: SolanaParts,
  attempt: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  try {
    return await isLost(parts, attempt, signal);
  } catch (error) {
    logRpcFailure(parts.host, error);
    return false;
  }
}

/**
 * Whether every configured endpoint shows that the transaction is in no block and can get into none: a
 * node without history, or behind the others, must not cause a second payment.
 */
async function isLost(
  parts: SolanaParts,
  { signature, lastValidBlockHeight }: Attempt,
  signal: AbortSignal,
): Promise<boolean> {
  for (const cluster of listClusters(parts, signal)) {
    if (!isRightCluster(parts.config, await cluster.getGenesisHash())) return false;
    const slot = await cluster.getSlot();
    if ((await cluster.getBlockHeight()) <= lastValidBlockHeight + safetyBlocks) return false;
    const answer = await cluster.getStatuses([signature]);
    if (answer.slot < slot || answer.statuses[0] !== null) return false;
    if ((await cluster.findTransaction(signature)) !== undefined) return false;
    // Another index of the node: the account's own transactions.
    const listed = await cluster.listSignatures(parts.payer.address, { pagesMax: 1 });
    if (listed.some((one) => one.signature === signature)) return false;
  }
  return true;
}

async function renew({ payments, host }: SolanaParts, stored: StoredPayment): Promise<void> {
  host.log('warn', 'no block included a transaction, so it is signed again', {
    reference: stored.key,
  });
  await payments.write(stored, { state: 'waiting', value: stored.value });
}

/** The transaction is in a final block. */
async function settle(parts: SolanaParts, cluster: Cluster, stored: StoredPayment): Promise<void> {
  const { payments } = parts;
  const { signature } = getLast(stored.value);
  const transaction = await cluster.findTransaction(signature);
  // The node's indexes lag behind its statuses by a moment.
  if (transaction === undefined) return;
  const { slot, meta } = transaction;
  // What the account of the payer has less: fees, and the rent of the recipient's account.
  const cost = Math.max(meta.fee, (meta.preBalances[0] ?? 0) - (meta.postBalances[0] ?? 0));
  const landed = { signature, slot, cost };
  const value: Payment = { ...stored.value, landed, reason: meta.err ? 'other' : null };
  await notify(parts, { key: stored.key, value });
  await payments.write(stored, { state: meta.err ? 'rejected' : 'paid', value });
}

/** Called before the state changes: a repeated notification counts once, a missing one is lost. */
export async function notify(
  { host }: SolanaParts,
  { key: reference, value }: Pick<StoredPayment, 'key' | 'value'>,
): Promise<void> {
  const { landed, reason } = value;
  const outcome = reason === null ? 'paid' : 'rejected';
  const id = `${reference}:${outcome}:${landed?.signature ?? reason}`;
  const observation: RailObservation = {
    id,
    reference,
    outcome,
    ...(reason !== null && { reason }),
    ...(landed !== null && { providerReference: landed.signature, charges: listCharges(value) }),
    atMs: host.nowMs(),
  };
  const raw = Buffer.from(JSON.stringify({ reference, outcome, reason, ...landed }));
  await host.receive({ id, channel: 'poll', raw, observations: [observation] });
}
