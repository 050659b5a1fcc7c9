import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { type Logger, pino } from 'pino';
import { addOauthRoutes } from './accounts/oauth.routes.ts';
import type { Config, Role } from './config.ts';
import { compressForConsole } from './console/compression.ts';
import { addConsole } from './console/console.ts';
import { prepareConsoleLink } from './console/first-link.ts';
import { identifyOperator } from './console/operator-admission.ts';
import { recordWrite } from './console/write-log.ts';
import type { EnvironmentName } from './core/access.ts';
import { AppError } from './core/errors.ts';
import { createRepeatedLines } from './core/repeated-lines.ts';
import { createOutdatedError } from './db/schema-version.ts';
import { listEnvironments, openDatabases } from './environment/databases.ts';
import { prepareStagingFile } from './environment/demo-account.ts';
import { type Environment, openEnvironment } from './environment/environment.ts';
import { requireFolders } from './environment/folders.ts';
import { type ConnectionLimits, measureConnections } from './http/connections.ts';
import { describeError } from './http/error-log.ts';
import { startHealthThread } from './http/health-thread.ts';
import { createRateLimiters, type RateLimiters } from './http/limits.ts';
import { listen, usePort } from './http/listen.ts';
import { createLoadShedding, isExempt, measureLoadShedding } from './http/load-shedding.ts';
import { type LogOutput, openStandardOutput } from './http/log-output.ts';
import { addOperations, createMetrics } from './http/operations.ts';
import { startRateExchange } from './http/rate-exchange.ts';
import { addReference } from './http/reference.ts';
import { addRoutes } from './http/routing.ts';
import { createServer, type HttpServer, setNotFound } from './http/server.ts';
import { addTracing } from './http/tracing.ts';
import { createGauges } from './monitoring/gauges.ts';
import { addRailCallbacks } from './rails/host/callbacks.routes.ts';
import { closeReceipts } from './receipts/receipt.ts';
import { listRoutes } from './routes.ts';
import { startTracing } from './tracing/start.ts';
import { nameFailure, type Tracing } from './tracing/tracing.ts';
import type { Loop } from './work/loop.ts';

/** The service: its environments, its HTTP server, and the order of its start and stop. */

export type Overrides = {
  /** A monotonic clock, in milliseconds. */
  steadyMs?: () => number;
  fetch?: typeof fetch;
  /** Where log lines go; the standard output where absent. */
  logOutput?: Pick<LogOutput, 'write' | 'onLost'>;
  /** Receives a line about each step of the start that takes long. */
  report?: (line: string) => void;
};

/** `realNowMs` is this machine's time of day. */
export type AppOptions = {
  role: Role;
  realNowMs: () => number;
  /** Begins a recovery in every environment before anything is sent. */
  recovers?: boolean;
};

/** Where the service is reached, and what a first start needs. */
export type Started = {
  baseUrl: string;
  stagingFile: string | undefined;
  /** Logs the first owner of staging in to the console, once. */
  consoleLink: string | undefined;
  /** The port of the health thread; undefined where there is none. */
  healthPort: number | undefined;
};

export type App = {
  readonly environments: Readonly<Partial<Record<EnvironmentName, Environment>>>;
  readonly log: Logger;
  /** Resolves, with the reason, if this process must be started again. */
  readonly outdated: Promise<Error>;
  /** Resolves, with the reason, if the embedded database ends and cannot be started again. */
  readonly failed: Promise<Error>;
  listen(): Promise<Started>;
  close(): Promise<void>;
};

