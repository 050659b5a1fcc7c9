import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, nullable, one, type RowOf } from '../db/rows.ts';

const states = {
  open: 'e.closed_at is null',
  closed: 'e.closed_at is not null',
  all: 'true',
} as const;

export type ExceptionState = keyof typeof states;

const filterText = `
  ($1::uuid is null or e.account_id = $1) and ($2::text is null or e.kind = $2)
    and ($3::text is null or e.rail = $3) and ($4::uuid is null or e.payout_id = $4)
    and ($5::timestamptz is null or e.opened_at >= $5)
    and ($6::timestamptz is null or e.opened_at < $6)`;

const instant = (parameter: string): string =>
  `timestamptz 'epoch' + ${parameter}::bigint * interval '1 microsecond'`;

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

/** The newest first. The condition of the state is literal, so that the index of open ones is used. */
const defineList = (state: ExceptionState) =>
  defineQuery({
    name: `list_exceptions_${state}`,
    text: `
      select ${Object.keys(exceptionColumns)
        .map((name) => `e.${name}`)
        .join(', ')},
        q.user_id, (extract(epoch from e.opened_at) * 1000000)::bigint as opened_us
      from exceptions e
      left join payout_quotes q on q.account_id = e.account_id and q.id = e.payout_id
      where ${states[state]} and ${filterText}
        and ($7::bigint is null or (e.opened_at, e.id) < (${instant('$7')}, $8::uuid))
      order by e.opened_at desc, e.id desc limit $9`,
    columns: {
      ...exceptionColumns,
      user_id: nullable(column.uuid),
      opened_us: column.bigint,
    },
  });
const lists = { open: defineList('open'), closed: defineList('closed'), all: defineList('all') };

const defineCount = (state: ExceptionState) =>
  defineQuery({
    name: `count_exceptions_${state}`,
    text: `select count(*)::integer as count from exceptions e where ${states[state]} and ${filterText}`,
    columns: { count: column.integer },
  });
const counts = {
  open: defineCount('open'),
  closed: defineCount('closed'),
  all: defineCount('all'),
};

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

/** The last exception of the page before. */
export type ExceptionCursor = { readonly openedUs: bigint; readonly id: string };

export type ExceptionRow = RowOf<typeof exceptionColumns>;
export type ListedExceptionRow = RowOf<typeof lists.all.columns>;
export type DecisionRow = RowOf<typeof decisionColumns>;

function filterValues({ accountId, kind, rail, payoutId, from, to }: ExceptionFilter): unknown[] {
  return [accountId, kind, rail, payoutId, from, to].map((value) => value ?? null);
}

export async function listExceptionRows(
  session: Session,
  filter: ExceptionFilter,
  page: { state: ExceptionState; after: ExceptionCursor | undefined; count: number },
): Promise<ListedExceptionRow[]> {
  const { state, after, count } = page;
  const values = [...filterValues(filter), after?.openedUs ?? null, after?.id ?? null, count];
  return many(session, lists[state], values);
}

export async function countExceptionRows(
  session: Session,
  filter: ExceptionFilter,
  state: ExceptionState,
): Promise<number> {
  return (await one(session, counts[state], filterValues(filter))).count;
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

/** Returns how many were closed. */
export async function closeInboundRows(
  session: Session,
  filter: ExceptionFilter,
  resolution: string,
): Promise<number> {
  const values = [...filterValues(filter), resolution];
  return (await one(session, closeInbound, values)).count;
}
