import type { AnswerOf, ArgumentsOf } from '../../../sdk/src/index.ts';
import { type Context, defineCommand } from '../command.ts';
import { exitCodes, Failure, UsageError } from '../failure.ts';
import { takeListed } from '../find.ts';
import type { Output } from '../output.ts';
import { formatFields, formatTable } from '../table.ts';
import { formatArrival, formatCode, formatMoney, formatTime, readCount } from '../values.ts';
import { repeatSafely } from './commit.ts';

/** Proposals of software, which a person confirms or declines here or on the page behind a link. */

type Proposal = AnswerOf<'getProposal'>;

export const proposalCommands = [
  defineCommand({
    name: 'proposal list',
    about: 'list proposals, newest first; those that wait for a person, without --status',
    options: {
      status: { value: 'status', about: 'OPEN, CONFIRMED, DECLINED, EXPIRED or all (OPEN)' },
      limit: { value: 'count', about: 'how many (20)' },
    },
    examples: ['proposal list', 'proposal list --status all --json'],
    next: 'proposal show <proposal>',
    run: async ({ connect, output, signal }, { status = 'OPEN', limit = '20' }) => {
      const wanted = status.toUpperCase();
      const filter = (wanted === 'ALL' ? {} : { status: wanted }) as ArgumentsOf<'listProposals'>;
      const rows = connect().listProposals(filter, { signal });
      const proposals = await takeListed(rows, readCount(limit, '--limit'), output);
      output.result(proposals, () => formatProposals(output, proposals));
      output.next('outlay proposal show <proposal>');
    },
  }),
  defineCommand({
    name: 'proposal show',
    about: 'show what a proposal would pay, to whom, and why',
    words: ['proposal'],
    examples: ['proposal show proposal_0198…'],
    next: 'proposal confirm <proposal>',
    run: async (context, { proposal: proposal_token }) => {
      const { connect, output, signal } = context;
      const proposal = await connect().getProposal({ proposal_token }, { signal });
      const described = await describeProposal(context, proposal);
      output.result(proposal, () => described);
      if (proposal.status === 'OPEN') output.next(`outlay proposal confirm ${proposal_token}`);
    },
  }),
  defineCommand({
    name: 'proposal confirm',
    about: 'confirm a proposal, which pays it; shows it and asks before',
    words: ['proposal'],
    options: { yes: { about: 'skip the confirmation' } },
    examples: ['proposal confirm proposal_0198…'],
    next: 'payout watch <payout>',
    run: async (context, { proposal: proposal_token, yes }) => {
      const { connect, output, ask, signal } = context;
      const client = connect();
      const proposal = await client.getProposal({ proposal_token }, { signal });
      if (proposal.status === 'OPEN' && !yes) {
        if (!output.isInteractive) {
          throw new UsageError('--yes must be given where no person can answer');
        }
        output.note(await describeProposal(context, proposal));
        const untilMs = Date.parse(`${proposal.expiration}Z`);
        if ((await ask.confirm('Pay this?', untilMs)) !== 'yes') {
          throw new Failure('Nothing was decided.', {
            exitCode: exitCodes.interrupted,
            code: 'not_confirmed',
            next: `outlay proposal confirm ${proposal_token} (while the quote lasts)`,
          });
        }
      }
      const confirmed = await repeatSafely(context, {
        key: undefined,
        send: (options) =>
          client.decideProposal({ proposal_token, body: { decision: 'CONFIRMED' } }, options),
        show: `outlay proposal show ${proposal_token}`,
        // A decision that is repeated changes nothing, with whatever key.
        repeat: () => `outlay proposal confirm ${proposal_token}`,
      });
      output.result(confirmed, () => describeDecision(confirmed));
      output.next(`outlay payout watch ${proposal.payout_token}`);
    },
  }),
  defineCommand({
    name: 'proposal decline',
    about: 'decline a proposal; nothing is paid',
    words: ['proposal'],
    examples: ['proposal decline proposal_0198…'],
    run: async ({ connect, output, signal }, { proposal: proposal_token }) => {
      const body = { decision: 'DECLINED' } as const;
      const declined = await connect().decideProposal({ proposal_token, body }, { signal });
      output.result(declined, () => describeDecision(declined));
    },
  }),
  defineCommand({
    name: 'proposal link',
    about: 'get the link of a proposal, for a person without a credential',
    words: ['proposal'],
    examples: ['proposal link proposal_0198…'],
    run: async ({ connect, output, signal }, { proposal: proposal_token }) => {
      const link = await connect().createConfirmationLink({ proposal_token }, { signal });
      output.result(link, () => link.url);
    },
  }),
];

function describeDecision({ status, payout_token }: Proposal): string {
  return `${formatCode(status)}: ${payout_token}`;
}

function formatProposals(output: Output, proposals: readonly Proposal[]): string {
  return formatTable(output, proposals, {
    columns: [
      { title: 'until', read: ({ expiration }) => formatTime(expiration) },
      { title: 'status', read: ({ status }) => formatCode(status) },
      {
        title: 'costs',
        isRight: true,
        read: (row) => formatMoney(row.total_debit, row.source_currency_code),
      },
      {
        title: 'arrives',
        isRight: true,
        read: (row) => formatMoney(row.destination_amount, row.destination_currency_code),
      },
      { title: 'reason', read: ({ reason }) => reason },
      { title: 'token', read: ({ proposal_token }) => proposal_token },
    ],
    empty: 'No proposal.',
  });
}

/** With the recipient's name and account, as far as the credential may read them. */
async function describeProposal(
  { connect, output, signal }: Context,
  proposal: Proposal,
): Promise<string> {
  const { user_token, payout_token, source_currency_code: source } = proposal;
  const client = connect();
  const user = await client.getUser({ user_token }, { signal });
  const { attrs, network } = await client.getPayout({ user_token, payout_token }, { signal });
  const name = user.business_name || [user.first_name, user.last_name].join(' ');
  const details = Object.entries(attrs).map(([type, value]) => [type, value] as const);
  return formatFields(output, [
    ['status', formatCode(proposal.status)],
    ['to', `${name}, ${proposal.country_code}`],
    [
      'arrives',
      formatArrival(proposal.destination_amount, {
        currency: proposal.destination_currency_code,
        network,
      }),
    ],
    ['payer', `${proposal.payer_name} (${formatCode(proposal.delivery_type)})`],
    ...details,
    ['costs', formatMoney(proposal.total_debit, source)],
    ['fee of it', formatMoney(proposal.fee, source)],
    ['reason', proposal.reason],
    ['until', formatTime(proposal.expiration)],
    ['proposed by', proposal.credential_id],
    ['decided', formatTime(proposal.decided_on)],
    ['token', proposal.proposal_token],
  ]);
}
