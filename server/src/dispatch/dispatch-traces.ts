import type { Session } from '../db/postgres/pool.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { findTracePlaces, type TracePlace } from '../tracing/trace-contexts.ts';
import { findRecorded, runInSpan, type Tracing } from '../tracing/tracing.ts';
import type { DispatchRow } from './dispatch.sql.ts';

/** The trace of a commit continues where its payout is checked, sent and queried, in any process. */

type Traced = { readonly tracing?: Tracing | undefined; readonly system: Session };

export type DispatchPlaces = ReadonlyMap<DispatchRow, TracePlace>;

const noPlaces: DispatchPlaces = new Map();

export async function findDispatchPlaces(
  { tracing, system }: Traced,
  rows: readonly DispatchRow[],
): Promise<DispatchPlaces> {
  if (tracing === undefined) return noPlaces;
  const subjects = rows.map((row) => ({ accountId: row.account_id, subjectId: row.payout_id }));
  const places = new Map<DispatchRow, TracePlace>();
  for (const [index, place] of (await findTracePlaces(system, tracing, subjects)).entries()) {
    const row = rows[index];
    if (row !== undefined && place !== undefined) places.set(row, place);
  }
  return places;
}

export function traceDispatch(
  { tracing }: Pick<Traced, 'tracing'>,
  { row, place }: { row: DispatchRow; place: TracePlace | undefined },
  work: () => Promise<void>,
): Promise<void> {
  if (tracing === undefined || place === undefined) return work();
  const attributes = {
    'outlay.rail': row.rail,
    'outlay.dispatch.mode': row.mode,
    'outlay.dispatch.tries': row.tries,
  };
  return runInSpan(
    tracing,
    { name: `dispatch ${row.mode}`, kind: 'consumer', ...place, attributes },
    work,
  );
}

/** Payouts are checked together: in the trace of the first one, with links to the others. */
export function traceChecks(
  { tracing }: Pick<Traced, 'tracing'>,
  places: readonly TracePlace[],
  work: () => Promise<void>,
): Promise<void> {
  const [first, ...others] = places;
  if (tracing === undefined || first === undefined) return work();
  const contexts = others.flatMap((place) => ('parent' in place ? [place.parent] : place.links));
  const links = [...('links' in first ? first.links : []), ...contexts];
  return runInSpan(tracing, { name: 'check payouts', kind: 'consumer', ...first, links }, work);
}

export function traceRailCall(
  tracing: Tracing | undefined,
  { rail, mode }: { rail: string; mode: string },
  call: () => Promise<RailAnswer>,
): Promise<RailAnswer> {
  if (tracing === undefined || findRecorded(tracing) === undefined) return call();
  const attributes = { 'outlay.rail': rail };
  return runInSpan(tracing, { name: `rail ${mode}`, attributes }, async (span) => {
    const answer = await call();
    span.set({
      'outlay.rail.outcome': answer.outcome,
      ...('reason' in answer && { 'outlay.rail.reason': answer.reason }),
    });
    if (answer.outcome === 'unknown') span.fail(answer.reason);
    return answer;
  });
}
