import type { Logger } from 'pino';
import { createAuthenticator } from '../accounts/authentication.ts';
import { createAttributeGroup } from '../attributes/attributes.ts';
import type { BatchServices } from '../batches/batches.routes.ts';
import { type Config, ConfigError } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import { createRepeatedLines, type RepeatedLines } from '../core/repeated-lines.ts';
import type { KeyRing } from '../core/sealing.ts';
import { createEnvironmentClock, type EnvironmentClock } from '../db/environment-clock.ts';
import { migrate } from '../db/migrate.ts';
import { openMonths } from '../db/partitions.ts';
import { connectDatabase, type Database } from '../db/postgres/pool.ts';
import { findServerFaults } from '../db/postgres/server-check.ts';
import { ensureTenantRole, TenantRoleError } from '../db/postgres/tenant-role.ts';
import {
  createOutdatedError,
  type SchemaVersion,
  watchSchemaVersion,
} from '../db/schema-version.ts';
import { createCachedLookUp } from '../destinations/lookup-cache.ts';
import {
  beginRecovery,
  createRecoveryState,
  findLead,
  type RecoveryServices,
  type RecoveryState,
} from '../dispatch/recovery.ts';
import type { DecisionServices } from '../exceptions/decisions.ts';
import { createRates, type Rates } from '../fx/refresher.ts';
import { describeError, nameError } from '../http/error-log.ts';
import { storeRecords } from '../http/idempotency.ts';
import { decideVerification, getOrCreateVerificationLink } from '../kyc/kyc.ts';
import { createBalances, type LedgerServices } from '../ledger/ledger.routes.ts';
import { checkReadiness, type Readiness } from '../monitoring/readiness.ts';
import { createGroupCommit, createGroupQuote } from '../payouts/group-commit.ts';
import type { Rail } from '../rails/contract/contract.ts';
import type { CallbackServices } from '../rails/host/callbacks.routes.ts';
import type { OpenedRails } from '../rails/host/open.ts';
import type { RailFault } from '../rails/host/rail-config.ts';
import type { SandboxServices } from '../sandbox/sandbox.routes.ts';
import { resumeClock } from '../sandbox/sandbox.ts';
import { importLists, type ListReport } from '../screening/screening.ts';
import type { UserServices } from '../users/users.routes.ts';
import { createUserGroup } from '../users/users.ts';
import { type Background, createBackground } from './background.ts';
import { openKeyRing } from './key.ts';
import { createCompanyRating, openPayments } from './payments.ts';
import { hasRateSources, listSources, readLimits, readRateSources } from './settings.ts';

/** One environment: its database, key, clock, rails and everything that works on them. */

export type EnvironmentOptions = {
  config: Config;
  name: EnvironmentName;
  url: string;
  log: Logger;
  steadyMs: () => number;
  /** The time of day, which the sandbox's clock may be ahead of. */
  realNowMs: () => number;
  fetch: typeof fetch;
  toleratesFaults: boolean;
  onRailAnswer: (rail: string, outcome: string) => void;
};

export type Environment = SandboxServices &
  UserServices &
  LedgerServices &
  BatchServices &
  CallbackServices &
  DecisionServices & {
    readonly rails: readonly Rail[];
    readonly recovery: RecoveryState;
    /** Of the file of rails; none in a service that has started. */
    readonly railFaults: readonly RailFault[];
    readonly authenticator: ReturnType<typeof createAuthenticator>;
    readonly importRates: Awaited<ReturnType<typeof createRates>>['importAll'];
    /** Reads the sanctions lists that are configured. */
    importLists(acceptDoubts?: boolean): Promise<ListReport[]>;
    /** Keeps rates, limits and measurements up to date; every process needs it. */
    startRefreshLoops(): void;
    /** Whether a newer release has migrated the database; `look` asks it now. */
    isOutdated(): boolean;
    lookWhetherOutdated(): Promise<boolean>;
    /** Begins the background work; without it this process only answers requests. */
    startWorkLoops(): void;
    checkReadiness(): Promise<Readiness>;
    readonly recoveryServices: RecoveryServices;
    /**
     * Begins a recovery where one is asked for, or where the marker or a rail shows that the database is
     * behind. Before anything is sent.
     */
    prepareRecovery(ask: { isRequested: boolean; looksForLead: boolean }): Promise<void>;
    readonly railNames: readonly string[];
    newestRates(): ReadonlyMap<string, number>;
    close(): Promise<void>;
  };

