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
import { termColumns } from '../dispatch/dispatch.ts';
import type { PayoutName } from '../payouts/payout-name.ts';

const decide = defineQuery({
  name: 'decide_payout',
  text: `
    select decide_payout($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) as result`,
  columns: { result: column.oneOf('done', 'waiting', 'claimed', 'illegal', 'not_found') },
});

const openDecision = defineQuery({
  name: 'open_decision',
  text: `select about, version from open_decision($1, $2, $3, $4, $5, $6)`,
  columns: { about: nullable(column.bytes), version: nullable(column.text) },
});

/** What the code of a stored decision covers. */
export const vouchedColumns = {
  account_id: column.uuid,
  payout_id: column.uuid,
  id: column.uuid,
  action: column.text,
  decided_by: column.text,
  reason: column.text,
  operator_id: column.uuid,
  about: column.bytes,
};

const voteColumns = {
  id: column.uuid,
  decided_by: column.text,
  operator_id: column.uuid,
  reason: column.text,
  mac: column.bytes,
} as const;

const votes = defineQuery({
  name: 'list_votes',
  text: `
    select id, decided_by, operator_id, reason, mac from payout_decisions
    where account_id = $1 and payout_id = $2 and action = $3 and about = $4 and not is_effective
    order by decided_at desc limit 100`,
  columns: voteColumns,
});

const close: Statement = {
  name: 'close_unmatched',
  text: `
    update exceptions set closed_at = environment_now(), resolution = $2
    where account_id = '00000000-0000-0000-0000-000000000000' and id = $1 and closed_at is null`,
};

const decidedPayout = defineQuery({
  name: 'find_decided_payout',
  text: `
    select p.account_id, p.id as payout_id, p.user_id, p.destination_token, p.source_currency,
      p.source_amount, p.fee, p.destination_currency, p.destination_amount, p.status, p.rail,
      p.payer_key, p.provider_price, payout_version(p.account_id, p.id) as version,
      u.kyc_status = 'approved' as is_verified, exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'screening'
          and e.closed_at is null) as has_open_screening, exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'approval'
          and e.closed_at is null) as has_open_approval, exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id and e.kind = 'price_worse'
          and e.closed_at is null) as has_open_price, exists (
        select from exceptions e
        where e.account_id = p.account_id and e.payout_id = p.id
          and e.closed_at is null) as has_open_exception,
      q.created_by, s.committed_by, exists (
        select from attempts a
        where a.account_id = p.account_id and a.payout_id = p.id
          and a.state in ('sending', 'unknown', 'accepted')) as is_in_flight,
      is_recovering() as is_recovering
    from payout_quotes q
    join payouts p on p.account_id = q.account_id and p.id = q.id
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join payout_states s on s.account_id = q.account_id and s.payout_id = q.id
    where q.account_id = $1 and q.id = $2`,
  columns: {
    ...termColumns,
    account_id: column.uuid,
    payout_id: column.uuid,
    user_id: column.uuid,
    status: column.text,
    version: column.text,
    has_open_screening: column.boolean,
    has_open_approval: column.boolean,
    has_open_exception: column.boolean,
    created_by: nullable(column.uuid),
    committed_by: nullable(column.uuid),
    /** The rail of an attempt may still pay it. */
    is_in_flight: column.boolean,
    /** Rails may have made payments that this database does not know. */
    is_recovering: column.boolean,
    /** Its payer asks more than quoted, and a person decides. */
    has_open_price: column.boolean,
  },
});

const openMissing: Statement = {
  name: 'open_missing_rails',
  text: `
    with missing as (
      select d.account_id, d.payout_id, d.rail from payout_dispatches d
      where d.rail <> all ($1) and d.due_at < (select environment_now()) - interval '10 minutes'
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

const payoutVersion = defineQuery({
  name: 'find_payout_version',
  text: 'select payout_version($1, $2) as version',
  columns: { version: nullable(column.text) },
});

const accountOfPayout = defineQuery({
  name: 'find_account_of_payout',
  text: `
    select a.id as account_id from accounts a
    where exists (select from payout_quotes q where q.account_id = a.id and q.id = $1)`,
  columns: { account_id: column.uuid },
});

export type DecideResult = RowOf<typeof decide.columns>['result'];

export type NextPayer = { rail: string; payerKey: string; providerPrice: string | undefined };

type Asked = { accountId: string; payoutId: string; action: string };

const describeNext = (next: NextPayer | undefined) => [
  next?.rail ?? null,
  next?.payerKey ?? null,
  next?.providerPrice ?? null,
];

/** Locks the payout; answers its version and the digest of what is decided, or undefined without it. */
export async function openDecisionOf(
  session: Session,
  { accountId, payoutId, action, next }: Asked & { next: NextPayer | undefined },
): Promise<{ about: Buffer; version: string } | undefined> {
  const values = [accountId, payoutId, action, ...describeNext(next)];
  const { about, version } = await one(session, openDecision, values);
  return about === null || version === null ? undefined : { about, version };
}

export type VoteRow = RowOf<typeof voteColumns>;

/** Earlier decisions about exactly this that wait for another person. */
export const listVotes = (
  session: Session,
  { accountId, payoutId, action, about }: Asked & { about: Buffer },
): Promise<VoteRow[]> => many(session, votes, [accountId, payoutId, action, about]);

export async function decidePayoutRow(
  session: Session,
  decision: Asked & {
    id: string;
    decidedBy: string;
    operatorId: string;
    reason: string;
    about: Buffer;
    mac: Buffer;
    votes: readonly string[];
    personsNeeded: number;
    next: NextPayer | undefined;
  },
): Promise<DecideResult> {
  const { result } = await one(session, decide, [
    decision.accountId,
    decision.payoutId,
    decision.id,
    decision.action,
    decision.decidedBy,
    decision.operatorId,
    decision.reason,
    decision.about,
    decision.mac,
    decision.votes,
    decision.personsNeeded,
    ...describeNext(decision.next),
  ]);
  return result;
}

/** False if there is no such open exception. */
export async function closeUnmatched(
  session: Session,
  id: string,
  resolution: string,
): Promise<boolean> {
  return (await exec(session, close, [id, resolution])) > 0;
}

export type DecidedPayoutRow = RowOf<typeof decidedPayout.columns>;

export async function findDecidedPayout(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<DecidedPayoutRow | undefined> {
  return maybeOne(session, decidedPayout, [accountId, payoutId]);
}

/** What a decision can be bound to; "" where there is no such payout. */
export async function findPayoutVersion(
  session: Session,
  { accountId, payoutId }: PayoutName,
): Promise<string> {
  return (await one(session, payoutVersion, [accountId, payoutId])).version ?? '';
}

/** Opens exceptions for payouts that no process can claim; returns how many. */
export async function openMissingRails(
  session: Session,
  rails: readonly string[],
): Promise<number> {
  return exec(session, openMissing, [rails]);
}

/** Operators know a payout by its token alone: one look-up for each account. */
export async function findAccountOfPayout(
  session: Session,
  payoutId: string,
): Promise<string | undefined> {
  return (await maybeOne(session, accountOfPayout, [payoutId]))?.account_id;
}
