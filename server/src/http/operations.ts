import type { FastifyInstance, FastifyRequest } from 'fastify';
import { Counter, collectDefaultMetrics, Histogram, Registry } from 'prom-client';
import { AppError } from '../core/errors.ts';
import { hashSecret } from '../core/ids.ts';
import { findAddress, nameRoute } from './addresses.ts';
import { createAddressCheck } from './connections.ts';

/** For operators: liveness, readiness, and metrics in the Prometheus text format. */

export type Metrics = {
  registry: Registry;
  countRailAnswer(labels: { environment: string; rail: string; outcome: string }): void;
  countWebhookDelivery(environment: string, result: string): void;
  countNotice(labels: { environment: string; channel: string; result: string }): void;
};

export type OperationsOptions = {
  metrics: Metrics;
  metricsToken: string | undefined;
  /** Addresses and ranges that need no token where none is set. */
  metricsAddresses: readonly string[];
  /** `faults` prevent requests from being served; `warnings` do not. */
  checkReady: () => Promise<{
    faults: readonly string[];
    warnings: readonly string[];
    cause?: unknown;
  }>;
  /** Updates the gauges; never rejects. */
  refreshGauges: () => Promise<void>;
};

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'outlay_' });
  const answers = new Counter({
    name: 'outlay_rail_answers_total',
    help: 'Answers of rails to send and query',
    labelNames: ['environment', 'rail', 'outcome'],
    registers: [registry],
  });
  const deliveries = new Counter({
    name: 'outlay_webhook_deliveries_total',
    help: 'Requests to webhook endpoints',
    labelNames: ['environment', 'result'],
    registers: [registry],
  });
  const notices = new Counter({
    name: 'outlay_notices_total',
    help: 'Notices to recipients: sent, retried, failed, expired, skipped',
    labelNames: ['environment', 'channel', 'result'],
    registers: [registry],
  });
  return {
    registry,
    countRailAnswer: (labels) => answers.inc(labels),
    countWebhookDelivery: (environment, result) => deliveries.inc({ environment, result }),
    countNotice: (labels) => notices.inc(labels),
  };
}

export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  const { registry } = options.metrics;
  const durations = new Histogram({
    name: 'outlay_http_request_duration_seconds',
    help: 'Time from the request header to the end of the response',
    labelNames: ['method', 'route', 'status'],
    buckets: durationBuckets,
    registers: [registry],
  });
  app.addHook('onResponse', async (request, reply) => {
    durations.observe(
      {
        method: request.method,
        route: nameRoute(request),
        status: reply.statusCode,
      },
      reply.elapsedTime / 1000,
    );
  });
  app.get('/health/live', async (_request, reply) =>
    reply.type('application/json').send('{"status":"ok"}'),
  );
  app.get('/health/ready', async (_request, reply) => {
    const { faults, warnings, cause } = await options.checkReady();
    if (faults.length > 0) throw new AppError('unavailable', faults.join('; '), { cause });
    const degraded = warnings.length > 0 ? { degraded: warnings } : {};
    return reply.type('application/json').send(JSON.stringify({ status: 'ok', ...degraded }));
  });
  const isAllowed = createAddressCheck(options.metricsAddresses);
  app.get('/metrics', async (request, reply) => {
    checkMetricsReader(request, options.metricsToken, isAllowed);
    await options.refreshGauges();
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}

/** One of them is there where a proxy has forwarded the request, unless it says nothing of itself. */
const forwardingHeaders = [
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'forwarded',
  'via',
];

/** @throws AppError unauthorized. */
function checkMetricsReader(
  request: FastifyRequest,
  token: string | undefined,
  isAllowed: (address: string) => boolean,
): void {
  const { authorization = '', ...headers } = request.headers;
  if (token !== undefined) {
    // Hashes are compared, so that the time reveals nothing.
    if (hashSecret(authorization).equals(hashSecret(`Bearer ${token}`))) return;
    throw new AppError('unauthorized', 'Authorization must be Bearer with the metrics token');
  }
  const peer = request.socket.remoteAddress ?? '';
  // A proxy on this machine forwards the requests of anyone. A trusted one says whose they are.
  const isForwarded = request.ip === peer && forwardingHeaders.some((name) => name in headers);
  if (!isForwarded && isAllowed(findAddress(request) ?? '')) return;
  throw new AppError(
    'unauthorized',
    'Metrics need OUTLAY_METRICS_TOKEN, or an address in OUTLAY_METRICS_ADDRESSES',
  );
}
