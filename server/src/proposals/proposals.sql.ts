import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, many, maybeOne, nullable, one, type RowOf } from '../db/rows.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';

/** The SQL of proposals; what decides about them is in schema/proposals.sql. */

export const proposalStatuses = ['OPEN', 'CONFIRMED', 'DECLINED', 'EXPIRED'] as const;
export type ProposalStatus = (typeof proposalStatuses)[number];
export const decisionChannels = ['', 'link', 'api'] as const;
export type DecisionChannel = Exclude<(typeof decisionChannels)[number], ''>;
export const budgetLimits = ['currency', 'per_proposal', 'per_day', 'open_proposals'] as const;

export type ProposalId = { readonly accountId: string; readonly proposalId: string };

const proposalColumns = {
  id: column.uuid,
  user_id: column.uuid,
  payout_id: column.uuid,
  credential_id: column.uuid,
  reason: column.bytes,
  data_key: column.bytes,
  terms_hash: column.bytes,
  status: column.oneOf(...proposalStatuses),
  created_at: column.instant,
  expires_at: column.instant,
  decided_at: nullable(column.instant),
  decided_through: column.oneOf(...decisionChannels),
  decided_by: nullable(column.uuid),
  client_transfer_id: column.text,
  source_currency: column.text,
  source_amount: column.bigint,
  fee: column.bigint,
  destination_currency: column.text,
  destination_amount: column.bigint,
  exchange_rate: column.text,
  delivery_type: column.oneOf(...deliveryTypes),
  country: column.text,
  payer_name: column.text,
  payout_status: column.oneOf(...payoutStatuses),
};
export type ProposalRow = RowOf<typeof proposalColumns>;

/** A proposal is expired as soon as its quote is; the table says so a little later. */
const selectProposals = `
  select p.id, p.user_id, p.payout_id, p.credential_id, p.reason, u.data_key, p.terms_hash, n.status,
    p.created_at, p.expires_at, p.decided_at, p.decided_through, p.decided_by,
    q.client_transfer_id, q.source_currency, q.source_amount, q.fee, q.destination_currency,
    q.destination_amount, q.exchange_rate, q.delivery_type, q.country, q.payer_name,
    coalesce(s.status, 'PENDING') as payout_status
  from proposals p
  join payout_quotes q on q.account_id = p.account_id and q.id = p.payout_id
  join users u on u.account_id = p.account_id and u.id = p.user_id
  left join payout_states s on s.account_id = p.account_id and s.payout_id = p.payout_id
  cross join lateral (
    select case when p.status = 'OPEN' and (select environment_now()) >= p.expires_at then 'EXPIRED'
      else p.status end as status) n
  where p.account_id = $1`;

const findQuery = defineQuery({
  name: 'find_proposal',
  text: `${selectProposals} and p.id = $2`,
  columns: proposalColumns,
});

const findOfPayoutQuery = defineQuery({
  name: 'find_proposal_of_payout',
  text: `${selectProposals} and p.payout_id = $2`,
  columns: proposalColumns,
});

const listQuery = defineQuery({
  name: 'list_proposals',
  text: `
    ${selectProposals} and ($2::uuid is null or p.id < $2) and ($3::text is null or n.status = $3)
    order by p.id desc limit $4`,
  columns: proposalColumns,
});

const quoteQuery = defineQuery({
  name: 'find_quote_to_propose',
  text: `
    select u.data_key, q.source_currency, q.source_amount, q.fee
    from payout_quotes q
    join users u on u.account_id = q.account_id and u.id = q.user_id
    where q.account_id = $1 and q.user_id = $2 and q.id = $3`,
  columns: {
    data_key: column.bytes,
    source_currency: column.text,
    source_amount: column.bigint,
    fee: column.bigint,
  },
});

const budgetColumns = {
  allowed: nullable(column.bigint),
  used: nullable(column.bigint),
};