/** @throws ConfigError where the database belongs to another environment or key. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { config, name, url, log } = options;
  const child = log.child({ environment: name });
  const repeated = createRepeatedLines();
  await checkServer(options, child);
  await migrate({ url });
  await prepareTenantRole(url, name);
  const db = connectDatabase({
    url,
    connectionsMax: config.OUTLAY_DATABASE_CONNECTIONS,
    onConnectionLost: tellErrors({ log: child, level: 'warn', repeated }, 'connection lost'),
  });
  try {
    return await assemble(options, { db, repeated, log: child });
  } catch (error) {
    await db.close();
    throw error;
  }
}

async function prepareTenantRole(url: string, name: EnvironmentName): Promise<void> {
  try {
    await ensureTenantRole({ url });
  } catch (error) {
    if (!(error instanceof TenantRoleError)) throw error;
    throw new ConfigError(`${name}: ${error.message}`, { cause: error });
  }
}

/** @throws ConfigError where the server would mix up tenants or, in live, lose what it acknowledged. */
async function checkServer({ config, name, url }: EnvironmentOptions, log: Logger): Promise<void> {
  const mayLose = name === 'staging' || config.OUTLAY_DATABASE_DURABILITY === 'trusted';
  const faults = await findServerFaults(url);
  const refused = faults.filter(({ kind }) => kind === 'pooling' || !mayLose);
  for (const fault of faults) if (!refused.includes(fault)) log.warn(fault.text);
  if (refused.length === 0) return;
  throw new ConfigError(`${name}: ${refused.map(({ text }) => text).join('; ')}`);
}

async function assemble(
  options: EnvironmentOptions,
  base: { db: Database; repeated: RepeatedLines; log: Logger },
): Promise<Environment> {
  const { db, repeated, log } = base;
  const { config, name } = options;
  const keys = await openKeyRing(db, { config, name });
  const clock = await createEnvironmentClock(db.system, {
    environmentName: name,
    steadyMs: options.steadyMs,
  });
  await openMonths(db.system);
  const authenticator = createAuthenticator({ db, clock });
  const { schema, onError } = await watchSchema({ db, log, repeated }, () => background.stop());
  const rates = await openRates(options, { db, clock, log });
  const payments = await openPayments(options, { db, keys, clock, log, rates, onError });
  const { rails, catalogue, measurements, dispatcher } = payments;
  const recoveryState = createRecoveryState(db);
  const importLatest = createListImport(options, db);
  const background = createBackground({
    db,
    name,
    ...payments,
    rates,
    recoveryState,
    refreshLimits: payments.limits.refresh,
    nowMs: clock.nowMs,
    onHeard: options.onRailAnswer,
    onError,
    ...describeWork(config, importLatest),
    steadyMs: options.steadyMs,
    resume: () => resumeClock({ db, clock, dispatcher, forget: authenticator.clear }),
  });
  payments.configured.listen({ wake: background.wakeRail, onInboundMessage: background.wakeHeard });
  return {
    name,
    db,
    keys,
    clock,
    authenticator,
    get catalogue() {
      return catalogue();
    },
    lookUp: createCachedLookUp(catalogue, lookUpsKept),
    rateCompany: createCompanyRating(catalogue, measurements),
    rails,
    router: dispatcher.router,
    rates: rates.rates,
    ...pickRails(payments.configured),
    ...createMonitoring(payments, { name, db, clock, rates, schema, recovery: recoveryState }),
    importRates: rates.importAll,
    importLists: importLatest,
    ...readLimits(config),
    dispatcher,
    ...openRecovery({ log, state: recoveryState }, payments.recovery),
    ...createGroups(db),
    forget: authenticator.clear,
    ...createVerification(db, keys, clock),
    ...pickSchema(schema),
    ...pickLoops(background),
    close: async () => {
      schema.stop();
      await background.stop();
      await payments.configured.close();
      await measurements.exchange().catch(onError);
      await db.close();
      repeated.close();
    },
  };
}

function describeWork(config: Config, importLatest: () => Promise<ListReport[]>) {
  return {
    hasSources: hasRateSources(config),
    importLists: listSources(config).length === 0 ? undefined : importLatest,
    eventMonths: config.OUTLAY_EVENT_MONTHS,
  };
}

function pickSchema({ isOutdated, check }: SchemaVersion) {
  return { isOutdated, lookWhetherOutdated: check };
}

function pickRails({ callbackTargets, faults }: OpenedRails) {
  return { callbackTargets, railFaults: faults };
}

