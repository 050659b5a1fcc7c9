import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import {
  type Context,
  type Link,
  type Span as OtelSpan,
  SpanKind as OtelSpanKind,
  ROOT_CONTEXT,
  type SpanContext,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import {
  type ExportResult,
  ExportResultCode,
  W3CTraceContextPropagator,
} from '@opentelemetry/core';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-proto';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  AlwaysOffSampler,
  AlwaysOnSampler,
  BatchSpanProcessor,
  ParentBasedSampler,
  type Sampler,
  type SpanExporter,
  TraceIdRatioBasedSampler,
  TracerProvider,
} from '@opentelemetry/sdk-trace';
import type { Attributes, Span, SpanKind, SpanStart, TraceHeaders, Tracing } from './tracing.ts';

/** Tracing by the packages of OpenTelemetry. Imported only where a receiver is configured. */

export type TracingOptions = {
  /** Of the receiver, with its path. */
  readonly url: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly timeoutMs: number;
  readonly exportEveryMs: number;
  readonly queuedMax: number;
  readonly sampler: string;
  readonly samplerRatio: number;
  readonly resource: Readonly<Record<string, string>>;
  /** Called when spans could not be exported; they are lost. */
  readonly onError: (error: Error) => void;
};

/** How long a stop waits for the receiver. */
const closeMsMax = 2_000;

const propagator = new W3CTraceContextPropagator();
const readHeaders = {
  get: (headers: TraceHeaders, key: string) => headers[key as keyof TraceHeaders],
  keys: (headers: TraceHeaders) => Object.keys(headers),
};
const writeHeaders = {
  set: (headers: Record<string, string>, key: string, value: string) => {
    headers[key] = value;
  },
};

const kinds: Readonly<Record<SpanKind, OtelSpanKind>> = {
  internal: OtelSpanKind.INTERNAL,
  server: OtelSpanKind.SERVER,
  client: OtelSpanKind.CLIENT,
  consumer: OtelSpanKind.CONSUMER,
};

class RecordedSpan implements Span {
  readonly #span: OtelSpan;
  /** In which children begin. */
  readonly context: Context;
  readonly isRecorded: boolean;

  constructor(span: OtelSpan, parent: Context) {
    this.#span = span;
    this.context = trace.setSpan(parent, span);
    this.isRecorded = span.isRecording();
  }

  get spanContext(): SpanContext {
    return this.#span.spanContext();
  }

  get traceId(): string {
    return this.spanContext.traceId;
  }

  get traceparent(): string {
    const { traceId, spanId, traceFlags } = this.spanContext;
    return `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  fail(kind: string): void {
    this.#span.setAttribute('error.type', kind);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/**
 * The first span of a trace that is not recorded, which is most of them: it costs a random number. Its
 * trace has an identifier only if a log line asks for it, and no other process hears of it.
 */
class UnrecordedSpan implements Span {
  readonly isRecorded = false;
  #traceId: string | undefined;

  get traceId(): string {
    this.#traceId ??= randomBytes(16).toString('hex');
    return this.#traceId;
  }

  get traceparent(): string {
    return `00-${this.traceId}-${randomBytes(8).toString('hex')}-00`;
  }

  set(): void {}
  fail(): void {}
  end(): void {}
}

export function openTracing(options: TracingOptions): Tracing {
  const provider = new TracerProvider({
    resource: resourceFromAttributes(options.resource),
    sampler: createSampler(options),
    spanProcessors: [
      new BatchSpanProcessor({
        exporter: createExporter(options),
        scheduledDelayMillis: options.exportEveryMs,
        maxQueueSize: options.queuedMax,
        maxExportBatchSize: Math.min(512, options.queuedMax),
      }),
    ],
  });
  const tracer = provider.getTracer('outlay');
  const storage = new AsyncLocalStorage<RecordedSpan | undefined>();
  const rootShare = findRootShare(options);
  const sample = (): boolean => rootShare >= 1 || Math.random() < rootShare;
  const begin = (start: SpanStart): Span => {
    const known = findContext(start.parent) ?? storage.getStore()?.context;
    if (known === undefined && start.isSampled !== true && !sample()) return new UnrecordedSpan();
    const parent = known ?? ROOT_CONTEXT;
    const span = tracer.startSpan(
      start.name,
      {
        kind: kinds[start.kind ?? 'internal'],
        ...(start.attributes && { attributes: start.attributes }),
        ...(start.links && { links: start.links.flatMap(describeLink) }),
      },
      parent,
    );
    return new RecordedSpan(span, parent);
  };
  return {
    sample,
    active: () => storage.getStore(),
    begin,
    within: (span, work) => {
      const next = span instanceof RecordedSpan ? span : undefined;
      return next === storage.getStore() ? work() : storage.run(next, work);
    },
    headers: () => {
      const active = storage.getStore();
      const headers: Record<string, string> = {};
      if (active !== undefined) propagator.inject(active.context, headers, writeHeaders);
      return headers;
    },
    close: () => closeWithin(provider, closeMsMax),
  };
}

/** The context of a span, or of the headers that name one; malformed headers name none. */
function findContext(of: Span | TraceHeaders | undefined): Context | undefined {
  if (of === undefined || of instanceof UnrecordedSpan) return undefined;
  if (of instanceof RecordedSpan) return of.context;
  const headers = of as TraceHeaders;
  if (headers.traceparent === undefined) return undefined;
  const context = propagator.extract(ROOT_CONTEXT, headers, readHeaders);
  return trace.getSpanContext(context) === undefined ? undefined : context;
}

function describeLink(of: Span | TraceHeaders): Link[] {
  const context = findContext(of);
  const linked = context === undefined ? undefined : trace.getSpanContext(context);
  return linked === undefined ? [] : [{ context: linked }];
}

function createSampler({ sampler, samplerRatio }: TracingOptions): Sampler {
  // `findRootShare` has decided before a span without a parent begins.
  if (sampler.startsWith('parentbased_'))
    return new ParentBasedSampler({ root: new AlwaysOnSampler() });
  if (sampler === 'always_on') return new AlwaysOnSampler();
  return sampler === 'always_off'
    ? new AlwaysOffSampler()
    : new TraceIdRatioBasedSampler(samplerRatio);
}

/** The share of traces that this service begins and records; 1 leaves it to the sampler. */
function findRootShare({ sampler, samplerRatio }: TracingOptions): number {
  if (sampler === 'parentbased_traceidratio') return samplerRatio;
  return sampler.endsWith('always_off') ? 0 : 1;
}

/** Exports by OTLP, and reports what was lost, which the packages themselves do not. */
function createExporter({ url, headers, timeoutMs, onError }: TracingOptions): SpanExporter {
  const exporter = new OTLPTraceExporter({
    url,
    headers: Object.fromEntries(headers),
    timeoutMillis: timeoutMs,
  });
  return {
    export: (spans, done) =>
      exporter.export(spans, (result: ExportResult) => {
        if (result.code !== ExportResultCode.SUCCESS) {
          onError(result.error ?? new Error('spans were not exported'));
        }
        done(result);
      }),
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush(),
  };
}

async function closeWithin(provider: TracerProvider, waitMs: number): Promise<void> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, waitMs);
  });
  await Promise.race([provider.shutdown().catch(() => undefined), late]);
  clearTimeout(timer);
}
