import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

export const freezeScopes = [
  'sending',
  'commits',
  'account',
  'recipient',
  'corridor',
  'rail',
] as const;

const create = defineQuery({
  name: 'create_freeze',
  text: `select id, is_new from create_freeze($1)`,
  columns: { id: column.uuid, is_new: column.boolean },
});

const lift = defineQuery({
  name: 'lift_freeze',
  text: `select lift_freeze($1, $2, $3) as released`,
  columns: { released: nullable(column.integer) },
});

/** What is frozen. */
const placeColumns = {
  scope: column.oneOf(...freezeScopes),
  account_id: nullable(column.uuid),
  user_id: nullable(column.uuid),
  country: nullable(column.text),
  delivery_type: nullable(column.oneOf(...deliveryTypes)),
  currency: nullable(column.text),
  rail: nullable(column.text),
} as const;

const freezeColumns = {
  id: column.uuid,
  ...placeColumns,
  reason: column.text,
  frozen_by: column.text,
  since: column.instant,
  lifted_at: nullable(column.instant),
  lifted_by: nullable(column.text),
  lift_reason: nullable(column.text),
  /** Payouts that wait for its end. */
  waiting: column.integer,
} as const;
export type FreezeRow = RowOf<typeof freezeColumns>;

const selected = `
  f.id, f.scope, f.account_id, f.user_id, f.country, f.delivery_type, f.currency, f.rail,
  f.reason, f.frozen_by, f.since, f.lifted_at, f.lifted_by, f.lift_reason,
  (select count(*)::integer from payout_dispatches d where d.frozen_by = f.id) as waiting`;
const selectFreezes = `select ${selected} from freezes f`;

/** Of accounts and recipients there can be more than a screen shows: the others go first. */
const inForce = defineQuery({
  name: 'list_freezes_in_force',
  text: `
    ${selectFreezes} where f.lifted_at is null
    order by f.scope in ('account', 'recipient'), f.since desc, f.id desc limit 1000`,
  columns: freezeColumns,
});

const openCount = defineQuery({
  name: 'count_freezes_in_force',
  text: `select count(*)::integer as count from freezes where lifted_at is null`,
  columns: { count: column.integer },
});

const listedColumns = { ...freezeColumns, since_us: column.bigint } as const;
export type ListedFreezeRow = RowOf<typeof listedColumns>;

/** Newest first. */
const definePage = (name: string, where: string) =>
  defineQuery({
    name,
    text: `
      select ${selected}, ${microseconds('f.since')} as since_us from freezes f
      where ${where} and (f.since, f.id) < (${startOf('$1', 'desc')}, $2::uuid)
      order by f.since desc, f.id desc limit $3`,
    columns: listedColumns,
  });
const pages = {
  inForce: definePage('list_freezes_in_force_by_time', 'f.lifted_at is null'),
  lifted: definePage('list_lifted_freezes', 'f.lifted_at is not null'),
};

const ofScope = defineQuery({
  name: 'find_freeze_of_scope',
  text: `${selectFreezes} where f.lifted_at is null and f.scope = $1`,
  columns: freezeColumns,
});

const frozenRails = defineQuery({
  name: 'list_frozen_rails',
  text: `select rail from freezes where lifted_at is null and scope = 'rail' order by rail`,
  columns: { rail: nullable(column.text) },
});

const found = defineQuery({
  name: 'find_freeze',
  text: `${selectFreezes} where f.id = $1`,
  columns: freezeColumns,
});

/** Of a client: without what only the operator may read. */
const effective = defineQuery({
  name: 'list_effective_freezes',
  text: `
    select scope, account_id, user_id, country, delivery_type, currency, rail from freezes
    where lifted_at is null and (account_id is null or account_id = $1)`,
  columns: placeColumns,
});

const openFreezes = defineQuery({
  name: 'list_open_freezes',
  text: `
    select scope, account_id, user_id, country, delivery_type, currency, rail from freezes
    where lifted_at is null
    order by array_position(array['account', 'commits', 'sending', 'corridor', 'rail'], scope)`,
  columns: placeColumns,
});

/** Of all accounts, those that refuse commits first. */
export const listOpenFreezes = (session: Session): Promise<EffectiveFreeze[]> =>
  many(session, openFreezes);

const sendingState = defineQuery({
  name: 'describe_sending',
  text: `
    select coalesce(a.rail, d.rail) as rail,
      count(*) filter (where a.state = 'sending')::integer as being_sent,
      count(*) filter (where a.state in ('unknown', 'accepted'))::integer as handed_over,
      count(*) filter (where a.state is null)::integer as waiting
    from payout_dispatches d
    -- One by one: a join would read all payouts.
    cross join lateral (
      select * from payouts where account_id = d.account_id and id = d.payout_id
      offset 0
    ) p
    left join attempts a on a.account_id = d.account_id and a.payout_id = d.payout_id
      and a.state in ('sending', 'unknown', 'accepted', 'paid')
    where p.status in ('PROCESSING', 'READY_FOR_PICKUP', 'HOLD')
      and a.state is distinct from 'paid'
      and ($1::uuid is null or exists (
        select from freezes f
        where f.id = $1 and freeze_applies(f, p.account_id, p.user_id, p.country, p.delivery_type,
          p.destination_currency, p.rail)))
    group by 1 order by 1`,
  columns: {
    rail: column.text,
    /** A call to the rail may be in progress. */
    being_sent: column.integer,
    /** The rail has them, or may have them. */
    handed_over: column.integer,
    waiting: column.integer,
  },
});

