import { needsAttributes } from '../attributes/attributes.ts';
import type { Clock } from '../core/clock.ts';
import { findCurrency } from '../core/currency.ts';
import { AppError, assert, type Fault, type FaultCode, throwFaults } from '../core/errors.ts';
import { formatToken, newId } from '../core/ids.ts';
import { keyHashes } from '../core/metadata-hashes.ts';
import { formatRate } from '../core/rate.ts';
import type { Session } from '../db/postgres/pool.ts';
import { estimateAvailability } from '../destinations/availability.ts';
import type { Catalog, Payer } from '../destinations/catalog.ts';
import { lacksPrice, type Quote, quotePayer } from '../destinations/quote.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { type CommitRow, commitPayoutRow } from './commit.sql.ts';
import { describeUserStatus, stopTexts } from './obstacles.ts';
import { valueInUsd } from './open-quotes.ts';
import { sealMetadata } from './payout-metadata.ts';
import { type PayoutRow } from './payouts.sql.ts';
import {
  type Amount,
  checkConflict,
  findAskedCurrency,
  findDestination,
  findSource,
  findTokenFaults,
  type PayoutRequest,
  readAmount,
  readAttrSet,
  readUuid,
  sideOf,
  throwBodyFaults,
  throwQuoteFaults,
} from './quote-request.ts';
import {
  findQuoteContexts,
  insertPayout,
  type NewPayout,
  type QuoteContextQuery,
  type QuoteContextRow,
} from './quotes.sql.ts';
import { findRecipientOfQuote } from './recipient-check.sql.ts';
import {
  type FindRecipient,
  listRecipientFaults,
  type RecipientServices,
} from './recipient-check.ts';
import { readBounds, readSchedule } from './schedule.ts';
import type { NewSchedule } from './schedules.sql.ts';

/** Quotes and commits payouts; the dispatcher sends them. */

export type QuoteServices = RecipientServices & {
  catalog: Catalog;
  rates(): MidRates;
  clock: Clock;
  /** How long a quote is valid if the payer does not define it, in seconds. */
  lockSeconds: { national: number; crypto: number };
  /** Business days in which what a scheduled payout waits for may come. */
  scheduleDays: number;
};

/** `maker`: who asks, see `getMaker`. */
type Owner = { session: Session; accountId: string; userId: string; maker?: string | undefined };

/** Reads and stores quotes: in the transaction of the caller, or in a shared one. */
export type QuoteStore = {
  findContext(accountId: string, query: QuoteContextQuery): Promise<QuoteContextRow | undefined>;
  findRecipient: FindRecipient;
  insert(payout: NewPayout): Promise<PayoutRow>;
};

export function openQuoteStore(session: Session): QuoteStore {
  return {
    findContext: async (accountId, query) =>
      (await findQuoteContexts(session, accountId, [query]))[0],
    findRecipient: (accountId, query) => findRecipientOfQuote(session, accountId, query),
    insert: (payout) => insertPayout(session, payout),
  };
}

/**
 * Quotes a payout and stores it as PENDING; it reserves nothing.
 *
 * @throws AppError invalid_request, source_and_destination_exclusive, not_found (user),
 * user_not_active, user_erased, duplicate_transfer, rates_unavailable, open_quotes_exceeded.
 */
export async function createPayout(
  services: QuoteServices,
  owner: Omit<Owner, 'session'> & { store: QuoteStore },
  request: PayoutRequest,
): Promise<PayoutRow> {
  const { store, accountId, userId } = owner;
  const attrSetId = readAttrSet(request.attrSetToken);
  const row = await store.findContext(accountId, {
    userId,
    sourceToken: request.sourceToken === undefined ? undefined : readUuid(request.sourceToken),
    sourceCurrency: request.sourceCurrency ?? 'USD',
    attrSetId,
    clientTransferId: request.clientTransferId,
  });
  if (row === undefined) throw new AppError('not_found', 'User not found');
  const faults = findTokenFaults(row, request);
  const wallet = findSource(row, request, faults);
  const payer = findDestination(row, { request, attrSetId, catalog: services.catalog }, faults);
  const amount = readAmount(request, wallet?.currency ?? findAskedCurrency(request), faults);
  const schedule = findSchedule(services, { request, wallet, payer }, faults);
  throwBodyFaults(faults);
  checkConflict(row);
  throwQuoteFaults(faults);
  assert(
    wallet !== undefined && payer !== undefined && amount !== undefined,
    'a request without faults has a wallet, a payer and an amount',
  );
  const quote = getQuote({ payer, source: wallet, amount, request, rates: services.rates() });
  const currency = request.destinationCurrency;
  const startsAtMs = schedule?.runsAt.getTime() ?? services.clock.nowMs();
  const amountMinor = quote.destinationMinor;
  const recipient = { accountId, userId, payer, currency, amountMinor, attrSetId };
  throwFaults(await listRecipientFaults(services, store.findRecipient, recipient));
  const id = newId();
  const sealed = { accountId, userId, payoutId: id, dataKey: row.data_key };
  return store.insert({
    accountId,
    id,
    userId,
    clientTransferId: request.clientTransferId ?? newId(),
    sourceToken: wallet.token,
    sourceCurrency: wallet.currency,
    sourceMinor: quote.sourceMinor,
    feeMinor: quote.feeMinor,
    destinationToken: payer.destinationToken,
    destinationCurrency: currency,
    destinationMinor: quote.destinationMinor,
    exchangeRate: formatRate(quote.rate),
    midRate: formatRate(quote.midRate),
    usdMinor: valueInUsd(services.rates(), wallet.currency, quote.sourceMinor),
    roundingNano: quote.roundingNano,
    rail: payer.railName,
    payerKey: payer.key,
    payerName: payer.name,
    attrSetId,
    deliveryType: payer.deliveryType,
    countryCode: payer.country.code,
    needsAttributes: needsAttributes({ payer, currency }),
    needsVerification: quote.verificationRequired,
    notifyUser: request.notifyUser,
    metadata: sealMetadata(services.keys, sealed, request.metadata),
    lockSeconds: payer.rateLockSeconds ?? getLockSeconds(services, [wallet.currency, currency]),
    estimatedAvailability: new Date(estimateAvailability(payer.arrival, startsAtMs)),
    metadataHashes: keyHashes(services.keys, accountId, request.metadataHashes),
    schedule,
    createdBy: owner.maker,
    providerPrice: quote.providerPrice?.text,
  });
}

