import { z } from 'zod';
import { canonicalizeJson, type ExactJson } from '../../core/exact-json.ts';
import type { CallContext, RailHost, RecoveredPayment } from '../contract/contract.ts';
import { readMinor } from '../kit/amounts.ts';
import { nameMember } from '../kit/answers.ts';
import { noteListReading } from '../kit/list-readings.ts';
import { reportMissing } from '../kit/missing-reports.ts';
import { reportUnreadable } from '../kit/unreadable-entries.ts';
import type { Api } from './api.ts';
import type { WiseConfig } from './config.ts';
import type { PaymentState, Payments } from './payments.ts';
import { identifier, type Transfer, transferListSchema, transferSchema } from './protocol.ts';
import { noteStatus, readReport } from './refunds.ts';
import {
  describeFee,
  isTransferOf,
  nameStatus,
  observeReturn,
  readStanding,
  refunded,
} from './states.ts';
import { openTransfers, type TransferRecord } from './transfer-records.ts';

/** The list of transfers, for lost webhooks and after a restore. */

export type ListSetup = {
  readonly api: Api;
  readonly config: WiseConfig;
  readonly host: RailHost;
  readonly payments: Payments;
};

const pageSize = 100;
/** An endless list must not keep a pass from ending. */
const allPagesMax = 10_000;

type Query = {
  readonly sinceMs: number;
  readonly status?: string;
  /** Where fewer are enough, the rest of the list is left out. */
  readonly pagesMax?: number;
};

class ListUnavailable extends Error {
  constructor() {
    super('the list of transfers at Wise cannot be read');
    this.name = 'ListUnavailable';
  }
}

/**
 * Transfers of the profile created since `sinceMs` (real time).
 *
 * @throws ListUnavailable where a page cannot be read now.
 */
async function* listTransfers(
  { api, config }: ListSetup,
  { sinceMs, status, pagesMax = allPagesMax }: Query,
  context: CallContext,
): AsyncGenerator<ListedTransfer, void> {
  for (let page = 0; page < pagesMax; page += 1) {
    const query = new URLSearchParams({
      profile: config.profileId,
      createdDateStart: new Date(sinceMs).toISOString(),
      limit: String(pageSize),
      offset: String(page * pageSize),
      ...(status === undefined ? {} : { status }),
    });
    const path = `/v1/transfers?${query.toString()}`;
    const answer = await api({ method: 'GET', path }, transferListSchema, context);
    if (answer.kind !== 'answered') throw new ListUnavailable();
    yield* answer.value.map(readEntry);
    if (answer.value.length < pageSize) return;
  }
  if (pagesMax === allPagesMax) throw new Error('the list of transfers at Wise has no end');
}

type ListedTransfer =
  | { readonly kind: 'transfer'; readonly transfer: Transfer; readonly raw: Buffer }
  /** Without the described form; `id` where it has one. */
  | {
      readonly kind: 'unreadable';
      readonly id: string | undefined;
      readonly fault: string;
      readonly raw: Buffer;
    };

function readEntry(entry: unknown): ListedTransfer {
  const raw = Buffer.from(canonicalizeJson(entry as ExactJson));
  const { success, data, error } = transferSchema.safeParse(entry);
  if (success) return { kind: 'transfer', transfer: data, raw };
  const id = z.object({ id: identifier }).safeParse(entry).data?.id;
  return { kind: 'unreadable', id, fault: nameMember(error) || 'the whole', raw };
}

/** Bounces come "up to several weeks" after the payment (guide "Tracking transfers"). */
const refundsSinceMs = 60 * 86_400_000;

/**
 * Reports the refunds whose webhooks were lost, under the same ids. The service does not query a payment
 * that counts as paid; those that are under way it queries itself.
 */
