import { appendClientAudit, type ClientRequest } from '../audit/audit.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatToken, newId } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { findUserKey, openBytes, rowContext, sealBytes } from '../core/sealing.ts';
import type { Session } from '../db/postgres/pool.ts';
import { describeRefusal } from '../payouts/commit-refusal.ts';
import { commitOrRefuse, type PayoutServices } from '../payouts/payouts.routes.ts';
import { type CommitResultRow, describeCommit } from '../payouts/payouts.ts';
import { describeRefusedRecipient, listPayoutFaults } from '../payouts/recipient-check.ts';
import {
  type budgetLimits,
  findProposal,
  findProposalOfPayout,
  findQuote,
  insertProposal,
  type NewDecision,
  type ProposalId,
  type ProposalRow,
  storeDecision,
} from './proposals.sql.ts';

export { expireProposals } from './proposals.sql.ts';

/**
 * Proposals: software proposes a quoted payout, and a person confirms or declines it. A confirmation
 * commits the payout in the same transaction, in the way of the commit operation.
 */

export type ProposalServices = Pick<
  PayoutServices,
  'db' | 'keys' | 'rails' | 'clock' | 'approvals' | 'recovery' | 'wakeDispatch'
>;

type PayoutId = { readonly accountId: string; readonly userId: string; readonly payoutId: string };

/**
 * Proposes a payout that could be committed now. Proposing it again answers the same proposal.
 *
 * @throws AppError not_found, proposal_refused, proposal_ended, budget_exceeded.
 */
export async function propose(
  env: ProposalServices,
  session: Session,
  proposal: PayoutId & { credentialId: string; reason: string },
): Promise<ProposalRow> {
  const { accountId, userId, payoutId } = proposal;
  const payout = { accountId, userId, payoutId };
  const quote = await findQuote(session, payout);
  if (quote === undefined) throw new AppError('not_found', 'Payout not found');
  const refused = await listPayoutFaults(env, session, payout);
  const [obstacle] = refused === undefined ? [] : describeRefusedRecipient(refused);
  if (obstacle !== undefined) throw refuse(obstacle.detail, obstacle.code);
  const proposalId = newId();
  const userKey = env.keys.unwrap(quote.data_key, payout);
  const context = reasonContext({ accountId, proposalId });
  const reason = sealBytes(userKey, Buffer.from(proposal.reason), context);
  const inserted = await insertProposal(session, { ...proposal, proposalId, reason });
  const { result, detail } = inserted;
  if (result === 'proposed') return getProposal(session, { accountId, proposalId });
  if (result === 'known') return getKnown(session, payout);
  if (result === 'budget') throw refuseBudget(quote, inserted);
  if (result === 'scheduled') {
    throw new AppError(
      'illegal_move',
      'A scheduled payout is priced when it runs: propose another',
    );
  }
  await refuseCommit(env, session, { payout, row: { result, detail: detail ?? '' } });
  throw new Error('unreachable: a refused payout has an error');
}

/** @throws AppError not_found. */
export async function getProposal(session: Session, id: ProposalId): Promise<ProposalRow> {
  const row = await findProposal(session, id);
  if (row === undefined) throw new AppError('not_found', 'Proposal not found');
  return row;
}

/** @throws AppError proposal_ended: it cannot be proposed again. */
async function getKnown(session: Session, payout: PayoutId): Promise<ProposalRow> {
  const row = await findProposalOfPayout(session, payout);
  if (row === undefined) throw new Error('impossible: the known proposal of a payout is missing');
  if (row.status === 'OPEN' || row.status === 'CONFIRMED') return row;
  throw refuseEnded(row.status);
}

function refuseEnded(status: string): AppError {
  return new AppError('proposal_ended', `The proposal is ${status}`);
}

function refuse(detail: string, obstacle: string): AppError {
  return new AppError('proposal_refused', detail, { members: { obstacle } });
}

