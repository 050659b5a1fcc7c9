import { plainArray, textArray } from '../db/arrays.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import type { PayoutName } from '../payouts/payout-name.ts';

const takeText: Statement = {
  name: 'take_dispatches',
  text: `
    select account_id, payout_id, fence, tries, mode, attempt_count, was_taken, unknown_since, first_tried_at, now,
      rail, payer_key, destination_token, country, delivery_type, source_currency, source_amount, fee,
      destination_currency, destination_amount, pickup_code, committed_at, estimated_availability,
      user_id, attr_set_id, attributes, data_key, person, user_country, is_verified, account_name,
      reference
    from take_dispatches($1, $2, $3, $4, $5, $6, $7)`,
};

const passText: Statement = {
  name: 'pass_checks',
  text: `select pass_checks($1, $2, $3)`,
};

const applyText: Statement = {
  name: 'apply_observation',
  text: `select apply_observation($1, $2, $3, $4, $5, $6, $7, $8, $9, $10) as result`,
};

const applyManyText: Statement = {
  name: 'apply_observations',
  text: `
    select ordinal, is_held
    from apply_observations($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)`,
};

const postponeText: Statement = {
  name: 'postpone_dispatch',
  text: `select postpone_dispatch($1, $2, $3, $4) as faults`,
};

const countDueText: Statement = {
  name: 'count_due_dispatches',
  text: `
    select count(*)::integer as count from unnest($1::text[]) r (rail)
    join payout_dispatches d on d.rail = r.rail and d.due_at <= environment_now()
    where not is_recovering()`,
};

const nextDueText: Statement = {
  name: 'next_due_dispatch',
  text: `
    select min(n.due_at) as due_at from unnest($1::text[]) r (rail)
    cross join lateral (
      select d.due_at from payout_dispatches d
      where d.rail = r.rail and d.due_at > environment_now() and d.due_at <= $2
      order by d.due_at limit 1
    ) n`,
};

const triedText: Statement = {
  name: 'list_tried_payers',
  text: `
    select distinct rail, payer_key from attempts
    where account_id = $1 and payout_id = $2 and state <> 'retry'`,
};

/** A payout that was taken: the claim, what it needs, and what its rail is told. */
export type DispatchRow = {
  account_id: string;
  payout_id: string;
  fence: bigint;
  tries: number;
  /** `elsewhere`: another rail had listed its payment in a recovery. */
  mode: 'check' | 'send' | 'query' | 'elsewhere';
  /** Of all payers, before this claim. */
  attempt_count: number;
  /** Whether the rail has ever said that it had the attempt that is asked about. */
  was_taken: boolean;
  unknown_since: Date | null;
  /** When the first attempt through the present payer began, where this is not the first one. */
  first_tried_at: Date | null;
  /** The environment's time, which another process may just have moved. */
  now: Date;
  rail: string;
  payer_key: string;
  /** The one that the client named, whoever has it now. */
  destination_token: string;
  country: string;
  delivery_type: string;
  source_currency: string;
  source_amount: bigint;
  fee: bigint;
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
  user_country: string;
  is_verified: boolean;
  account_name: string;
  /** Of the payment, 32 hexadecimal digits; the same in every process and after a restore. */
  reference: string;
};

/** What a payout has been promised: what finding another payer for it goes by. */
export type TermsRow = Pick<
  DispatchRow,
  | 'destination_token'
  | 'source_currency'
  | 'source_amount'
  | 'fee'
  | 'destination_currency'
  | 'destination_amount'
  | 'is_verified'
>;

/** Takes what is due of each rail, or the one payout that is named whether due or not. */
export async function claimDispatches(
  session: Session,
  claim: {
    /** How many at most, by rail. */
    counts: ReadonlyMap<string, number>;
    /** Of these, not the oldest but any of the 500 oldest that are due. */
    shaken?: ReadonlySet<string>;
    leaseMs: number;
    hasRules: boolean;
    only?: PayoutName;
  },
): Promise<DispatchRow[]> {
  const { counts, shaken, leaseMs, hasRules, only } = claim;
  return session.rows<DispatchRow>(takeText, [
    textArray([...counts.keys()]),
    plainArray([...counts.values()]),
    plainArray([...counts.keys()].map((rail) => shaken?.has(rail) === true)),
    leaseMs,
    hasRules,
    only?.accountId ?? null,
    only?.payoutId ?? null,
  ]);
}

