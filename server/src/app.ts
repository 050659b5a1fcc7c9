import { mkdirSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { addOauthRoutes } from './accounts/oauth.routes.ts';
import { attributeRoutes } from './attributes/attributes.routes.ts';
import { batchRoutes } from './batches/batches.routes.ts';
import { type Config, ConfigError } from './config.ts';
import type { EnvironmentName } from './core/access.ts';
import { AppError } from './core/errors.ts';
import { findRunningServer, type RunningServer, startEmbedded } from './db/embedded/embedded.ts';
import { createDatabaseIfAbsent } from './db/postgres/create-database.ts';
import { createOutdatedError } from './db/schema-version.ts';
import { destinationRoutes } from './destinations/destinations.routes.ts';
import { prepareStagingFile } from './environment/demo-account.ts';
import { type Environment, openEnvironment } from './environment/environment.ts';
import { eventRoutes } from './events/events.routes.ts';
import { decisionRoutes } from './exceptions/decisions.routes.ts';
import { describeError } from './http/error-log.ts';
import { createRateLimiters, type RateLimiters } from './http/limits.ts';
import { createLoadShedding, isExempt, measureLoadShedding } from './http/load-shedding.ts';
import { addOperations, createMetrics } from './http/operations.ts';
import { startRateExchange } from './http/rate-exchange.ts';
import { addReference } from './http/reference.ts';
import type { Route } from './http/route.ts';
import { addRoutes } from './http/routing.ts';
import { createServer, type HttpServer, setNotFound } from './http/server.ts';
import { identityDecisionRoutes } from './kyc/decisions.routes.ts';
import { createKycRoutes } from './kyc/kyc.routes.ts';
import { ledgerRoutes } from './ledger/ledger.routes.ts';
import { createGauges } from './monitoring/gauges.ts';
import { payoutListRoutes } from './payouts/payout-lists.routes.ts';
import { payoutRoutes } from './payouts/payouts.routes.ts';
import { addRailCallbacks } from './rails/host/callbacks.routes.ts';
import { closeReceipts } from './receipts/receipt.ts';
import { sandboxRoutes } from './sandbox/sandbox.routes.ts';
import { userRoutes } from './users/users.routes.ts';
import type { Loop } from './work/loop.ts';

/** The whole service, in the order in which it is put together. Reads as the list of its parts. */

export type Overrides = {
  /** A clock that never jumps, in milliseconds. */
  steadyMs?: () => number;
  fetch?: typeof fetch;
  log?: Logger;
  /** Told what takes long while the service starts. */
  report?: (line: string) => void;
  /** For commands: uses the embedded database of a service that runs, instead of its own. */
  isGuest?: boolean;
  /** For commands: faults of rails or limits stop only what needs them. */
  toleratesFaults?: boolean;
};

/** What an app cannot be without. `realNowMs` is this machine's time of day. */
export type AppOptions = {
  role: Role;
  realNowMs: () => number;
  /** Begins a recovery in every environment before anything is sent. */
  recovers?: boolean;
};

/** What this process does: answer requests, work in the background, or both. */
export type Role = 'all' | 'serve' | 'work';

export type App = {
  readonly environments: Readonly<Partial<Record<EnvironmentName, Environment>>>;
  readonly log: Logger;
  /** Resolves, with the reason, if the embedded database ends unasked. */
  readonly failed: Promise<Error>;
  listen(): Promise<{ baseUrl: string; stagingFile: string | undefined }>;
  close(): Promise<void>;
};

/** Every route of every module, as it is served and described. */
export function listRoutes(): Route<Environment>[] {
  return [
    ...ledgerRoutes(),
    ...userRoutes(),
    ...createKycRoutes(),
    ...identityDecisionRoutes(),
    ...destinationRoutes(),
    ...attributeRoutes(),
    ...payoutRoutes(),
    ...payoutListRoutes(),
    ...decisionRoutes(),
    ...batchRoutes(),
    ...eventRoutes(),
    ...sandboxRoutes(),
  ];
}

export async function createApp(config: Config, options: AppOptions & Overrides): Promise<App> {
  const log = options.log ?? createLog(config);
  const steadyMs = options.steadyMs ?? (() => performance.now());
  mkdirSync(config.OUTLAY_DATA, { recursive: true, mode: 0o700 });
  const database = await openDatabases(config, options);
  const environments: Partial<Record<EnvironmentName, Environment>> = {};
  const closeAll = async (): Promise<void> => {
    await Promise.all(Object.values(environments).map((env) => env.close()));
    closeReceipts();
    await database.embedded?.close();
  };
  const startup = { isComplete: false };
  try {
    const metrics = createMetrics();
    for (const [name, url] of database.urls) {
      environments[name] = await openEnvironment({
        config,
        name,
        url,
        log,
        steadyMs,
        realNowMs: options.realNowMs,
        fetch: options.fetch ?? fetch,
        toleratesFaults: options.toleratesFaults ?? false,
        onRailAnswer: metrics.countRailAnswer,
      });
    }
    const { role, realNowMs } = options;
    let isStopping = false;
    let exchange: Loop | undefined;
    const parts = {
      config,
      environments,
      log,
      metrics,
      steadyMs,
      realNowMs,
      startup,
      isStopping: () => isStopping,
    };
    const serving = role === 'work' ? undefined : createHttp(parts);
    const server = serving ?? createWorkHttp(parts);
    return {
      environments,
      log,
      failed: database.embedded?.failed ?? new Promise(() => undefined),
      listen: async () => {
        const started = await start({
          ...parts,
          server,
          role,
          recovers: options.recovers ?? false,
        });
        if (serving !== undefined) exchange = shareLimits(parts, serving.limiters);
        return started;
      },
      close: async () => {
        isStopping = true;
        // A load balancer needs a moment to see that this process is no longer ready.
        if (exchange !== undefined) await sleep(config.OUTLAY_SHUTDOWN_DELAY_SECONDS * 1000);
        await exchange?.stop();
        server.startDrain();
        await stopServer(server, config.OUTLAY_DRAIN_SECONDS * 1000);
        await closeAll();
      },
    };
  } catch (error) {
    await closeAll();
    throw error;
  }
}

function createLog(config: Config): Logger {
  return pino({ level: config.OUTLAY_LOG_LEVEL, base: null });
}

type Databases = { urls: [EnvironmentName, string][]; embedded: RunningServer | undefined };

/** Each environment has a database of its own; those without a URL share the embedded server. */
async function openDatabases(
  config: Config,
  { report, isGuest = false }: Overrides,
): Promise<Databases> {
  const names = config.OUTLAY_ENVIRONMENTS.split(',') as EnvironmentName[];
  const given = { staging: config.DATABASE_URL, live: config.OUTLAY_LIVE_DATABASE_URL };
  const isEmbedded = names.some((name) => given[name] === undefined);
  const dataDirectory = config.OUTLAY_DATA;
  const running = isEmbedded && isGuest ? findRunningServer(dataDirectory) : undefined;
  const embedded = isEmbedded
    ? (running ??
      (await startEmbedded({ dataDirectory, ...(report === undefined ? {} : { report }) })))
    : undefined;
  const urls: Databases['urls'] = [];
  for (const name of names) {
    const url = given[name];
    if (url !== undefined || embedded === undefined) urls.push([name, url ?? '']);
    else urls.push([name, await createDatabaseIfAbsent(embedded, `outlay_${name}`)]);
  }
  return { urls, embedded };
}

type HttpParts = {
  config: Config;
  environments: Readonly<Partial<Record<EnvironmentName, Environment>>>;
  log: Logger;
  metrics: ReturnType<typeof createMetrics>;
  steadyMs: () => number;
  realNowMs: () => number;
  startup: Startup;
  isStopping: () => boolean;
};

/** Set by `start`: until then the service is not ready, though it answers. */
type Startup = { isComplete: boolean };

function createHttp(parts: HttpParts): HttpServer & { limiters: RateLimiters } {
  const { config, environments, log, metrics, steadyMs } = parts;
  const loadShedding = createLoadShedding({
    environmentNames: Object.values(environments).map(({ name }) => name),
    waitMs: config.OUTLAY_ANSWER_MS,
    inFlightMax: config.OUTLAY_IN_FLIGHT_MAX,
    steadyMs,
    log,
  });
  measureLoadShedding(metrics.registry, loadShedding);
  const server = createServer({
    environments,
    defaultEnvironment: config.OUTLAY_DEFAULT_ENVIRONMENT,
    log,
    logEvery: config.OUTLAY_LOG_EVERY,
    trustedProxies: config.OUTLAY_TRUST_PROXY,
    loadShedding,
    isOutdated: async (name) => (await environments[name]?.lookWhetherOutdated()) === true,
  });
  const { app } = server;
  refuseWhereOutdated(app, environments);
  const publicAddress = {
    publicUrl: config.OUTLAY_PUBLIC_URL,
    defaultEnvironment: config.OUTLAY_DEFAULT_ENVIRONMENT,
  };
  const limiters = createRateLimiters(
    app,
    {
      credentialPerSecond: config.OUTLAY_RATE_LIMIT_CREDENTIAL,
      addressPerSecond: config.OUTLAY_RATE_LIMIT_ADDRESS,
      expensivePerSecond: config.OUTLAY_RATE_LIMIT_EXPENSIVE,
    },
    steadyMs,
  );
  addMonitoring(app, parts);
  addRailCallbacks(app, { environments, limiters });
  addOauthRoutes(app, { environments, limiters, address: publicAddress });
  const routes = listRoutes();
  addRoutes(app, {
    environments,
    routes,
    authenticate: (env, token, address) => env.authenticator.authenticate(token, address),
    limiters,
    address: publicAddress,
  });
  addReference(app);
  setNotFound(app, routes);
  return { ...server, limiters };
}

/** The processes of a service share a database; limits are counted in that of live, where it is. */
function shareLimits(
  { environments, steadyMs }: HttpParts,
  limiters: RateLimiters,
): Loop | undefined {
  const shared = environments.live ?? environments.staging;
  if (shared === undefined) return undefined;
  return startRateExchange({ db: shared.db, keys: shared.keys, limiters, steadyMs });
}

/** Old code on a newer schema would fail in the middle, or write what no longer belongs there. */
function refuseWhereOutdated(app: FastifyInstance, environments: HttpParts['environments']): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const isOutdated = environments[request.environmentName]?.isOutdated() === true;
    if (isOutdated && !isExempt(request.url)) done(createOutdatedError());
    else done();
  });
}