/** @throws AppError as the commit of the payout would be refused. */
async function refuseCommit(
  env: ProposalServices,
  session: Session,
  { payout, row }: { payout: PayoutId; row: CommitResultRow },
): Promise<never> {
  if (row.result === 'not_found') throw new AppError('not_found', 'Payout not found');
  if (row.result === 'success') {
    throw new AppError('illegal_move', 'The payout is already committed');
  }
  const today = new Date(env.clock.nowMs()).toISOString().slice(0, 10);
  const { errors } = describeCommit(row);
  const describing = { keys: env.keys, rails: env.rails, today, identityLink: '' };
  const { detail, code } = await describeRefusal(describing, session, { payout, row, errors });
  throw refuse(detail, code);
}

type Exceeded = { detail: string | null; allowed: bigint | null; used: bigint | null };

function refuseBudget(
  quote: Pick<ProposalRow, 'source_currency' | 'source_amount' | 'fee'>,
  { detail, allowed, used }: Exceeded,
): AppError {
  const currency = getCurrency(quote.source_currency);
  const limit = detail as (typeof budgetLimits)[number];
  const money = (minor: bigint | null): string =>
    `${formatAmount(minor ?? 0n, currency)} ${currency.code}`;
  const debit = money(quote.source_amount + quote.fee);
  const texts = {
    currency: `The credential has no budget in ${currency.code}`,
    per_proposal: `The budget allows ${money(allowed)} per proposal; this one debits ${debit}`,
    per_day: `The budget allows ${money(allowed)} per day (UTC), of which ${money(used)} are used; this proposal debits ${debit}`,
    open_proposals: `The budget allows ${allowed} open proposals, which there are`,
  };
  return new AppError('budget_exceeded', texts[limit], { members: { limit } });
}

/**
 * Confirms or declines a proposal, and commits the payout of a confirmed one: in the caller's
 * transaction, which must be rolled back on an error. Deciding the same again changes nothing.
 *
 * @throws AppError not_found, proposal_ended, terms_changed, budget_exceeded, proposal_refused.
 */
export async function decide(
  env: ProposalServices,
  session: Session,
  decision: NewDecision & { readonly client: ClientRequest },
): Promise<ProposalRow> {
  if (decision.status === 'CONFIRMED') env.recovery.refuse();
  const row = await getProposal(session, decision);
  const { accountId } = decision;
  const payout = { accountId, userId: row.user_id, payoutId: row.payout_id };
  const stored = await storeDecision(session, decision);
  switch (stored.result) {
    case 'decided':
      break;
    case 'changed':
      throw new AppError('terms_changed', 'The recipient changed after the proposal');
    case 'budget':
      throw refuseBudget(row, stored);
    case 'confirmed':
    case 'declined':
    case 'expired': {
      const status = stored.result.toUpperCase();
      if (status !== decision.status) throw refuseEnded(status);
      return getProposal(session, decision);
    }
  }
  if (decision.status === 'CONFIRMED') {
    const commit = await commitOrRefuse({ env }, session, {
      payout,
      maker: decision.client.credentialId,
      identityLink: '',
    });
    if (commit.status !== 'success') throw refuse(commit.errors, commit.code ?? commit.status);
  }
  await appendClientAudit({ session, keys: env.keys }, decision.client, {
    action: decision.status === 'CONFIRMED' ? 'proposal confirm' : 'proposal decline',
    object: {
      proposal: formatProposalToken(row.id),
      payout: formatToken('payout', row.payout_id),
      through: decision.through,
    },
  });
  return getProposal(session, decision);
}

/** The reason that the proposer gave; "" if the recipient's data was erased. */
export function openReason(
  { keys }: Pick<ProposalServices, 'keys'>,
  accountId: string,
  row: ProposalRow,
): string {
  const userKey = findUserKey(keys, row.data_key, { accountId, userId: row.user_id });
  if (userKey === undefined) return '';
  const context = reasonContext({ accountId, proposalId: row.id });
  return openBytes(userKey, row.reason, context).toString();
}

function reasonContext({ accountId, proposalId }: ProposalId): string {
  return rowContext('proposals', accountId, proposalId);
}

export const formatProposalToken = (id: string): string => formatToken('proposal', id);
