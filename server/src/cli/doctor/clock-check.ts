import { measureLead } from '../../core/clock.ts';
import type { Session } from '../../db/postgres/connection.ts';
import { column, defineQuery, one } from '../../db/rows.ts';
import { type Finding, passed, problem } from './finding.ts';

/** The clocks of the machine and of the database. */

const clockMsMax = 2_000;

const readClock = defineQuery({
  name: 'doctor_clock',
  columns: { now: column.instant },
  text: 'select clock_timestamp() as now',
});

/** `name`: of the environment. */
export async function checkClock(
  { name, realNowMs }: { name: string; realNowMs: () => number },
  session: Session,
): Promise<Finding> {
  const beganMs = realNowMs();
  const { now } = await one(session, readClock);
  return describeClocks(name, measureLead(now.getTime(), { beganMs, endedMs: realNowMs() }));
}

export function describeClocks(name: string, databaseAheadMs: number): Finding {
  const differenceMs = Math.round(databaseAheadMs);
  return Math.abs(differenceMs) > clockMsMax
    ? problem(
        `${name}: the clocks of the machine and the database differ by ${differenceMs} ms: synchronize them (NTP)`,
      )
    : passed(`${name}: the clocks of the machine and the database agree`);
}
