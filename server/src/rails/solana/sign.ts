import type { Address } from '@solana/kit';
import { RpcError } from '../kit/json-rpc.ts';
import type { Cluster } from './cluster.ts';
import type { Token } from './config.ts';
import { readInstruction } from './order.ts';
import type { SolanaParts } from './parts.ts';
import { type Attempt, addressAttribute, type Payment, type StoredPayment } from './payment.ts';
import { notify, send } from './track.ts';
import {
  findTokenAccount,
  getNetworkFee,
  isSameKey,
  type Lifetime,
  makeTrial,
  readMintDecimals,
  readTokenAccount,
  signTransfer,
  type Transfer,
  tokenAccountBytes,
} from './transfer.ts';

/** Signs waiting payments within funds and the limits of fees, and records the bytes before they leave. */

/** A blockhash is accepted for this many blocks after its own. */
const lifetimeBlocks = 150;
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA';

type Signing = {
  readonly parts: SolanaParts;
  readonly cluster: Cluster;
  readonly lifetime: Lifetime;
  /** Lamports, less what is in flight. */
  coin: number;
  /** Smallest units by mint, less what is in flight; undefined: the mint is not as configured. */
  readonly units: Map<string, bigint | undefined>;
  readonly rent: number;
  room: number;
};

type Plan =
  | { readonly kind: 'ready'; readonly transfer: Transfer; readonly cost: number }
  | { readonly kind: 'waits'; readonly waitsFor: NonNullable<Payment['waitsFor']> }
  | { readonly kind: 'refused'; readonly reason: NonNullable<Payment['reason']> };

export async function signWaiting(parts: SolanaParts, cluster: Cluster): Promise<void> {
  const signed = await Array.fromAsync(parts.payments.list({ state: 'signed' }));
  const room = parts.config.inFlightMax - signed.length;
  const [first] = await parts.payments.page({ state: 'waiting', count: 1 });
  if (room <= 0 || first === undefined) return;
  const signing = await openSigning(parts, cluster, { signed, room });
  for await (const stored of parts.payments.list({ state: 'waiting' })) {
    if (signing.room === 0) return;
    await handle(signing, stored);
  }
}

async function openSigning(
  parts: SolanaParts,
  cluster: Cluster,
  { signed, room }: { readonly signed: readonly StoredPayment[]; readonly room: number },
): Promise<Signing> {
  const { blockhash, lastValidBlockHeight } = await cluster.getLatestBlockhash();
  // The blockhash is of a final block, so it is not accepted later than this, no matter what the node says:
  // a height that is too low would let the payment be signed again while the first one may land.
  const highest = (await cluster.getBlockHeight()) + lifetimeBlocks;
  const inFlight = signed.reduce(
    (sum, { value }) => sum + (value.attempts.at(-1)?.costMax ?? 0),
    0,
  );
  const units = new Map<string, bigint | undefined>();
  for (const token of parts.config.tokens) {
    const reserved = signed
      .filter(({ value }) => value.mint === token.mint)
      .reduce((sum, { value }) => sum + value.units, 0n);
    const balance = await readBalance(parts, cluster, token);
    units.set(token.mint, balance === undefined ? undefined : balance - reserved);
  }
  return {
    parts,
    cluster,
    room,
    units,
    lifetime: { blockhash, lastValidBlockHeight: Math.max(lastValidBlockHeight, highest) },
    coin: (await cluster.getBalance(parts.payer.address)) - inFlight,
    rent: await cluster.getRent(tokenAccountBytes),
  };
}

/** undefined where the mint is not the configured token. */
export async function readBalance(
  { payer }: Pick<SolanaParts, 'payer'>,
  cluster: Cluster,
  { mint, decimals }: Token,
): Promise<bigint | undefined> {
  const account = await cluster.findAccount(mint);
  if (account?.owner !== tokenProgram) return undefined;
  if (readMintDecimals(account.data[0]) !== decimals) return undefined;
  const held = await cluster.findAccount(await findTokenAccount(payer.address, mint));
  return held?.owner === tokenProgram ? (readTokenAccount(held.data[0])?.units ?? 0n) : 0n;
}

/** A payment that fails stays as it is and does not stop the others. */
async function handle(signing: Signing, stored: StoredPayment): Promise<void> {
  const { parts } = signing;
  try {
    await assign(signing, stored);
  } catch (error) {
    if (error instanceof RpcError) throw error;
    // Without the message, which may contain addresses.
    const fault = error instanceof Error ? error.name : typeof error;
    parts.host.log('error', 'signing a payment failed', { reference: stored.key, fault });
  }
}

async function assign(signing: Signing, stored: StoredPayment): Promise<void> {
  const { parts } = signing;
  if (await adopt(parts, stored)) return;
  const plan = await prepare(signing, stored);
  if (plan.kind === 'ready') return signAndSend(signing, stored, plan);
  if (plan.kind === 'refused') {
    // Its attempts, if there are any, can never land, so it will never be paid.
    const value = { ...stored.value, reason: plan.reason };
    await notify(parts, { key: stored.key, value });
    await parts.payments.write(stored, { state: 'rejected', value });
    return;
  }
  if (plan.waitsFor === stored.value.waitsFor) return;
  parts.host.log('warn', 'payment waits', { reference: stored.key, for: plan.waitsFor });
  const value = { ...stored.value, waitsFor: plan.waitsFor };
  await parts.payments.write(stored, { state: 'waiting', value });
}

