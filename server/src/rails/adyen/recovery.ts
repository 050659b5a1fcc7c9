import type { CallContext, RecoveredPayment } from '../contract/contract.ts';
import { decodeReference } from '../contract/references.ts';
import { isFeeTransfer } from './money-moves.ts';
import { readTransfer } from './outcomes.ts';
import type { Setup } from './transfers.ts';
import { isOurs } from './webhooks.ts';
import type { Transfer } from './wire.ts';

/** What Adyen's list of transfers shows after a restore. */

const dayMs = 24 * 3_600_000;
/** A list spans six months at most. */
const windowMs = 150 * dayMs;
const pagesMax = 20_000;
/** Of a hundred transfers each, at a start. */
const startPagesMax = 20;
const startDays = 7;

/**
 * The transfers since then. Each is recorded with its ID, so that no order is sent under its reference,
 * also after the idempotency key has expired.
 *
 * @throws Error where the list cannot be read to its end.
 */
export async function recoverPayments(
  setup: Setup,
  sinceMs: number,
  context: CallContext,
): Promise<RecoveredPayment[]> {
  const { host } = setup;
  // Adyen's clock is real time, and the environment's may be ahead.
  const aheadMs = host.nowMs() - host.realNowMs();
  const span = { sinceMs: sinceMs - aheadMs, pagesMax, isNewestFirst: false };
  const transfers = await listAll(setup, span, context);
  const recovered: RecoveredPayment[] = [];
  for (const transfer of transfers) {
    if (isFeeTransfer(transfer)) continue;
    const isForeign = !isOurs(transfer, setup.config.balanceAccountId);
    if (!isForeign) await recordTransfer(setup, transfer);
    const reading = readTransfer(transfer);
    recovered.push({
      reference: isForeign ? '' : transfer.reference,
      currency: transfer.amount.currency,
      amountMinor: BigInt(Math.abs(transfer.amount.value)),
      outcome: reading.kind === 'known' ? reading.outcome : 'unknown',
      providerReference: transfer.id,
      atMs: readCreation(transfer, host.realNowMs()) + aheadMs,
      detail: `transfer ${transfer.id}`,
    });
  }
  return recovered;
}

function readCreation({ createdAt, creationDate }: Transfer, otherwise: number): number {
  const text = createdAt ?? creationDate;
  return text === undefined ? otherwise : Date.parse(text);
}

async function recordTransfer({ payments }: Setup, transfer: Transfer): Promise<void> {
  const { reference, amount, id } = transfer;
  await payments.update(reference, (record) => {
    if (record !== undefined && record.state !== 'sending' && record.state !== 'idle') {
      return undefined;
    }
    const value = record?.value ?? {
      amountMinor: BigInt(amount.value),
      currency: amount.currency,
      target: '',
      sends: 0,
      firstSentAtMs: 0,
      lastSentAtMs: 0,
      earlierSentAtMs: 0,
      reports: 0,
      reason: 'other' as const,
      code: '',
    };
    return { state: 'known', value: { ...value, body: '', transferId: id, reported: '' } };
  });
}

type Span = {
  /** Real time. */
  readonly sinceMs: number;
  readonly pagesMax: number;
  /** What is beyond the last page is left out. */
  readonly isNewestFirst: boolean;
};

async function listAll(
  { api, host }: Setup,
  { sinceMs, pagesMax: max, isNewestFirst }: Span,
  { signal }: CallContext,
): Promise<Transfer[]> {
  const found: Transfer[] = [];
  const endMs = host.realNowMs();
  let fromMs = sinceMs;
  let cursor: string | undefined;
  for (let read = 0; read < max; read += 1) {
    const untilMs = Math.min(fromMs + windowMs, endMs);
    const query = { createdSinceMs: fromMs, createdUntilMs: untilMs, isNewestFirst };
    const page = await api.listTransfers(
      { ...query, ...(cursor !== undefined && { cursor }) },
      signal,
    );
    if (!page.ok) throw new Error("Adyen's list of transfers cannot be read");
    if (page.unreadable.length > 0)
      throw new Error("Adyen's list has a transfer that cannot be read");
    found.push(...page.transfers.map(({ transfer }) => transfer));
    const isLast = page.nextCursor === undefined || page.nextCursor === cursor;
    cursor = isLast ? undefined : page.nextCursor;
    if (!isLast) continue;
    if (untilMs >= endMs) return found;
    fromMs = untilMs;
  }
  if (isNewestFirst) return found;
  throw new Error("Adyen's list of transfers has no end");
}

/** Whether there are recent transfers under references of ours that this database does not know. */
export async function findUnknownPayments(
  setup: Setup,
  context: CallContext,
): Promise<string | undefined> {
  const { host, payments, config } = setup;
  const sinceMs = host.realNowMs() - startDays * dayMs;
  const span = { sinceMs, pagesMax: startPagesMax, isNewestFirst: true };
  const transfers = await listAll(setup, span, context);
  let unknown = 0;
  for (const transfer of transfers) {
    if (!isOurs(transfer, config.balanceAccountId)) continue;
    if (decodeReference(transfer.reference) === undefined) continue;
    if (!(await payments.isKnown(transfer.reference))) unknown += 1;
  }
  return unknown === 0
    ? undefined
    : `Adyen lists ${unknown} transfers that this database has no record of`;
}
