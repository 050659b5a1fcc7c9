import type { Session } from '../db/postgres/connection.ts';
import {
  deleteTraceContexts,
  insertTraceContext,
  selectTraceContexts,
  type TraceSubject,
} from './trace-contexts.sql.ts';
import { findRecorded, type SpanStart, type Tracing } from './tracing.ts';

/**
 * How a trace continues in another process: the request stores its context with the payout or the batch
 * that it commits, and a process that works on it later reads it.
 */

/** Inbound reports belong to no account. */
export const noAccount = '00000000-0000-0000-0000-000000000000';

/** Stores the active span, if it is recorded. */
export async function storeTraceContext(
  session: Session,
  tracing: Tracing | undefined,
  subject: TraceSubject,
): Promise<void> {
  const span = findRecorded(tracing);
  if (span === undefined) return;
  await insertTraceContext(session, { ...subject, traceparent: span.traceparent });
}

/** Where the work on a subject belongs: in its trace, or beside the one of the batch it came from. */
export type TracePlace = Required<Pick<SpanStart, 'parent'>> | Required<Pick<SpanStart, 'links'>>;

/** In the order of the subjects; undefined for those that are not traced. */
export async function findTracePlaces(
  session: Session,
  tracing: Tracing | undefined,
  subjects: readonly TraceSubject[],
): Promise<(TracePlace | undefined)[]> {
  const places: (TracePlace | undefined)[] = subjects.map(() => undefined);
  if (tracing === undefined || subjects.length === 0) return places;
  for (const { ordinal, own, batch } of await selectTraceContexts(session, subjects)) {
    if (own !== null) places[ordinal - 1] = { parent: { traceparent: own } };
    else if (batch !== null) places[ordinal - 1] = { links: [{ traceparent: batch }] };
  }
  return places;
}

/** Returns whether there may be more. */
export async function removeOldTraceContexts(session: Session): Promise<boolean> {
  return (await deleteTraceContexts(session)) === 10_000;
}