export async function createApp(config: Config, options: AppOptions & Overrides): Promise<App> {
  const { role, realNowMs, recovers = false, report } = options;
  const log = createLog(config, options.logOutput ?? openStandardOutput(), () => tracing);
  const steadyMs = options.steadyMs ?? (() => performance.now());
  const metrics = createMetrics();
  await using parts = new AsyncDisposableStack();
  const tracing = await openTracing(config, log);
  parts.defer(() => tracing?.close());
  requireFolders(config, role);
  const names = listEnvironments(config);
  const databases = parts.use(await openDatabases(config, { names, report }));
  parts.defer(closeReceipts);
  const outdated = Promise.withResolvers<Error>();
  const environments: Partial<Record<EnvironmentName, Environment>> = {};
  parts.defer(async () => {
    await Promise.all(Object.values(environments).map((env) => env[Symbol.asyncDispose]()));
  });
  for (const [name, url] of databases.urls) {
    environments[name] = await openEnvironment({
      config,
      name,
      url,
      task: role,
      log,
      steadyMs,
      realNowMs,
      fetch: options.fetch ?? fetch,
      tracing,
      onIndexKeyReplaced: outdated.resolve,
      onRailAnswer: (rail, outcome) =>
        metrics.countRailAnswer({ environment: name, rail, outcome }),
      onWebhookDelivery: (result) => metrics.countWebhookDelivery(name, result),
      onNotice: (channel, result) => metrics.countNotice({ environment: name, channel, result }),
    });
  }
  const state = { isStarted: false, isStopping: false };
  const base = { config, environments, log, metrics, steadyMs, realNowMs, state, tracing };
  const serving = role === 'work' ? undefined : createHttp(base);
  const server = serving ?? createWorkHttp(base);
  const health = new AsyncDisposableStack();
  parts.use(health);
  parts.defer(() => stopServer(server, config.OUTLAY_DRAIN_SECONDS * 1000));
  let exchange: Loop | undefined;
  const opened = parts.move();
  return {
    environments,
    log,
    outdated: outdated.promise,
    failed: databases.failed,
    listen: async () => {
      const started = await start({ ...base, server, role, recovers, health });
      if (serving !== undefined) exchange = shareLimits(base, serving.limiters);
      return started;
    },
    close: async () => {
      state.isStopping = true;
      // A load balancer needs a moment to see that this process is no longer ready.
      if (exchange !== undefined) await sleep(config.OUTLAY_SHUTDOWN_DELAY_SECONDS * 1000);
      await exchange?.stop();
      await opened.disposeAsync();
    },
  };
}

/** Lines within a traced request carry its `trace_id`. */
function createLog(
  { OUTLAY_LOG_LEVEL: level }: Config,
  output: Pick<LogOutput, 'write' | 'onLost'>,
  find: () => Tracing | undefined,
): Logger {
  const mixin = (): object => {
    const span = find()?.active();
    return span === undefined ? {} : { trace_id: span.traceId };
  };
  const log = pino({ level, base: null, mixin }, output);
  output.onLost((count, code) => log.warn({ count, code }, 'log lines lost'));
  return log;
}

async function openTracing(config: Config, log: Logger): Promise<Tracing | undefined> {
  const repeated = createRepeatedLines();
  const tracing = await startTracing(config, (error) => {
    repeated.occurred(nameFailure(error), (count) =>
      log.warn({ code: nameFailure(error), count }, 'traces not exported'),
    );
  });
  if (tracing === undefined) return undefined;
  return {
    ...tracing,
    close: async () => {
      await tracing.close();
      repeated.close();
    },
  };
}

type HttpParts = {
  config: Config;
  environments: Readonly<Partial<Record<EnvironmentName, Environment>>>;
  log: Logger;
  metrics: ReturnType<typeof createMetrics>;
  steadyMs: () => number;
  realNowMs: () => number;
  tracing: Tracing | undefined;
  /** The service is ready in between; it answers before and after. */
  state: { isStarted: boolean; isStopping: boolean };
};

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
    isHttps: config.OUTLAY_PUBLIC_URL?.startsWith('https:') === true,
    connections: readConnectionLimits(config),
    loadShedding,
    isOutdated: async (name) => (await environments[name]?.lookWhetherOutdated()) === true,
  });
  const { app } = server;
  if (parts.tracing !== undefined) addTracing(app, parts.tracing);
  refuseWhereOutdated(app, environments);
  app.addHook('preClose', async () => {
    await Promise.all(Object.values(environments).map(({ eventFeed }) => eventFeed.stop()));
  });
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
  addMonitoring(server, parts);
  addRailCallbacks(app, { environments, limiters });
  addOauthRoutes(app, { environments, limiters, address: publicAddress });
  compressForConsole(app);
  const routes = listRoutes();
  addRoutes(app, {
    environments,
    routes,
    authenticate: (env, token, address) => env.authenticator.authenticate(token, address),
    operators: { identify: identifyOperator, recordWrite },
    limiters,
    address: publicAddress,
  });
  addConsole(app, { environments, limiters });
  addReference(app);
  setNotFound(app, routes);
  return { ...server, limiters };
}

/** Processes count rate limits together, in the database of live where this process serves it. */
function shareLimits(
  { environments, steadyMs }: HttpParts,
  limiters: RateLimiters,
): Loop | undefined {
  const shared = environments.live ?? environments.staging;
  if (shared === undefined) return undefined;
  return startRateExchange({ db: shared.db, keys: shared.keys, limiters, steadyMs });
}

/** Code of an older release could fail on a newer schema, or write invalid rows. */
function refuseWhereOutdated(app: FastifyInstance, environments: HttpParts['environments']): void {
  app.addHook('onRequest', (request, _reply, done) => {
    const isOutdated = environments[request.environmentName]?.isOutdated() === true;
    if (isOutdated && !isExempt(request.url)) done(createOutdatedError());
    else done();
  });
}

