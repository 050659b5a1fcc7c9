import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { openStagingApp, type StagingApp } from '../../testing/setups/staging-app.ts';
import { findTokenId, newId } from '../core/ids.ts';
import { formatVerificationToken } from '../kyc/verification-link.ts';
import { readLanguages } from './languages.ts';
import { createLink, formatLinkPath, linkLifeSeconds } from './links.ts';

let staging: StagingApp;
before(async () => {
  staging = await openStagingApp();
});
after(() => staging[Symbol.asyncDispose]());

const openEnvironment = () => staging.app.environments.staging ?? assert.fail('staging is open');

async function createUser(): Promise<string> {
  const response = await fetch(`${staging.baseUrl}/v0.1.4/user`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${staging.apiKey}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      internal_user_id: randomUUID(),
      country: 'MEX',
      first_name: 'Ana',
      last_name: 'Pérez',
      email: `${randomUUID()}@shop.example`,
    }),
  });
  const { user_token: token } = (await response.json()) as { user_token: string };
  return findTokenId('user', token) ?? assert.fail(token);
}

async function open(path: string, body?: unknown) {
  const response = await fetch(staging.baseUrl + path, {
    headers: { accept: 'text/html, application/json', 'content-type': 'application/json' },
    ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
  });
  return {
    status: response.status,
    type: response.headers.get('content-type') ?? '',
    text: await response.text(),
  };
}

test('a link to a destination that is no longer offered shows a page that says so', async () => {
  const { db, keys } = openEnvironment();
  const userId = await createUser();
  const terms = {
    accountId: staging.account,
    userId,
    purpose: 'payout_details',
    // As of a payer that its rail has withdrawn since.
    destinationToken: randomUUID(),
    currency: 'MXN',
    attrSetId: undefined,
    payoutId: undefined,
    showsPickupCode: false,
    redirectUrl: 'https://shop.example/back',
    credentialId: newId(),
    lifeSeconds: linkLifeSeconds.payout_details,
  } as const;
  const { token } = await createLink({ session: db.tenant(staging.account), keys }, terms);
  const path = formatLinkPath(token);
  const page = await open(path);
  assert.deepEqual([page.status, page.type], [200, 'text/html; charset=utf-8']);
  assert.match(page.text, /"kind":"gone","reason":"not_offered"/);
  assert.match(page.text, /shop\.example\/back/);
  const state = await open(`${path}/state`);
  assert.equal((JSON.parse(state.text) as { reason: string }).reason, 'not_offered');
  for (const action of ['check', 'details']) {
    const refused = await open(`${path}/${action}`, { values: [] });
    assert.equal(refused.status, 404);
    assert.match(refused.text, /no longer offered/);
  }
});

test('a verification link whose session is no longer stored shows a page', async () => {
  const { keys } = openEnvironment();
  const session = { accountId: staging.account, sessionId: newId() };
  const page = await open(`/verify/${formatVerificationToken(keys, session)}`);
  assert.deepEqual([page.status, page.type], [404, 'text/html; charset=utf-8']);
  assert.match(page.text, /"kind":"gone","reason":"invalid"/);
});

test('a browser that is refused is shown a page in its language, and another client the problem', async () => {
  await using limited = await openStagingApp({ settings: { OUTLAY_RATE_LIMIT_ADDRESS: '1' } });
  const ask = async (accept: string, path = '/recipient/abc') => {
    const response = await fetch(limited.baseUrl + path, {
      headers: { accept, 'accept-language': 'ar, en;q=0.5' },
    });
    const { status, headers } = response;
    return { status, headers, text: await response.text() };
  };
  /** The limit counts seconds, so that on a busy machine one more may be admitted. */
  const askRefused = async (accept: string, path?: string) => {
    for (let tries = 0; ; tries += 1) {
      const answer = await ask(accept, path);
      if (answer.status === 429 || tries === 100) return answer;
    }
  };
  const browser = 'text/html,application/xhtml+xml,*/*;q=0.8';
  assert.equal((await ask(browser)).status, 404);
  for (const path of ['/recipient/abc', '/verify/abc']) {
    const page = await askRefused(browser, path);
    assert.equal(page.status, 429);
    assert.match(page.headers.get('retry-after') ?? '', /^\d+$/);
    assert.equal(page.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/);
    assert.match(page.text, /<html lang="ar" dir="rtl">/);
    assert.match(page.text, new RegExp(`<h1>${readLanguages().get('ar')?.texts['busy']}</h1>`));
    assert.doesNotMatch(page.text, /\{\{/);
  }
  const { status, headers } = await askRefused('*/*');
  assert.deepEqual(
    [status, headers.get('content-type')],
    [429, 'application/problem+json; charset=utf-8'],
  );
});
