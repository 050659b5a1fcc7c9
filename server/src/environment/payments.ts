import type { Logger } from 'pino';
import { collectAttributes } from '../attributes/collected-attributes.ts';
import { getProfile } from '../attributes/requirements.ts';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { EnvironmentClock } from '../db/environment-clock.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type Catalogue, createCurrentCatalogue } from '../destinations/catalogue.ts';
import { listDeclarationFaults } from '../destinations/declaration-checks.ts';
import { createDispatcher, dispatchTimes } from '../dispatch/dispatch.ts';
import { createSendMarker } from '../dispatch/send-marker.ts';
import { createMeasurements, type Measurements } from '../dispatch/standings.ts';
import type { MidRates } from '../fx/rate-book.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { PayerDeclaration } from '../rails/contract/declarations.ts';
import { openConfiguredRails } from '../rails/host/open.ts';
import { describeRailFaults } from '../rails/host/rail-config.ts';
import { createSandboxRail } from '../rails/sandbox/rail.ts';
import { createRescreening } from '../rules/rescreening.ts';
import { createRules } from '../rules/rules.ts';
import { findScript } from '../sandbox/sandbox.ts';
import { openLimitsFile, readScreening } from './settings.ts';

/** Through what an environment pays: its rails, what they offer, and the dispatcher over them. */

export type PaymentOptions = {
  config: Config;
  /** For commands: what is wrong with rails and limits stops only what needs them. */
  toleratesFaults: boolean;
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
  const { db, keys, clock, log, rates, onError } = base;
  const configured = await openRails(options, base);
  const rails = [...createSandbox(db, name, clock.nowMs), ...configured.rails];
  const catalogue = createCurrentCatalogue(rails, clock);
  const measurements = createMeasurements(db.system);
  const limits = openLimitsFile(options, log);
  const screening = readScreening(config);
  const marker = createSendMarker({
    db,
    environmentName: name,
    dataDirectory: config.OUTLAY_DATA,
    steadyMs: clock.steadyMs,
  });
  const rules = {
    db,
    keys,
    rates: rates.rates,
    // Read at every check: the file may have changed since.
    get limits() {
      return limits.current();
    },
    mayGainLimits: config.OUTLAY_VELOCITY_LIMITS !== undefined,
    screening,
    realNowMs,
  };
  const dispatcher = createDispatcher({
    db,
    keys,
    clock,
    onError,
    // Only where money can leave: a sandbox may be made anew at any time.
    ...(configured.rails.length > 0 && { marker }),
    rails: new Map(rails.map((rail) => [rail.name, rail])),
    router: { catalogue, rates: rates.rates, measure: measurements.measure },
    measurements,
    rules: createRules(rules),
    times: dispatchTimes[name],
    onAnswer: options.onRailAnswer,
  });
  const recovery = { db, rails: configured.rails, marker, onError };
  const rescreen = createRescreening({ ...rules, dispatcher, onError });
  return { configured, rails, catalogue, measurements, dispatcher, limits, recovery, rescreen };
}

/** @throws ConfigError with every fault of the file of rails, unless faults are tolerated. */
async function openRails(
  { config, name, fetch, realNowMs, toleratesFaults }: PaymentOptions,
  { db, keys, clock, log }: PaymentBase,
) {
  const path = name === 'live' ? config.OUTLAY_LIVE_RAILS : config.OUTLAY_RAILS;
  const opened = await openConfiguredRails({
    path,
    readVariable: config.readVariable,
    listAttributes,
    collectAttributes: ({ countryCode, deliveryType }, currency) =>
      collectAttributes({ countryCode, deliveryType, currency }),
    db,
    keys,
    nowMs: clock.nowMs,
    realNowMs,
    fetch,
    publicUrl: config.OUTLAY_PUBLIC_URL ?? `http://${config.HOST}:${config.PORT}`,
    listFaults: listDeclarationFaults,
    log: (level, message, fields) => log[level](fields, message),
  });
  if (opened.faults.length === 0 || toleratesFaults) return opened;
  await opened.close();
  // A rail that is left out would hold its payouts without a word.
  throw new ConfigError(describeRailFaults(path ?? '', opened.faults));
}

/** What a rail compares with the fields that its instruction needs. */
function listAttributes(payer: PayerDeclaration, currency: string): string[] {
  const { countryCode, deliveryType } = payer;
  return getProfile({ countryCode, deliveryType, currency }).requirements.map(({ type }) => type);
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
