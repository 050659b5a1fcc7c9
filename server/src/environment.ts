import { randomBytes } from 'node:crypto';
import {
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  unlinkSync,
  writeSync,
} from 'node:fs';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { createAuthenticator } from './accounts/authentication.ts';
import { createAttributeGroup } from './attributes/attributes.ts';
import { createBackground } from './background.ts';
import type { BatchServices } from './batches/batches.routes.ts';
import { type Config, ConfigError } from './config.ts';
import type { EnvironmentName } from './core/access.ts';
import { createKeyRing, type KeyRing } from './core/sealing.ts';
import { createEnvironmentClock, type EnvironmentClock } from './db/environment-clock.ts';
import { findEnvironment, insertEnvironment } from './db/environment-record.ts';
import { migrate } from './db/migrate.ts';
import { openMonths } from './db/partitions.ts';
import { connectDatabase, type Database } from './db/pool.ts';
import {
  createOutdatedError,
  type SchemaVersion,
  watchSchemaVersion,
} from './db/schema-version.ts';
import { findServerFaults } from './db/server-check.ts';
import { createCachedLookUp } from './destinations/lookup-cache.ts';
import { createCompanyRating, openPayments } from './environment-payments.ts';
import {
  hasRateSources,
  listSources,
  readLimits,
  readRateSources,
} from './environment-settings.ts';
import { createRates } from './fx/refresher.ts';
import { describeError } from './http/error-log.ts';
import { storeRecords } from './http/idempotency.ts';
import { decideVerification, getOrCreateVerificationLink } from './kyc/kyc.ts';
import { createBalances, type LedgerServices } from './ledger/ledger.routes.ts';
import type { DecisionServices } from './payouts/decisions.ts';
import { createGroupCommit, createGroupQuote } from './payouts/group-commit.ts';
import type { CallbackServices } from './rails/callbacks.routes.ts';
import type { Rail } from './rails/contract.ts';
import type { SandboxServices } from './sandbox/sandbox.routes.ts';
import { resumeClock } from './sandbox/sandbox.ts';
import { importLists, type ListReport } from './screening/screening.ts';
import type { UserServices } from './users/users.routes.ts';
import { createUserGroup } from './users/users.ts';

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
  onRailAnswer: (rail: string, outcome: string) => void;
};

export type Environment = SandboxServices &
  UserServices &
  LedgerServices &
  BatchServices &
  CallbackServices &
  DecisionServices & {
    readonly rails: readonly Rail[];
    readonly authenticator: ReturnType<typeof createAuthenticator>;
    readonly importRates: Awaited<ReturnType<typeof createRates>>['importAll'];
    /** Reads the sanctions lists that are configured. */
    importLists(acceptDoubts?: boolean): Promise<ListReport[]>;
    /** Rejects with what keeps this process from serving the environment. */
    checkReady(): Promise<void>;
    /** Whether a newer release has migrated the database; `look` asks it now. */
    isOutdated(): boolean;
    lookWhetherOutdated(): Promise<boolean>;
    /** Begins the background work; without it this process only answers requests. */
    startLoops(): void;
    close(): Promise<void>;
  };

/** @throws ConfigError where the database belongs to another environment or key. */
export async function openEnvironment(options: EnvironmentOptions): Promise<Environment> {
  const { config, name, url, log } = options;
  const child = log.child({ environment: name });
  await checkServer(options, child);
  await migrate({ url });
  const db = connectDatabase({
    url,
    connectionsMax: config.OUTLAY_DATABASE_CONNECTIONS,
    onConnectionLost: (error) => child.warn({ error: describeError(error) }, 'connection lost'),
  });
  try {
    return await assemble(options, db, child);
  } catch (error) {
    await db.close();
    throw error;
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
  db: Database,
  log: Logger,
): Promise<Environment> {
  const { config, name } = options;
  const keys = await openKeyRing(db, { config, name });
  const clock = await createEnvironmentClock(db.system, {
    environmentName: name,
    steadyMs: options.steadyMs,
  });
  await openMonths(db.system);
  const authenticator = createAuthenticator({ db, clock });
  const { schema, onError } = await watchSchema(db, log, () => background.stop());
  const rates = await openRates(options, { db, clock, log });
  const payments = await openPayments(options, { db, keys, clock, log, rates, onError });
  const { rails, catalogue, measurements, dispatcher } = payments;
  const importLatest = createListImport(options, db);
  const background = createBackground({
    db,
    name,
    dispatcher,
    rates,
    rails,
    measurements,
    nowMs: clock.nowMs,
    onHeard: options.onRailAnswer,
    onError,
    hasSources: hasRateSources(config),
    importLists: listSources(config).length === 0 ? undefined : importLatest,
    eventMonths: config.OUTLAY_EVENT_MONTHS,
    steadyMs: options.steadyMs,
    resume: () => resumeClock({ db, clock, dispatcher, forget: authenticator.clear }),
  });
  payments.configured.listen({ wake: background.wakeRail, onHeard: background.wakeHeard });
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
    railDoors: payments.configured.doors,
    rails,
    router: dispatcher.router,
    rates: rates.rates,
    importRates: rates.importAll,
    importLists: importLatest,
    ...readLimits(config),
    dispatcher,
    ...createGroups(db),
    wakeDispatch: background.wakeDispatch,
    wakeBatches: background.wakeBatches,
    forget: authenticator.clear,
    ...createVerification(db, keys, clock),
    ...createReadiness(db, clock, schema),
    startLoops: background.start,
    close: async () => {
      schema.stop();
      await background.stop();
      await payments.configured.close();
      await measurements.exchange().catch(onError);
      await db.close();
    },
  };
}

