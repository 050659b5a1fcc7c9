import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { getBrand } from '../accounts/accounts.ts';
import { createByteCollector } from '../core/bounded-body.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError, type ErrorCode } from '../core/errors.ts';
import { formatAmount } from '../core/money.ts';
import {
  type Answer,
  type BaseServices,
  defineRoute,
  type RequestView,
  type Route,
} from '../http/route.ts';
import { findPayoutPreview } from '../payouts/payout-preview.ts';
import { describeReceipt } from '../payouts/payout-view.ts';
import { findUser } from '../users/users.ts';
import { findLinkedProposal, type LinkedProposal } from './confirmation-link.ts';
import {
  type Confirmation,
  type Notice,
  type Page,
  pageHeaders,
  renderPage,
} from './confirmation-view.ts';
import { findTermsHash, type ProposalRow, type ProposalStatus } from './proposals.sql.ts';
import { decide, openReason, type ProposalServices } from './proposals.ts';

/**
 * The page behind the link of a proposal. GET shows and changes nothing, because programs that preview
 * links send it too. POST decides, with a token that only a page which this browser loaded has.
 */

type Services = BaseServices & ProposalServices;

const linkParams = z.object({
  token: z.string().max(500).describe('The secret part of a confirmation link'),
});
const tag = 'Confirmation page';

export function confirmationRoutes(): Route<Services>[] {
  return [showRoute(), decideRoute()];
}

function showRoute(): Route<Services> {
  return defineRoute({
    method: 'GET',
    path: '/confirm/{token}',
    isVersioned: false,
    operationId: 'showConfirmationPage',
    tag,
    summary: 'The page behind a confirmation link',
    description:
      'Shows a person what a proposal would pay, to whom and from which balance, with a form to confirm or decline. It changes nothing.',
    access: 'public',
    params: linkParams,
    unknownParameters: 'ignored',
    response: null,
    produces: ['text/html'],
    handle: async ({ env, request }, { params }) => {
      const linked = await findLinkedProposal(env, params.token);
      if (linked === undefined) return unknownLink;
      const cookie = readCookie(request.header('cookie')) ?? randomBytes(18).toString('base64url');
      const page = await describePage(env, linked);
      return answerPage(200, {
        ...page,
        formToken: page.isOpen ? signForm(params.token, cookie) : undefined,
        headers: { 'set-cookie': writeCookie(cookie, request.baseUrl) },
      });
    },
  });
}

const formBytesMax = 4096;
const formType = 'application/x-www-form-urlencoded';

function decideRoute(): Route<Services> {
  return defineRoute({
    method: 'POST',
    path: '/confirm/{token}',
    isVersioned: false,
    operationId: 'decideByLink',
    tag,
    summary: 'Confirm or decline by a confirmation link',
    description: 'What the form of the page sends. Leads back to the page.',
    access: 'public',
    params: linkParams,
    streams: [formType],
    bodyBytesMax: formBytesMax,
    response: null,
    produces: ['text/html'],
    refusals: [413, 415],
    handle: async ({ env, request, upload }, { params }) => {
      const form = await readForm(upload?.bytes ?? []);
      const linked = await findLinkedProposal(env, params.token);
      if (linked === undefined) return unknownLink;
      const site = request.header('sec-fetch-site');
      const cookie = readCookie(request.header('cookie'));
      const given = Buffer.from(form.get('form_token') ?? '');
      const expected = Buffer.from(cookie === undefined ? '' : signForm(params.token, cookie));
      const isOurs = given.length === expected.length && timingSafeEqual(given, expected);
      if (cookie === undefined || !isOurs || !['', 'same-origin'].includes(site)) {
        return answerPage(403, { notice: staleForm });
      }
      const decision = decisionField.safeParse(form.get('decision'));
      if (!decision.success) return answerPage(400, { notice: staleForm });
      return decideByLink(env, { linked, status: decision.data, request });
    },
  });
}

const decisionField = z.enum(['CONFIRMED', 'DECLINED']);

async function decideByLink(
  env: Services,
  decision: {
    linked: LinkedProposal;
    status: z.infer<typeof decisionField>;
    request: RequestView;
  },
): Promise<Answer> {
  const { linked, status, request } = decision;
  const { accountId, row } = linked;
  try {
    await env.db.tenantTransaction(accountId, (session) =>
      decide(env, session, {
        accountId,
        proposalId: row.id,
        status,
        through: 'link',
        credentialId: undefined,
        client: {
          accountId,
          credentialId: undefined,
          address: request.remoteAddress,
          requestId: request.id,
        },
      }),
    );
  } catch (error) {
    const refusal = error instanceof AppError ? describeRefusal(error) : undefined;
    if (refusal === undefined) throw error;
    return answerPage(409, { ...(await describePage(env, linked)), notice: refusal });
  }
  env.wakeDispatch();
  // A reload shows the decision instead of sending the form again.
  return {
    status: 303,
    contentType: '',
    body: null,
    headers: { ...pageHeaders, location: request.path },
  };
}

