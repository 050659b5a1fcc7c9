import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { runCommand } from './commands.ts';
import {
  click,
  createKey,
  decide,
  getLink,
  mexicanBank,
  openPage,
  proposeNew,
} from './proposal-kit.ts';
import { createRecipient, pay } from './recipients.ts';
import {
  type Account,
  createAccount,
  ok,
  type Reply,
  type Service,
  startService,
} from './service.ts';

/** What clients change about their own access is in the audit log; the log of requests has every write. */

let service: Service;
before(async () => {
  service = await startService({ isOwn: true });
});
after(() => service.stop());

type Entry = {
  actor_kind: string;
  actor: string;
  actor_id: string | null;
  credential: string;
  address: string;
  action: string;
  object: Record<string, string>;
  account_id: string;
  request_id: string;
  outcome: string;
  before: Record<string, unknown> | null;
  after: Record<string, unknown> | null;
};

/** The entries of the account, the oldest first. */
async function listEntries({ credentials }: Account): Promise<Entry[]> {
  const printed = await runCommand(service, ['audit', 'list']);
  const entries = printed as unknown as Entry[];
  return entries.filter(({ account_id: id }) => id === credentials.account).toReversed();
}

const idOf = ({ headers }: Reply<unknown>): string => String(headers['x-request-id']);

async function changeWebhook(account: Account): Promise<{ path: string; replies: Reply[] }> {
  const { api } = account;
  const body = { url: 'https://example.com/hooks/secret-path' };
  const created = await api.post<{ webhook_token: string }>('/webhooks', body);
  const path = `/webhooks/${ok(created).webhook_token}`;
  const replies: Reply[] = [created];
  for (const step of ['pause', 'pause', 'resume', 'rotate']) {
    replies.push(await api.post(`${path}/${step}`, step === 'rotate' ? {} : undefined));
  }
  const moved = { ...body, url: 'https://example.net/hooks/other-path' };
  replies.push(await api.put(path, moved), await api.post(`${path}/remove`, undefined));
  for (const reply of replies) ok(reply);
  return { path, replies };
}

test('changes of webhooks are in the audit log, with credential, address and request', async () => {
  const account = await createAccount(service);
  const { path, replies } = await changeWebhook(account);
  const entries = await listEntries(account);
  const actions = ['create', 'pause', 'resume', 'rotate', 'change', 'remove'];
  assert.deepEqual(
    entries.map(({ action, outcome }) => [action, outcome]),
    actions.map((action) => [`webhook ${action}`, 'done']),
  );
  // The second pause changed nothing.
  const effective = replies.filter((_reply, index) => index !== 2);
  assert.deepEqual(
    entries.map(({ request_id: id }) => id),
    effective.map(idOf),
  );
  for (const entry of entries) {
    assert.equal(entry.actor_kind, 'credential');
    assert.match(entry.actor_id ?? '', /^[0-9a-f-]{36}$/);
    assert.equal(entry.credential, entry.actor_id);
    assert.equal(entry.address, '127.0.0.1');
    assert.equal(`/webhooks/${entry.object['webhook']}`, path);
  }
  const moved = entries.find(({ action }) => action === 'webhook change');
  assert.equal(moved?.before?.['origin'], 'https://example.com');
  assert.equal(moved?.after?.['origin'], 'https://example.net');
  assert.notEqual(moved?.before?.['url_sha256'], moved?.after?.['url_sha256']);
  assert.doesNotMatch(JSON.stringify(entries), /secret-path|other-path|whsec_/);
});

test('an operator who acts for the account is named as the actor, not a credential', async () => {
  const account = await createAccount(service);
  const words = ['operator', 'create', '--name', 'otto', '--role', 'operator'];
  const { key } = (await runCommand(service, words)) as { key: string };
  const response = await fetch(`${service.baseUrl}/v0.1.4/webhooks`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'outlay-account': account.credentials.account,
      'content-type': 'application/json',
    },
    body: JSON.stringify({ url: 'https://example.com/hook' }),
  });
  assert.equal(response.status, 200, await response.text());
  const [created] = (await listEntries(account)).filter(
    ({ action }) => action === 'webhook create',
  );
  assert.deepEqual([created?.actor_kind, created?.actor], ['operator', 'otto']);
  assert.match(created?.credential ?? '', /^key_[0-9a-f]{12}$/);
});

test('so are revocations, erasures, links and decisions, and a refused one as refused', async () => {
  const account = await createAccount(service, { USD: '1000' });
  const { api, credentials } = account;
  const recipient = await createRecipient(api, mexicanBank);
  const { credentialId } = await createKey(service, account);
  const declined = ok(await decide(api, await proposeNew(api, recipient), 'DECLINED'));
  const linked = await proposeNew(api, recipient);
  const page = await openPage(await getLink(api, linked));
  assert.equal((await click(page, 'DECLINED')).status, 303);
  await pay(api, recipient);
  const path = `/user/${recipient.userToken}/erasure`;
  const held = await api.post(path, undefined);
  assert.equal(held.status, 409);
  const other = await createRecipient(api, mexicanBank);
  ok(await api.post(`/user/${other.userToken}/erasure`, undefined));
  const { client_id, client_secret, api_key: token } = credentials;
  const form = new URLSearchParams({ client_id, client_secret, token });
  for (let time = 1; time <= 2; time += 1) {
    const answer = await fetch(`${service.baseUrl}/oauth2/revoke`, { method: 'POST', body: form });
    assert.equal(answer.status, 200);
  }
  const ofClient = (await listEntries(account)).filter((entry) => entry.actor_kind !== 'operator');
  assert.deepEqual(
    ofClient.map(({ action, outcome }) => [action, outcome]),
    [
      ['proposal decline', 'done'],
      ['proposal link', 'done'],
      ['proposal decline', 'done'],
      ['user erase', 'refused'],
      ['user erase', 'done'],
      ['credential revoke', 'done'],
    ],
  );
  const [byApi, , byLink, refused, erased] = ofClient;
  assert.equal(byApi?.object['proposal'], declined.proposal_token);
  assert.deepEqual([byLink?.object['through'], byLink?.actor_id], ['link', null]);
  assert.deepEqual([refused?.after, refused?.request_id], [{ error: 'payouts_open' }, idOf(held)]);
  assert.equal(erased?.object['user'], other.userToken);
  assert.notEqual(credentialId, byApi?.actor_id);
  const proof = await runCommand(service, ['ledger', 'verify']);
  assert.equal(proof['isSound'], true, JSON.stringify(proof));
});

test('every write is in the log of requests with account and credential; reads are sampled', async () => {
  const account = await createAccount(service);
  const writes = 5;
  const ids: string[] = [];
  for (let number = 0; number < writes; number += 1) {
    const reply = await account.api.post('/sandbox/fund', '{"currency_code":"USD","amount":1}');
    ok(reply);
    ids.push(idOf(reply));
  }
  for (let number = 0; number < 20; number += 1) ok(await account.api.get('/account/balance'));
  type Line = { request_id: string; account_id: string; credential_id: string; method: string };
  const lines = service
    .output()
    .split('\n')
    .filter((line) => line.includes(account.credentials.account))
    .map((line) => JSON.parse(line) as Line);
  assert.deepEqual(
    lines.filter(({ method }) => method === 'POST').map(({ request_id: id }) => id),
    ids,
  );
  assert.ok(lines.every(({ credential_id: id }) => /^[0-9a-f-]{36}$/.test(id)));
  assert.ok(lines.length < writes + 20);
});
