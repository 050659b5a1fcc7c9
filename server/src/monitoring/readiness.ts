import type { EnvironmentName } from '../core/access.ts';
import { findCurrency } from '../core/currency.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import { type Database, findSqlState } from '../db/postgres/pool.ts';
import { diskFull } from '../db/postgres/server-faults.ts';
import { column, defineQuery, one } from '../db/rows.ts';
import type { Catalog } from '../destinations/catalog.ts';
import { usd } from '../destinations/pricing.ts';
import type { MidRates } from '../fx/rate-book.ts';

/**
 * Whether an environment can serve requests now (docs/decisions/0021-readiness-and-metrics.md). The
 * probe runs what requests run: a statement as the tenant role, and the rates that quotes use.
 */

export type Readiness = {
  /** Why requests cannot be served; empty: they can. */
  readonly faults: readonly string[];
  /** Partial failures, which are no reason to send requests elsewhere. */
  readonly warnings: readonly string[];
  /** The error of the database, for the log. */
  readonly cause?: unknown;
};

export type ReadinessParts = {
  readonly name: EnvironmentName;
  readonly db: Database;
  readonly clock: EnvironmentClock;
  readonly catalog: Catalog;
  rates(): MidRates;
};

/** The tables that every request reads: its credential, and balances. */
const probeQuery = defineQuery({
  name: 'probe_tenant',
  text: `
    select environment_now() as now, exists (select from credentials where account_id = $1)
      or exists (select from ledger_accounts where account_id = $1) as is_known`,
  columns: { now: column.instant, is_known: column.boolean },
});

const nilUuid = '00000000-0000-0000-0000-000000000000';

export async function checkReadiness(parts: ReadinessParts): Promise<Readiness> {
  const rates = checkRates(parts);
  const probed = await probeDatabase(parts);
  const label = (text: string): string => `${parts.name}: ${text}`;
  const disk = parts.db.isDiskFull() ? [diskFullText] : [];
  const warnings = [...disk, ...rates.warnings].map(label);
  if (probed === undefined) return { faults: rates.faults.map(label), warnings };
  return { faults: [probed.fault, ...rates.faults].map(label), warnings, cause: probed.cause };
}

async function probeDatabase({
  db,
  clock,
}: ReadinessParts): Promise<{ fault: string; cause: unknown } | undefined> {
  try {
    await db.checkReady();
    const { now } = await one(db.tenant(nilUuid), probeQuery, [nilUuid]);
    clock.observe(now);
    return undefined;
  } catch (cause) {
    return { fault: describeDatabaseFault(findSqlState(cause)), cause };
  }
}

/** Requests that only read are answered, and another process would refuse the others too. */
const diskFullText = 'the disk of the database is full: nothing can be stored; free space on it';

/** SQLSTATE 22023: the role does not exist; 42501: no right to set it, or a missing grant. */
function describeDatabaseFault(state: string | undefined): string {
  if (state === '22023' || state === '42501') {
    return 'the database role outlay_tenant is missing or lacks grants; run outlay admin doctor';
  }
  return state === diskFull ? diskFullText : 'the database does not answer';
}

/**
 * Not ready only if no national currency has a usable rate: a crypto price expires within minutes and
 * must not stop the national currencies, and one missing currency must not stop the others.
 */
function checkRates({ catalog, rates }: ReadinessParts): Readiness {
  const book = rates();
  const pairs = listPairs(catalog);
  const missing = pairs.filter(({ code }) => !book.find(usd.code, code).ok);
  if (missing.length === 0) return { faults: [], warnings: [] };
  const listed = listNames(missing.map(({ code }) => `${usd.code}/${code}`));
  const national = pairs.filter(({ isCrypto }) => !isCrypto);
  const isAnyUsable = national.some(({ code }) => book.find(usd.code, code).ok);
  if (national.length === 0 || isAnyUsable) {
    return { faults: [], warnings: [`no usable exchange rate for ${listed}`] };
  }
  const fault = `no exchange rate is usable (missing or stale: ${listed}); import rates`;
  return { faults: [fault], warnings: [] };
}

const namesShown = 20;

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, namesShown).join(', ');
  return names.length > namesShown ? `${shown} and ${names.length - namesShown} more` : shown;
}

type Pair = { readonly code: string; readonly isCrypto: boolean };

/** Cached, because a catalog may have thousands of payers and a probe runs every few seconds. */
const pairsOfCatalog = new WeakMap<Catalog, readonly Pair[]>();

/**
 * The currencies that are priced from mid rates. Fees and limits are in USD, so each needs its rate
 * to USD, unless the tariff of the payer has an agreed one.
 */
export function listPairs(catalog: Catalog): readonly Pair[] {
  const known = pairsOfCatalog.get(catalog);
  if (known !== undefined) return known;
  const codes = new Set<string>();
  for (const { country } of catalog.servedCountries()) {
    for (const payer of catalog.payersIn(country.code)) {
      for (const code of payer.currencies) {
        if (code !== usd.code && !payer.pricing.rates.has(`${usd.code}/${code}`)) codes.add(code);
      }
    }
  }
  const pairs = [...codes]
    .toSorted()
    .map((code) => ({ code, isCrypto: findCurrency(code)?.isCrypto === true }));
  pairsOfCatalog.set(catalog, pairs);
  return pairs;
}