export async function pollRefunds(setup: ListSetup, context: CallContext): Promise<void> {
  const query = { status: refunded, sinceMs: setup.host.realNowMs() - refundsSinceMs };
  let isRead = true;
  try {
    for await (const listed of listTransfers(setup, query, context)) {
      if (listed.kind === 'transfer') await reportRefund(setup, listed);
      else await reportUnreadableTransfer(setup, listed);
    }
  } catch (error) {
    // The next pass lists the same; the failed request is in the log.
    if (!(error instanceof ListUnavailable)) throw error;
    isRead = false;
  }
  await noteListReading(setup.host, { name: 'refunds', what: "Wise's list of refunds", isRead });
}

/** It may be the only report of a refund, or a payment that a restored database lacks. */
async function reportUnreadableTransfer(
  { host }: ListSetup,
  { id, fault, raw }: ListedTransfer & { readonly kind: 'unreadable' },
): Promise<void> {
  const known = id === undefined ? undefined : await openTransfers(host.store).find(id);
  const whose = known === undefined ? '' : ` of ${known.value.reference}`;
  const named = id === undefined ? 'a transfer' : `transfer ${id}${whose}`;
  const detail =
    `${named} in Wise's list: ${fault} does not have the described form; check at Wise what was paid or ` +
    'refunded';
  const name = id === undefined ? undefined : `transfer:${id}`;
  await reportUnreadable(host, { name, raw, detail });
}

async function reportRefund(
  { config, host, payments }: ListSetup,
  { transfer, raw: entry }: ListedTransfer & { readonly kind: 'transfer' },
): Promise<void> {
  const { id: transferId, status } = transfer;
  const records = openTransfers(host.store);
  const record = await records.find(transferId);
  if (record?.state !== 'known' || readStanding(status) !== 'refunded') return;
  const { reference } = record.value;
  const payment = await payments.find(reference);
  if (payment?.state === 'refused' || payment?.state === 'cancelled') return;
  const isSame =
    transfer.customerTransactionId === reference &&
    (payment === undefined || isTransferOf(transfer, payment.value));
  if (!isSame) {
    const detail =
      `transfer ${transferId} of ${reference} in Wise's list of refunds has another reference, amount or ` +
      'currency than was ordered';
    const amountMinor = readMinor(transfer.targetValue, transfer.targetCurrency) ?? 0n;
    const money = amountMinor > 0n ? { currency: transfer.targetCurrency, amountMinor } : undefined;
    await reportUnreadable(host, { name: `transfer:${transferId}`, raw: entry, detail, money });
    return;
  }
  const { sourceCurrency } = config;
  const noted = (await noteStatus({ host, sourceCurrency }, transferId)) ?? record;
  const returned = readReport(noted, sourceCurrency);
  if (returned === undefined) return askLate({ host }, noted);
  // The list does not say when the status changed.
  const fee = describeFee(noted.value.terms?.feeMinor, sourceCurrency);
  const ended = { transferId, reference, atMs: host.nowMs(), fee, returned };
  const id = nameStatus(transferId, status);
  const raw = Buffer.from(JSON.stringify({ id: transferId, status, reference }));
  await host.receive({ id, channel: 'poll', raw, observations: [observeReturn(ended)] });
  await endTransfer({ host }, noted, 'returned');
}

/** The events of a refund come together; a person is asked when the amount has not come for so long. */
const amountMsMax = 86_400_000;

async function askLate({ host }: Pick<ListSetup, 'host'>, record: TransferRecord): Promise<void> {
  const { reference, terms, awaitedSinceMs } = record.value;
  if (awaitedSinceMs === undefined || host.realNowMs() - awaitedSinceMs < amountMsMax) return;
  const detail =
    `Wise has refunded transfer ${record.key} of ${reference} and has not said how much (transfers#refund), ` +
    'which may be less than the payment: look for the amount at Wise and give it back to the client';
  const { currency, amountMinor } = terms ?? {};
  const money = currency && amountMinor ? { currency, amountMinor } : {};
  await reportMissing(host, { id: `refund:${record.key}:missing`, detail, ...money });
  await endTransfer({ host }, record, 'asked');
}

