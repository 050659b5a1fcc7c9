import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { amountAnswer } from '../http/schema.ts';
import { payoutStatuses } from '../payouts/payout-states.ts';
import { deliveryTypes } from '../rails/contract/declarations.ts';
import { decisionChannels, type ProposalRow, proposalStatuses } from './proposals.sql.ts';
import { formatProposalToken, openReason, type ProposalServices } from './proposals.ts';

/** Proposals in the API: never with their links. */

export const proposalAnswer = z
  .object({
    proposal_token: z.string(),
    status: z
      .enum(proposalStatuses)
      .describe('OPEN until a person confirms or declines it, or its quote expires'),
    reason: z.string().describe('What the proposer gave as reason; "" after an erasure'),
    credential_id: z.string().describe('The credential that proposed'),
    created_on: z.string().describe('UTC, without offset'),
    expiration: z.string().describe('Of the quote: UTC, without offset'),
    decided_on: z.string().describe('UTC, without offset; "" until a decision'),
    decided_through: z
      .enum(decisionChannels)
      .describe('link: the page behind a link; api: the operation; "" until a decision'),
    decided_by: z
      .string()
      .describe('The credential that decided, or that got the link last; "" if there is none'),
    payout_token: z.string(),
    user_token: z.string(),
    payout_status: z.enum(payoutStatuses).describe('The present status of the payout'),
    client_transfer_id: z.string(),
    source_currency_code: z.string(),
    source_amount: amountAnswer,
    fee: amountAnswer,
    total_debit: amountAnswer.describe('source_amount and fee'),
    destination_currency_code: z.string(),
    destination_amount: amountAnswer,
    exchange_rate: amountAnswer,
    delivery_type: z.enum(deliveryTypes),
    country_code: z.string(),
    payer_name: z.string(),
  })
  .meta({ id: 'Proposal' });

export function writeProposal(
  services: Pick<ProposalServices, 'keys'>,
  accountId: string,
  row: ProposalRow,
): z.infer<typeof proposalAnswer> {
  const source = getCurrency(row.source_currency);
  const amount = (minor: bigint, currency = source): JsonNumber =>
    new JsonNumber(formatAmount(minor, currency));
  return {
    proposal_token: formatProposalToken(row.id),
    status: row.status,
    reason: openReason(services, accountId, row),
    credential_id: row.credential_id,
    created_on: formatSeconds(row.created_at),
    expiration: formatSeconds(row.expires_at),
    decided_on: row.decided_at === null ? '' : formatSeconds(row.decided_at),
    decided_through: row.decided_through,
    decided_by: row.decided_by ?? '',
    payout_token: formatToken('payout', row.payout_id),
    user_token: formatToken('user', row.user_id),
    payout_status: row.payout_status,
    client_transfer_id: row.client_transfer_id,
    source_currency_code: row.source_currency,
    source_amount: amount(row.source_amount),
    fee: amount(row.fee),
    total_debit: amount(row.source_amount + row.fee),
    destination_currency_code: row.destination_currency,
    destination_amount: amount(row.destination_amount, getCurrency(row.destination_currency)),
    exchange_rate: new JsonNumber(row.exchange_rate),
    delivery_type: row.delivery_type,
    country_code: row.country,
    payer_name: row.payer_name,
  };
}
