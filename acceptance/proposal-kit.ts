import { runCommand } from './commands.ts';
import type { ExactNumber } from './exact.ts';
import { createPayout, deliveryCases, type Recipient } from './recipients.ts';
import { type Account, type Api, ok, type Reply, type Service } from './service.ts';

/** Proposals of tests, through the API and the page behind a link. */

export type Proposal = Record<string, string> & {
  proposal_token: string;
  payout_token: string;
  status: string;
  total_debit: ExactNumber;
};

export const proposerScopes =
  'balance:read users:read users:write destinations:read payouts:read payouts:create payouts:propose';

export type Key = { api: Api; credentialId: string };

/** A key of the account, with a budget where flags give one. */
export async function createKey(
  service: Service,
  { api, credentials }: Account,
  options: { scopes?: string; budget?: readonly string[] } = {},
): Promise<Key> {
  const { scopes = proposerScopes, budget = [] } = options;
  const words = ['--account', credentials.account, '--kind', 'api_key', '--scopes', scopes];
  const created = await runCommand(service, ['credential', 'create', ...words, ...budget]);
  return {
    api: api.withToken(created['api_key'] ?? ''),
    credentialId: created['credential_id'] ?? '',
  };
}

export const pathOf = ({ proposal_token: token }: Proposal): string => `/proposal/${token}`;

export async function quote(
  api: Api,
  recipient: Recipient,
  changes: Record<string, unknown> = {},
): Promise<string> {
  return (await createPayout(api, recipient, changes))['payout_token'] ?? '';
}

export const usualReason = 'Invoice 4711 of October';

export function propose(
  api: Api,
  recipient: Recipient,
  { payoutToken, reason = usualReason }: { payoutToken: string; reason?: string },
): Promise<Reply<Proposal>> {
  const path = `/payout/${recipient.userToken}/${payoutToken}/proposal`;
  return api.post<Proposal>(path, { reason });
}

/** A quote and its proposal. */
export async function proposeNew(
  api: Api,
  recipient: Recipient,
  changes: Record<string, unknown> = {},
): Promise<Proposal> {
  const payoutToken = await quote(api, recipient, changes);
  return ok(await propose(api, recipient, { payoutToken }));
}

export async function readProposal(api: Api, proposal: Proposal): Promise<Proposal> {
  return ok(await api.get<Proposal>(pathOf(proposal)));
}

export async function getLink(api: Api, proposal: Proposal): Promise<string> {
  return ok(await api.post<{ url: string }>(`${pathOf(proposal)}/confirmation`, {})).url;
}

export function decide(api: Api, proposal: Proposal, decision: string): Promise<Reply<Proposal>> {
  return api.post<Proposal>(`${pathOf(proposal)}/decision`, { decision });
}

/** What a browser keeps of the page: its text, the cookie and the token of its form. */
export type OpenPage = {
  link: string;
  status: number;
  html: string;
  headers: Headers;
  cookie: string;
  formToken: string;
};

export async function openPage(link: string): Promise<OpenPage> {
  const answer = await fetch(link);
  const html = await answer.text();
  return {
    link,
    status: answer.status,
    html,
    headers: answer.headers,
    cookie: (answer.headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '',
    formToken: /name="form_token" value="([^"]+)"/.exec(html)?.[1] ?? '',
  };
}

export async function click(
  page: Pick<OpenPage, 'link' | 'cookie' | 'formToken'>,
  decision: string,
): Promise<{ status: number; html: string }> {
  const body = new URLSearchParams({ form_token: page.formToken, decision });
  const answer = await fetch(page.link, {
    method: 'POST',
    body,
    headers: { cookie: page.cookie },
    redirect: 'manual',
  });
  return { status: answer.status, html: await answer.text() };
}

export const mexicanBank = deliveryCases.bank;