/** A process that only works answers for its health, and nothing else. */
function createWorkHttp(parts: HttpParts): HttpServer {
  const { config, environments, log } = parts;
  const server = createServer({
    environments,
    defaultEnvironment: config.OUTLAY_DEFAULT_ENVIRONMENT,
    log,
    logEvery: config.OUTLAY_LOG_EVERY,
    trustedProxies: [],
  });
  addMonitoring(server.app, parts);
  setNotFound(server.app, []);
  return server;
}

function addMonitoring(app: HttpServer['app'], parts: HttpParts): void {
  const { config, environments, log, metrics, steadyMs, realNowMs, startup, isStopping } = parts;
  const all = Object.values(environments);
  const gauges = createGauges({
    registry: metrics.registry,
    environments: all,
    steadyMs,
    realNowMs,
    onError: (error) => log.warn({ error: describeError(error) }, 'gauges not read'),
  });
  addOperations(app, {
    metrics,
    metricsToken: config.OUTLAY_METRICS_TOKEN,
    refreshGauges: gauges.refresh,
    checkReady: async () => {
      if (isStopping()) {
        throw new AppError('unavailable', 'The service is stopping.', { retryAfterSeconds: 2 });
      }
      if (!startup.isComplete) return { faults: ['the service is still starting'], warnings: [] };
      const answers = await Promise.all(all.map((env) => env.checkReadiness()));
      return {
        faults: answers.flatMap(({ faults }) => faults),
        warnings: answers.flatMap(({ warnings }) => warnings),
        cause: answers.find(({ cause }) => cause !== undefined)?.cause,
      };
    },
  });
}

