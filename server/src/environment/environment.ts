import { createAuthenticator } from '../accounts/authentication.ts';
import { applyApprovals } from '../approvals/approvals.ts';
import { createAttributeGroup } from '../attributes/attributes.ts';
import { createStopsInForce } from '../controls/stops-in-force.ts';
import type { KeyRing } from '../core/sealing.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { createOutdatedError, watchSchemaVersion } from '../db/schema-version.ts';
import { createCachedLookUp } from '../destinations/lookup-cache.ts';
import { dispatchTimes } from '../dispatch/dispatch.ts';
import {
  beginRecovery,
  createRecoveryState,
  findLead,
  followMarker,
  type RecoveryServices,
  type RecoveryState,
} from '../dispatch/recovery.ts';
import { createEventFeed } from '../events/event-feed.ts';
import { storeRecords } from '../http/idempotency.ts';
import { decideVerification, getOrCreateVerificationLink } from '../kyc/kyc.ts';
import { createBalances } from '../ledger/ledger.routes.ts';
import { checkReadiness, type Readiness, type ReadinessParts } from '../monitoring/readiness.ts';
import { createGroupCommit, createGroupQuote } from '../payouts/group-commit.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { createScheduler } from '../payouts/scheduler.ts';
import { resumeClock } from '../sandbox/sandbox.ts';
import { createUserGroup } from '../users/users.ts';
import { startRefreshLoops, startWorkLoops } from './background.ts';
import { openChain } from './chain.ts';
import { openErasures, restoreErasures } from './erasures.ts';
import {
  createErrorLog,
  type Foundation,
  type FoundationOptions,
  openFoundation,
} from './foundation.ts';
import { openIdentityChecks } from './identity-checks.ts';
import { openRates } from './imports.ts';
import { createLoops } from './loops.ts';
import { openNotices, type Report } from './notices.ts';
import { createCompanyRating, openPayments } from './payments.ts';
import { readLimits } from './settings.ts';
import { createWebhookRenderer, openDeliverer, readWebhookRules } from './webhooks.ts';

export type EnvironmentOptions = FoundationOptions & {
  readonly onRailAnswer: (rail: string, outcome: string) => void;
  readonly onWebhookDelivery: (result: string) => void;
  readonly onNotice: Report;
};

export type Environment = Awaited<ReturnType<typeof openEnvironment>>;

/**
 * Opens the parts of an environment, each after those that it needs. They close in reverse order.
 *
 * @throws ConfigError where a setting or an operator's file is wrong, or the database is another's.
 */
async function openParts(given: EnvironmentOptions) {
  const { onRailAnswer, onWebhookDelivery, onNotice, ...options } = given;
  await using parts = new AsyncDisposableStack();
  const base = parts.use(await openFoundation(options));
  const { db, clock, log } = base;
  const schema = parts.adopt(
    await watchSchemaVersion(db.system, () => {
      log.error('a newer release has migrated the database: this process takes no more work');
      void loops.stop();
    }),
    (watch) => watch.stop(),
  );
  const onError = watchErrors(base, schema.check);
  await restoreErasures(base);
  const loops = createLoops(onError, base.steadyMs);
  const authenticator = createAuthenticator({ db, clock, keys: base.keys });
  const rates = await openRates(base);
  const recovery = createRecoveryState(db);
  const stops = createStopsInForce();
  // Before the first request: look-ups show what is stopped.
  await stops.refresh(db.system);
  const payments = parts.use(
    await openPayments(base, {
      rates,
      onError,
      onRailAnswer,
      wakeRail: (rail) => loops.wake(`rail ${rail}`),
      wakeNotifications: () => loops.wake('notifications'),
      toleratesFaults: false,
    }),
  );
  const renderEvents = createWebhookRenderer(base, payments);
  const deliverer = parts.use(
    openDeliverer(base, renderEvents, {
      onError: (error) => onError(error, 'webhooks'),
      onWebhookDelivery,
    }),
  );
  const notices = openNotices(base, { onError, onNotice });
  const identityChecks = openIdentityChecks(base, onError);
  parts.defer(loops.stop);
  const opened = parts.move();
  return {
    base,
    schema,
    onError,
    onRailAnswer,
    loops,
    authenticator,
    rates,
    recovery,
    stops,
    payments,
    renderEvents,
    deliverer,
    notices,
    identityChecks,
    close: () => opened.disposeAsync(),
  };
}

function openScheduler({
  base,
  payments,
  rates,
  loops,
  onError,
}: Awaited<ReturnType<typeof openParts>>) {
  return createScheduler({
    ...base,
    nowMs: base.clock.nowMs,
    rails: payments.rails,
    catalog: payments.catalog,
    rates: rates.rates,
    leaseMs: dispatchTimes[base.name].leaseMs,
    wakeDispatch: () => loops.wake('dispatch'),
    onError,
  });
}

