import { collectAttributes } from '../attributes/collected-attributes.ts';
import { getProfile, makeDeclaredCorridor } from '../attributes/requirements.ts';
import { ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import type { Database } from '../db/postgres/pool.ts';
import { type Catalog, createCurrentCatalog } from '../destinations/catalog.ts';
import { listDeclarationFaults } from '../destinations/declaration-checks.ts';
import { createDispatcher, dispatchTimes } from '../dispatch/dispatch.ts';
import { createSendMarker } from '../dispatch/send-marker.ts';
import { createMeasurements, type Measurements } from '../dispatch/standings.ts';
import type { MidRates } from '../fx/rate-book.ts';
import { refusePayees } from '../payouts/payee-result.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { PayerDeclaration } from '../rails/contract/declarations.ts';
import { createFundsReadings } from '../rails/host/funds.ts';
import { openConfiguredRails } from '../rails/host/open.ts';
import { openQuotedPrices } from '../rails/host/prices.ts';
import { describeRailFaults } from '../rails/host/rail-config.ts';
import { createRequirements, type Requirements } from '../rails/host/requirements.ts';
import { createSandboxRail } from '../rails/sandbox/rail.ts';
import { createPreview } from '../rules/preview.ts';
import { createRecipientRescreening } from '../rules/recipient-rescreening.ts';
import { createRescreening } from '../rules/rescreening.ts';
import { createRules } from '../rules/rules.ts';
import { findScript } from '../sandbox/sandbox.ts';
import { createScreeningCache } from '../screening/screening.ts';
import type { Foundation } from './foundation.ts';
import { getBaseUrl } from './public-url.ts';
import { openScreeningService, type SecondOpinion } from './screening-service.ts';
import { openLimitsFile, readScreening } from './settings.ts';
import { openTravelRules } from './travel-rule.ts';

/** How an environment pays: its rails, the catalog of what they offer, and the dispatcher. */

export type PaymentOptions = {
  readonly rates: { rates(): MidRates };
  readonly onError: (error: unknown) => void;
  readonly onRailAnswer: (rail: string, outcome: string) => void;
  /** Called when a rail wants a pass over its work, and when it stored an inbound message. */
  readonly wakeRail: (rail: string) => void;
  readonly wakeNotifications: () => void;
  /** For commands: leave out rails with faults, and report unreadable limits when they are used. */
  readonly toleratesFaults: boolean;
};

export type Payments = Awaited<ReturnType<typeof openPayments>>;

/** @throws ConfigError where the operator's files are wrong. */
export async function openPayments(base: Foundation, options: PaymentOptions) {
  const { config, name, db, keys, clock, log } = base;
  const { rates, onError, toleratesFaults } = options;
  await using parts = new AsyncDisposableStack();
  const requirements = await openRequirements(base);
  const configured = parts.adopt(await openRails(base, options, requirements), (opened) =>
    opened.close(),
  );
  const travelRules = openTravelRules(base, { rates, onError });
  const guardPayees = (rail: Rail): Rail =>
    config.OUTLAY_PAYEE_CHECK === 'refuse' ? refusePayees(rail) : rail;
  const rails = [...createSandbox(db, name, clock.nowMs), ...configured.rails].map((rail) =>
    guardPayees(travelRules.guard(rail)),
  );
  const prices = await openQuotedPrices({
    db,
    rails: configured.rails,
    log: (level, message, fields) => log[level](fields, message),
  });
  const catalog = createCurrentCatalog(rails, clock, {
    listPrices: prices.list,
    listRequirements: requirements.list,
  });
  const measurements = createMeasurements(db.system);
  parts.defer(() => measurements.exchange().catch(onError));
  const limits = openLimitsFile({ config, toleratesFaults }, log);
  const marker = openSendMarker(base);
  const opinions = openScreeningService(base, onError);
  const rules = describeRules(base, { limits, rates, opinions });
  const dispatcher = createDispatcher({
    db,
    keys,
    clock,
    onError,
    // Only where money can leave: a sandbox may be made anew at any time.
    ...(configured.rails.length > 0 && { marker }),
    rails: new Map(rails.map((rail) => [rail.name, rail])),
    router: { catalog, rates: rates.rates, measure: measurements.measure },
    measurements,
    rules: createRules(rules),
    travelRules,
    times: dispatchTimes[name],
    requestPrices: prices.request,
    onAnswer: options.onRailAnswer,
  });
  parts.defer(() => dispatcher.settle());
  const funds = createFundsReadings(configured.rails);
  const preview = createPreview({ rules, router: dispatcher.router, onError });
  const rescreen = createRescreening({ ...rules, dispatcher, onError });
  const rescreenRecipients = createRecipientRescreening({ ...rules, onError });
  const opened = parts.move();
  return {
    configured,
    rails,
    catalog,
    measurements,
    dispatcher,
    limits,
    opinions,
    funds,
    prices,
    requirements,
    preview,
    recovery: { db, rails: configured.rails, marker, onError },
    rescreen,
    rescreenRecipients,
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function describeRules(
  { config, db, keys, realNowMs }: Foundation,
  parts: {
    limits: ReturnType<typeof openLimitsFile>;
    rates: PaymentOptions['rates'];
    opinions: SecondOpinion | undefined;
  },
) {
  const { limits, rates, opinions } = parts;
  return {
    db,
    keys,
    rates: rates.rates,
    // Read at every check, because the file may have changed.
    get limits() {
      return limits.current();
    },
    mayGainLimits: config.OUTLAY_VELOCITY_LIMITS !== undefined,
    screening: readScreening(config),
    cache: createScreeningCache(),
    opinions,
    realNowMs,
  };
}

async function openRequirements({ db, realNowMs, log }: Foundation): Promise<Requirements> {
  const requirements = createRequirements({
    db,
    realNowMs,
    log: (level, message, fields) => log[level](fields, message),
  });
  await requirements.refresh();
  return requirements;
}

function openSendMarker({ config, name, db, clock }: Foundation) {
  return createSendMarker({
    db,
    environmentName: name,
    dataDirectory: config.OUTLAY_DATA,
    steadyMs: clock.steadyMs,
  });
}

/** @throws ConfigError with every fault of the rails file, unless faults are tolerated. */
async function openRails(
  { config, name, fetch, realNowMs, db, keys, clock, log }: Foundation,
  { toleratesFaults, wakeRail, wakeNotifications }: PaymentOptions,
  requirements: Requirements,
) {
  const path = name === 'live' ? config.OUTLAY_LIVE_RAILS : config.OUTLAY_RAILS;
  const opened = await openConfiguredRails({
    path,
    readVariable: config.readVariable,
    listAttributes,
    requirements,
    collectAttributes: (payer, currency) =>
      collectAttributes(makeDeclaredCorridor(payer, currency)),
    db,
    keys,
    nowMs: clock.nowMs,
    realNowMs,
    fetch,
    publicUrl: getBaseUrl(config, name),
    listFaults: listDeclarationFaults,
    log: (level, message, fields) => log[level](fields, message),
    wake: wakeRail,
    onInboundMessage: wakeNotifications,
  });
  if (opened.faults.length === 0 || toleratesFaults) return opened;
  await opened.close();
  // A rail that is left out would hold its payouts silently.
  throw new ConfigError(describeRailFaults(path ?? '', opened.faults));
}

/** The attributes that a payer collects, which a rail compares with the fields it needs. */
function listAttributes(payer: PayerDeclaration, currency: string): string[] {
  return getProfile(makeDeclaredCorridor(payer, currency)).requirements.map(({ type }) => type);
}

/** Live has no simulated network: until a rail is configured it serves no country. */
function createSandbox(db: Database, name: EnvironmentName, nowMs: () => number): Rail[] {
  if (name === 'live') return [];
  return [
    createSandboxRail({ nowMs, findScript: (reference) => findScript(db.system, reference) }),
  ];
}

/** The rating of all payers of a company. */
export function createCompanyRating(getCatalog: () => Catalog, measurements: Measurements) {
  return (company: { railName: string; key: string }): number | undefined =>
    measurements.rateCompany(
      company.railName,
      getCatalog().payerKeysOf(company.railName, company.key),
    );
}
