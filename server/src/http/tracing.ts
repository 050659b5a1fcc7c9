import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { TraceHeaders, Tracing } from '../tracing/tracing.ts';
import { nameRoute } from './addresses.ts';
import { isExempt } from './load-shedding.ts';

/**
 * A span for each request that is recorded or names a trace, which it continues. Other requests have none.
 */
export function addTracing(app: FastifyInstance, tracing: Tracing): void {
  app.decorateRequest('span', undefined);
  app.addHook('onRequest', (request, _reply, done) => {
    const parent = readTraceHeaders(request);
    if ((parent === undefined && !tracing.sample()) || isExempt(request.url)) {
      done();
      return;
    }
    const route = nameRoute(request);
    const span = tracing.begin({
      name: `${request.method} ${route}`,
      kind: 'server',
      ...(parent === undefined ? { isSampled: true } : { parent }),
      attributes: {
        'http.request.method': request.method,
        'http.route': route,
        'outlay.environment': request.environmentName,
      },
    });
    // Log lines name the trace of a caller who does not record it.
    request.span = span;
    if (span.isRecorded) tracing.within(span, done);
    else done();
  });
  // Events of the body belong to the connection, so the handler would run outside of the span.
  app.addHook('preHandler', (request, _reply, done) => {
    if (request.span?.isRecorded === true) tracing.within(request.span, done);
    else done();
  });
  app.addHook('onResponse', ({ span }, reply, done) => {
    if (span?.isRecorded === true) {
      span.set({ 'http.response.status_code': reply.statusCode });
      if (reply.statusCode >= 500) span.fail(String(reply.statusCode));
      span.end();
    }
    done();
  });
}

function readTraceHeaders({ headers }: FastifyRequest): TraceHeaders | undefined {
  const { traceparent, tracestate } = headers;
  if (typeof traceparent !== 'string') return undefined;
  return { traceparent, ...(typeof tracestate === 'string' && { tracestate }) };
}
