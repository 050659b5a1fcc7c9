import type { Session, Statement } from '../db/postgres/pool.ts';
import type { DispatchRow, TermsRow } from '../dispatch/dispatch.ts';
import type { PayoutName } from '../payouts/payout-name.ts';

const decideText: Statement = {
  name: 'decide_payout',
  text: `select decide_payout($1, $2, $3, $4, $5, $6, $7, $8, $9) as result`,
};

const closeText: Statement = {
  name: 'close_unmatched',
  text: `
    update exceptions set closed_at = environment_now(), resolution = $2
    where account_id = '00000000-0000-0000-0000-000000000000' and id = $1 and closed_at is null
    returning id`,
};

const termsText: Statement = {
  name: 'find_decided_payout',
  text: `
    select p.account_id, p.id as payout_id, p.user_id, p.destination_token, p.source_currency,
      p.source_amount, p.fee, p.destination_currency, p.destination_amount, p.status,
      u.kyc_status = 'approved' as is_verified, exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'screening'
          and e.closed_at is null) as is_screening_asked
    from payout_quotes q
    join payouts p on p.account_id = q.account_id and p.id = q.id
    join users u on u.account_id = p.account_id and u.id = p.user_id
    where q.account_id = $1 and q.id = $2`,
};

const missingText: Statement = {
  name: 'open_missing_rails',
  text: `
    with missing as (
      select d.account_id, d.payout_id, d.rail from payout_dispatches d
      where d.rail <> all ($1) and d.due_at < environment_now() - interval '10 minutes'
        and not exists (
          select from exceptions e
          where e.account_id = d.account_id and e.payout_id = d.payout_id
            and e.kind = 'rail_missing' and e.closed_at is null)
      limit 1000
    )
    select open_exception(account_id, payout_id, rail, 'rail_missing',
      'no process has this rail', null, null, environment_now())
    from missing`,
};

const findAccountText: Statement = {
  name: 'find_account_of_payout',
  text: `
    select a.id as account_id from accounts a
    where exists (select from payout_quotes q where q.account_id = a.id and q.id = $1)`,
};

export type DecideResult = 'done' | 'waiting' | 'illegal' | 'not_found';

export async function decidePayoutRow(
  session: Session,
  decision: {
    accountId: string;
    payoutId: string;
    id: string;
    action: string;
    decidedBy: string;
    reason: string;
    personsNeeded: number;
    next: { rail: string; payerKey: string } | undefined;
  },
): Promise<DecideResult> {
  const [row] = await session.rows<{ result: DecideResult }>(decideText, [
    decision.accountId,
    decision.payoutId,
    decision.id,
    decision.action,
    decision.decidedBy,
    decision.reason,
    decision.personsNeeded,
    decision.next?.rail ?? null,
    decision.next?.payerKey ?? null,
  ]);
  if (row === undefined) throw new Error('a decision answered nothing');
  return row.result;
}

/** False where there is no such open exception. */
export async function closeUnmatched(
  session: Session,
  id: string,
  resolution: string,
): Promise<boolean> {
  return (await session.rows(closeText, [id, resolution])).length > 0;
}

export type DecidedPayoutRow = TermsRow &
  Pick<DispatchRow, 'account_id' | 'payout_id' | 'user_id'> & {
    status: string;
    /** A person is asked whether the recipient is the one on a sanctions list. */
    is_screening_asked: boolean;
  };

export async function findDecidedPayout(
  session: Session,
  payout: PayoutName,
): Promise<DecidedPayoutRow | undefined> {
  const [row] = await session.rows<DecidedPayoutRow>(termsText, [
    payout.accountId,
    payout.payoutId,
  ]);
  return row;
}

/** Payouts that have been due for long and that nobody may take; answers how many are new. */
export async function openMissingRails(
  session: Session,
  rails: readonly string[],
): Promise<number> {
  return (await session.rows(missingText, [rails])).length;
}

/** Of an operator, who knows a payout by its token alone: one look-up for each account. */
export async function findAccountOfPayout(
  session: Session,
  payoutId: string,
): Promise<string | undefined> {
  const [row] = await session.rows<{ account_id: string }>(findAccountText, [payoutId]);
  return row?.account_id;
}
