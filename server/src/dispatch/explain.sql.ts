import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';
import { standingSchema } from '../destinations/route-candidate.ts';
import type { PayoutName } from '../payouts/payout-name.ts';
import { routingSchema } from './routing.ts';

const exceptionsOfPayout = defineQuery({
  name: 'list_exceptions_of_payout',
  text: `
    select kind, opened_at, closed_at, resolution from exceptions
    where account_id = $1 and payout_id = $2
    order by opened_at`,
  columns: {
    kind: column.text,
    opened_at: column.instant,
    closed_at: nullable(column.instant),
    resolution: column.text,
  },
});

const chosenTerms = defineQuery({
  name: 'find_chosen_terms',
  text: `
    select id, status, destination_token, source_currency, source_amount, fee,
      destination_currency, destination_amount, exchange_rate, provider_price, created_at
    from payouts
    where account_id = $1 and id = $2 and ($3::uuid is null or user_id = $3)`,
  columns: {
    id: column.uuid,
    status: column.text,
    destination_token: column.uuid,
    source_currency: column.text,
    source_amount: column.bigint,
    fee: column.bigint,
    destination_currency: column.text,
    destination_amount: column.bigint,
    exchange_rate: column.text,
    provider_price: nullable(column.text),
    created_at: column.instant,
  },
});

const attempts = defineQuery({
  name: 'list_attempts',
  text: `
    select a.number, a.rail, a.payer_key, a.state, a.reason, a.provider_reference, a.started_at,
      a.answered_at, s.body as standing
    from attempts a
    left join payer_standings s on s.id = a.standing_id
    where a.account_id = $1 and a.payout_id = $2
    order by a.number`,
  columns: {
    number: column.integer,
    rail: column.text,
    payer_key: column.text,
    state: column.text,
    reason: column.text,
    provider_reference: column.text,
    started_at: column.instant,
    answered_at: nullable(column.instant),
    standing: nullable(column.jsonText(standingSchema)),
  },
});

const routings = defineQuery({
  name: 'list_routings',
  text: `
    select body, created_at from payout_routings
    where account_id = $1 and payout_id = $2
    order by number`,
  columns: { body: column.jsonText(routingSchema), created_at: column.instant },
});

export async function listExceptionsOfPayout(
  session: Session,
  payout: PayoutName,
): Promise<RowOf<typeof exceptionsOfPayout.columns>[]> {
  return many(session, exceptionsOfPayout, [payout.accountId, payout.payoutId]);
}

export type ChosenTermsRow = RowOf<typeof chosenTerms.columns>;

export async function findChosenTerms(
  session: Session,
  payout: PayoutName & { userId?: string },
): Promise<ChosenTermsRow | undefined> {
  const values = [payout.accountId, payout.payoutId, payout.userId ?? null];
  return maybeOne(session, chosenTerms, values);
}

export type AttemptRow = RowOf<typeof attempts.columns>;

export async function listAttempts(session: Session, payout: PayoutName): Promise<AttemptRow[]> {
  return many(session, attempts, [payout.accountId, payout.payoutId]);
}

export async function listRoutings(
  session: Session,
  payout: PayoutName,
): Promise<RowOf<typeof routings.columns>[]> {
  return many(session, routings, [payout.accountId, payout.payoutId]);
}
