import type { FastifyInstance } from 'fastify';
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { AppError } from '../core/errors.ts';
import { hashSecret } from '../core/ids.ts';
import { nameRoute } from './server.ts';

/** For operators: liveness, readiness, and metrics in Prometheus' text form. */

export type Metrics = {
  registry: Registry;
  countRailAnswer(rail: string, outcome: string): void;
};

export type OperationsOptions = {
  metrics: Metrics;
  metricsToken: string | undefined;
  /** Resolves when the service can do its work, rejects otherwise. */
  checkReady: () => Promise<void>;
};

const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export function createMetrics(gauges: { countDue: () => Promise<number> }): Metrics {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry, prefix: 'outlay_' });
  const answers = new Counter({
    name: 'outlay_rail_answers_total',
    help: 'Answers of rails to sent and queried payouts',
    labelNames: ['rail', 'outcome'],
    registers: [registry],
  });
  new Gauge({
    name: 'outlay_payouts_due',
    help: 'Committed payouts whose next step is due',
    registers: [registry],
    async collect() {
      this.set(await gauges.countDue());
    },
  });
  return {
    registry,
    countRailAnswer: (rail, outcome) => answers.inc({ rail, outcome }),
  };
}

export function addOperations(app: FastifyInstance, options: OperationsOptions): void {
  const { registry } = options.metrics;
  const durations = new Histogram({
    name: 'outlay_http_request_duration_seconds',
    help: 'Time from the header to the end of the answer',
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
    try {
      await options.checkReady();
    } catch (cause) {
      // Its sentence says what an operator has to do.
      if (cause instanceof AppError && cause.code === 'unavailable') throw cause;
      throw new AppError('unavailable', 'the service is not ready', { cause });
    }
    return reply.type('application/json').send('{"status":"ok"}');
  });
  app.get('/metrics', async (request, reply) => {
    const token = options.metricsToken;
    const given = request.headers.authorization ?? '';
    // Compared as hashes, so that the time tells nothing.
    if (token !== undefined && !hashSecret(given).equals(hashSecret(`Bearer ${token}`))) {
      throw new AppError('unauthorized', 'send Authorization: Bearer with the metrics token');
    }
    return reply.type(registry.contentType).send(await registry.metrics());
  });
}
