import { findSqlState, type Session } from './postgres/pool.ts';

/**
 * Tables with a partition per month (UTC): the months ahead are made in time, and a month past its
 * retention goes as a whole, without a row being deleted and without anybody waiting for it.
 */

export type Retention = {
  /** How many whole months of events are kept besides the present one. */
  eventMonths: number;
};

/** The first answer to an idempotency key is replayed for so long. */
const recordDays = 30;

type Partition = { name: string; state: 'attached' | 'detaching' | 'detached' };

/**
 * What may go: a partition whose month is over for long enough, and what an earlier run had begun to
 * remove. A detached table of that name is nothing but that.
 */
const expiredText = `
  select c.relname as name,
    case when i.inhparent is null then 'detached'
      when i.inhdetachpending then 'detaching' else 'attached' end as state
  from (values
    ('events', month_of(environment_now() - $1 * interval '1 month')),
    ('idempotency_records', month_of(environment_now() - ${recordDays} * interval '1 day'))
  ) kept (parent, since)
  join pg_class c on c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    and c.relname ~ ('^' || kept.parent || '_\\d{4}_\\d{2}$')
  left join pg_inherits i on i.inhrelid = c.oid
  where i.inhparent is null or i.inhdetachpending
    or to_date(right(c.relname, 7), 'YYYY_MM') < kept.since
  order by 1`;

/** Makes sure that this month and the two after it can be written to. */
export async function openMonths(session: Session): Promise<void> {
  await session.rows({ name: 'open_months', text: 'select open_months(environment_now())' });
}

/** Opens the months ahead and drops those that are past their retention. */
export async function keepPartitions(session: Session, retention: Retention): Promise<void> {
  await openMonths(session);
  const expired = await session.rows<Partition>(
    { name: 'list_expired_months', text: expiredText },
    [retention.eventMonths],
  );
  const failures: unknown[] = [];
  for (const partition of expired) {
    // One that cannot be removed now does not keep the others.
    await remove(session, partition).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function remove(session: Session, { name, state }: Partition): Promise<void> {
  const parent = name.slice(0, -'_YYYY_MM'.length);
  const run = (text: string): Promise<unknown> => session.rows({ name: '', text });
  try {
    if (state === 'attached') {
      await run(`alter table ${parent} detach partition ${name} concurrently`);
    } else if (state === 'detaching') {
      await run(`alter table ${parent} detach partition ${name} finalize`);
    }
    await run(`drop table ${name}`);
  } catch (error) {
    // Another process is at it, or has been.
    if (!goneStates.has(findSqlState(error) ?? '')) throw error;
  }
}

/** undefined_table, object_not_in_prerequisite_state. */
const goneStates = new Set(['42P01', '55000']);
