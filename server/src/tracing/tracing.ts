/**
 * Traces, as the modules use them. Where no receiver is configured there is no `Tracing` at all, and
 * nothing of OpenTelemetry is loaded (docs/decisions/0044-seeing-it-run.md).
 *
 * Spans carry names of routes, statements and rails, states and numbers: nothing about a person, no
 * amount, no secret, and no text of an error.
 */

export type SpanKind = 'internal' | 'server' | 'client' | 'consumer';

export type Attributes = Readonly<Record<string, string | number | boolean>>;

/** The context of a trace that another process or party began, as its headers carry it. */
export type TraceHeaders = { readonly traceparent?: string; readonly tracestate?: string };

export type Span = {
  /** Whether it will be exported. */
  readonly isRecorded: boolean;
  readonly traceId: string;
  /** The value of a `traceparent` header (W3C Trace Context). */
  readonly traceparent: string;
  set(attributes: Attributes): void;
  /** Marks it as failed, with a short code for the kind of failure. */
  fail(kind: string): void;
  end(): void;
};

export type SpanStart = {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes?: Attributes;
  /** `sample` has decided. */
  readonly isSampled?: true;
  /** What it is part of; the active span if absent. */
  readonly parent?: Span | TraceHeaders;
  /** Further spans that led to it. */
  readonly links?: readonly (Span | TraceHeaders)[];
};

export type Tracing = {
  /**
   * Whether a trace that begins here is recorded. Asked before anything of a first span is made, so that
   * the requests that are not recorded, which are most, pay for a random number. The answer then goes to
   * `begin` as `isSampled`.
   */
  sample(): boolean;
  /** The span that the present asynchronous call belongs to. */
  active(): Span | undefined;
  /** Begins a span, which does not become active. */
  begin(start: SpanStart): Span;
  /** Calls `work` with the span as the active one. */
  within<T>(span: Span | undefined, work: () => T): T;
  /** Headers that continue the active span in another process or party. */
  headers(): Readonly<Record<string, string>>;
  /** Exports what waits, for a bounded time. */
  close(): Promise<void>;
};

/** Runs `work` in a span that ends with it. */
export async function runInSpan<T>(
  tracing: Tracing,
  start: SpanStart,
  work: (span: Span) => Promise<T>,
): Promise<T> {
  const span = tracing.begin(start);
  try {
    return await tracing.within(span, () => work(span));
  } catch (error) {
    span.fail(nameFailure(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The active span, if it will be exported: what is not recorded needs no further spans. */
export function findRecorded(tracing: Tracing | undefined): Span | undefined {
  const span = tracing?.active();
  return span?.isRecorded === true ? span : undefined;
}

/** The code or name of an error; its message may quote values. */
export function nameFailure(error: unknown): string {
  if (!(error instanceof Error)) return typeof error;
  return 'code' in error && typeof error.code === 'string' ? error.code : error.name;
}
