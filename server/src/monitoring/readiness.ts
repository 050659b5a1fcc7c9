import type { EnvironmentName } from '../core/access.ts';
import { findCurrency } from '../core/currency.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import { type Database, findSqlState, type Statement } from '../db/postgres/pool.ts';
import type { Catalogue } from '../destinations/catalogue.ts';
import { usd } from '../destinations/pricing.ts';
import type { MidRates } from '../fx/rate-book.ts';

/**
 * Whether an environment can serve requests now (docs/decisions/0021-readiness-and-metrics.md). The
 * probe runs what requests run: a statement as the tenant role, and the rates that quotes use.
 */

export type Readiness = {
  /** Why requests cannot be served; none: they can. */
  readonly faults: readonly string[];
  /** What does not work although the others do; no reason to send requests elsewhere. */
  readonly warnings: readonly string[];
  /** What the database said, for the log. */
  readonly cause?: unknown;
};

export type ReadinessParts = {
  readonly name: EnvironmentName;
  readonly db: Database;
  readonly clock: EnvironmentClock;
  readonly catalogue: Catalogue;
  rates(): MidRates;
};

/** The tables that every request reads: its credential, and balances. */
const probeText: Statement = {
  name: 'probe_tenant',
  text: `
    select environment_now() as now, exists (select from credentials where account_id = $1)
      or exists (select from ledger_accounts where account_id = $1) as is_known`,
};

const nobody = '00000000-0000-0000-0000-000000000000';

export async function checkReadiness(parts: ReadinessParts): Promise<Readiness> {
  const rates = checkRates(parts);
  const probed = await probeDatabase(parts);
  const label = (text: string): string => `${parts.name}: ${text}`;
  const warnings = rates.warnings.map(label);
  if (probed === undefined) return { faults: rates.faults.map(label), warnings };
  return { faults: [probed.fault, ...rates.faults].map(label), warnings, cause: probed.cause };
}

async function probeDatabase({
  db,
  clock,
}: ReadinessParts): Promise<{ fault: string; cause: unknown } | undefined> {
  try {
    await db.checkReady();
    const [row] = await db.tenant(nobody).rows<{ now: Date }>(probeText, [nobody]);
    if (row !== undefined) clock.observe(row.now);
    return undefined;
  } catch (cause) {
    return { fault: describeDatabaseFault(findSqlState(cause)), cause };
  }
}

/** SQLSTATE 22023: no such role to set; 42501: no right to set it, or a missing grant. */
function describeDatabaseFault(state: string | undefined): string {
  if (state === '22023' || state === '42501') {
    return 'the database role outlay_tenant is missing or lacks grants: run outlay doctor';
  }
  return 'the database does not answer';
}

/**
 * A crypto price expires within minutes and must not take the national currencies with it, and one
 * missing currency must not take the others. So requests are refused only where no national
 * currency at all has a usable rate.
 */
function checkRates({ catalogue, rates }: ReadinessParts): Readiness {
  const book = rates();
  const pairs = listPairs(catalogue);
  const missing = pairs.filter(({ code }) => !book.find(usd.code, code).ok);
  if (missing.length === 0) return { faults: [], warnings: [] };
  const listed = listNames(missing.map(({ code }) => `${usd.code}/${code}`));
  const national = pairs.filter(({ isCrypto }) => !isCrypto);
  const isAnyUsable = national.some(({ code }) => book.find(usd.code, code).ok);
  if (national.length === 0 || isAnyUsable) {
    return { faults: [], warnings: [`no usable exchange rate for ${listed}`] };
  }
  const fault = `no exchange rate is usable (missing or stale: ${listed}): import rates`;
  return { faults: [fault], warnings: [] };
}

const namesShown = 20;

function listNames(names: readonly string[]): string {
  const shown = names.slice(0, namesShown).join(', ');
  return names.length > namesShown ? `${shown} and ${names.length - namesShown} more` : shown;
}

type Pair = { readonly code: string; readonly isCrypto: boolean };

/** A catalogue may have thousands of payers, and a probe comes every few seconds. */
const pairsOfCatalogue = new WeakMap<Catalogue, readonly Pair[]>();

/**
 * The currencies that are priced from mid rates. Fees and limits are in USD, so each needs its rate
 * to USD, unless the tariff of the payer has an agreed one.
 */
export function listPairs(catalogue: Catalogue): readonly Pair[] {
  const known = pairsOfCatalogue.get(catalogue);
  if (known !== undefined) return known;
  const codes = new Set<string>();
  for (const { country } of catalogue.servedCountries()) {
    for (const payer of catalogue.payersIn(country.code)) {
      for (const code of payer.currencies) {
        if (code !== usd.code && !payer.pricing.rates.has(`${usd.code}/${code}`)) codes.add(code);
      }
    }
  }
  const pairs = [...codes]
    .toSorted()
    .map((code) => ({ code, isCrypto: findCurrency(code)?.isCrypto === true }));
  pairsOfCatalogue.set(catalogue, pairs);
  return pairs;
}
