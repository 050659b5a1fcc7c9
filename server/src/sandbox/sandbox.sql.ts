import type { Session, Statement } from '../db/postgres/pool.ts';
import type { ScriptedOutcome } from '../rails/sandbox/rail.ts';

const upsertScriptText: Statement = {
  name: 'upsert_sandbox_script',
  text: `select script_sandbox_payout($1, $2, $3)`,
};

const findScriptText: Statement = {
  name: 'find_sandbox_script',
  text: `
    select s.outcome from attempts a
    join sandbox_scripts s on s.account_id = a.account_id and s.payout_id = a.payout_id
    where a.reference = $1 limit 1`,
};

const findPayoutText: Statement = {
  name: 'find_sandbox_payout',
  text: `
    select status, delivery_type, estimated_availability from payouts
    where account_id = $1 and id = $2`,
};

/** The row is locked, so that two moves add up. */
const lockClockText: Statement = {
  name: 'lock_sandbox_clock',
  text: `
    select clock_timestamp() as real,
      clock_timestamp() + clock_target_us * interval '1 microsecond' as target
    from environment where name = 'staging' for update`,
};

const setTargetText: Statement = {
  name: 'set_sandbox_clock_target',
  text: `
    update environment
    set clock_target_us = greatest(clock_target_us,
      (extract(epoch from $1::timestamptz - clock_timestamp()) * 1000000)::bigint)
    where name = 'staging'`,
};

const findTargetText: Statement = {
  name: 'find_sandbox_clock_target',
  text: `
    select clock_timestamp() + clock_target_us * interval '1 microsecond' as target,
      clock_target_us > clock_offset_us as is_ahead
    from environment`,
};

/** To an instant on the way to the target, or to the target itself; never backwards. */
const moveClockText: Statement = {
  name: 'move_sandbox_clock',
  text: `
    update environment
    set clock_offset_us = least(clock_target_us, greatest(clock_offset_us,
      coalesce((extract(epoch from $1::timestamptz - clock_timestamp()) * 1000000)::bigint,
        clock_target_us)))
    where name = 'staging'`,
};

type PayoutId = { accountId: string; payoutId: string };

export async function storeScript(
  session: Session,
  script: PayoutId & { outcome: ScriptedOutcome },
): Promise<void> {
  await session.rows(upsertScriptText, [script.accountId, script.payoutId, script.outcome]);
}

/** Across accounts: the simulated network knows a payment by its reference only. */
export async function findScript(
  session: Session,
  reference: string,
): Promise<ScriptedOutcome | undefined> {
  const [row] = await session.rows<{ outcome: ScriptedOutcome }>(findScriptText, [reference]);
  return row?.outcome;
}

export type SandboxPayoutRow = {
  status: string;
  delivery_type: string;
  estimated_availability: Date;
};

export async function findSandboxPayout(
  session: Session,
  id: PayoutId,
): Promise<SandboxPayoutRow | undefined> {
  const [row] = await session.rows<SandboxPayoutRow>(findPayoutText, [id.accountId, id.payoutId]);
  return row;
}

/** Real time, and where the clock will be when every move that was asked for has been made. */
export async function lockClock(session: Session): Promise<{ real: Date; target: Date }> {
  const [row] = await session.rows<{ real: Date; target: Date }>(lockClockText);
  if (row === undefined) throw new Error('only staging has a clock to move');
  return row;
}

export async function setClockTarget(session: Session, to: Date): Promise<void> {
  await session.rows(setTargetText, [to]);
}

export async function findClockTarget(
  session: Session,
): Promise<{ target: Date; is_ahead: boolean }> {
  const [row] = await session.rows<{ target: Date; is_ahead: boolean }>(findTargetText);
  if (row === undefined) throw new Error('an environment without a row');
  return row;
}

/** Undefined: to the target. */
export async function moveClock(session: Session, to: Date | undefined): Promise<void> {
  await session.rows(moveClockText, [to ?? null]);
}