type Claim = Pick<DispatchRow, 'account_id' | 'payout_id' | 'fence'>;

/** The rules let these pass; they are due at once. */
export async function passChecks(session: Session, claims: readonly Claim[]): Promise<void> {
  await session.rows(passText, [
    plainArray(claims.map(({ account_id: accountId }) => accountId)),
    plainArray(claims.map(({ payout_id: payoutId }) => payoutId)),
    plainArray(claims.map(({ fence }) => fence)),
  ]);
}

/** What goes with an observation; the names are those that `apply_observation` reads. */
export type ObservationExtra = {
  /** Of the payment, 32 hexadecimal digits; the rail's latest attempt when absent. */
  reference?: string;
  /** Milliseconds: when it happened by the rail's account; now when absent. */
  at?: number;
  code?: string;
  provider_reference?: string;
  /** Minor units, as text. */
  amount?: string;
  charges?: readonly { id: string; kind: string; currency: string; amount: string }[];
  standing?: string;
  /** JSON: who could have paid it when it was sent first, and after a refusal. */
  first_routing?: string;
  routing?: string;
  next_rail?: string;
  next_payer?: string;
  is_exhausted?: boolean;
  exception?: string;
  detail?: string;
};

export type Observation = {
  accountId: string;
  payoutId: string;
  /** Who said it; undefined: the payout's present rail. */
  rail: string | undefined;
  observationId: string;
  source: 'send' | 'query' | 'sandbox' | 'callback' | 'file' | 'poll' | 'person';
  outcome: string;
  reason: string;
  /** Of the claim under which it was heard; undefined for what comes unasked. */
  fence: bigint | undefined;
  /** When to ask again; undefined: never. */
  dueAt: Date | undefined;
  /** One per step that may follow. */
  journalIds: readonly string[];
  extra: ObservationExtra | undefined;
};

export type ApplyResult = 'applied' | 'no_effect' | 'exception' | 'stale' | 'illegal' | 'not_found';

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
    describeExtra(observation),
  ]);
  if (row === undefined) throw new Error('an observation answered nothing');
  return row.result;
}

/** None at all where there is nothing to say: clients of the sandbox may say nothing more. */
function describeExtra({ rail, extra }: Observation): string | null {
  if (rail === undefined && extra === undefined) return null;
  return JSON.stringify({ rail, ...extra });
}

/** What an observation may bring along and still be applied together with others. */
const groupedExtras: ReadonlySet<string> = new Set([
  'reference',
  'code',
  'provider_reference',
  'standing',
  'first_routing',
]);

/** Whether `applyObservations` can take it. */
export function canGroup({ fence, extra = {} }: Observation): boolean {
  return fence !== undefined && Object.keys(extra).every((name) => groupedExtras.has(name));
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
    textArray(column(({ extra }) => extra?.code ?? '')),
    textArray(column(({ extra }) => extra?.provider_reference ?? '')),
    plainArray(column(({ extra }) => extra?.standing ?? null)),
    textArray(column(({ extra }) => extra?.first_routing)),
    plainArray(column(({ fence }) => fence ?? null)),
    column(({ dueAt }) => dueAt ?? null),
    plainArray(column(({ journalIds }) => journalIds[0] ?? null)),
    mayWait,
  ]);
}

/**
 * Puts off a claimed payout that could not be worked on, and answers how often in a row that was so;
 * undefined when the claim is outdated.
 */
export async function postponeDispatch(
  session: Session,
  claim: Claim & { waitMs: number },
): Promise<number | undefined> {
  const values = [claim.account_id, claim.payout_id, claim.fence, claim.waitMs];
  const [row] = await session.rows<{ faults: number | null }>(postponeText, values);
  return row?.faults ?? undefined;
}

export async function countDue(session: Session, rails: readonly string[]): Promise<number> {
  const [row] = await session.rows<{ count: number }>(countDueText, [textArray(rails)]);
  return row?.count ?? 0;
}

/** The next instant up to `until` at which something becomes due. */
export async function findNextDue(
  session: Session,
  rails: readonly string[],
  until: Date,
): Promise<Date | undefined> {
  const [row] = await session.rows<{ due_at: Date | null }>(nextDueText, [textArray(rails), until]);
  return row?.due_at ?? undefined;
}

/** Through whom a payout was sent already, however that came out. */
export async function listTriedPayers(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<{ rail: string; payer_key: string }[]> {
  return session.rows(triedText, [accountId, payoutId]);
}