function createReadiness(
  db: Database,
  clock: EnvironmentClock,
  schema: SchemaVersion,
): Pick<Environment, 'isOutdated' | 'lookWhetherOutdated' | 'checkReady'> {
  return {
    isOutdated: schema.isOutdated,
    lookWhetherOutdated: schema.check,
    checkReady: async () => {
      if (await schema.check()) throw createOutdatedError();
      await db.checkReady();
      await clock.refresh(db.system);
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

/** A newer release that migrates the database makes an older one fail: that is looked up at once. */
async function watchSchema(db: Database, log: Logger, stop: () => Promise<void>) {
  const schema = await watchSchemaVersion(db.system, () => {
    log.error('a newer release has migrated the database: this process takes no more work');
    void stop();
  });
  const onError = (error: unknown): void => {
    log.error({ error: describeError(error) }, 'background work failed');
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
/** The key ring of the environment; on the first start the database learns which key is its own. */
async function openKeyRing(
  db: Database,
  { config, name }: { config: Config; name: EnvironmentName },
): Promise<KeyRing> {
  const stored = await findEnvironment(db.system);
  if (stored !== undefined && stored.name !== name) {
    throw new ConfigError(`the database given for ${name} is the one of ${stored.name}`);
  }
  const variable = name === 'live' ? 'OUTLAY_LIVE_MASTER_KEY' : 'OUTLAY_MASTER_KEY';
  const file = join(config.OUTLAY_DATA, `${name}.key`);
  const given = config[variable];
  const encoded = given ?? readKeyFile(file, { mayCreate: stored === undefined, variable });
  const masterKey = Buffer.from(encoded, 'base64');
  if (masterKey.length !== 32) throw new ConfigError(`${file} must hold 32 bytes in Base64`);
  const keys = createKeyRing(masterKey);
  if (stored === undefined) {
    await insertEnvironment(db.system, { name, master_key_id: keys.masterKeyId });
  }
  const agreed = await findEnvironment(db.system);
  if (agreed?.master_key_id !== keys.masterKeyId) {
    throw new ConfigError(
      `the master key of ${name} is not the one its database was made with: set ${variable} or restore ${file}`,
    );
  }
  return keys;
}

function readKeyFile(file: string, options: { mayCreate: boolean; variable: string }): string {
  try {
    return readFileSync(file, 'utf8').trim();
  } catch (cause) {
    if (!options.mayCreate) {
      throw new ConfigError(
        `the master key is missing: set ${options.variable} or restore ${file}`,
        {
          cause,
        },
      );
    }
  }
  const encoded = randomBytes(32).toString('base64');
  mkdirSync(join(file, '..'), { recursive: true, mode: 0o700 });
  // Whole and on the disk before the database remembers which key it is: without the key all
  // personal data is lost. Where another process was quicker, its key is the key.
  const draft = `${file}.${process.pid}`;
  const descriptor = openSync(draft, 'wx', 0o600);
  writeSync(descriptor, `${encoded}\n`);
  fsyncSync(descriptor);
  closeSync(descriptor);
  try {
    linkSync(draft, file);
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error;
  }
  unlinkSync(draft);
  const folder = openSync(join(file, '..'), 'r');
  fsyncSync(folder);
  closeSync(folder);
  return readFileSync(file, 'utf8').trim();
}
