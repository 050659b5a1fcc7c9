import { findCurrency } from '../core/currency.ts';
import { AppError, assert } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { findUsdWorth } from '../fx/usd-worth.ts';
import { findOpenQuotes } from './open-quotes.sql.ts';

export {
  deleteEndedQuoteCounts,
  selectBatchAdmission as admitBatchQuote,
  setOpenQuoteLimits,
} from './open-quotes.sql.ts';

/**
 * Limits on open quotes: those that are neither committed nor expired. A client that could hold any
 * number of them would commit only those whose rate has become favorable.
 */

const dollar = findCurrency('USD');
assert(dollar !== undefined, 'USD is a currency');
const usd = dollar;

/** Cents of USD, rounded up; 0 without a price, so that only the number of quotes is limited. */
export function valueInUsd(rates: MidRates, currencyCode: string, minor: bigint): bigint {
  return findUsdWorth(rates, { currency: currencyCode, minor }) ?? 0n;
}

/** The answer to a quote, or a batch, for which the account has no room. */
export async function refuseQuote(
  session: Session,
  { accountId, usdMinor }: { accountId: string; usdMinor: bigint },
): Promise<AppError> {
  const open = await findOpenQuotes(session, accountId);
  const usdMaxMinor = open.usd_max * 10n ** BigInt(usd.scale);
  const [limit, value] = [`${open.usd_max} USD`, `${formatAmount(usdMinor, usd)} USD`];
  if (usdMinor > usdMaxMinor) {
    const detail = `The account may have open quotes worth at most ${limit}; this one is worth ${value}`;
    return new AppError('open_quotes_exceeded', detail);
  }
  const detail =
    open.count >= open.count_max
      ? `The account may have at most ${open.count_max} open quotes and has ${open.count}`
      : `The account may have open quotes worth at most ${limit} and has ${formatAmount(open.usd, usd)} USD; this one is worth ${value}`;
  return new AppError('open_quotes_exceeded', detail, { retryAfterSeconds: open.wait_seconds });
}