const stopped = defineQuery({
  name: 'list_stopped_payouts',
  text: `
    select p.payout_id
    from unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[])
      p (account_id, payout_id, user_id, country, delivery_type, currency, rail)
    where exists (
      select from freezes f
      where f.lifted_at is null and freeze_applies(f, p.account_id, p.user_id, p.country,
        p.delivery_type, p.currency, p.rail))`,
  columns: { payout_id: column.uuid },
});

/** A process that died holds its pass until the lease ends. */
const passes = defineQuery({
  name: 'count_passes_under_way',
  text: `
    select count(*)::integer as count from rail_passes
    where lease_until > clock_timestamp() and is_rail_stopped(rail)`,
  columns: { count: column.integer },
});

const uncommitted = defineQuery({
  name: 'count_undrained',
  text: `
    select
      (select count(*)::integer from batches where status = 'COMMITTING') as batches,
      (select count(*)::integer from payout_dispatches d
        join payout_states s on s.account_id = d.account_id and s.payout_id = d.payout_id
        where s.status = 'PROCESSING' and d.frozen_by is null and d.due_at < 'infinity'
          and not exists (
            select from attempts a
            where a.account_id = d.account_id and a.payout_id = d.payout_id
              and a.state in ('accepted', 'paid'))) as unsent`,
  columns: { batches: column.integer, unsent: column.integer },
});

const contact = defineQuery({
  name: 'has_rail_contact',
  text: 'select exists (select from rail_contacts where rail = $1) as exists',
  columns: { exists: column.boolean },
});

/** Whether the counterparty of a rail has ever reported anything. */
export async function hasRailContact(session: Session, rail: string): Promise<boolean> {
  return (await one(session, contact, [rail])).exists;
}

export type FreezeObject = {
  scope: (typeof freezeScopes)[number];
  account_id?: string;
  user_id?: string;
  country?: string;
  delivery_type?: string | undefined;
  currency?: string | undefined;
  rail?: string;
};

export async function createFreezeRow(
  session: Session,
  freeze: FreezeObject & { id: string; reason: string; frozen_by: string },
): Promise<{ id: string; is_new: boolean }> {
  return one(session, create, [JSON.stringify(freeze)]);
}

/** How many payouts are due again; undefined: the freeze is not open. */
export async function liftFreezeRow(
  session: Session,
  { id, by, reason }: { id: string; by: string; reason: string },
): Promise<number | undefined> {
  return (await one(session, lift, [id, by, reason])).released ?? undefined;
}

/** At most a thousand, and how many there are. */
export async function readFreezesInForce(
  session: Session,
): Promise<{ freezes: FreezeRow[]; count: number }> {
  const freezes = await many(session, inForce);
  return { freezes, count: (await one(session, openCount)).count };
}

export async function listFreezeRows(
  session: Session,
  state: keyof typeof pages,
  { after, count }: TimePage,
): Promise<ListedFreezeRow[]> {
  return many(session, pages[state], [...cursorValues(after), count]);
}

/** The open freeze of all sending or of all commits. */
export async function findGlobalFreeze(
  session: Session,
  scope: 'sending' | 'commits',
): Promise<FreezeRow | undefined> {
  return maybeOne(session, ofScope, [scope]);
}

export async function listFrozenRails(session: Session): Promise<string[]> {
  return (await many(session, frozenRails)).map(({ rail }) => rail ?? '');
}

export async function findFreezeRow(session: Session, id: string): Promise<FreezeRow | undefined> {
  return maybeOne(session, found, [id]);
}

export type EffectiveFreeze = RowOf<typeof effective.columns>;

export async function listEffective(
  session: Session,
  accountId: string,
): Promise<EffectiveFreeze[]> {
  return many(session, effective, [accountId]);
}

export type RailSending = RowOf<typeof sendingState.columns>;

/** Unfinished payouts by rail; with a freeze only those that it applies to. */
export async function countSending(
  session: Session,
  freezeId: string | undefined,
): Promise<RailSending[]> {
  return many(session, sendingState, [freezeId ?? null]);
}

export type Stoppable = {
  readonly account_id: string;
  readonly payout_id: string;
  readonly user_id: string;
  readonly country: string;
  readonly delivery_type: string;
  readonly destination_currency: string;
  readonly rail: string;
};

export async function listStoppedPayouts(
  session: Session,
  payouts: readonly Stoppable[],
): Promise<string[]> {
  const rows = await many(session, stopped, [
    payouts.map((payout) => payout.account_id),
    payouts.map((payout) => payout.payout_id),
    payouts.map((payout) => payout.user_id),
    payouts.map((payout) => payout.country),
    payouts.map((payout) => payout.delivery_type),
    payouts.map((payout) => payout.destination_currency),
    payouts.map((payout) => payout.rail),
  ]);
  return rows.map(({ payout_id: id }) => id);
}

/** Of rails that are stopped. */
export async function countStoppedPasses(session: Session): Promise<number> {
  return (await one(session, passes)).count;
}

/** Batches that are still being committed, and payouts that no rail has confirmed. */
export async function countUndrained(session: Session): Promise<RowOf<typeof uncommitted.columns>> {
  return one(session, uncommitted);
}
