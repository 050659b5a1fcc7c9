import type { Session, Statement } from '../db/pool.ts';

const claimText: Statement = {
  name: 'claim_dispatches',
  text: `select account_id, payout_id, fence, tries from claim_dispatches($1, $2, $3, $4)`,
};

const beginText: Statement = {
  name: 'begin_attempt',
  text: `select mode, was_taken, unknown_since, now from begin_attempt($1, $2, $3, $4, $5)`,
};

const findInstructionText: Statement = {
  name: 'find_instruction',
  text: `
    select p.rail, p.payer_key, p.country, p.delivery_type, p.destination_currency,
      p.destination_amount, p.pickup_code, p.committed_at, p.estimated_availability, p.user_id,
      p.attr_set_id, v.sealed as attributes, u.data_key, u.sealed as person
    from payouts p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version
    where p.account_id = $1 and p.id = $2`,
};

const applyText: Statement = {
  name: 'apply_observation',
  text: `select apply_observation($1, $2, $3, $4, $5, $6, $7, $8, $9) as result`,
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

export type DispatchRow = { account_id: string; payout_id: string; fence: bigint; tries: number };

/** Claims what is due, or the one payout that is named whether due or not. */
export async function claimDispatches(
  session: Session,
  claim: {
    count: number;
    leaseMs: number;
    only?: { accountId: string; payoutId: string };
  },
): Promise<DispatchRow[]> {
  const { count, leaseMs, only } = claim;
  const values = [count, leaseMs, only?.accountId ?? null, only?.payoutId ?? null];
  return session.rows<DispatchRow>(claimText, values);
}

export type BegunRow = {
  mode: 'send' | 'query' | 'none';
  /** Whether the rail has ever said that it had the attempt that is asked about. */
  was_taken: boolean | null;
  unknown_since: Date | null;
  /** The environment's time, which another process may just have moved. */
  now: Date;
};

export async function beginAttempt(
  session: Session,
  attempt: {
    accountId: string;
    payoutId: string;
    fence: bigint;
    reference: string;
    leaseMs: number;
  },
): Promise<BegunRow> {
  const { accountId, payoutId, fence, reference, leaseMs } = attempt;
  const values = [accountId, payoutId, fence, reference, leaseMs];
  const [row] = await session.rows<BegunRow>(beginText, values);
  if (row === undefined) throw new Error('an attempt began with no answer');
  return row;
}

export type InstructionRow = {
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

export async function getInstructionRow(
  session: Session,
  id: { accountId: string; payoutId: string },
): Promise<InstructionRow> {
  const [row] = await session.rows<InstructionRow>(findInstructionText, [
    id.accountId,
    id.payoutId,
  ]);
  if (row === undefined) throw new Error('a dispatch without its payout');
  return row;
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

/** Puts off a claimed payout that could not be worked on; nothing when the claim is outdated. */
export async function postponeDispatch(
  session: Session,
  claim: DispatchRow & { waitMs: number },
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
