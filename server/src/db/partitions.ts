import { findSqlState, type Session } from './postgres/pool.ts';
import { column, defineQuery, exec, many, type RowOf } from './rows.ts';

/**
 * Tables with a partition per month (UTC). Partitions are created ahead of time; one past its retention
 * is dropped as a whole, without blocking readers or writers.
 */

export type Retention = {
  /** Whole months of events that are kept besides the present one. */
  eventMonths: number;
  /** The same of webhook deliveries. */
  webhookMonths: number;
};

/** Whole months of notices that are kept besides the present one. */
const noticeMonths = 3;
/** How long an answer is replayed for its idempotency key. */
const recordDays = 30;

/** Partitions past their retention, and those whose removal was interrupted. */
const expiredPartitions = defineQuery({
  name: 'list_expired_partitions',
  text: `
  select c.relname as name,
    case when i.inhparent is null then 'detached'
      when i.inhdetachpending then 'detaching' else 'attached' end as state
  from (values
    ('events', month_of(environment_now() - $1 * interval '1 month')),
    ('notices', month_of(environment_now() - ${noticeMonths} * interval '1 month')),
    ('webhook_deliveries', month_of(environment_now() - $2 * interval '1 month')),
    ('idempotency_records', month_of(environment_now() - ${recordDays} * interval '1 day'))
  ) kept (parent, since)
  join pg_class c on c.relnamespace = 'public'::regnamespace and c.relkind = 'r'
    and c.relname ~ ('^' || kept.parent || '_\\d{4}_\\d{2}$')
  left join pg_inherits i on i.inhrelid = c.oid
  where i.inhparent is null or i.inhdetachpending
    or to_date(right(c.relname, 7), 'YYYY_MM') < kept.since
  order by 1`,
  columns: { name: column.text, state: column.oneOf('attached', 'detaching', 'detached') },
});

type Partition = RowOf<typeof expiredPartitions.columns>;

/** Creates the partitions of this month and the two after it. */
export async function openMonths(session: Session): Promise<void> {
  await exec(session, { name: 'open_months', text: 'select open_months(environment_now())' });
}

/**
 * What is dropped is gone: a database whose clock is further ahead of that of the process must not decide
 * alone that a month has passed its retention.
 */
const aheadMsMax = 24 * 3_600_000;

class DatabaseAhead extends Error {
  override readonly name = 'DatabaseAhead';
  /** The log has it. */
  readonly advice =
    'synchronize the clocks of this machine and of the database (NTP): no expired month is removed until then';
}

/**
 * Creates the partitions of the months ahead and drops expired ones. `databaseAheadMs`: by how much the
 * database's clock is ahead of the process's.
 */
export async function keepPartitions(
  session: Session,
  retention: Retention,
  databaseAheadMs: number,
): Promise<void> {
  await openMonths(session);
  if (databaseAheadMs > aheadMsMax) {
    throw new DatabaseAhead('the clock of the database is more than a day ahead');
  }
  const expired = await many(session, expiredPartitions, [
    retention.eventMonths,
    retention.webhookMonths,
  ]);
  const failures: unknown[] = [];
  for (const partition of expired) {
    // The others are removed although one fails.
    await remove(session, partition).catch((error: unknown) => failures.push(error));
  }
  if (failures.length > 0) throw failures[0];
}

async function remove(session: Session, { name, state }: Partition): Promise<void> {
  const parent = name.slice(0, -'_YYYY_MM'.length);
  const run = (text: string): Promise<unknown> => exec(session, { name: '', text });
  try {
    if (state === 'attached') {
      await run(`alter table ${parent} detach partition ${name} concurrently`);
    } else if (state === 'detaching') {
      await run(`alter table ${parent} detach partition ${name} finalize`);
    }
    await run(`drop table ${name}`);
  } catch (error) {
    // Not its owner: a function may drop it, which waits for readers of the table for a moment.
    if (findSqlState(error) === '42501') {
      await exec(session, { name: 'drop_month', text: 'select drop_month($1)' }, [name]);
      return;
    }
    // Another process removes it, or has removed it.
    if (!goneStates.has(findSqlState(error) ?? '')) throw error;
  }
}

/** undefined_table, object_not_in_prerequisite_state. */
const goneStates = new Set(['42P01', '55000']);
