import type { Session, Statement } from '../db/pool.ts';
import type { ScriptedOutcome } from '../rails/sandbox/rail.ts';

const upsertScriptText: Statement = {
  name: 'upsert_sandbox_script',
  text: `select script_sandbox_payout($1, $2, $3)`,
};

const findScriptText: Statement = {
  name: 'find_sandbox_script',
  text: `select outcome from sandbox_scripts where payout_id = $1`,
};

const findPayoutText: Statement = {
  name: 'find_sandbox_payout',
  text: `
    select status, delivery_type, estimated_availability from payouts
    where account_id = $1 and id = $2`,
};

/** The row is locked, so that two moves of the clock come one after the other. */
const lockClockText: Statement = {
  name: 'lock_sandbox_clock',
  text: `
    select clock_offset_us, environment_now() as now from environment
    where name = 'staging' for update`,
};

/** To an instant, and never backwards: what has passed meanwhile counts. */
const moveClockText: Statement = {
  name: 'move_sandbox_clock',
  text: `
    update environment
    set clock_offset_us = greatest(clock_offset_us,
      (extract(epoch from $1::timestamptz - clock_timestamp()) * 1000000)::bigint)
    where name = 'staging'
    returning environment_now() as now`,
};

type PayoutId = { accountId: string; payoutId: string };

export async function storeScript(
  session: Session,
  script: PayoutId & { outcome: ScriptedOutcome },
): Promise<void> {
  await session.rows(upsertScriptText, [script.accountId, script.payoutId, script.outcome]);
}

/** Across accounts: the simulated network knows a payout by its reference only. */
export async function findScript(
  session: Session,
  payoutId: string,
): Promise<ScriptedOutcome | undefined> {
  const [row] = await session.rows<{ outcome: ScriptedOutcome }>(findScriptText, [payoutId]);
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

export async function lockClock(session: Session): Promise<Date> {
  const [row] = await session.rows<{ now: Date }>(lockClockText);
  if (row === undefined) throw new Error('only staging has a clock to move');
  return row.now;
}

export async function moveClock(session: Session, to: Date): Promise<Date> {
  const [row] = await session.rows<{ now: Date }>(moveClockText, [to]);
  if (row === undefined) throw new Error('only staging has a clock to move');
  return row.now;
}