/** A process in the role `work` serves health and metrics only. */
function createWorkHttp(parts: HttpParts): HttpServer {
  const { config, environments, log } = parts;
  const server = createServer({
    environments,
    defaultEnvironment: config.OUTLAY_DEFAULT_ENVIRONMENT,
    log,
    logEvery: config.OUTLAY_LOG_EVERY,
    trustedProxies: [],
    connections: readConnectionLimits(config),
  });
  addMonitoring(server, parts);
  setNotFound(server.app, []);
  return server;
}

function readConnectionLimits(config: Config): ConnectionLimits {
  return {
    total: config.OUTLAY_CONNECTIONS_MAX,
    perAddress: config.OUTLAY_CONNECTIONS_ADDRESS,
    exempt: config.OUTLAY_TRUST_PROXY,
  };
}

function addMonitoring(
  { app, connections }: Omit<HttpServer, 'startDrain'>,
  parts: HttpParts,
): void {
  const { config, environments, log, metrics, steadyMs, realNowMs, state } = parts;
  const all = Object.values(environments);
  const gauges = createGauges({
    registry: metrics.registry,
    environments: all,
    steadyMs,
    realNowMs,
    onError: (error) => log.warn({ error: describeError(error) }, 'gauges not read'),
  });
  if (connections !== undefined) measureConnections(metrics.registry, connections);
  addOperations(app, {
    metrics,
    metricsToken: config.OUTLAY_METRICS_TOKEN,
    metricsAddresses: config.OUTLAY_METRICS_ADDRESSES,
    refreshGauges: gauges.refresh,
    checkReady: async () => {
      if (state.isStopping) {
        throw new AppError('unavailable', 'The service is stopping.', { retryAfterSeconds: 2 });
      }
      if (!state.isStarted) return { faults: ['the service is still starting'], warnings: [] };
      const answers = await Promise.all(all.map((env) => env.checkReadiness()));
      return {
        faults: answers.flatMap(({ faults }) => faults),
        warnings: answers.flatMap(({ warnings }) => warnings),
        cause: answers.find(({ cause }) => cause !== undefined)?.cause,
      };
    },
  });
}

type StartParts = Pick<HttpParts, 'config' | 'environments' | 'state' | 'log'> & {
  server: HttpServer;
  role: Role;
  recovers: boolean;
  /** It ends after the server. */
  health: AsyncDisposableStack;
};

async function start(parts: StartParts): Promise<Started> {
  const { config, environments, server, role, state } = parts;
  for (const env of Object.values(environments)) {
    await env.prepareRecovery({ isRequested: parts.recovers, looksForLead: role !== 'serve' });
  }
  const setting = role === 'work' ? 'OUTLAY_WORK_PORT' : 'PORT';
  const address = await listen(server, { host: config.HOST, port: config[setting] }, setting);
  const healthPort = await openHealth(parts);
  const baseUrl = role === 'work' ? address : (config.OUTLAY_PUBLIC_URL ?? address);
  for (const env of Object.values(environments)) {
    env.startRefreshLoops();
    if (role !== 'serve') await env.startWorkLoops();
  }
  const { staging } = environments;
  const stagingFile =
    staging === undefined || role === 'work'
      ? undefined
      : await prepareStagingFile(staging, { dataDirectory: config.OUTLAY_DATA, baseUrl });
  // Clients read the credentials as soon as the service is ready. The file names the port, which is
  // known only when the service listens, so the service listens before it is ready.
  state.isStarted = true;
  const consoleLink =
    staging === undefined || role === 'work'
      ? undefined
      : await prepareConsoleLink(staging, { config, baseUrl });
  return { baseUrl, stagingFile, consoleLink, healthPort };
}

async function openHealth({
  config: { HOST: host, OUTLAY_HEALTH_PORT: port },
  server,
  health,
  log,
}: StartParts): Promise<number | undefined> {
  if (port === undefined) return undefined;
  const place = { host, port };
  const onError = (error: Error): void =>
    log.error({ error: describeError(error) }, 'the health thread has ended');
  const thread = await usePort(place, 'OUTLAY_HEALTH_PORT', () =>
    startHealthThread(server.app, { ...place, onError }),
  );
  health.defer(() => thread.close());
  return thread.port;
}

/** Lets open requests end, then cuts the connections that are left. */
async function stopServer(server: HttpServer, drainMs: number): Promise<void> {
  server.startDrain();
  const cut = setTimeout(() => server.app.server.closeAllConnections(), drainMs);
  try {
    await server.app.close();
  } finally {
    clearTimeout(cut);
  }
}