function pickLoops(background: Background) {
  const { startRefresh, startWork, wakeDispatch, wakeBatches } = background;
  return { startRefreshLoops: startRefresh, startWorkLoops: startWork, wakeDispatch, wakeBatches };
}

/** What health checks and metrics ask for. */
function createMonitoring(
  { catalogue, dispatcher }: Awaited<ReturnType<typeof openPayments>>,
  base: Pick<Environment, 'name' | 'db' | 'clock' | 'recovery'> & {
    rates: Rates;
    schema: SchemaVersion;
  },
): Pick<Environment, 'checkReadiness' | 'railNames' | 'newestRates'> {
  const { rates, schema, recovery, ...others } = base;
  return {
    railNames: dispatcher.railNames,
    newestRates: rates.newestBySource,
    checkReadiness: async () => {
      if (await schema.check()) throw createOutdatedError();
      const ready = await checkReadiness({ ...others, catalogue: catalogue(), rates: rates.rates });
      if (!recovery.isRecovering()) return ready;
      const warning = `${others.name}: a recovery is open, so that nothing is committed or sent`;
      return { ...ready, warnings: [...ready.warnings, warning] };
    },
  };
}

function openRecovery(
  { log, state }: { log: Logger; state: RecoveryState },
  services: RecoveryServices,
): Pick<Environment, 'recovery' | 'recoveryServices' | 'prepareRecovery'> {
  return {
    recovery: state,
    recoveryServices: services,
    prepareRecovery: async ({ isRequested, looksForLead }) => {
      const mayLead = looksForLead && services.rails.length > 0;
      const lead = mayLead ? await findLead(services) : undefined;
      const reason = isRequested ? 'an operator asked for it' : lead;
      if (reason !== undefined) await beginRecovery(services, reason);
      await state.refresh();
      if (state.isRecovering()) {
        log.warn({ reason: reason ?? '' }, 'recovery is open: nothing is committed or sent');
      }
    },
  };
}

/** The parts of identity verification that other modules ask for. */
function createVerification(
  db: Database,
  keys: KeyRing,
  clock: EnvironmentClock,
): Pick<Environment, 'createVerificationLink' | 'decideVerification'> {
  return {
    createVerificationLink: (user) =>
      getOrCreateVerificationLink({ db, keys, nowMs: clock.nowMs() }, user),
    decideVerification: (session, decision) => decideVerification({ sql: session }, decision),
  };
}

/** Loops and payouts meet the same error again and again while the database is away. */
function tellErrors(
  to: { log: Logger; level: 'warn' | 'error'; repeated: RepeatedLines },
  message: string,
) {
  const { log, level, repeated } = to;
  return (error: unknown): void => {
    const logged = describeError(error);
    repeated.occurred(`${message} ${nameError(logged)}`, (count) => {
      log[level]({ error: logged, ...(count > 1 && { count }) }, message);
    });
  };
}

/** A newer release that migrates the database makes an older one fail: that is looked up at once. */
async function watchSchema(
  to: { db: Database; log: Logger; repeated: RepeatedLines },
  stop: () => Promise<void>,
) {
  const { db, log, repeated } = to;
  const tell = tellErrors({ log, level: 'error', repeated }, 'background work failed');
  const schema = await watchSchemaVersion(db.system, () => {
    log.error('a newer release has migrated the database: this process takes no more work');
    void stop();
  });
  const onError = (error: unknown): void => {
    tell(error);
    void schema.check();
  };
  return { schema, onError };
}

function createListImport({ config, fetch, realNowMs }: EnvironmentOptions, db: Database) {
  return (acceptDoubts = false): Promise<ListReport[]> =>
    importLists(listSources(config), { db, fetch, nowMs: realNowMs, acceptDoubts });
}

function openRates(
  { config, name, fetch }: EnvironmentOptions,
  { db, clock, log }: { db: Database; clock: EnvironmentClock; log: Logger },
) {
  const sources = readRateSources(config);
  return createRates({ db, environment: name, sources, fetch, nowMs: clock.nowMs, log });
}

/** What requests do together with others that wait at the same moment. */
function createGroups(db: Database) {
  return {
    balances: createBalances(db),
    groupCommit: createGroupCommit(db),
    groupQuote: createGroupQuote(db, storeRecords),
    userGroup: createUserGroup(db, storeRecords),
    attributeGroup: createAttributeGroup(db, storeRecords),
  };
}

const lookUpsKept = 2000;