function getLockSeconds(services: QuoteServices, codes: readonly string[]): number {
  const isCrypto = codes.some((code) => findCurrency(code)?.isCrypto === true);
  return isCrypto ? services.lockSeconds.crypto : services.lockSeconds.national;
}

function refuse(pointer: string, code: FaultCode, detail: string): AppError {
  return new AppError('invalid_request', detail, { faults: [{ pointer, code, detail }] });
}

function findSchedule(
  { clock, scheduleDays }: QuoteServices,
  found: {
    request: PayoutRequest;
    wallet: { currency: string } | undefined;
    payer: Payer | undefined;
  },
  faults: Fault[],
): NewSchedule | undefined {
  const { request, wallet, payer } = found;
  const { schedule, destinationCurrency: destination } = request;
  if (schedule === undefined) return undefined;
  const source = wallet?.currency ?? findAskedCurrency(request);
  const bounds = readBounds(schedule, { source, destination }, faults);
  if (payer === undefined) return undefined;
  const terms = {
    ...bounds,
    payer,
    givenSide: sideOf(request),
    nowMs: clock.nowMs(),
    waitDays: scheduleDays,
  };
  return readSchedule(schedule, terms, faults);
}

type QuoteRequest = {
  payer: Payer;
  source: { currency: string };
  amount: Amount;
  request: PayoutRequest;
  rates: MidRates;
};

/** @throws AppError invalid_request (amount or limits), rates_unavailable. */
function getQuote({ payer, source, amount, request, rates }: QuoteRequest): Quote {
  const quote = quotePayer({
    payer,
    sourceCurrency: source.currency,
    destinationCurrency: request.destinationCurrency,
    amount,
    rates,
  });
  if (quote.ok) return quote;
  if (lacksPrice(quote.reason)) {
    throw new AppError('rates_unavailable', quote.detail, { retryAfterSeconds: 60 });
  }
  throw refuse(`/${amount.side}_amount`, quote.reason, quote.detail);
}

export type CommitAnswer = {
  status: 'success' | 'failure' | 'addtl_attr_req' | 'ex_rate_expired';
  /** As it is stored. */
  pickupCode: string;
  errors: string;
  row: CommitRow;
};

/**
 * Commits a payout in one transaction, or returns the reason why not.
 *
 * @throws AppError not_found.
 */
export async function commitPayout(owner: Owner, payoutId: string): Promise<CommitAnswer> {
  const { session, accountId, userId, maker } = owner;
  const row = await commitPayoutRow(session, { accountId, userId, payoutId, maker });
  if (row.result === 'not_found') throw new AppError('not_found', 'Payout not found');
  return { ...describeCommit(row), pickupCode: row.pickup_code, row };
}

export type CommitResultRow = Pick<CommitRow, 'result' | 'detail'>;

/** The answer to a commit in words. */
export function describeCommit({
  result,
  detail,
}: CommitResultRow): Pick<CommitAnswer, 'status' | 'errors'> {
  switch (result) {
    case 'success':
      return { status: 'success', errors: '' };
    case 'addtl_attr_req':
      return {
        status: 'addtl_attr_req',
        errors:
          detail === 'verification'
            ? "the user's identity must be verified before this payout"
            : 'required attributes of the destination are missing',
      };
    case 'ex_rate_expired':
      return {
        status: 'ex_rate_expired',
        errors: 'the exchange rate expired: create a new payout',
      };
    case 'duplicate': {
      const first = formatToken('payout', detail);
      const errors = `duplicate transfer: this client_transfer_id was committed as ${first}`;
      return { status: 'failure', errors };
    }
    case 'insufficient_funds':
      return {
        status: 'failure',
        errors: 'insufficient funds: the balance is less than amount and fee',
      };
    case 'account_frozen':
    case 'commits_stopped':
      return { status: 'failure', errors: stopTexts[result] };
    case 'user_not_active':
      return { status: 'failure', errors: describeUserStatus(detail).detail };
    case 'ended':
      return { status: 'failure', errors: `the payout has ended: ${detail}` };
    case 'not_found':
      throw new Error('unreachable: the caller handles not_found');
  }
}
