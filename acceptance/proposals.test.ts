import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { subtract } from './exact.ts';
import {
  click,
  createKey,
  decide,
  getLink,
  type Key,
  mexicanBank,
  openPage,
  pathOf,
  propose,
  proposeNew,
  quote,
  readProposal,
} from './proposal-kit.ts';
import { createRecipient, describePayout, payoutPath, type Recipient } from './recipients.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';
import { eventually } from './webhook-kit.ts';

/** Payouts that software proposes and a person confirms: states, page, link, refusals. */

let service: Service;
let account: Account;
let api: Api;
let proposer: Key;
let recipient: Recipient;

before(async () => {
  service = await startService({ takesCommands: true });
  account = await createAccount(service, { USD: '100000', EUR: '1000' });
  api = account.api;
  proposer = await createKey(service, account);
  recipient = await createRecipient(api, mexicanBank);
});
after(() => service.stop());

async function listTypes(): Promise<string[]> {
  const events = ok(await api.get<{ type: string }[]>('/events?after=0'));
  return events.map(({ type }) => type);
}

const count = (list: readonly string[], one: string): number =>
  list.filter((other) => other === one).length;

test('a person confirms a proposed payout on the page behind its link, once', async () => {
  const before = await readBalance(api);
  const proposal = await proposeNew(proposer.api, recipient, { source_amount: 150 });
  assert.equal(proposal.status, 'OPEN');
  assert.equal(proposal['credential_id'], proposer.credentialId);
  const link = await getLink(api, proposal);
  const page = await openPage(link);
  assert.equal(page.status, 200);
  assert.match(page.html, /Ana/);
  assert.match(page.html, /150\.00 USD/);
  assert.match(page.html, /Invoice 4711/);
  assert.doesNotMatch(page.html, /032180000118359719/, 'account numbers are masked');
  assert.equal(await readBalance(api), before, 'to look moves nothing');
  assert.equal((await click(page, 'CONFIRMED')).status, 303);
  const paid = await readProposal(api, proposal);
  assert.deepEqual(
    [paid.status, paid['decided_through'], paid['payout_status'] !== 'PENDING'],
    ['CONFIRMED', 'link', true],
  );
  const rest = subtract(before, proposal.total_debit.text);
  assert.equal(await readBalance(api), rest);
  assert.equal((await click(page, 'CONFIRMED')).status, 303, 'a second click tells the same');
  assert.equal((await click(page, 'DECLINED')).status, 409, 'and cannot take it back');
  assert.match((await openPage(link)).html, /Confirmed/);
  assert.equal((await openPage(link)).formToken, '');
  assert.equal(await readBalance(api), rest);
});

test('the page is not kept, framed, scripted or named to other sites', async () => {
  const { headers } = await openPage(await getLink(api, await proposeNew(proposer.api, recipient)));
  assert.equal(headers.get('cache-control'), 'no-store');
  assert.equal(headers.get('referrer-policy'), 'no-referrer');
  assert.match(headers.get('set-cookie') ?? '', /HttpOnly; SameSite=Strict/);
  const policy = headers.get('content-security-policy') ?? '';
  for (const rule of ["default-src 'none'", "frame-ancestors 'none'", "form-action 'self'"]) {
    assert.ok(policy.includes(rule), rule);
  }
  assert.doesNotMatch(policy, /script-src|unsafe/);
});

test('the form of another browser, another site or another link decides nothing', async () => {
  const proposal = await proposeNew(proposer.api, recipient);
  const page = await openPage(await getLink(api, proposal));
  const other = await openPage(await getLink(api, await proposeNew(proposer.api, recipient)));
  for (const forged of [
    { ...page, cookie: '' },
    { ...page, cookie: other.cookie },
    { ...page, formToken: '' },
    { ...page, formToken: other.formToken },
  ]) {
    assert.equal((await click(forged, 'CONFIRMED')).status, 403);
  }
  const crossSite = await fetch(page.link, {
    method: 'POST',
    body: new URLSearchParams({ form_token: page.formToken, decision: 'CONFIRMED' }),
    headers: { cookie: page.cookie, 'sec-fetch-site': 'cross-site' },
  });
  assert.equal(crossSite.status, 403);
  assert.equal((await click(page, 'PERHAPS')).status, 400);
  assert.equal((await readProposal(api, proposal)).status, 'OPEN');
});

