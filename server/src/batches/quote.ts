import { corridorOf } from '../attributes/attributes.ts';
import { AppError } from '../core/errors.ts';
import type { Session } from '../db/postgres/pool.ts';
import { quotePayer } from '../destinations/quote.ts';
import { admitBatchQuote, refuseQuote, valueInUsd } from '../payouts/open-quotes.ts';
import { findRowsToPrice, type PricedRow, type PricingRow, priceRows } from './batch-rows.sql.ts';
import {
  type BatchId,
  type BatchRow,
  beginPricing,
  endPricing,
  type Fenced,
  releaseBatch,
  stampQuote,
} from './batches.sql.ts';
import { getBatch } from './batches.ts';
import type { RowFault } from './file/file-row.ts';
import { describeRefusal } from './row-check.ts';
import { compareRates, openPricing, type PricingServices, type RowPricing } from './row-terms.ts';
import { describeUnverified } from './unverified.ts';

/**
 * The quote of a batch: one instant, one set of rates, one expiry. Rows are priced while they are
 * received, so a quote is one statement unless rates have changed since.
 */

/** Older prices are renewed, because they include the estimated time of arrival. */
const pricedMsMax = 15 * 60_000;
const leaseMs = 10_000;
const portionRows = 1000;

/**
 * Quotes a batch, or quotes it again.
 *
 * @throws AppError not_found, illegal_move, rates_unavailable, open_quotes_exceeded.
 */
export async function quoteBatch(services: PricingServices, id: BatchId): Promise<BatchRow> {
  const session = services.db.tenant(id.accountId);
  const batch = await getQuotable(session, id);
  const nowMs = services.clock.nowMs();
  const current = await isCurrent(services, batch, nowMs);
  const fence = current ? batch.fence : await priceAgain(services, id, nowMs);
  const lockSecondsDefault = services.lockSeconds.national;
  const { totals } = current ? batch : await getBatch(session, id);
  const usdMinor = totals.reduce(
    (sum, { source, sourceMinor }) => sum + valueInUsd(services.rates(), source, sourceMinor),
    0n,
  );
  const quoted = await services.db.tenantTransaction(id.accountId, async (transaction) => {
    const priced = { ...id, usdMinor };
    if (!(await admitBatchQuote(transaction, priced))) throw await refuseQuote(transaction, priced);
    return stampQuote(transaction, { ...priced, fence, lockSecondsDefault });
  });
  if (quoted !== undefined) return quoted;
  await getQuotable(session, id);
  throw refuseBusy();
}

async function getQuotable(session: Session, id: BatchId): Promise<BatchRow> {
  const batch = await getBatch(session, id);
  if (batch.status === 'DRAFT' || batch.status === 'QUOTED') return batch;
  throw new AppError('illegal_move', `the batch must be DRAFT or QUOTED, not ${batch.status}`);
}

function refuseBusy(): AppError {
  return new AppError('illegal_move', 'the batch is already being priced', {
    retryAfterSeconds: 1,
  });
}

/** @throws AppError rates_unavailable where the batch needs a rate that is not fresh. */
async function isCurrent(
  services: PricingServices,
  batch: BatchRow,
  nowMs: number,
): Promise<boolean> {
  if (batch.rates === undefined) return false;
  const areSame = compareRates(services, batch.rates);
  if (areSame === undefined) {
    const detail = 'a currency of the batch has no fresh exchange rate, or a payer no fresh price';
    throw new AppError('rates_unavailable', detail, { retryAfterSeconds: 60 });
  }
  return areSame && nowMs - batch.priced_at.getTime() <= pricedMsMax;
}

/** Prices every valid row again, in portions. @returns The fence under which it did. */
async function priceAgain(services: PricingServices, id: BatchId, nowMs: number): Promise<bigint> {
  const session = services.db.tenant(id.accountId);
  const begun = await beginPricing(session, { ...id, leaseMs });
  if (begun === undefined) throw refuseBusy();
  const fenced = { ...id, fence: begun.fence };
  try {
    const pricing = await openPricing(services, { ...id, session }, nowMs);
    const lockSeconds = await priceAll(session, fenced, pricing);
    const rates = JSON.stringify(pricing.book.ratesUsed);
    const ended = await endPricing(session, {
      ...fenced,
      rates,
      lockSeconds,
      pricedAt: new Date(nowMs),
    });
    if (ended === undefined) throw refuseBusy();
    return ended.fence;
  } catch (error) {
    await releaseBatch(session, fenced);
    throw error;
  }
}

/** @returns The shortest rate lock of the rows; undefined where no row is valid. */
async function priceAll(
  session: Session,
  fenced: Fenced,
  pricing: RowPricing,
): Promise<number | undefined> {
  let afterNumber = 0;
  let lockSeconds: number | undefined;
  for (;;) {
    const range = { ...fenced, afterNumber, count: portionRows };
    const found = await findRowsToPrice(session, range);
    const last = found.at(-1);
    if (last === undefined) return lockSeconds;
    const rows = found.map((row) => priceRow(row, pricing));
    for (const { faults, terms } of rows) {
      if (faults !== undefined || terms === undefined) continue;
      lockSeconds = Math.min(lockSeconds ?? terms.lockSeconds, terms.lockSeconds);
    }
    if (!(await priceRows(session, { ...fenced, leaseMs, rows }))) throw refuseBusy();
    afterNumber = last.number;
  }
}

/** The given amount stays; the other amount, the fee and the rate follow from the current rates. */
function priceRow(row: PricingRow, { catalog, book, wallets }: RowPricing): PricedRow {
  const refuse = (column: string, fault: Omit<RowFault, 'column'>): PricedRow => ({
    number: row.number,
    hasStoredDetails: row.has_stored_details,
    faults: [{ column, ...fault }],
    terms: undefined,
    quote: undefined,
  });
  const payer = catalog.findPayer(row.destination_token);
  const source = wallets.get(row.source_currency);
  if (payer === undefined || source === undefined) {
    const detail = 'destination_token is no longer available';
    return refuse('destination_token', { code: 'unknown_destination', detail });
  }
  const side = row.given_side;
  const terms = book.find({ payer, source, destinationCurrency: row.destination_currency });
  const quote = quotePayer({
    payer,
    sourceCurrency: row.source_currency,
    destinationCurrency: row.destination_currency,
    amount: { side, minor: side === 'source' ? row.source_amount : row.destination_amount },
    rates: book.rates,
  });
  if (!quote.ok) {
    const { column, ...fault } = describeRefusal(side, quote);
    return refuse(column, fault);
  }
  if (quote.verificationRequired && row.kyc_status !== 'approved') {
    const corridor = corridorOf({ payer, currency: row.destination_currency });
    return refuse('user_token', describeUnverified(row.session_status, corridor));
  }
  const { number, has_stored_details: hasStoredDetails } = row;
  return { number, hasStoredDetails, faults: undefined, terms, quote };
}
