import { plainArray, textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/pool.ts';

const takeText: Statement = {
  name: 'take_dispatches',
  text: `
    select account_id, payout_id, fence, tries, mode, was_taken, unknown_since, now, rail, payer_key,
      country, delivery_type, destination_currency, destination_amount, pickup_code, committed_at,
      estimated_availability, user_id, attr_set_id, attributes, data_key, person
    from take_dispatches($1, $2, $3, $4)`,
};

const applyText: Statement = {
  name: 'apply_observation',
  text: `select apply_observation($1, $2, $3, $4, $5, $6, $7, $8, $9) as result`,
};

const applyManyText: Statement = {
  name: 'apply_observations',
  text: `
    select ordinal, is_held from apply_observations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

const postponeText: Statement = {
  name: 'postpone_dispatch',
  text: `select postpone_dispatch($1, $2, $3, $4)`,
};

const countDueText: Statement = {
  name: 'count_due_dispatches',
  text: `select count(*)::integer as count from payout_dispatches where due_at <= environment_now()`,
};

const nextDueText: Statement = {
  name: 'next_due_dispatch',
  text: `
    select min(due_at) as due_at from payout_dispatches
    where due_at > environment_now() and due_at <= $1`,
};

/** A payout that was taken: the claim, what it needs, and what its rail is told. */
export type DispatchRow = {
  account_id: string;
  payout_id: string;
  fence: bigint;
  tries: number;
  mode: 'send' | 'query';
  /** Whether the rail has ever said that it had the attempt that is asked about. */
  was_taken: boolean;
  unknown_since: Date | null;
  /** The environment's time, which another process may just have moved. */
  now: Date;
  rail: string;
  payer_key: string;
  country: string;
  delivery_type: string;
  destination_currency: string;
  destination_amount: bigint;
  pickup_code: string;
  committed_at: Date;
  estimated_availability: Date;
  user_id: string;
  attr_set_id: string | null;
  attributes: Buffer | null;
  data_key: Buffer;
  person: Buffer;
};

/** Takes what is due, or the one payout that is named whether due or not. */
export async function takeDispatches(
  session: Session,
  claim: {
    count: number;
    leaseMs: number;
    only?: { accountId: string; payoutId: string };
  },
): Promise<DispatchRow[]> {
  const { count, leaseMs, only } = claim;
  const values = [count, leaseMs, only?.accountId ?? null, only?.payoutId ?? null];
  return session.rows<DispatchRow>(takeText, values);
}

export type Observation = {
  accountId: string;
  payoutId: string;
  observationId: string;
  source: 'send' | 'query' | 'sandbox';
  outcome: string;
  reason: string;
  /** Of the claim under which it was heard; undefined for what the sandbox's calls decide. */
  fence: bigint | undefined;
  /** When to ask again; undefined: never. */
  dueAt: Date | undefined;
  /** One per step that may follow. */
  journalIds: readonly string[];
};

export type ApplyResult = 'applied' | 'stale' | 'illegal' | 'not_found';

export async function applyObservation(
  session: Session,
  observation: Observation,
): Promise<ApplyResult> {
  const [row] = await session.rows<{ result: ApplyResult }>(applyText, [
    observation.accountId,
    observation.payoutId,
    observation.observationId,
    observation.source,
    observation.outcome,
    observation.reason,
    observation.fence ?? null,
    observation.dueAt ?? null,
    observation.journalIds,
  ]);
  if (row === undefined) throw new Error('an observation answered nothing');
  return row.result;
}

/** Which of them were applied, and which lie in an account that somebody holds. */
export async function applyObservations(
  session: Session,
  observations: readonly Observation[],
  mayWait: boolean,
): Promise<{ ordinal: number; is_held: boolean }[]> {
  const column = <T>(read: (observation: Observation) => T): T[] => observations.map(read);
  return session.rows(applyManyText, [
    plainArray(column(({ accountId }) => accountId)),
    plainArray(column(({ payoutId }) => payoutId)),
    plainArray(column(({ observationId }) => observationId)),
    textArray(column(({ source }) => source)),
    textArray(column(({ outcome }) => outcome)),
    textArray(column(({ reason }) => reason)),
    plainArray(column(({ fence }) => fence ?? null)),
    column(({ dueAt }) => dueAt ?? null),
    plainArray(column(({ journalIds }) => journalIds[0] ?? null)),
    mayWait,
  ]);
}

/** Puts off a claimed payout that could not be worked on; nothing when the claim is outdated. */
export async function postponeDispatch(
  session: Session,
  claim: Pick<DispatchRow, 'account_id' | 'payout_id' | 'fence'> & { waitMs: number },
): Promise<void> {
  const values = [claim.account_id, claim.payout_id, claim.fence, claim.waitMs];
  await session.rows(postponeText, values);
}

export async function countDue(session: Session): Promise<number> {
  const [row] = await session.rows<{ count: number }>(countDueText);
  return row?.count ?? 0;
}

/** The next instant up to `until` at which something becomes due. */
export async function findNextDue(session: Session, until: Date): Promise<Date | undefined> {
  const [row] = await session.rows<{ due_at: Date | null }>(nextDueText, [until]);
  return row?.due_at ?? undefined;
}
