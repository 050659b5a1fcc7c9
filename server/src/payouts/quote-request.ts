import { amountFaults } from '../core/amount-faults.ts';
import { findCurrency } from '../core/currency.ts';
import { AppError, type Fault, throwFaults } from '../core/errors.ts';
import { findTokenId, formatToken, isUuid } from '../core/ids.ts';
import { parseAmount } from '../core/money.ts';
import type { Catalog, Payer } from '../destinations/catalog.ts';
import { describeUserStatus } from './obstacles.ts';
import type { QuoteContextRow } from './quotes.sql.ts';
import type { ScheduleRequest } from './schedule.ts';

/** The request for a quote: what it names, and its faults. */

export type PayoutRequest = {
  clientTransferId: string | undefined;
  sourceToken: string | undefined;
  sourceCurrency: string | undefined;
  destinationToken: string | undefined;
  destinationCurrency: string;
  /** Decimal texts. */
  sourceAmount: string | undefined;
  destinationAmount: string | undefined;
  attrSetToken: string | undefined;
  notifyUser: boolean;
  /** JSON text, and the hashes of its entries (`hashMetadata`). */
  metadata: string;
  metadataHashes: readonly Buffer[];
  /** Undefined: it runs when it is committed. */
  schedule: ScheduleRequest | undefined;
};

/** Stands for a malformed token: it identifies nothing. */
const nilUuid = '00000000-0000-0000-0000-000000000000';

export function readUuid(token: string): string {
  return isUuid(token) ? token : nilUuid;
}

export function readAttrSet(token: string | undefined): string | undefined {
  return token === undefined ? undefined : (findTokenId('attributeSet', token) ?? nilUuid);
}

/** None where the account takes both tokens. */
export function findTokenFaults(row: QuoteContextRow, request: PayoutRequest): Fault[] {
  const hasBoth = request.sourceToken !== undefined && request.destinationToken !== undefined;
  return hasBoth && !row.accept_both_tokens ? describeBothTokens() : [];
}

const bothTokens = 'source_and_destination_exclusive';

export function describeBothTokens(): Fault[] {
  const detail = 'source_token and destination_token must not both be given';
  return ['/source_token', '/destination_token'].map((pointer) => ({
    pointer,
    code: bothTokens,
    detail,
  }));
}

/**
 * Faults of the body come before a conflict. Faults that depend on present balances and payers come
 * after it, so that a repeat of a committed transfer is reported as a duplicate.
 *
 * @throws AppError as `throwQuoteFaults` does.
 */
export function throwBodyFaults(faults: Fault[]): void {
  const isOfBody = ({ pointer, code }: Fault): boolean =>
    pointer?.endsWith('_amount') === true || code === bothTokens;
  if (faults.some(isOfBody)) throwQuoteFaults(faults);
}

/** @throws AppError source_and_destination_exclusive where that is among the faults, else invalid_request. */
export function throwQuoteFaults(faults: Fault[]): void {
  throwFaults(faults, faults.some(({ code }) => code === bothTokens) ? bothTokens : undefined);
}

/** @throws AppError user_not_active, user_erased, duplicate_transfer. */
export function checkConflict(row: QuoteContextRow): void {
  if (row.user_status !== 'ACTIVE') {
    const { code, detail } = describeUserStatus(row.user_status);
    throw new AppError(code, detail);
  }
  if (row.committed_id !== null) {
    const payoutToken = formatToken('payout', row.committed_id);
    const detail = `duplicate transfer: this client_transfer_id was committed as ${payoutToken}`;
    throw new AppError('duplicate_transfer', detail, { members: { payout_token: payoutToken } });
  }
}

export function findSource(
  row: QuoteContextRow,
  request: PayoutRequest,
  faults: Fault[],
): { token: string; currency: string } | undefined {
  const { wallet_token: token, wallet_currency: currency } = row;
  const { sourceToken, sourceCurrency } = request;
  if (token === null || currency === null) {
    faults.push(
      sourceToken === undefined
        ? {
            pointer: '/source_currency_code',
            code: 'no_balance_in_currency',
            detail: `the account has no balance in ${sourceCurrency ?? 'USD'}`,
          }
        : {
            pointer: '/source_token',
            code: 'unknown_source',
            detail: 'source_token not found',
          },
    );
    return undefined;
  }
  if (sourceCurrency !== undefined && sourceCurrency !== currency) {
    const detail = `source_currency_code must be ${currency}, the currency of source_token`;
    faults.push({ pointer: '/source_currency_code', code: 'currency_mismatch', detail });
  }
  return { token, currency };
}

export function findDestination(
  row: QuoteContextRow,
  context: { request: PayoutRequest; attrSetId: string | undefined; catalog: Catalog },
  faults: Fault[],
): Payer | undefined {
  const { request, attrSetId, catalog } = context;
  const token = request.destinationToken ?? row.set_destination ?? row.last_destination;
  const payer = token === null ? undefined : catalog.findPayer(token);
  const isOtherSet =
    payer !== undefined &&
    (row.set_destination !== payer.destinationToken ||
      row.set_currency !== request.destinationCurrency);
  if (attrSetId !== undefined && (row.set_destination === null || isOtherSet)) {
    const detail = 'attr_set_token must be a set of this user for this destination and currency';
    faults.push({ pointer: '/attr_set_token', code: 'unknown_attr_set', detail });
  }
  if (payer === undefined) {
    // The fault of the attribute set was reported above.
    if (request.destinationToken === undefined && attrSetId !== undefined) return undefined;
    faults.push(
      request.destinationToken === undefined
        ? {
            pointer: '/attr_set_token',
            code: 'no_destination',
            detail:
              'attr_set_token is required with source_token until the user has been paid: it names the destination',
          }
        : {
            pointer: '/destination_token',
            code: 'unknown_destination',
            detail: 'destination_token not found',
          },
    );
    return undefined;
  }
  if (!payer.currencies.includes(request.destinationCurrency)) {
    const detail = `destination_currency_code must be a currency of the destination: ${payer.currencies.join(', ')}`;
    faults.push({ pointer: '/destination_currency_code', code: 'currency_not_delivered', detail });
  }
  return payer;
}

export function sideOf({ sourceAmount }: PayoutRequest): Amount['side'] {
  return sourceAmount === undefined ? 'destination' : 'source';
}

/** The source currency that a request names by itself; undefined where a balance says it. */
export function findAskedCurrency(request: PayoutRequest): string | undefined {
  return request.sourceToken === undefined ? (request.sourceCurrency ?? 'USD') : undefined;
}

export type Amount = { side: 'source' | 'destination'; minor: bigint };

/** The given amount in its currency; undefined with a fault, or without a currency. */
export function readAmount(
  request: PayoutRequest,
  sourceCurrency: string | undefined,
  faults: Fault[],
): Amount | undefined {
  const side = sideOf(request);
  const code = side === 'source' ? sourceCurrency : request.destinationCurrency;
  const currency = code === undefined ? undefined : findCurrency(code);
  // The fault of the currency was reported before.
  if (currency === undefined) return undefined;
  const amount = parseAmount(request.sourceAmount ?? request.destinationAmount ?? '', currency);
  if (amount.ok) return { side, minor: amount.minor };
  const name = `${side}_amount`;
  faults.push({ pointer: `/${name}`, ...amountFaults(name, amount.fault, currency) });
  return undefined;
}
