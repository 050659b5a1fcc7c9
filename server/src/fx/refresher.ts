import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { readRevision } from './fx.sql.ts';
import {
  importSource,
  loadRateBook,
  type RateSourceName,
  type RateSources,
  type SourceReport,
} from './load.ts';
import type { MidRates, RateQuote } from './rate-book.ts';

export type RateLog = {
  info(fields: Record<string, unknown>, message: string): void;
  warn(fields: Record<string, unknown>, message: string): void;
};

export type RatesOptions = {
  db: Database;
  environment: EnvironmentName;
  sources: RateSources;
  fetch: typeof fetch;
  nowMs: () => number;
  log: RateLog;
};

export type ImportReport = { ok: boolean; sources: SourceReport[] };

export type Rates = {
  /** The present rates. Take them once for a computation, so that its figures are consistent. */
  rates(): MidRates;
  /** What the present rates follow from: the newest quote of each pair and source. */
  quotes(): readonly RateQuote[];
  /** The time of the newest quote of each source, milliseconds; staging's bundled table is one. */
  newestBySource(): ReadonlyMap<string, number>;
  /** Reads the rates again if any process has imported some; otherwise one small statement. */
  refresh(): Promise<void>;
  /** Imports every configured source, then refreshes. */
  importAll(options?: { acceptJumps?: boolean }): Promise<ImportReport>;
};

const sourceNames: readonly RateSourceName[] = ['ecb', 'crypto', 'table'];

/**
 * The environment's rates in this process. Reading them never waits; a refresh builds the next book
 * and replaces the present one.
 */
export async function createRates(options: RatesOptions): Promise<Rates> {
  const { db, environment, sources, nowMs, log } = options;
  let current = await loadRateBook({ db, environment, nowMs });

  const refresh = async (): Promise<void> => {
    // Unequal instead of greater: the revision of a restored database may be lower.
    if ((await readRevision(db.system)) === current.revision) return;
    current = await loadRateBook({ db, environment, nowMs });
  };

  return {
    rates: () => current.rates,
    quotes: () => current.quotes,
    newestBySource: () => {
      const newest = new Map<string, number>();
      for (const { source, asOfMs } of current.quotes) {
        newest.set(source, Math.max(asOfMs, newest.get(source) ?? asOfMs));
      }
      return newest;
    },
    refresh,
    importAll: async ({ acceptJumps = false } = {}) => {
      const reports: SourceReport[] = [];
      for (const source of sourceNames) {
        const location = sources[source];
        if (location === undefined) continue;
        const report = await importSource(source, location, {
          db,
          fetch: options.fetch,
          nowMs,
          acceptJumps,
        });
        reports.push(report);
        if (report.ok && report.warnings.length === 0) log.info(report, 'rates imported');
        else if (report.ok) log.warn(report, 'rates imported with warnings');
        else log.warn(report, 'rates not imported');
      }
      await refresh();
      return { ok: reports.every((report) => report.ok), sources: reports };
    },
  };
}
