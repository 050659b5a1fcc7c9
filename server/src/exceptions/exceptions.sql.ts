import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';
import { cursorValues, instant, microseconds, type TimePage } from '../db/time-page.ts';

const states = {
  open: 'e.closed_at is null',
  closed: 'e.closed_at is not null',
  all: 'true',
} as const;

export type ExceptionState = keyof typeof states;

/**
 * One expression: the planner multiplies the selectivities of several, expects a handful of rows and sorts
 * them.
 */
const filterText = `
  case when ($1::uuid is null or e.account_id = $1) and ($2::text is null or e.kind = $2)
    and ($3::text is null or e.rail = $3) and ($4::uuid is null or e.payout_id = $4)
    and ($5::timestamptz is null or e.opened_at >= $5)
    and ($6::timestamptz is null or e.opened_at < $6) then true else false end`;

const exceptionColumns = {
  account_id: column.uuid,
  id: column.uuid,
  payout_id: nullable(column.uuid),
  rail: column.text,
  kind: column.text,
  detail: column.text,
  currency: nullable(column.text),
  amount: nullable(column.bigint),
  opened_at: column.instant,
  closed_at: nullable(column.instant),
  resolution: column.text,
  /** Of an approval. */
  approvers: nullable(column.integer),
  expires_at: nullable(column.instant),
} as const;

const listedColumns = {
  ...exceptionColumns,
  user_id: nullable(column.uuid),
  /** Null where it belongs to no payout. */
  payout_version: nullable(column.text),
  opened_us: column.bigint,
} as const;

/**
 * What a list goes along. A range of one value, because the planner leaves a constant out of the order and
 * may then walk the exceptions of all others. Open ones are few and have one index.
 */
const ways = {
  time: { where: 'true', order: '' },
  account: { where: 'e.account_id between $1 and $1', order: 'e.account_id desc, ' },
  kind: { where: 'e.kind between $2 and $2', order: 'e.kind desc, ' },
  rail: { where: 'e.rail between $3 and $3', order: 'e.rail desc, ' },
  payout: { where: 'e.payout_id = $4', order: '' },
} as const;
type Way = keyof typeof ways;

/** The newest first. The condition of the state is literal, so that the index of open ones is used. */
const defineList = (state: ExceptionState, way: Way) => {
  const { where, order } = ways[way];
  return defineQuery({
    name: `list_exceptions_${state}_${way}`,
    text: `
      with page as materialized (
        select * from exceptions e
        where ${states[state]} and ${where} and ${filterText}
          and ($7::bigint is null or (e.opened_at, e.id) < (${instant('$7')}, $8::uuid))
        order by ${order}e.opened_at desc, e.id desc limit $9
      )
      select ${Object.keys(exceptionColumns)
        .map((name) => `e.${name}`)
        .join(', ')},
        q.user_id, payout_version(e.account_id, e.payout_id) as payout_version,
        ${microseconds('e.opened_at')} as opened_us
      from page e
      left join lateral (
        select user_id from payout_quotes where account_id = e.account_id and id = e.payout_id
        offset 0
      ) q on true
      order by e.opened_at desc, e.id desc`,
    columns: listedColumns,
  });
};

/** Counting ends there: each is looked at. */
const countedMax = 10_000;

const defineCount = (state: ExceptionState, way: Way) => {
  const { where, order } = ways[way];
  return defineQuery({
    name: `count_exceptions_${state}_${way}`,
    // Without the order the planner might read the index of all of them first.
    text: `
      select count(*)::integer as count from (
        select from exceptions e where ${states[state]} and ${where} and ${filterText}
        order by ${order}e.opened_at desc, e.id desc limit $7
      ) counted`,
    columns: { count: column.integer },
  });
};

const defineWays = <Defined>(define: (state: ExceptionState, way: Way) => Defined) => {
  const ofState = (state: ExceptionState) => ({
    time: define(state, 'time'),
    account: define(state, 'account'),
    kind: define(state, 'kind'),
    rail: define(state, 'rail'),
    payout: define(state, 'payout'),
  });
  return { open: ofState('open'), closed: ofState('closed'), all: ofState('all') };
};
const lists = defineWays(defineList);
const counts = defineWays(defineCount);