/**
 * Connections that wait to be accepted: thousands may come at once, and what finds no place there
 * tries again by itself only after seconds. The system may allow fewer (net.core.somaxconn).
 */
const backlog = 8192;

type StartParts = Pick<HttpParts, 'config' | 'environments' | 'startup'> & {
  server: HttpServer;
  role: Role;
  recovers: boolean;
};

async function start(parts: StartParts) {
  const { config, environments, server, role, startup } = parts;
  for (const env of Object.values(environments)) {
    await env.prepareRecovery({ isRequested: parts.recovers, looksForLead: role !== 'serve' });
  }
  const address = await listen(server, config, role === 'work' ? 'OUTLAY_WORK_PORT' : 'PORT');
  const baseUrl = role === 'work' ? address : (config.OUTLAY_PUBLIC_URL ?? address);
  for (const env of Object.values(environments)) {
    env.startRefreshLoops();
    if (role !== 'serve') env.startWorkLoops();
  }
  const { staging } = environments;
  const stagingFile =
    staging === undefined || role === 'work'
      ? undefined
      : await prepareStagingFile(staging, { dataDirectory: config.OUTLAY_DATA, baseUrl });
  // Who waits for readiness reads the credentials next. The file names the port, which is known
  // only once the service listens, so the service answers a little before it is ready.
  startup.isComplete = true;
  return { baseUrl, stagingFile };
}

/** @throws ConfigError where another program has the port. */
async function listen(
  { app }: HttpServer,
  config: Config,
  setting: 'PORT' | 'OUTLAY_WORK_PORT',
): Promise<string> {
  const { HOST: host, [setting]: port } = config;
  try {
    return await app.listen({ host, port, backlog });
  } catch (cause) {
    if (!(cause instanceof Error && 'code' in cause && cause.code === 'EADDRINUSE')) throw cause;
    throw new ConfigError(`port ${port} on ${host} is in use: set ${setting} to another one`, {
      cause,
    });
  }
}

/** Lets requests under way end, then cuts what is left. */
async function stopServer(server: HttpServer, drainMs: number): Promise<void> {
  const cut = setTimeout(() => server.app.server.closeAllConnections(), drainMs);
  try {
    await server.app.close();
  } finally {
    clearTimeout(cut);
  }
}
