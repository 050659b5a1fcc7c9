import { z } from 'zod';
import type { Session, Statement } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';

/** Payouts that are committed for a later time. */

const minor = z.string().transform(BigInt).nullable();

export const storedSchedule = z.object({
  scheduled_for: z.string(),
  deadline_at: z.coerce.date<string>(),
  max_source_amount: minor,
  min_destination_amount: minor,
  /** In minor units of the source currency; null where it does not wait for funds. */
  shortfall: minor,
});

/** The schedule of `payouts p` as JSON, null where it has none. */
export const selectSchedule = (shortfall: string): string => `
  case when p.runs_at is not null then (
    select json_build_object('scheduled_for', x.scheduled_for, 'deadline_at', x.deadline_at,
      'max_source_amount', x.max_source_amount::text,
      'min_destination_amount', x.min_destination_amount::text, 'shortfall', ${shortfall})
    from payout_schedules x where x.account_id = p.account_id and x.payout_id = p.id) end`;

/** What the balance lacked at point `r (at, sequence)`, when it began to wait. */
export const pastShortfall = `
  case when p.status = 'SCHEDULED' then (
    select e.payload::json ->> 'shortfall' from events e
    where e.account_id = p.account_id and e.subject_id = p.id
      and e.month >= month_of(p.created_at - interval '1 day')
      and e.type = 'payout.scheduled' and e.created_at <= r.at and e.sequence <= r.sequence
    order by e.sequence desc limit 1) end`;

/** Before its commit; amounts in minor units of their currency. */
export type NewSchedule = {
  scheduledFor: string;
  runsAt: Date;
  deadlineAt: Date;
  givenSide: 'source' | 'destination';
  maxSourceMinor: bigint | undefined;
  minDestinationMinor: bigint | undefined;
};

export function describeNewSchedule(
  schedule: NewSchedule | undefined,
): z.infer<typeof storedSchedule> | null {
  if (schedule === undefined) return null;
  return {
    scheduled_for: schedule.scheduledFor,
    deadline_at: schedule.deadlineAt,
    max_source_amount: schedule.maxSourceMinor ?? null,
    min_destination_amount: schedule.minDestinationMinor ?? null,
    shortfall: null,
  };
}

const insertStatement: Statement = {
  name: 'insert_payout_schedule',
  text: `
    insert into payout_schedules (account_id, payout_id, scheduled_for, deadline_at, given_side,
      max_source_amount, min_destination_amount, source_currency)
    values ($1, $2, $3, $4, $5, $6, $7, $8)`,
};

const claim = defineQuery({
  name: 'claim_schedules',
  text: `
    select account_id, payout_id, fence, user_id, destination_token, source_currency, source_amount,
      destination_currency, destination_amount, given_side, max_source_amount,
      min_destination_amount
    from claim_schedules($1, $2)`,
  columns: {
    account_id: column.uuid,
    payout_id: column.uuid,
    fence: column.bigint,
    user_id: column.uuid,
    destination_token: column.uuid,
    source_currency: column.text,
    source_amount: column.bigint,
    destination_currency: column.text,
    destination_amount: column.bigint,
    given_side: column.oneOf('source', 'destination'),
    max_source_amount: nullable(column.bigint),
    min_destination_amount: nullable(column.bigint),
  },
});
export type ClaimedSchedule = RowOf<typeof claim.columns>;

const run = defineQuery({
  name: 'run_schedules',
  text: `select run_schedules($1, $2, $3, $4) as count`,
  columns: { count: column.integer },
});

const nextDue = defineQuery({
  name: 'find_next_schedule',
  text: `
    select min(due_at) filter (where due_at > (select environment_now())) as due_at,
      count(*) filter (where due_at <= (select environment_now())) > 0 as is_due
    from payout_schedules
    where due_at <= $1 and not is_recovering()`,
  columns: { due_at: nullable(column.instant), is_due: column.boolean },
});

const scheduleOfPayout = defineQuery({
  name: 'find_payout_schedule',
  text: `
    select p.user_id, p.status, p.status_reason, x.scheduled_for, p.runs_at, p.ran_at, x.deadline_at,
      x.retry_at, x.shortfall, p.source_currency
    from payouts p
    join payout_schedules x on x.account_id = p.account_id and x.payout_id = p.id
    where p.account_id = $1 and p.id = $2 and p.runs_at is not null`,
  columns: {
    user_id: column.uuid,
    status: column.text,
    status_reason: column.text,
    scheduled_for: column.text,
    runs_at: column.instant,
    ran_at: nullable(column.instant),
    deadline_at: column.instant,
    /** Real time. */
    retry_at: nullable(column.instant),
    shortfall: nullable(column.bigint),
    source_currency: column.text,
  },
});

const cancel = defineQuery({
  name: 'cancel_schedule',
  text: `select result, status from cancel_schedule($1, $2, $3, $4)`,
  columns: {
    result: column.oneOf('done', 'not_found', 'disputed', 'not_scheduled'),
    status: nullable(column.text),
  },
});

export async function insertSchedule(
  session: Session,
  payout: { accountId: string; id: string; sourceCurrency: string; schedule: NewSchedule },
): Promise<void> {
  const { accountId, id, sourceCurrency, schedule } = payout;
  await exec(session, insertStatement, [
    accountId,
    id,
    schedule.scheduledFor,
    schedule.deadlineAt,
    schedule.givenSide,
    schedule.maxSourceMinor ?? null,
    schedule.minDestinationMinor ?? null,
    sourceCurrency,
  ]);
}

/** Claims payouts to try, the earliest first. */
export async function claimSchedules(
  session: Session,
  { count, leaseMs }: { count: number; leaseMs: number },
): Promise<ClaimedSchedule[]> {
  return many(session, claim, [count, leaseMs]);
}

/** Runs the tries of an account, and answers how many payouts run. `tries`: rows of `schedule_try`. */
export async function runTries(
  session: Session,
  {
    accountId,
    tries,
    sentences,
    retryMs,
  }: {
    accountId: string;
    tries: readonly object[];
    sentences: object;
    retryMs: number;
  },
): Promise<number> {
  const values = [accountId, JSON.stringify(tries), JSON.stringify(sentences), retryMs];
  return (await one(session, run, values)).count;
}

/** The first time up to `until` at which one is due, and whether one is due now. */
export async function findNextTry(
  session: Session,
  until: Date,
): Promise<RowOf<typeof nextDue.columns>> {
  return one(session, nextDue, [until]);
}

export async function findSchedule(
  session: Session,
  payout: { accountId: string; payoutId: string },
): Promise<RowOf<typeof scheduleOfPayout.columns> | undefined> {
  return maybeOne(session, scheduleOfPayout, [payout.accountId, payout.payoutId]);
}

export async function cancelScheduleRow(
  session: Session,
  payout: { accountId: string; userId: string; payoutId: string; reason: string },
): Promise<RowOf<typeof cancel.columns>> {
  const { accountId, userId, payoutId, reason } = payout;
  return one(session, cancel, [accountId, userId, payoutId, reason]);
}