test('a link with one changed character is unknown', async () => {
  const link = await getLink(api, await proposeNew(proposer.api, recipient));
  for (const at of [link.length - 60, link.length - 20, link.length - 1]) {
    const swapped = link.at(at) === 'A' ? 'Q' : 'A';
    const forged = link.slice(0, at) + swapped + link.slice(at + 1);
    assert.equal((await openPage(forged)).status, 404);
  }
});

test('a declined proposal pays nothing and cannot be proposed again', async () => {
  const payoutToken = await quote(proposer.api, recipient);
  const proposal = ok(await propose(proposer.api, recipient, { payoutToken }));
  const page = await openPage(await getLink(api, proposal));
  assert.equal((await click(page, 'DECLINED')).status, 303);
  assert.match((await openPage(page.link)).html, /Declined/);
  assertProblem(await propose(proposer.api, recipient, { payoutToken }), 409, 'proposal_ended');
  assertProblem(await decide(api, proposal, 'CONFIRMED'), 409, 'proposal_ended');
  assertProblem(await api.post(`${pathOf(proposal)}/confirmation`, {}), 409, 'proposal_ended');
  ok(await decide(api, proposal, 'DECLINED'));
});

test('proposing a payout again answers the same proposal', async () => {
  const payoutToken = await quote(proposer.api, recipient);
  const first = ok(await propose(proposer.api, recipient, { payoutToken }));
  const again = ok(await propose(proposer.api, recipient, { payoutToken, reason: 'Other' }));
  assert.deepEqual(again, first);
});

