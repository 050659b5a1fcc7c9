import type { Session, Statement } from '../db/postgres/pool.ts';
import type { PayoutName } from '../payouts/payout-name.ts';

const ofPayoutText: Statement = {
  name: 'list_exceptions_of_payout',
  text: `
    select kind, opened_at, closed_at, resolution from exceptions
    where account_id = $1 and payout_id = $2
    order by opened_at`,
};

const chosenText: Statement = {
  name: 'find_chosen_terms',
  text: `
    select id, status, destination_token, source_currency, source_amount, fee,
      destination_currency, exchange_rate
    from payouts
    where account_id = $1 and id = $2 and ($3::uuid is null or user_id = $3)`,
};

const attemptsText: Statement = {
  name: 'list_attempts',
  text: `
    select a.number, a.rail, a.payer_key, a.state, a.reason, a.provider_reference, a.started_at,
      a.answered_at, s.body as standing
    from attempts a
    left join payer_standings s on s.id = a.standing_id
    where a.account_id = $1 and a.payout_id = $2
    order by a.number`,
};

const routingsText: Statement = {
  name: 'list_routings',
  text: `
    select body, created_at from payout_routings
    where account_id = $1 and payout_id = $2
    order by number`,
};

export async function listExceptionsOfPayout(
  session: Session,
  payout: PayoutName,
): Promise<{ kind: string; opened_at: Date; closed_at: Date | null; resolution: string }[]> {
  return session.rows(ofPayoutText, [payout.accountId, payout.payoutId]);
}

export async function findChosenTerms(
  session: Session,
  payout: PayoutName & { userId?: string },
): Promise<ChosenTermsRow | undefined> {
  const values = [payout.accountId, payout.payoutId, payout.userId ?? null];
  const [row] = await session.rows<ChosenTermsRow>(chosenText, values);
  return row;
}

export type ChosenTermsRow = {
  id: string;
  status: string;
  destination_token: string;
  source_currency: string;
  source_amount: bigint;
  fee: bigint;
  destination_currency: string;
  exchange_rate: string;
};

export type AttemptRow = {
  number: number;
  rail: string;
  payer_key: string;
  state: string;
  reason: string;
  provider_reference: string;
  started_at: Date;
  answered_at: Date | null;
  standing: string | null;
};

export async function listAttempts(session: Session, payout: PayoutName): Promise<AttemptRow[]> {
  return session.rows(attemptsText, [payout.accountId, payout.payoutId]);
}

export async function listRoutings(
  session: Session,
  payout: PayoutName,
): Promise<{ body: string; created_at: Date }[]> {
  return session.rows(routingsText, [payout.accountId, payout.payoutId]);
}
