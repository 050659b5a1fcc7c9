import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { liveAgeLimits } from './age-limits.ts';
import { bundledQuotes } from './bundled-rates.ts';
import { parsePrices } from './crypto-prices.ts';
import { parseEcbRates } from './ecb.ts';
import { lockRevision, readNewestRates, readRevision, writeRates } from './fx.sql.ts';
import { checkPlausibility, keepCheckpoints } from './plausibility.ts';
import type { ParsedQuotes } from './quote-file.ts';
import { createRateBook, type MidRates, type RateQuote } from './rate-book.ts';
import { describeLocation, readSource } from './read-source.ts';

/**
 * Where rates come from, each a path or an http(s) address: the central bank's file, prices of
 * cryptocurrencies, and a table of the operator's own for what the central bank does not quote.
 */
export type RateSources = { ecb?: string; crypto?: string; table?: string };
export type RateSourceName = keyof RateSources;

export type SourceReport = { source: RateSourceName; location: string } & (
  | {
      ok: true;
      /** Usable quotes in the file. */
      quotes: number;
      /** Those of them that were not stored before, or with another rate. */
      changed: number;
      asOfMs: number;
      unknownCurrencies: string[];
      /** Rates that are stored and that an operator should look at. */
      warnings: string[];
    }
  | { ok: false; fault: string }
);

export type ImportOptions = {
  db: Database;
  fetch: typeof fetch;
  nowMs: () => number;
  /** Take rates that doubled or halved; see `checkPlausibility`. */
  acceptJumps?: boolean;
};

/** Clocks differ, and the central bank is at times a few minutes early. */
const futureToleranceMs = 3_600_000;

type ReadQuotes =
  | { ok: true; quotes: readonly RateQuote[]; unknownCurrencies: string[]; asOfMs: number }
  | { ok: false; fault: string };

/** Reads one source and stores nothing; a fault of the source is an answer. */
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
  if (quotes.length === 0) return { ok: false, fault: 'none of its currencies is known' };
  const asOfMs = Math.max(...quotes.map((quote) => quote.asOfMs));
  if (asOfMs > options.nowMs() + futureToleranceMs) {
    // As the newest quote it would hide every true one until its time has come.
    const asOf = new Date(asOfMs).toISOString();
    return { ok: false, fault: `it is dated ${asOf}, which is in the future` };
  }
  return { ok: true, quotes, unknownCurrencies, asOfMs };
}

/** Reads one source and stores its quotes for all processes; a fault of the source is an answer. */
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
    // Two imports at once would each be compared with what was before both.
    await lockRevision(session);
    const { jump, warnings } = await checkPlausibility(session, quotes, nowMs);
    if (jump !== undefined && !acceptJumps) return { ...described, ok: false, fault: jump };
    const changed = await writeRates(session, quotes);
    await keepCheckpoints(session, quotes, { nowMs, acceptJumps });
    const told = { changed, asOfMs, unknownCurrencies, warnings };
    return { ...described, ok: true, quotes: quotes.length, ...told };
  });
}

function parseSource(source: RateSourceName, text: string): ParsedQuotes {
  return source === 'ecb' ? parseEcbRates(text) : parsePrices(text, source);
}

/** The newest rates, what they were made of, and the revision of the table they were read at. */
export type LoadedRates = { rates: MidRates; quotes: readonly RateQuote[]; revision: bigint };

export type LoadOptions = {
  db: Database;
  environment: EnvironmentName;
  nowMs: () => number;
};

/**
 * The book of an environment from the database. In live every quote has an age limit. In staging
 * none has, because its clock may be moved by months, and the bundled table fills in what was not
 * imported.
 */
export async function loadRateBook(options: LoadOptions): Promise<LoadedRates> {
  const { db, environment, nowMs } = options;
  // Read before the quotes: an import in between is then seen as a change by the next refresh.
  const revision = await readRevision(db.system);
  const imported = await readNewestRates(db.system);
  if (environment === 'live') {
    // A source without a limit of its own (from another release, say) gets the shortest.
    const maxAgeMs = Math.min(...Object.values(liveAgeLimits).map((limit) => limit.maxAgeMs));
    const rates = createRateBook(imported, { maxAgeMs, limits: liveAgeLimits, nowMs });
    return { rates, quotes: imported, revision };
  }
  const importedRates = createRateBook(imported, { maxAgeMs: null, nowMs });
  const isMissing = (quote: RateQuote): boolean => !importedRates.find(quote.base, quote.quote).ok;
  const quotes = [...imported, ...bundledQuotes.filter(isMissing)];
  return { rates: createRateBook(quotes, { maxAgeMs: null, nowMs }), quotes, revision };
}
