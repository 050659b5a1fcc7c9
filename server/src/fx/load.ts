import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type AgeLimit, getExpiryMs, liveAgeLimits } from './age-limits.ts';
import { bundledQuotes } from './bundled-rates.ts';
import { parsePrices } from './crypto-prices.ts';
import { parseEcbRates } from './ecb.ts';
import { lockRevision, readNewestRates, readRevision, writeRates } from './fx.sql.ts';
import { checkPlausibility, keepCheckpoints } from './plausibility.ts';
import type { ParsedQuotes } from './quote-file.ts';
import { createRateBook, type MidRates, type RateQuote } from './rate-book.ts';
import { describeLocation, readSource } from './read-source.ts';

/**
 * The sources of rates, each a path or an http(s) address: the central bank's file, prices of
 * cryptocurrencies, and the operator's own table for currencies without a central bank rate.
 */
export type RateSources = { ecb?: string; crypto?: string; table?: string };
export type RateSourceName = keyof RateSources;

export type SourceReport = { source: RateSourceName; location: string } & (
  | {
      ok: true;
      /** Quotes in the file. */
      quotes: number;
      /** Quotes that are new or have another rate. */
      changed: number;
      asOfMs: number;
      unknownCurrencies: string[];
      /** Rates that were stored and that the operator should check. */
      warnings: string[];
    }
  | { ok: false; fault: string }
);

export type ImportOptions = {
  db: Database;
  fetch: typeof fetch;
  nowMs: () => number;
  /** Accepts rates that doubled or halved; see `checkPlausibility`. */
  acceptJumps?: boolean;
};

/** Clocks differ, and the central bank is sometimes a few minutes early. */
const futureToleranceMs = 3_600_000;

type ReadQuotes =
  | { ok: true; quotes: readonly RateQuote[]; unknownCurrencies: string[]; asOfMs: number }
  | { ok: false; fault: string };

/** Reads a source without storing its quotes. */
export async function readQuotes(
  source: RateSourceName,
  location: string,
  options: Pick<ImportOptions, 'fetch' | 'nowMs'>,
): Promise<ReadQuotes> {
  const reading = await readSource(location, { fetch: options.fetch });
  if (!reading.ok) return reading;
  const parsed = parseSource(source, reading.text);
  if (!parsed.ok) return parsed;
  const { quotes, unknownCurrencies } = parsed;
  if (quotes.length === 0) return { ok: false, fault: 'the file has no known currency' };
  const asOfMs = Math.max(...quotes.map((quote) => quote.asOfMs));
  if (asOfMs > options.nowMs() + futureToleranceMs) {
    // As the newest quote it would supersede all others until that time.
    const asOf = new Date(asOfMs).toISOString();
    return { ok: false, fault: `the file is dated ${asOf}, which is in the future` };
  }
  return { ok: true, quotes, unknownCurrencies, asOfMs };
}

/** Reads a source and stores its quotes for all processes. */
export async function importSource(
  source: RateSourceName,
  location: string,
  options: ImportOptions,
): Promise<SourceReport> {
  const described = { source, location: describeLocation(location) };
  const read = await readQuotes(source, location, options);
  if (!read.ok) return { ...described, ok: false, fault: read.fault };
  const { quotes, unknownCurrencies, asOfMs } = read;
  const { acceptJumps = false } = options;
  const nowMs = options.nowMs();
  return options.db.systemTransaction(async (session) => {
    // Concurrent imports would be compared with the same earlier rates.
    await lockRevision(session);
    const { jump, warnings } = await checkPlausibility(session, quotes, nowMs);
    if (jump !== undefined && !acceptJumps) return { ...described, ok: false, fault: jump };
    const changed = await writeRates(session, quotes);
    await keepCheckpoints(session, quotes, { nowMs, acceptJumps });
    const result = { quotes: quotes.length, changed, asOfMs, unknownCurrencies, warnings };
    return { ...described, ok: true, ...result };
  });
}

function parseSource(source: RateSourceName, text: string): ParsedQuotes {
  return source === 'ecb' ? parseEcbRates(text) : parsePrices(text, source);
}

/** Of a source without a limit of its own, for example one of another release. */
const shortestLimit: AgeLimit = {
  maxAgeMs: Math.min(...Object.values(liveAgeLimits).map((limit) => limit.maxAgeMs)),
  calendar: 'every_day',
};

/** The last moment at which the quote is used, milliseconds; undefined in staging, where none expires. */
export function findExpiryMs(
  { source, asOfMs }: Pick<RateQuote, 'source' | 'asOfMs'>,
  environment: EnvironmentName,
): number | undefined {
  if (environment !== 'live') return undefined;
  return getExpiryMs(asOfMs, liveAgeLimits[source] ?? shortestLimit);
}

/** The newest rates, their quotes, and the revision of the table. */
export type LoadedRates = { rates: MidRates; quotes: readonly RateQuote[]; revision: bigint };

export type LoadOptions = {
  db: Database;
  environment: EnvironmentName;
  nowMs: () => number;
};

/**
 * The rate book of an environment. In live every quote has an age limit. In staging none has,
 * because its clock may be moved by months, and the bundled table provides the pairs that were not
 * imported.
 */
export async function loadRateBook(options: LoadOptions): Promise<LoadedRates> {
  const { db, environment, nowMs } = options;
  // Read before the quotes, so that the next refresh notices an import in between.
  const revision = await readRevision(db.system);
  const imported = await readNewestRates(db.system);
  if (environment === 'live') {
    const { maxAgeMs } = shortestLimit;
    const rates = createRateBook(imported, { maxAgeMs, limits: liveAgeLimits, nowMs });
    return { rates, quotes: imported, revision };
  }
  const importedRates = createRateBook(imported, { maxAgeMs: null, nowMs });
  const isMissing = (quote: RateQuote): boolean => !importedRates.find(quote.base, quote.quote).ok;
  const quotes = [...imported, ...bundledQuotes.filter(isMissing)];
  return { rates: createRateBook(quotes, { maxAgeMs: null, nowMs }), quotes, revision };
}
