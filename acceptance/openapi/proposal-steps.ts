import { type Known, payoutOf, readText, type Step, userOf } from './steps.ts';

/** A payout that software proposes, and one that a person declines. */

const proposalOf = (known: Known) => ({ proposal_token: known['proposal_token'] ?? '' });

export const proposalSteps: Step[] = [
  {
    operationId: 'createPayout',
    summary: 'To propose',
    isHidden: true,
    request: (known) => ({
      params: userOf(known),
      body: {
        client_transfer_id: 'invoice-MXN-2042',
        destination_token: known['bank_token'],
        destination_currency_code: 'MXN',
        source_amount: 75,
      },
    }),
    keep: (body) => ({ proposed_token: readText(body, 'payout_token') }),
  },
  {
    operationId: 'proposePayout',
    summary: 'For a person to confirm',
    request: (known) => ({
      params: payoutOf(known, 'proposed_token'),
      body: { reason: 'Invoice 2042 of October, due on Friday' },
    }),
    keep: (body) => ({ proposal_token: readText(body, 'proposal_token') }),
  },
  {
    operationId: 'createConfirmationLink',
    summary: 'For the person who decides',
    request: (known) => ({ params: proposalOf(known) }),
  },
  {
    operationId: 'decideProposal',
    summary: 'Confirmed, which commits the payout',
    request: (known) => ({ params: proposalOf(known), body: { decision: 'CONFIRMED' } }),
  },
  {
    operationId: 'decideProposal',
    summary: 'Declined after it was confirmed',
    status: 409,
    request: (known) => ({ params: proposalOf(known), body: { decision: 'DECLINED' } }),
  },
  {
    operationId: 'getProposal',
    summary: 'Confirmed',
    request: (known) => ({ params: proposalOf(known) }),
  },
  {
    operationId: 'listProposals',
    summary: 'Those that were confirmed',
    request: () => ({ query: { status: 'CONFIRMED' } }),
  },
];
