import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, maybeOne, one, type RowOf } from '../db/rows.ts';
import { type ScriptedOutcome, scriptedOutcomes } from '../rails/sandbox/rail.ts';

const upsertScriptStatement: Statement = {
  name: 'upsert_sandbox_script',
  text: `select script_sandbox_payout($1, $2, $3)`,
};

const findScriptQuery = defineQuery({
  name: 'find_sandbox_script',
  text: `
    select s.outcome from attempts a
    join sandbox_scripts s on s.account_id = a.account_id and s.payout_id = a.payout_id
    where a.reference = $1 limit 1`,
  columns: { outcome: column.oneOf(...scriptedOutcomes) },
});

const payoutColumns = {
  status: column.text,
  delivery_type: column.text,
  estimated_availability: column.instant,
};

const findPayoutQuery = defineQuery({
  name: 'find_sandbox_payout',
  text: `
    select status, delivery_type, estimated_availability from payouts
    where account_id = $1 and id = $2`,
  columns: payoutColumns,
});

/** Locks the row, so that two moves add up. */
const lockClockQuery = defineQuery({
  name: 'lock_sandbox_clock',
  text: `
    select clock_timestamp() as real,
      clock_timestamp() + clock_target_us * interval '1 microsecond' as target
    from environment where name = 'staging' for update`,
  columns: { real: column.instant, target: column.instant },
});

const setTargetStatement: Statement = {
  name: 'set_sandbox_clock_target',
  text: `
    update environment
    set clock_target_us = greatest(clock_target_us,
      (extract(epoch from $1::timestamptz - clock_timestamp()) * 1000000)::bigint)
    where name = 'staging'`,
};

const findTargetQuery = defineQuery({
  name: 'find_sandbox_clock_target',
  text: `
    select clock_timestamp() + clock_target_us * interval '1 microsecond' as target,
      clock_target_us > clock_offset_us as is_ahead
    from environment`,
  columns: { target: column.instant, is_ahead: column.boolean },
});

/**
 * PostgreSQL announces a new partition to other connections a moment after its transaction is visible. A
 * commit that sees the new time in that moment would find no partition, so the months come first.
 */
const openMonthsStatement: Statement = {
  name: 'open_months_ahead_of_clock',
  text: `
    select open_months(coalesce($1,
      clock_timestamp() + clock_target_us * interval '1 microsecond'))
    from environment where name = 'staging'`,
};

/** Moves to an instant before the target, or to the target itself; never backwards. */
const moveClockQuery = defineQuery({
  name: 'move_sandbox_clock',
  text: `
    update environment
    set clock_offset_us = least(clock_target_us, greatest(clock_offset_us,
      coalesce((extract(epoch from $1::timestamptz - clock_timestamp()) * 1000000)::bigint,
        clock_target_us)))
    where name = 'staging'
    returning clock_timestamp() + clock_offset_us * interval '1 microsecond' as now,
      clock_timestamp() + clock_target_us * interval '1 microsecond' as target`,
  columns: { now: column.instant, target: column.instant },
});

type PayoutId = { accountId: string; payoutId: string };

export async function storeScript(
  session: Session,
  script: PayoutId & { outcome: ScriptedOutcome },
): Promise<void> {
  await exec(session, upsertScriptStatement, [script.accountId, script.payoutId, script.outcome]);
}

/** Across accounts: the simulated network knows a payment by its reference only. */
export async function findScript(
  session: Session,
  reference: string,
): Promise<ScriptedOutcome | undefined> {
  return (await maybeOne(session, findScriptQuery, [reference]))?.outcome;
}

export async function findSandboxPayout(
  session: Session,
  id: PayoutId,
): Promise<RowOf<typeof payoutColumns> | undefined> {
  return maybeOne(session, findPayoutQuery, [id.accountId, id.payoutId]);
}

/** Real time, and the time of the clock after all requested moves. Staging only. */
export async function lockClock(session: Session): Promise<{ real: Date; target: Date }> {
  return one(session, lockClockQuery);
}

export async function setClockTarget(session: Session, to: Date): Promise<void> {
  await exec(session, setTargetStatement, [to]);
}

export async function findClockTarget(
  session: Session,
): Promise<{ target: Date; is_ahead: boolean }> {
  return one(session, findTargetQuery);
}

/** Creates the partitions that events need from an instant on. Undefined: from the target on. */
export async function openMonthsAhead(session: Session, at: Date | undefined): Promise<void> {
  await exec(session, openMonthsStatement, [at ?? null]);
}

/**
 * Undefined: to the target. Returns the clock's time, and the target, which other requests may have moved.
 * The months must be open.
 */
export async function moveClock(
  session: Session,
  to: Date | undefined,
): Promise<{ now: Date; target: Date }> {
  return one(session, moveClockQuery, [to ?? null]);
}