async function endTransfer(
  { host }: Pick<ListSetup, 'host'>,
  { key }: TransferRecord,
  state: 'returned' | 'asked',
): Promise<void> {
  await openTransfers(host.store).update(key, (now) =>
    now?.state === 'known' ? { state, value: now.value } : undefined,
  );
}

const outcomes = {
  under_way: 'accepted',
  paid: 'paid',
  // Perhaps never funded; a query of the payment finds out.
  cancelled: 'unknown',
  refunded: 'returned',
} as const;

/** References are UUIDs that the service derives (version 5); other programs use random ones. */
const ownReference = /^[0-9a-f]{8}-[0-9a-f]{4}-5[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * The transfers since `sinceMs` (the environment's milliseconds) that have or may have got money. They
 * are recorded, so that a send of such a reference finds its transfer.
 */
export async function recoverTransfers(
  setup: ListSetup,
  sinceMs: number,
  context: CallContext,
): Promise<readonly RecoveredPayment[]> {
  const { host } = setup;
  const found: RecoveredPayment[] = [];
  // Wise's clock is real time, and the environment's may be ahead.
  const realSinceMs = sinceMs - (host.nowMs() - host.realNowMs());
  for await (const listed of listTransfers(setup, { sinceMs: realSinceMs }, context)) {
    if (listed.kind === 'unreadable') {
      await reportUnreadableTransfer(setup, listed);
      continue;
    }
    const { transfer } = listed;
    const { id, status, targetCurrency: currency, created } = transfer;
    const reference = transfer.customerTransactionId ?? '';
    const amountMinor = readMinor(transfer.targetValue, currency);
    if (amountMinor === undefined || amountMinor === 0n) continue;
    const standing = readStanding(status);
    // Nothing was paid, and a send finds the transfer by its customerTransactionId.
    if (standing === 'unfunded') continue;
    if (reference !== '') await keepRecovered(setup, { reference, id, currency, amountMinor });
    found.push({
      reference,
      currency,
      amountMinor,
      outcome: standing === undefined ? 'unknown' : outcomes[standing],
      providerReference: id,
      atMs: created,
      detail: `transfer ${id}, ${status}`,
    });
  }
  return found;
}

/** Whether the record says that no funding can have left. */
function isUnfunded(state: PaymentState): boolean {
  return state === 'open' || state === 'waiting' || state === 'grouped';
}

async function keepRecovered(
  { payments }: ListSetup,
  found: { reference: string; id: string; currency: string; amountMinor: bigint },
): Promise<void> {
  const { reference, id: transferId, currency, amountMinor } = found;
  await payments.update(reference, (known) => {
    if (known === undefined) {
      const value = { amountMinor, currency, digest: '', transferId };
      return { state: 'funded', value: { ...value, fundingCount: 0, fundedAtMs: 0, fence: 0 } };
    }
    return isUnfunded(known.state)
      ? { state: 'funded', value: { ...known.value, transferId } }
      : undefined;
  });
}

/** What a backup lacks is the newest; a look at every start must be short. */
const startSinceMs = 2 * 86_400_000;
const startPagesMax = 50;

/** Whether Wise has funded transfers under references of this service that have no record here. */
export async function findUnknownTransfers(
  setup: ListSetup,
  context: CallContext,
): Promise<string | undefined> {
  const { host, payments } = setup;
  let count = 0;
  const query = { sinceMs: host.realNowMs() - startSinceMs, pagesMax: startPagesMax };
  for await (const listed of listTransfers(setup, query, context)) {
    if (listed.kind === 'unreadable') continue;
    const { transfer } = listed;
    const reference = transfer.customerTransactionId ?? '';
    if (!ownReference.test(reference) || readStanding(transfer.status) === 'unfunded') continue;
    if ((await openTransfers(host.store).find(transfer.id)) !== undefined) continue;
    // A transfer is recorded before it is funded.
    const payment = await payments.find(reference);
    if (payment === undefined || isUnfunded(payment.state)) count += 1;
  }
  return count === 0
    ? undefined
    : `Wise lists ${count} funded transfers that this database has no record of`;
}