test('a key that may propose cannot commit by any route', async () => {
  const { api: narrow } = proposer;
  const proposal = await proposeNew(narrow, recipient);
  const forbidden = [
    await narrow.put(payoutPath(recipient, proposal.payout_token)),
    await narrow.put('/batches/batch_00000000-0000-7000-8000-000000000000'),
    await narrow.post(`${pathOf(proposal)}/confirmation`, {}),
    await decide(narrow, proposal, 'CONFIRMED'),
    await narrow.post('/sandbox/accounts', { name: 'Mine' }),
  ];
  for (const reply of forbidden) assertProblem(reply, 403, 'insufficient_scope');
  assert.equal((await readProposal(narrow, proposal)).status, 'OPEN');
  assert.doesNotMatch(JSON.stringify(await narrow.get(pathOf(proposal))), /confirm\//);
});

test('a key that may only confirm decides about proposals and commits nothing else', async () => {
  const { api: confirmer } = await createKey(service, account, { scopes: 'payouts:confirm' });
  const proposal = await proposeNew(proposer.api, recipient);
  const path = payoutPath(recipient, proposal.payout_token);
  assertProblem(await confirmer.put(path), 403, 'insufficient_scope');
  assert.equal(ok(await decide(confirmer, proposal, 'CONFIRMED')).status, 'CONFIRMED');
});

test('two clicks, two calls and a commit at the same moment pay once', async () => {
  const proposal = await proposeNew(proposer.api, recipient, { source_amount: 70 });
  const before = await readBalance(api);
  const confirmedBefore = count(await listTypes(), 'proposal.confirmed');
  const page = await openPage(await getLink(api, proposal));
  const replies = await Promise.all([
    click(page, 'CONFIRMED'),
    click(page, 'CONFIRMED'),
    decide(api, proposal, 'CONFIRMED'),
    decide(api, proposal, 'CONFIRMED'),
    api.put<{ status: string }>(payoutPath(recipient, proposal.payout_token)),
  ]);
  assert.deepEqual(
    replies.map(({ status }) => status),
    [303, 303, 200, 200, 200],
  );
  assert.equal(await readBalance(api), subtract(before, proposal.total_debit.text));
  assert.equal(count(await listTypes(), 'proposal.confirmed'), confirmedBefore + 1);
});

test('a recipient that changed after the proposal is not paid', async () => {
  const changing = await createRecipient(api, mexicanBank);
  const proposal = await proposeNew(proposer.api, changing);
  const page = await openPage(await getLink(api, proposal));
  const user = ok(await api.get<Record<string, unknown>>(`/user/${changing.userToken}`));
  ok(await proposer.api.put(`/user/${changing.userToken}`, { ...user, last_name: 'Other' }));
  const refused = await click(page, 'CONFIRMED');
  assert.equal(refused.status, 409);
  assert.match(refused.html, /changed after the proposal/);
  assert.doesNotMatch(refused.html, /Other/);
  assertProblem(await decide(api, proposal, 'CONFIRMED'), 409, 'terms_changed');
  const again = await openPage(page.link);
  assert.match(again.html, /changed after the proposal/);
  assert.equal(again.formToken, '');
  ok(await decide(api, proposal, 'DECLINED'));
});

test('a payout that could not be committed cannot be proposed', async () => {
  const unfunded = await createAccount(service, { USD: '1' });
  const unpaid = await createRecipient(unfunded.api, mexicanBank);
  const refused = await propose(unfunded.api, unpaid, {
    payoutToken: await quote(unfunded.api, unpaid),
  });
  assertProblem(refused, 409, 'proposal_refused');
  assert.match(refused.text, /"obstacle":"insufficient_funds"/);
  const committed = await quote(api, recipient);
  ok(await api.put(payoutPath(recipient, committed)));
  assertProblem(
    await propose(proposer.api, recipient, { payoutToken: committed }),
    409,
    'illegal_move',
  );
  // Tests of other files have moved the clock of the shared service.
  const { now } = ok(await api.get<{ now: string }>('/sandbox/clock'));
  const later = await quote(proposer.api, recipient, {
    scheduled_for: new Date(Date.parse(now) + 3 * 86_400_000).toISOString().slice(0, 10),
  });
  const scheduled = await propose(proposer.api, recipient, { payoutToken: later });
  assertProblem(scheduled, 409, 'illegal_move');
  const missing = 'payout_00000000-0000-7000-8000-000000000000';
  assertProblem(await propose(proposer.api, recipient, { payoutToken: missing }), 404, 'not_found');
  const payoutToken = await quote(api, recipient);
  const hidden = await propose(proposer.api, recipient, { payoutToken, reason: 'a\u202eb' });
  assertProblem(hidden, 400, 'invalid_value');
});

test('a confirmation that the balance does not cover leaves the proposal open', async () => {
  const unfunded = await createAccount(service, { USD: '120' });
  const unpaid = await createRecipient(unfunded.api, mexicanBank);
  const proposal = await proposeNew(unfunded.api, unpaid, { source_amount: 100 });
  const page = await openPage(await getLink(unfunded.api, proposal));
  const other = describePayout(unpaid, { source_amount: 90 });
  const path = `/payout/${unpaid.userToken}`;
  const { payout_token: spent } = ok(await unfunded.api.post<Record<string, string>>(path, other));
  ok(await unfunded.api.put(payoutPath(unpaid, spent ?? '')));
  assertProblem(await decide(unfunded.api, proposal, 'CONFIRMED'), 409, 'proposal_refused');
  const refused = await click(page, 'CONFIRMED');
  assert.equal(refused.status, 409);
  assert.match(refused.html, /insufficient funds/);
  assert.equal((await readProposal(unfunded.api, proposal)).status, 'OPEN');
});

test('proposals are listed by status, and are events of the account', async () => {
  const fresh = await createAccount(service, { USD: '1000' });
  const paid = await createRecipient(fresh.api, mexicanBank);
  const declined = await proposeNew(fresh.api, paid);
  const open = await proposeNew(fresh.api, paid);
  ok(await decide(fresh.api, declined, 'DECLINED'));
  const listed = ok(await fresh.api.get<{ proposal_token: string }[]>('/proposal?status=OPEN'));
  assert.deepEqual(
    listed.map(({ proposal_token: token }) => token),
    [open.proposal_token],
  );
  const events = ok(await fresh.api.get<{ type: string; object: string }[]>('/events?after=0'));
  const ours = events.filter(({ object }) => object === declined.proposal_token);
  assert.deepEqual(
    ours.map(({ type }) => type),
    ['proposal.created', 'proposal.declined'],
  );
  assertProblem(await api.get(pathOf(open)), 404, 'not_found');
});

test('a proposal ends with its quote', async () => {
  const proposal = await proposeNew(proposer.api, recipient);
  const page = await openPage(await getLink(api, proposal));
  await advance(service.demo, 3600);
  assert.equal((await readProposal(api, proposal)).status, 'EXPIRED');
  assert.equal((await click(page, 'CONFIRMED')).status, 409);
  assert.match((await openPage(page.link)).html, /Expired/);
  await eventually(listTypes, (types) => types.includes('proposal.expired'));
  assertProblem(await decide(api, proposal, 'CONFIRMED'), 409, 'proposal_ended');
});
