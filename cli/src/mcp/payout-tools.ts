import { z } from 'zod';
import type { ArgumentsOf, CallOptions, Decimal } from '../../../sdk/src/index.ts';
import { take } from '../find.ts';
import { showEvent } from './shown.ts';
import {
  amount,
  currencyCode,
  defineTool,
  destinationToken,
  type LinkOffer,
  limit,
  payoutToken,
  record,
  records,
  type Session,
  type Tool,
  userToken,
} from './tool.ts';

/** Balances, quotes, payouts and proposals. No tool commits: a person confirms a proposal. */

const quoteInput = {
  user_token: userToken,
  destination_token: destinationToken,
  destination_currency_code: currencyCode.describe('What the recipient gets'),
  source_currency_code: currencyCode.default('USD').describe('The balance that pays'),
  source_amount: amount.optional().describe('What leaves the balance, before the fee'),
  destination_amount: amount
    .optional()
    .describe('What the recipient gets. Give exactly one of both'),
  client_transfer_id: z
    .string()
    .min(1)
    .max(50)
    .optional()
    .describe('Your own identifier of the transfer, such as an invoice number: paid once, forever'),
};

type Quote = {
  user_token: string;
  source_amount?: Decimal | undefined;
  destination_amount?: Decimal | undefined;
};

function createPayout({ client }: Session, { user_token, ...fields }: Quote, options: CallOptions) {
  const body = fields as ArgumentsOf<'createPayout'>['body'];
  return client.createPayout({ user_token, body }, options);
}

const proposalToken = z.string().describe('The proposal: proposal_…');

export const payoutTools: readonly Tool[] = [
  defineTool({
    name: 'list_balances',
    title: 'List balances',
    description: 'What the account can pay with, by currency.',
    input: {},
    output: { balances: records },
    kind: 'read',
    run: async ({ client, signal }) => ({
      balances: (await client.listBalances({}, { signal })).map((balance) => ({ ...balance })),
    }),
  }),
  defineTool({
    name: 'preview_payout',
    title: 'Preview a payout',
    description:
      'What a quote and its commit would do now (a dry run): cost, postings, route, holds, limits, and what would refuse it. Stores nothing.',
    input: quoteInput,
    output: { payout: record },
    kind: 'read',
    run: async (session, quote) => {
      const payout = await createPayout(session, quote, { signal: session.signal, dryRun: true });
      return { payout: { ...payout } };
    },
  }),
  defineTool({
    name: 'create_quote',
    title: 'Quote a payout',
    description:
      'Locks rate and fee until `expiration` and reserves nothing. Nothing is paid until a person has confirmed a proposal of it.',
    input: quoteInput,
    output: { payout: record },
    kind: 'create',
    run: async (session, quote) => ({
      payout: { ...(await createPayout(session, quote, { signal: session.signal })) },
    }),
  }),
  defineTool({
    name: 'get_payout',
    title: 'Read a payout',
    description:
      'State, timeline, who has to act, refund and references of a payout. Only COMPLETED means that the recipient was paid.',
    input: { user_token: userToken, payout_token: payoutToken },
    output: { payout: record },
    kind: 'read',
    run: async ({ client, signal }, address) => ({
      payout: { ...(await client.getPayout(address, { signal })) },
    }),
  }),
  defineTool({
    name: 'list_payouts',
    title: 'List payouts',
    description: 'Payouts and quotes, newest first.',
    input: {
      user_token: userToken.optional(),
      status: z
        .enum([
          'PENDING',
          'SCHEDULED',
          'PROCESSING',
          'HOLD',
          'ERROR',
          'READY_FOR_PICKUP',
          'COMPLETED',
          'CANCELLED',
        ])
        .optional(),
      client_transfer_id: z.string().max(50).optional(),
      limit,
    },
    output: { payouts: records },
    kind: 'read',
    run: async ({ client, signal }, { limit: count, ...filter }) => {
      const payouts = await take(client.listPayouts(filter, { signal }), count);
      return { payouts: payouts.map((payout) => ({ ...payout })) };
    },
  }),
  defineTool({
    name: 'list_events',
    title: 'Read events',
    description:
      'What changed in the account after a sequence number, oldest first, up to 100. Pass the last sequence to read on.',
    input: { after: z.int().min(0).default(0).describe('0 for the beginning') },
    output: { events: records },
    kind: 'read',
    run: async ({ client, signal }, { after }) => ({
      events: (await client.listEvents({ after }, { signal })).slice(0, 100).map(showEvent),
    }),
  }),
  ...proposalTools(),
];

function proposalTools(): Tool[] {
  return [
    defineTool({
      name: 'propose_payout',
      title: 'Propose a payout',
      description:
        'Asks a person to confirm a quoted payout, with your reason. It moves nothing: the person sees amount, recipient and reason, and confirms or declines. Proposing a payout again answers the same proposal.',
      input: {
        user_token: userToken,
        payout_token: payoutToken,
        reason: z
          .string()
          .min(1)
          .max(500)
          .describe('Why it should be paid, in one line, for the person who decides'),
      },
      output: {
        proposal: record,
        confirmation: z.enum(['shown', 'refused', 'command', 'decided']),
        next: z.string(),
      },
      kind: 'write',
      run: async (session, { reason, ...address }) => {
        const { client, signal } = session;
        const proposal = await client.proposePayout({ ...address, body: { reason } }, { signal });
        const { proposal_token, total_debit, source_currency_code: currency, status } = proposal;
        const about = `Payout of ${total_debit.text} ${currency}, fee included`;
        const confirmation: LinkOffer | 'decided' =
          status === 'OPEN' ? await session.offerLink({ proposal_token, about }) : 'decided';
        return { proposal: { ...proposal }, confirmation, next: nextSteps[confirmation] };
      },
    }),
    defineTool({
      name: 'get_proposal',
      title: 'Read a proposal',
      description:
        'Whether a person has confirmed (then follow the payout), declined, or the quote has expired.',
      input: { proposal_token: proposalToken },
      output: { proposal: record },
      kind: 'read',
      run: async (session, address) => {
        const { client, signal } = session;
        const proposal = await client.getProposal(address, { signal });
        if (proposal.status !== 'OPEN') await session.closeLink(proposal.proposal_token);
        return { proposal: { ...proposal } };
      },
    }),
    defineTool({
      name: 'list_proposals',
      title: 'List proposals',
      description: 'Proposals of all keys of the account, newest first.',
      input: {
        status: z.enum(['OPEN', 'CONFIRMED', 'DECLINED', 'EXPIRED']).optional(),
        limit,
      },
      output: { proposals: records },
      kind: 'read',
      run: async ({ client, signal }, { limit: count, ...filter }) => {
        const proposals = await take(client.listProposals(filter, { signal }), count);
        return { proposals: proposals.map((proposal) => ({ ...proposal })) };
      },
    }),
  ];
}

/** What a model should say and do after a proposal. */
const nextSteps: Readonly<Record<LinkOffer | 'decided', string>> = {
  shown:
    'The person was shown the page where they confirm or decline. Tell them that it waits there, and read get_proposal for their decision.',
  refused:
    'The person did not open the page. Tell them that the proposal stays open until its expiration, and that `outlay proposal list` shows it.',
  command:
    'Tell the person to run `outlay proposal list`, then `outlay proposal confirm <proposal>` or `decline`, with a profile that may confirm. Read get_proposal for their decision.',
  decided: 'The proposal was decided before. Follow the payout with get_payout.',
};