/** Links the payment to a transaction of its reference that the records lacked. */
async function adopt(parts: SolanaParts, stored: StoredPayment): Promise<boolean> {
  const known = await parts.unknown.find(stored.key);
  if (known === undefined) return false;
  const attempt = {
    signature: known.value.signature,
    wire: null,
    lastValidBlockHeight: 0,
    costMax: 0,
    signedAtMs: parts.host.nowMs(),
  };
  const value = { ...stored.value, attempts: [...stored.value.attempts, attempt], waitsFor: null };
  await parts.host.store.write([
    ...parts.payments.change(stored, { state: 'signed', value }),
    parts.unknown.change(known, { state: 'taken', value: known.value }),
  ]);
  return true;
}

async function prepare(signing: Signing, stored: StoredPayment): Promise<Plan> {
  const { parts, cluster, units, lifetime } = signing;
  const { value: payment, key: reference } = stored;
  const { config, payer } = parts;
  const reading = readInstruction(config, payer.address, {
    currency: payment.currency,
    amountMinor: payment.amountMinor,
    attributes: { [addressAttribute]: payment.recipient },
  });
  if (reading.kind === 'refused') return reading;
  const { order } = reading;
  const available = units.get(order.token.mint);
  if (available === undefined || order.token.mint !== payment.mint) {
    return { kind: 'waits', waitsFor: 'token_mismatch' };
  }
  if (available < order.units) return { kind: 'waits', waitsFor: 'no_funds' };
  const account = await findRecipientAccount(cluster, order);
  if (account.kind === 'refused') return account;
  const fee = getNetworkFee(config.fees.priorityMicroLamports);
  const cost = fee + (account.exists ? 0 : signing.rent);
  if (cost > config.fees.transactionMaxLamports) return { kind: 'waits', waitsFor: 'fee_limit' };
  if (cost > signing.coin) return { kind: 'waits', waitsFor: 'no_funds' };
  const { mint, decimals } = order.token;
  const transfer = {
    reference,
    recipient: order.recipient,
    mint: mint,
    units: order.units,
    decimals,
    createsAccount: !account.exists,
  };
  const trial = await makeTrial(makeTerms(parts), transfer, lifetime);
  if (await cluster.simulate(trial)) return { kind: 'waits', waitsFor: 'simulation' };
  return { kind: 'ready', transfer, cost };
}

function makeTerms({ payer, config }: SolanaParts) {
  return { payer, priorityMicroLamports: config.fees.priorityMicroLamports };
}

type RecipientAccount =
  | { readonly kind: 'found'; readonly exists: boolean }
  | Extract<Plan, { kind: 'refused' }>;

async function findRecipientAccount(
  cluster: Cluster,
  { recipient, token }: { readonly recipient: Address; readonly token: Token },
): Promise<RecipientAccount> {
  const wallet = await cluster.findAccount(recipient);
  // A token account or a mint: a token account for it would have no owner who can sign.
  if (wallet?.owner === tokenProgram) return { kind: 'refused', reason: 'invalid_details' };
  const address = await findTokenAccount(recipient, token.mint);
  const found = await cluster.findAccount(address);
  // Another party may have sent lamports to the address before there is an account.
  if (found?.owner !== tokenProgram) return { kind: 'found', exists: false };
  const account = readTokenAccount(found.data[0]);
  if (account === undefined) return { kind: 'found', exists: false };
  // Its owner has transferred it: the money would reach another person.
  if (!isSameKey(account.owner, recipient)) return { kind: 'refused', reason: 'recipient_refused' };
  if (account.isFrozen) return { kind: 'refused', reason: 'account_blocked' };
  return { kind: 'found', exists: true };
}

async function signAndSend(
  signing: Signing,
  stored: StoredPayment,
  { transfer, cost }: Extract<Plan, { kind: 'ready' }>,
): Promise<void> {
  const { parts, cluster, lifetime, units } = signing;
  const { config, host, spent } = parts;
  const day = await spent.read(new Date(host.nowMs()).toISOString().slice(0, 10));
  if (day.next + cost > config.fees.dayMaxLamports) {
    if (stored.value.waitsFor === 'fee_day_limit') return;
    host.log('warn', 'payment waits', { reference: stored.key, for: 'fee_day_limit' });
    const value = { ...stored.value, waitsFor: 'fee_day_limit' as const };
    await parts.payments.write(stored, { state: 'waiting', value });
    return;
  }
  const attempt: Attempt = {
    ...(await signTransfer(makeTerms(parts), transfer, lifetime)),
    lastValidBlockHeight: lifetime.lastValidBlockHeight,
    costMax: cost,
    signedAtMs: host.nowMs(),
  };
  const attempts = [...stored.value.attempts, attempt];
  const value = { ...stored.value, attempts, waitsFor: null };
  const isWritten = await host.store.write([
    ...parts.payments.change(stored, { state: 'signed', value }),
    spent.change(day, day.next + cost),
  ]);
  // It was canceled, or another process changed it: the signed bytes are discarded.
  if (!isWritten) return;
  signing.room -= 1;
  signing.coin -= cost;
  units.set(transfer.mint, (units.get(transfer.mint) ?? 0n) - transfer.units);
  await send(parts, cluster, { key: stored.key, value });
}
