import type { MoneyTest } from './money.ts';

/**
 * Sets the clock of the database back while `work` runs, as a failover to a server that is behind does:
 * the time of the environment, which must be ahead by these hours, and that of journals' ids.
 */
export async function stepBack<T>(
  { rows }: Pick<MoneyTest, 'rows'>,
  hours: number,
  work: () => Promise<T>,
): Promise<T> {
  const [found] = await rows<{ text: string }>(
    `select pg_get_functiondef('journal_time(timestamptz)'::regprocedure) as text`,
  );
  const moveOffset = async (byHours: number): Promise<void> => {
    await rows('alter table environment disable trigger forward_clock');
    await rows('update environment set clock_offset_us = clock_offset_us + $1', [
      byHours * 3_600_000_000,
    ]);
    await rows('alter table environment enable trigger forward_clock');
  };
  await moveOffset(-hours);
  await rows(`create or replace function journal_time(p_at timestamptz default clock_timestamp())
    returns text language sql volatile return format_journal_time(
      (extract(epoch from p_at - interval '${hours} hours') * 1000000)::bigint)`);
  try {
    return await work();
  } finally {
    await rows(found?.text ?? '');
    await moveOffset(hours);
  }
}