const proposeQuery = defineQuery({
  name: 'propose_payout',
  text: `select result, detail, allowed, used from propose_payout($1, $2, $3, $4, $5, $6)`,
  columns: {
    result: column.oneOf(
      'proposed',
      'known',
      'budget',
      'scheduled',
      'success',
      'account_frozen',
      'commits_stopped',
      'addtl_attr_req',
      'ex_rate_expired',
      'duplicate',
      'insufficient_funds',
      'user_not_active',
      'ended',
      'not_found',
    ),
    detail: nullable(column.text),
    ...budgetColumns,
  },
});

const decideQuery = defineQuery({
  name: 'decide_proposal',
  text: `select result, detail, allowed, used from decide_proposal($1, $2, $3, $4, $5)`,
  columns: {
    result: column.oneOf('decided', 'changed', 'budget', 'confirmed', 'declined', 'expired'),
    detail: nullable(column.text),
    ...budgetColumns,
  },
});

const noteLinkQuery = defineQuery({
  name: 'note_proposal_link',
  text: `select note_proposal_link($1, $2, $3) as is_open`,
  columns: { is_open: column.boolean },
});

const expireQuery = defineQuery({
  name: 'expire_proposals',
  text: `select expire_proposals($1) as count`,
  columns: { count: column.integer },
});

const hashQuery = defineQuery({
  name: 'hash_payout_terms',
  text: `select hash_payout_terms($1, $2) as hash`,
  columns: { hash: nullable(column.bytes) },
});

export async function findProposal(
  session: Session,
  { accountId, proposalId }: ProposalId,
): Promise<ProposalRow | undefined> {
  return maybeOne(session, findQuery, [accountId, proposalId]);
}

export async function findProposalOfPayout(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
): Promise<ProposalRow | undefined> {
  return maybeOne(session, findOfPayoutQuery, [accountId, payoutId]);
}

export async function findQuote(
  session: Session,
  { accountId, userId, payoutId }: { accountId: string; userId: string; payoutId: string },
): Promise<RowOf<typeof quoteQuery.columns> | undefined> {
  return maybeOne(session, quoteQuery, [accountId, userId, payoutId]);
}

/** Newest first. */
export async function listProposals(
  session: Session,
  accountId: string,
  filter: { beforeId: string | undefined; status: ProposalStatus | undefined; count: number },
): Promise<ProposalRow[]> {
  const { beforeId = null, status = null, count } = filter;
  return many(session, listQuery, [accountId, beforeId, status, count]);
}

export type NewProposal = ProposalId & {
  readonly userId: string;
  readonly payoutId: string;
  readonly credentialId: string;
  readonly reason: Buffer;
};

export async function insertProposal(
  session: Session,
  proposal: NewProposal,
): Promise<RowOf<typeof proposeQuery.columns>> {
  const { accountId, proposalId, userId, payoutId, credentialId, reason } = proposal;
  const values = [accountId, userId, payoutId, proposalId, credentialId, reason];
  return one(session, proposeQuery, values);
}

export type NewDecision = ProposalId & {
  readonly status: 'CONFIRMED' | 'DECLINED';
  readonly through: DecisionChannel;
  /** Undefined where a link is the credential. */
  readonly credentialId: string | undefined;
};

export async function storeDecision(
  session: Session,
  { accountId, proposalId, status, through, credentialId }: NewDecision,
): Promise<RowOf<typeof decideQuery.columns>> {
  return one(session, decideQuery, [accountId, proposalId, status, through, credentialId ?? null]);
}

/** False if the proposal is open no longer. */
export async function noteLink(
  session: Session,
  { accountId, proposalId, credentialId }: ProposalId & { credentialId: string },
): Promise<boolean> {
  return (await one(session, noteLinkQuery, [accountId, proposalId, credentialId])).is_open;
}

/** Undefined if there is no such payout. */
export async function findTermsHash(
  session: Session,
  { accountId, payoutId }: { accountId: string; payoutId: string },
): Promise<Buffer | undefined> {
  return (await one(session, hashQuery, [accountId, payoutId])).hash ?? undefined;
}

/** How many proposals ended because their quotes have expired. */
export async function expireProposals(session: Session, countMax: number): Promise<number> {
  return (await one(session, expireQuery, [countMax])).count;
}