/** One environment of the service, as its routes, background work and monitoring use it. */
export async function openEnvironment(options: EnvironmentOptions) {
  const parts = await openParts(options);
  const { base, loops, authenticator, rates, recovery, payments } = parts;
  const { config, name, db, keys, clock } = base;
  const { dispatcher, catalog, configured } = payments;
  const forget = authenticator.clear;
  const scheduler = openScheduler(parts);
  const background = {
    ...parts,
    notifiers: parts.notices.notifiers,
    scheduler,
    resumeClock: () => resumeClock({ db, clock, dispatcher, scheduler, forget }),
  };
  return {
    name,
    db,
    keys,
    clock,
    commandContext: { ...base, open: { payments, rates } },
    authenticator,
    forget,

    rates: rates.rates,
    newestRates: rates.newestBySource,
    importRates: rates.importAll,
    get catalog() {
      return catalog();
    },
    lookUp: createCachedLookUp(catalog, lookUpsKept),
    rateCompany: createCompanyRating(catalog, payments.measurements),

    rails: payments.rails,
    railNames: dispatcher.railNames,
    healthOf: dispatcher.healthOf,
    railFunds: payments.funds.list,
    loopsSucceededAtMs: loops.succeededAtMs,
    callbackTargets: configured.callbackTargets,
    dispatcher,
    scheduler,
    router: dispatcher.router,
    chain: openChain(base),
    tombstones: openErasures(base).tombstones,
    previewSending: payments.preview,
    approvals: {
      apply: (session: Session, payout: PayoutName) =>
        applyApprovals({ session, keys, rates: rates.rates() }, payout),
    },
    ...readLimits(config),
    webhookRules: readWebhookRules(base),
    renderEvents: parts.renderEvents,

    ...createGroups(db, keys),
    eventFeed: createEventFeed({
      db,
      readersMax: config.OUTLAY_EVENT_READERS_MAX,
      onError: parts.onError,
    }),
    ...createVerification(base),

    recovery,
    stops: parts.stops,
    prepareRecovery: createRecoveryStart(base, { state: recovery, services: payments.recovery }),
    ...createReadinessChecks(parts),
    startRefreshLoops: () => startRefreshLoops(loops, background),
    startWorkLoops: async () => {
      await parts.notices.announce();
      startWorkLoops(loops, background);
    },
    wakeDispatch: () => loops.wake('dispatch'),
    wakeBatches: () => loops.wake('batches'),
    [Symbol.asyncDispose]: parts.close,
  };
}

const lookUpsKept = 2000;

function createReadinessChecks(parts: Awaited<ReturnType<typeof openParts>>) {
  const { base, schema, payments, rates, recovery } = parts;
  return {
    /** Whether a newer release is known to have migrated the database; the second one asks. */
    isOutdated: schema.isOutdated,
    lookWhetherOutdated: schema.check,
    checkReadiness: async () => {
      if (await schema.check()) throw createOutdatedError();
      const ready = { ...base, catalog: payments.catalog(), rates: rates.rates };
      return readReadiness(ready, { state: recovery, marker: payments.recovery.marker });
    },
  };
}

/** Requests that wait at the same moment share statements. */
function createGroups(db: Database, keys: KeyRing) {
  return {
    balances: createBalances(db),
    groupCommit: createGroupCommit(db, keys),
    groupQuote: createGroupQuote(db, storeRecords),
    userGroup: createUserGroup(db, storeRecords),
    attributeGroup: createAttributeGroup(db, storeRecords),
  };
}

/** The parts of identity verification that other modules use. */
function createVerification({ db, keys, clock }: Foundation) {
  return {
    createVerificationLink: (user: Parameters<typeof getOrCreateVerificationLink>[1]) =>
      getOrCreateVerificationLink({ db, keys, nowMs: clock.nowMs() }, user),
    decideVerification: (sql: Session, decision: Parameters<typeof decideVerification>[1]) =>
      decideVerification({ sql }, decision),
  };
}

/** Old code fails on a database that a newer release has migrated: every error checks for that. */
function watchErrors(base: Foundation, checkSchema: () => Promise<boolean>) {
  const logError = createErrorLog({ ...base, level: 'error' }, 'background work failed');
  return (error: unknown, work?: string): void => {
    logError(error, work);
    void checkSchema();
  };
}

/**
 * Begins a recovery where one is requested, or where the marker or a rail shows payments that the
 * database does not have. Runs before anything is sent.
 */
function createRecoveryStart(
  { log }: Foundation,
  { state, services }: { state: RecoveryState; services: RecoveryServices },
) {
  return async (options: { isRequested: boolean; looksForLead: boolean }): Promise<void> => {
    const mayLead = options.looksForLead && services.rails.length > 0;
    const lead = mayLead ? await findLead(services) : undefined;
    const reason = options.isRequested ? 'an operator asked for it' : lead;
    if (reason !== undefined) await beginRecovery(services, reason);
    await followMarker(services);
    await state.refresh();
    if (state.isRecovering()) {
      log.warn({ reason: reason ?? '' }, 'recovery is open: nothing is committed or sent');
    }
  };
}

async function readReadiness(
  parts: ReadinessParts,
  { state, marker }: { state: RecoveryState; marker: RecoveryServices['marker'] },
): Promise<Readiness> {
  const ready = await checkReadiness(parts);
  const warnings = [...ready.warnings];
  if (state.isRecovering()) {
    warnings.push(`${parts.name}: a recovery is open: nothing is committed or sent`);
  } else if (marker.isFailing()) {
    const file = `OUTLAY_DATA/${parts.name}.marker`;
    warnings.push(`${parts.name}: ${file} cannot be advanced, so nothing is sent; see the log`);
  }
  return { ...ready, warnings };
}