/** The message for the person; undefined for an error that is not about the proposal. */
function describeRefusal({ code, message }: AppError): Notice | undefined {
  const titles: Partial<Record<ErrorCode, string>> = {
    budget_exceeded: 'Beyond the budget of the proposing key',
    proposal_ended: 'Already decided, or expired',
    proposal_refused: 'The payout cannot be committed now',
    terms_changed: 'The recipient changed after the proposal',
    recovering: 'The service is recovering',
  };
  const title = titles[code];
  if (title === undefined) return undefined;
  return { tone: 'bad', title, text: `Nothing was paid. ${message}.` };
}

const staleForm: Notice = {
  tone: 'bad',
  title: 'The form is out of date',
  text: 'Nothing was decided. Open the link again, with cookies allowed, and decide there.',
};

const notices: Readonly<Record<Exclude<ProposalStatus, 'OPEN'>, Notice>> = {
  CONFIRMED: {
    tone: 'good',
    title: 'Confirmed',
    text: 'The payout is on its way. You can close this page.',
  },
  DECLINED: {
    tone: 'neutral',
    title: 'Declined',
    text: 'Nothing was paid, and the link can no longer be used.',
  },
  EXPIRED: {
    tone: 'neutral',
    title: 'Expired',
    text: 'Nothing was paid: the quote has expired. A new payout must be proposed.',
  },
};

const changedTerms: Notice = {
  tone: 'bad',
  title: 'The recipient changed after the proposal',
  text: 'Nothing was paid: this is no longer what was proposed. A new payout must be proposed.',
};

const unknownLink: Answer = answerPage(404, {
  notice: {
    tone: 'bad',
    title: 'Unknown link',
    text: 'This link was not issued here. Check that it was copied in full.',
  },
});

function answerPage(
  status: number,
  {
    headers,
    formToken,
    ...page
  }: Omit<Page, 'formToken'> & {
    formToken?: string | undefined;
    headers?: Readonly<Record<string, string>>;
  },
): Answer {
  return {
    status,
    contentType: 'text/html; charset=utf-8',
    body: renderPage(formToken === undefined ? page : { ...page, formToken }),
    headers: { ...pageHeaders, ...headers },
  };
}

/** The present state of the proposal, and whether it can be decided. */
async function describePage(
  env: Services,
  { accountId, row }: LinkedProposal,
): Promise<Page & { isOpen: boolean }> {
  const session = env.db.tenant(accountId);
  const hash = await findTermsHash(session, { accountId, payoutId: row.payout_id });
  const isSame = hash?.equals(row.terms_hash) === true;
  const isOpen = row.status === 'OPEN' && isSame;
  // Other terms than those proposed are not shown as if they were.
  if (row.status === 'OPEN' && !isSame) return { notice: changedTerms, isOpen };
  const confirmation = await describeConfirmation(env, accountId, row);
  return row.status === 'OPEN'
    ? { confirmation, isOpen }
    : { notice: notices[row.status], confirmation, isOpen };
}

async function describeConfirmation(
  env: Services,
  accountId: string,
  proposal: ProposalRow,
): Promise<Confirmation> {
  const session = env.db.tenant(accountId);
  const id = { accountId, userId: proposal.user_id, payoutId: proposal.payout_id };
  const preview = await findPayoutPreview(session, id);
  const user = await findUser({ session, keys: env.keys, accountId }, proposal.user_id);
  if (preview === undefined || user === undefined) throw new Error('a proposal without its payout');
  const { row, balanceMinor } = preview;
  const { sender_name: senderName } = await getBrand(session, accountId);
  const nowMs = env.clock.nowMs();
  return {
    payout: describeReceipt(row, {
      environment: env.name,
      senderName,
      brand: { color: '', logo: '' },
      rails: env.rails,
      user,
      keys: env.keys,
      nowMs,
    }),
    reason: openReason(env, accountId, proposal),
    balance:
      balanceMinor === undefined
        ? undefined
        : formatAmount(balanceMinor, getCurrency(row.source_currency)),
    minutesLeft: Math.floor((proposal.expires_at.getTime() - nowMs) / 60_000),
  };
}

/** @throws AppError body_too_large, where the length was not declared. */
async function readForm(bytes: AsyncIterable<Buffer> | Iterable<Buffer>): Promise<URLSearchParams> {
  const collector = createByteCollector(formBytesMax);
  for await (const chunk of bytes) {
    if (!collector.add(chunk)) {
      throw new AppError('body_too_large', `The body must have at most ${formBytesMax} bytes`);
    }
  }
  return new URLSearchParams(collector.take().toString());
}

const cookieName = 'outlay_confirm';

function readCookie(header: string): string | undefined {
  const pattern = new RegExp(`(?:^|; *)${cookieName}=([A-Za-z0-9_-]{24})(?:;|$)`);
  return pattern.exec(header)?.[1];
}

function writeCookie(value: string, baseUrl: string): string {
  const secure = baseUrl.startsWith('https:') ? '; Secure' : '';
  return `${cookieName}=${value}; Path=/confirm/; Max-Age=3600; HttpOnly; SameSite=Strict${secure}`;
}

/** Another page cannot make it: it needs the link and the cookie of this browser. */
function signForm(token: string, cookie: string): string {
  return createHmac('sha256', cookie).update(`outlay confirmation ${token}`).digest('base64url');
}
