import { plainArray, textArray } from '../db/arrays.ts';
import type { Session } from '../db/postgres/pool.ts';
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
import type { PayoutName } from '../payouts/payout-name.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/** What a payout was promised: the terms for finding another payer. */
export const termColumns = {
  /** The one that the client named. */
  destination_token: column.uuid,
  source_currency: column.text,
  source_amount: column.bigint,
  fee: column.bigint,
  destination_currency: column.text,
  destination_amount: column.bigint,
  is_verified: column.boolean,
  /** Of its present route. */
  rail: column.text,
  payer_key: column.text,
  /** What the payer's provider had asked; null where it quotes no prices. */
  provider_price: nullable(column.text),
} as const;

export type TermsRow = RowOf<typeof termColumns>;

const claimColumns = {
  ...termColumns,
  account_id: column.uuid,
  payout_id: column.uuid,
  fence: column.bigint,
  tries: column.integer,
  /** `elsewhere`: another rail listed its payment in a recovery. */
  mode: column.oneOf('check', 'send', 'query', 'elsewhere'),
  /** Of all payers, before this claim. */
  attempt_count: column.integer,
  /** Whether the rail ever reported that it had the attempt. */
  was_taken: column.boolean,
  unknown_since: nullable(column.instant),
  /** When the first attempt through the present payer began, where this is not the first one. */
  first_tried_at: nullable(column.instant),
  /** The environment's time, which another process may just have moved. */
  now: column.instant,
  country: column.text,
  delivery_type: column.oneOf(...deliveryTypes),
  pickup_code: column.text,
  committed_at: column.instant,
  estimated_availability: column.instant,
  user_id: column.uuid,
  attr_set_id: nullable(column.uuid),
  attributes: nullable(column.bytes),
  data_key: column.bytes,
  person: column.bytes,
  user_country: column.text,
  account_name: column.text,
  /** Of the payment, 32 hexadecimal digits; the same in every process and after a restore. */
  reference: column.text,
} as const;

/** A claimed payout: the claim, and what its rail needs. */
export type DispatchRow = RowOf<typeof claimColumns>;

const claim = defineQuery({
  name: 'claim_dispatches',
  text: `
    select ${Object.keys(claimColumns).join(', ')}
    from claim_dispatches($1, $2, $3, $4, $5, $6, $7, $8)`,
  columns: claimColumns,
});

const pass = { name: 'pass_checks', text: `select pass_checks($1, $2, $3)` };

const awaitOpinionText = { name: 'await_opinion', text: `select await_opinion($1, $2, $3, $4)` };

const postpone = defineQuery({
  name: 'postpone_dispatch',
  text: `select postpone_dispatch($1, $2, $3, $4, $5) as faults`,
  columns: { faults: nullable(column.integer) },
});

export const dueCountQuery = defineQuery({
  name: 'count_due_dispatches',
  text: `
    select count(*)::integer as count from unnest($1::text[]) r (rail)
    join payout_dispatches d on d.rail = r.rail and d.due_at <= (select environment_now())
    where not is_recovering()`,
  columns: { count: column.integer },
});

const selectNextDue = defineQuery({
  name: 'next_due_dispatch',
  text: `
    select min(n.due_at) as due_at from unnest($1::text[]) r (rail)
    cross join lateral (
      select d.due_at from payout_dispatches d
      where d.rail = r.rail and d.due_at > (select environment_now()) and d.due_at <= $2
      order by d.due_at limit 1
    ) n`,
  columns: { due_at: nullable(column.instant) },
});

const selectTriedPayers = defineQuery({
  name: 'list_tried_payers',
  text: `
    select distinct rail, payer_key from attempts
    where account_id = $1 and payout_id = $2 and state <> 'retry'`,
  columns: { rail: column.text, payer_key: column.text },
});

/** Claims due payouts of each rail, or the one payout that is named whether due or not. */
export async function claimDispatches(
  session: Session,
  options: {
    /** How many at most, by rail. */
    counts: ReadonlyMap<string, number>;
    /** Rails of which not the oldest are claimed, but any of the 500 oldest. */
    inRandomOrder?: ReadonlySet<string>;
    leaseMs: number;
    hasRules: boolean;
    only?: PayoutName;
    /** Nothing is sent, so that freezes do not matter. */
    isCanceling?: boolean;
  },
): Promise<DispatchRow[]> {
  const { counts, inRandomOrder, leaseMs, hasRules, only, isCanceling = false } = options;
  return many(session, claim, [
    textArray([...counts.keys()]),
    plainArray([...counts.values()]),
    plainArray([...counts.keys()].map((rail) => inRandomOrder?.has(rail) === true)),
    leaseMs,
    hasRules,
    only?.accountId ?? null,
    only?.payoutId ?? null,
    isCanceling,
  ]);
}

type Claim = Pick<DispatchRow, 'account_id' | 'payout_id' | 'fence'>;

/** The rules let these pass; they are due at once. */
export async function passChecks(session: Session, claims: readonly Claim[]): Promise<void> {
  await exec(session, pass, [
    plainArray(claims.map(({ account_id: accountId }) => accountId)),
    plainArray(claims.map(({ payout_id: payoutId }) => payoutId)),
    plainArray(claims.map(({ fence }) => fence)),
  ]);
}

/** The payout waits for the opinion of a screening service, and is checked again. */
export async function awaitOpinion(
  session: Session,
  claimed: Claim & { waitMs: number },
): Promise<void> {
  const { account_id: accountId, payout_id: payoutId, fence, waitMs } = claimed;
  await exec(session, awaitOpinionText, [accountId, payoutId, fence, waitMs]);
}

/**
 * Postpones a claimed payout that could not be worked on. Returns how often in a row that was by a fault,
 * or undefined when the claim is outdated.
 */
export async function postponeDispatch(
  session: Session,
  claimed: Claim & { waitMs: number; isFault: boolean },
): Promise<number | undefined> {
  const { account_id: accountId, payout_id: payoutId, fence, waitMs, isFault } = claimed;
  const row = await one(session, postpone, [accountId, payoutId, fence, waitMs, isFault]);
  return row.faults ?? undefined;
}

export async function countDue(session: Session, rails: readonly string[]): Promise<number> {
  return (await one(session, dueCountQuery, [textArray(rails)])).count;
}

/** The next instant up to `until` at which a payout becomes due. */
export async function findNextDue(
  session: Session,
  rails: readonly string[],
  until: Date,
): Promise<Date | undefined> {
  const row = await maybeOne(session, selectNextDue, [textArray(rails), until]);
  return row?.due_at ?? undefined;
}

/** The payers that a payout was sent through, whatever their outcome. */
export async function listTriedPayers(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<{ rail: string; payer_key: string }[]> {
  return many(session, selectTriedPayers, [accountId, payoutId]);
}
