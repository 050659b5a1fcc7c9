import type { Logger } from 'pino';
import { collectAttributes } from './attributes/collected-attributes.ts';
import { type Config, ConfigError } from './config.ts';
import type { EnvironmentName } from './core/access.ts';
import type { KeyRing } from './core/sealing.ts';
import type { EnvironmentClock } from './db/environment-clock.ts';
import type { Database } from './db/pool.ts';
import { type Catalogue, createCurrentCatalogue } from './destinations/catalogue.ts';
import { readLimitsFile, readScreening } from './environment-settings.ts';
import type { MidRates } from './fx/rate-book.ts';
import { createDispatcher, dispatchTimes } from './payouts/dispatch.ts';
import { createMeasurements, type Measurements } from './payouts/standings.ts';
import type { Rail } from './rails/contract.ts';
import { openConfiguredRails } from './rails/open.ts';
import { RailConfigError } from './rails/rail-config.ts';
import { createSandboxRail } from './rails/sandbox/rail.ts';
import { createRules } from './rules/rules.ts';
import { findScript } from './sandbox/sandbox.ts';

/** Through what an environment pays: its rails, what they offer, and the dispatcher over them. */

export type PaymentOptions = {
  config: Config;
  name: EnvironmentName;
  realNowMs: () => number;
  fetch: typeof fetch;
  onRailAnswer: (rail: string, outcome: string) => void;
};

export type PaymentBase = {
  db: Database;
  keys: KeyRing;
  clock: EnvironmentClock;
  log: Logger;
  rates: { rates(): MidRates };
  onError: (error: unknown) => void;
};

/** @throws ConfigError where the operator's files are wrong. */
export async function openPayments(options: PaymentOptions, base: PaymentBase) {
  const { config, name, realNowMs } = options;
  const { db, keys, clock, rates, onError } = base;
  const configured = await openRails(options, base);
  const rails = [...createSandbox(db, name, clock.nowMs), ...configured.rails];
  const catalogue = createCurrentCatalogue(rails, clock);
  const measurements = createMeasurements(db.system);
  const limits = readLimitsFile(config);
  const screening = readScreening(config);
  const dispatcher = createDispatcher({
    db,
    keys,
    clock,
    onError,
    rails: new Map(rails.map((rail) => [rail.name, rail])),
    router: { catalogue, rates: rates.rates, measure: measurements.measure },
    measurements,
    rules: createRules({ db, keys, rates: rates.rates, limits, screening, realNowMs }),
    times: dispatchTimes[name],
    onAnswer: options.onRailAnswer,
  });
  return { configured, rails, catalogue, measurements, dispatcher };
}

async function openRails(
  { config, name, fetch, realNowMs }: PaymentOptions,
  { db, keys, clock, log }: PaymentBase,
) {
  try {
    return await openConfiguredRails({
      path: name === 'live' ? config.OUTLAY_LIVE_RAILS : config.OUTLAY_RAILS,
      readVariable: config.readVariable,
      db,
      keys,
      nowMs: clock.nowMs,
      realNowMs,
      fetch,
      collectAttributes: ({ countryCode, deliveryType }, currency) =>
        collectAttributes({ countryCode, deliveryType, currency }),
      publicUrl: config.OUTLAY_PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`,
      log: (level, message, fields) => log[level](fields, message),
    });
  } catch (error) {
    if (error instanceof RailConfigError) throw new ConfigError(error.message, { cause: error });
    throw error;
  }
}

/** Live has no simulated network: until a rail is configured it serves no country. */
function createSandbox(db: Database, name: EnvironmentName, nowMs: () => number): Rail[] {
  if (name === 'live') return [];
  return [
    createSandboxRail({ nowMs, findScript: (reference) => findScript(db.system, reference) }),
  ];
}

/** What a company's payers earned together; found anew when the catalogue is. */
export function createCompanyRating(getCatalogue: () => Catalogue, measurements: Measurements) {
  return (company: { railName: string; key: string }): number | undefined =>
    measurements.rateCompany(
      company.railName,
      getCatalogue().payerKeysOf(company.railName, company.key),
    );
}