function chooseWay({ payoutId, accountId, kind, rail }: ExceptionFilter, state: ExceptionState) {
  if (payoutId !== undefined) return 'payout';
  if (state === 'open') return 'time';
  if (accountId !== undefined) return 'account';
  if (kind !== undefined) return 'kind';
  return rail === undefined ? 'time' : 'rail';
}

const decisionColumns = {
  action: column.text,
  decided_by: column.text,
  reason: column.text,
  is_effective: column.boolean,
  decided_at: column.instant,
} as const;

/** Decisions about a payout while an exception was open. */
const decisionsOfExceptions = defineQuery({
  name: 'list_decisions_of_exceptions',
  text: `
    select e.id as exception_id, d.action, d.decided_by, d.reason, d.is_effective, d.decided_at
    from unnest($1::uuid[], $2::uuid[]) g (account_id, id)
    join exceptions e on e.account_id = g.account_id and e.id = g.id
    join payout_decisions d on d.account_id = e.account_id and d.payout_id = e.payout_id
      and d.decided_at >= e.opened_at and (e.closed_at is null or d.decided_at <= e.closed_at)
    order by d.decided_at, d.id`,
  columns: { exception_id: column.uuid, ...decisionColumns },
});

const decisionsOfPayout = defineQuery({
  name: 'list_decisions_of_payout',
  text: `
    select action, decided_by, reason, is_effective, decided_at
    from payout_decisions where account_id = $1 and payout_id = $2
    order by decided_at, id`,
  columns: decisionColumns,
});

const closeInbound = defineQuery({
  name: 'close_inbound_exceptions',
  text: `
    with closed as (
      update exceptions e set closed_at = environment_now(), resolution = $7
      where ${states.open} and e.account_id = '00000000-0000-0000-0000-000000000000'
        and e.payout_id is null and ${filterText}
        -- Times of two can be equal.
        and ($8::uuid is null or (e.opened_at, e.id) <= (
          select opened_at, id from exceptions
          where account_id = '00000000-0000-0000-0000-000000000000' and id = $8))
      returning 1
    )
    select count(*)::integer as count from closed`,
  columns: { count: column.integer },
});

export type ExceptionFilter = {
  readonly accountId?: string | undefined;
  readonly kind?: string | undefined;
  readonly rail?: string | undefined;
  readonly payoutId?: string | undefined;
  /** When it was opened: from (inclusive) to (exclusive). */
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
};

export type ExceptionRow = RowOf<typeof exceptionColumns>;
export type ListedExceptionRow = RowOf<typeof listedColumns>;
export type DecisionRow = RowOf<typeof decisionColumns>;

function filterValues({ accountId, kind, rail, payoutId, from, to }: ExceptionFilter): unknown[] {
  return [accountId, kind, rail, payoutId, from, to].map((value) => value ?? null);
}

export async function listExceptionRows(
  session: Session,
  filter: ExceptionFilter,
  page: TimePage & { state: ExceptionState },
): Promise<ListedExceptionRow[]> {
  const { state, after, count } = page;
  const values = [...filterValues(filter), ...cursorValues(after), count];
  return many(session, lists[state][chooseWay(filter, state)], values);
}

/** At most ten thousand. */
export async function countExceptionRows(
  session: Session,
  filter: ExceptionFilter,
  state: ExceptionState,
): Promise<number> {
  const query = counts[state][chooseWay(filter, state)];
  return (await one(session, query, [...filterValues(filter), countedMax])).count;
}

export async function listDecisionsOfExceptions(
  session: Session,
  rows: readonly ExceptionRow[],
): Promise<(DecisionRow & { exception_id: string })[]> {
  return many(session, decisionsOfExceptions, [
    rows.map((row) => row.account_id),
    rows.map(({ id }) => id),
  ]);
}

export async function listDecisionsOfPayout(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
): Promise<DecisionRow[]> {
  return many(session, decisionsOfPayout, [accountId, payoutId]);
}

/** Returns how many were closed. `newest`: none that was opened after this one. */
export async function closeInboundRows(
  session: Session,
  filter: ExceptionFilter & { newest?: string | undefined },
  resolution: string,
): Promise<number> {
  const values = [...filterValues(filter), resolution, filter.newest ?? null];
  return (await one(session, closeInbound, values)).count;
}
