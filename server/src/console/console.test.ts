import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { Secret, TOTP } from 'otpauth';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { createLiveSetup, type LiveSetup } from '../../testing/setups/live.ts';
import { type App, createApp, type Started } from '../app.ts';
import { listAuditEntries } from '../audit/audit.ts';
import { readConfig } from '../config.ts';
import { createLink } from '../operators/logins.ts';
import {
  createOperator,
  findGenuineOperator,
  renewOperatorKey,
  revokeOperator,
} from '../operators/operators.ts';
import type { OperatorRole } from '../operators/roles.ts';
import { sessionCookie } from './operator-admission.ts';

/** Sessions of the console, and operators as callers of the API of clients. */

type Body = Record<string, unknown> & {
  csrf: string;
  code: string;
  accounts: { account: string }[];
};
type Reply = { status: number; body: Body; headers: Headers };
type Browser = { cookie: string; csrf: string };

let database: TestDatabase;
let folder: string;
let app: App;
let started: Started;
let account: string;

before(async () => {
  database = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'outlay-console-'));
  const config = readConfig({
    DATABASE_URL: database.url,
    OUTLAY_DATA: folder,
    OUTLAY_LOG_LEVEL: 'silent',
    PORT: '0',
  });
  app = await createApp(config, { role: 'serve', realNowMs: Date.now });
  started = await app.listen();
  account = (JSON.parse(readFileSync(join(folder, 'staging.json'), 'utf8')) as { account: string })
    .account;
});
after(async () => {
  await app.close();
  await database.drop();
  rmSync(folder, { recursive: true });
});

type Request = { body?: unknown; headers?: Record<string, string>; baseUrl?: string };

async function send(method: string, path: string, request: Request = {}): Promise<Reply> {
  const { body, headers = {}, baseUrl = started.baseUrl } = request;
  const response = await fetch(baseUrl + path, {
    method,
    headers: {
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  const isJson = text.startsWith('{') || text.startsWith('[');
  return {
    status: response.status,
    body: (isJson ? JSON.parse(text) : {}) as Body,
    headers: response.headers,
  };
}

const services = (of: App = app) => {
  const env = of.environments.staging ?? of.environments.live ?? assert.fail('no environment');
  return { session: env.db.system, keys: env.keys };
};

function readCookie({ headers }: Reply): string {
  return (headers.get('set-cookie') ?? '').split(';', 1)[0] ?? '';
}

async function logIn(body: unknown, request: Request = {}): Promise<Browser> {
  const reply = await send('POST', '/console/session', { body, ...request });
  assert.equal(reply.status, 201, JSON.stringify(reply.body));
  return { cookie: readCookie(reply), csrf: reply.body.csrf };
}

const headersOf = ({ cookie, csrf }: Browser) => ({ cookie, 'outlay-csrf': csrf });

async function addOperator(name: string, role: OperatorRole) {
  return createOperator(services(), { name, role, createdBy: undefined });
}

const newUser = (id: string) => ({
  internal_user_id: id,
  first_name: 'Ana',
  last_name: 'Ruiz',
  country: 'MEX',
  email: `${id}@example.com`,
});

describe('a session', () => {
  it('begins with the link that the first start prints, once', async () => {
    const link = new URL(started.consoleLink ?? '');
    assert.equal(link.pathname, '/console');
    const token = new URLSearchParams(link.hash.slice(1)).get('link');
    const reply = await send('POST', '/console/session', { body: { link: token } });
    assert.equal(reply.status, 201);
    assert.match(
      reply.headers.get('set-cookie') ?? '',
      new RegExp(`^${sessionCookie}=[A-Za-z0-9_-]{43}; Path=/; Secure; HttpOnly; SameSite=Strict$`),
    );
    const { operator, environment, accounts } = reply.body as Body & {
      operator: { name: string; role: string };
    };
    assert.deepEqual([operator.name, operator.role, environment], ['owner', 'owner', 'staging']);
    assert.equal(accounts[0]?.account, account);
    const again = await send('POST', '/console/session', { body: { link: token } });
    assert.deepEqual([again.status, again.body.code], [401, 'login_failed']);
    const shown = await send('GET', '/console/session', {
      headers: { cookie: readCookie(reply) },
    });
    assert.equal(shown.body.csrf, reply.body.csrf);
    assert.equal((await send('GET', '/console/session')).status, 401);
  });

  it('gets a new token with each login, and ends the one that the browser had', async () => {
    const { key } = await addOperator('fixed', 'viewer');
    const first = await logIn({ key });
    const second = await logIn({ key }, { headers: { cookie: first.cookie } });
    assert.notEqual(first.cookie, second.cookie);
    const old = await send('GET', '/console/session', { headers: { cookie: first.cookie } });
    assert.equal(old.status, 401);
    const planted = `${sessionCookie}=${'A'.repeat(43)}`;
    const third = await logIn({ key }, { headers: { cookie: planted } });
    assert.notEqual(third.cookie, planted);
  });

  it('is named in the audit log by what it changes, as its key is by what that changes', async () => {
    const { key } = await addOperator('nora', 'owner');
    const browser = await logIn({ key });
    const stop = (headers: Record<string, string>) =>
      send('POST', '/v0.1.4/operator/sending/stop', { body: { reason: 'Drill' }, headers });
    assert.equal((await stop(headersOf(browser))).status, 200);
    assert.equal((await stop({ authorization: `Bearer ${key}` })).status, 200);
    const filter = { actor: 'nora', action: undefined, from: undefined, to: undefined };
    const entries = await listAuditEntries(services().session, {
      ...filter,
      before: undefined,
      count: 5,
    });
    const [byKey, , bySession, , begin] = entries.map(({ credential }) => credential);
    assert.match(byKey ?? '', /^key_[0-9a-f]{12}$/);
    assert.match(bySession ?? '', /^session_[0-9a-f-]{36}$/);
    assert.equal(begin, bySession);
    const reopened = { body: { reason: 'Over' }, headers: headersOf(browser) };
    assert.equal((await send('POST', '/v0.1.4/operator/sending/resume', reopened)).status, 200);
  });

  it('changes nothing without its token, or from another site', async () => {
    const { key } = await addOperator('csrf', 'operator');
    const browser = await logIn({ key });
    const asAccount = { 'outlay-account': account };
    const write = (id: string, headers: Record<string, string>) =>
      send('POST', '/v0.1.4/user', { body: newUser(id), headers: { ...asAccount, ...headers } });
    const { cookie } = browser;
    assert.equal((await write('c1', { cookie })).body.code, 'cross_site_request');
    const wrong = await write('c2', { cookie, 'outlay-csrf': 'x' });
    assert.equal(wrong.body.code, 'cross_site_request');
    for (const site of ['cross-site', 'same-site', 'none']) {
      const headers = { ...headersOf(browser), 'sec-fetch-site': site };
      assert.equal((await write('c3', headers)).body.code, 'cross_site_request', site);
    }
    const foreign = { ...headersOf(browser), origin: 'https://evil.example' };
    assert.equal((await write('c4', foreign)).body.code, 'cross_site_request');
    const read = await send('GET', '/v0.1.4/account/balance', {
      headers: { ...asAccount, cookie, 'sec-fetch-site': 'cross-site' },
    });
    assert.equal(read.body.code, 'cross_site_request');
    const own = { origin: started.baseUrl, 'sec-fetch-site': 'same-origin' };
    const done = await write('c5', { ...headersOf(browser), ...own });
    assert.equal(done.status, 200, JSON.stringify(done.body));
    const login = await send('POST', '/console/session', {
      body: { key },
      headers: { 'sec-fetch-site': 'cross-site' },
    });
    assert.equal(login.body.code, 'cross_site_request');
  });

  it('ends with the log-out, without use, after twelve hours, and with the operator', async () => {
    const { key } = await addOperator('ends', 'viewer');
    const operator = await findGenuineOperator(services(), 'ends');
    assert.ok(operator);
    const status = async ({ cookie }: Browser) =>
      (await send('GET', '/console/session', { headers: { cookie } })).status;
    const out = await logIn({ key });
    assert.equal(
      (await send('DELETE', '/console/session', { headers: headersOf(out) })).status,
      204,
    );
    assert.equal(await status(out), 401);
    const change = async (text: string) => {
      const env = app.environments.staging ?? assert.fail('no environment');
      await env.db.system.query({ name: '', text }, []);
    };
    const idle = await logIn({ key });
    await change(`update operator_sessions set used_at = used_at - interval '29 minutes'`);
    assert.equal(await status(idle), 200);
    await change(`update operator_sessions set used_at = used_at - interval '31 minutes'`);
    assert.equal(await status(idle), 401);
    const late = await logIn({ key });
    await change(`update operator_sessions set ends_at = ends_at - interval '12 hours'`);
    assert.equal(await status(late), 401);
    // The database alone cannot make one last longer.
    await change(`update operator_sessions set ends_at = ends_at + interval '13 hours'`);
    assert.equal(await status(late), 401);
    const keyed = await logIn({ key });
    const { key: renewed } = await renewOperatorKey(services(), operator);
    assert.equal(await status(keyed), 401);
    const last = await logIn({ key: renewed });
    assert.equal(await status(last), 200);
    await revokeOperator(services().session, operator);
    assert.equal(await status(last), 401);
    const refused = await send('POST', '/console/session', { body: { key: renewed } });
    assert.equal(refused.body.code, 'login_failed');
  });
});

describe('a password', () => {
  const password = 'correct horse battery staple';

  it('is set with a link, and logs in; guesses are limited by operator', async () => {
    await addOperator('pia', 'approver');
    const operator = await findGenuineOperator(services(), 'pia');
    assert.ok(operator);
    const { token } = await createLink(services(), operator);
    const browser = await logIn({ link: token });
    const headers = headersOf(browser);
    const short = await send('PUT', '/console/password', { body: { password: 'short' }, headers });
    assert.deepEqual([short.status, short.body.code], [400, 'too_short']);
    const set = await send('PUT', '/console/password', { body: { password }, headers });
    assert.equal(set.status, 204);
    const open = await logIn({ operator: 'pia', password });
    const changed = await send('PUT', '/console/password', {
      body: { password: 'another long password' },
      headers: headersOf(open),
    });
    assert.deepEqual([changed.status, changed.body.code], [400, 'invalid_value']);
    assert.match(JSON.stringify(changed.body), /current_password must be the password/);
    const guess = async (name: string) =>
      (await send('POST', '/console/session', { body: { operator: name, password: 'wrong' } }))
        .status;
    const answers: number[] = [];
    for (let count = 0; count < 11; count += 1) answers.push(await guess('pia'));
    assert.deepEqual(new Set(answers), new Set([401, 429]));
    const right = await send('POST', '/console/session', { body: { operator: 'pia', password } });
    assert.deepEqual([right.status, right.body.code], [429, 'rate_limited']);
    assert.ok(Number(right.headers.get('retry-after')) > 0);
    // The answer does not reveal whether a name exists.
    assert.equal(await guess('nobody'), 401);
  });
});

describe('an operator who acts for an account', () => {
  it('reads with any role, writes with some, names the account, and is in the audit log', async () => {
    const viewer = await addOperator('vic', 'viewer');
    const writer = await addOperator('olga', 'operator');
    const asAccount = { 'outlay-account': account };
    const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
    const path = '/v0.1.4/account/balance';
    const unnamed = await send('GET', path, { headers: bearer(viewer.key) });
    assert.deepEqual([unnamed.status, unnamed.body.code], [400, 'required']);
    assert.match(JSON.stringify(unnamed.body), /"parameter":"Outlay-Account"/);
    const unknown = { ...bearer(viewer.key), 'outlay-account': crypto.randomUUID() };
    assert.equal((await send('GET', path, { headers: unknown })).status, 400);
    const read = await send('GET', path, { headers: { ...bearer(viewer.key), ...asAccount } });
    assert.equal(read.status, 200);
    const write = (key: string) =>
      send('POST', '/v0.1.4/user', {
        body: newUser('audited'),
        headers: { ...bearer(key), ...asAccount },
      });
    const refused = await write(viewer.key);
    assert.deepEqual([refused.status, refused.body.code], [403, 'role_not_permitted']);
    const clock = await send('POST', '/sandbox/clock', {
      body: { advance_s: 1 },
      headers: { ...bearer(viewer.key), ...asAccount },
    });
    assert.equal(clock.body.code, 'role_not_permitted');
    const done = await write(writer.key);
    const { user_token: token } = done.body as Body & { user_token: string };
    const erased = await send('POST', `/v0.1.4/user/${token}/erasure`, {
      headers: { ...bearer(writer.key), ...asAccount },
    });
    assert.equal(erased.body.code, 'role_not_permitted');
    assert.equal(done.status, 200);
    const [, , entry, requested] = await listAuditEntries(services().session, {
      actor: 'olga',
      action: 'api ',
      from: undefined,
      to: undefined,
      before: undefined,
      count: 5,
    });
    assert.deepEqual([requested?.outcome, entry?.outcome], ['requested', 'done']);
    assert.deepEqual(
      [entry?.action, entry?.account_id, entry?.request_id],
      ['api POST /user', account, done.headers.get('x-request-id')],
    );
    assert.match(entry?.credential ?? '', /^key_[0-9a-f]{12}$/);
    assert.doesNotMatch(JSON.stringify(entry), /Ruiz/);
  });
});

describe('the console', () => {
  it('has a page with a policy and a nonce of its own at every address', async () => {
    const first = await fetch(`${started.baseUrl}/console`);
    const second = await fetch(`${started.baseUrl}/console/payouts/x`);
    const nonceOf = (response: Response) =>
      /'nonce-([^']+)'/.exec(response.headers.get('content-security-policy') ?? '')?.[1];
    assert.ok(nonceOf(first));
    assert.notEqual(nonceOf(first), nonceOf(second));
    assert.match(first.headers.get('content-type') ?? '', /^text\/html/);
    assert.equal(first.headers.get('cache-control'), 'no-store');
    assert.doesNotMatch(await first.text(), /__CSP_NONCE__/);
    for (const path of ['..%2f..%2fpackage.json', 'missing.js', '.env']) {
      const { status } = await fetch(`${started.baseUrl}/console/assets/${path}`);
      assert.equal(status, 404, path);
    }
  });
});

describe('live', () => {
  let setup: LiveSetup;
  before(async () => {
    setup = await createLiveSetup();
  });
  after(() => setup.close());

  it('admits an operator with a second factor only, and each code once', async () => {
    const live = await setup.start('serve');
    const { baseUrl } = live;
    const { key } = await createOperator(services(live.app), {
      name: 'ada',
      role: 'owner',
      createdBy: undefined,
    });
    const browser = await logIn({ key }, { baseUrl });
    const asAccount = { 'outlay-account': crypto.randomUUID(), cookie: browser.cookie };
    const refused = await send('GET', '/v0.1.4/account/balance', { baseUrl, headers: asAccount });
    assert.deepEqual([refused.status, refused.body.code], [403, 'second_factor_required']);
    const headers = headersOf(browser);
    const made = await send('POST', '/console/totp', { baseUrl, headers });
    const { secret, uri, proposal } = made.body as Body & {
      secret: string;
      uri: string;
      proposal: string;
    };
    assert.match(uri, /^otpauth:\/\/totp\/Outlay%20live:ada/);
    const totp = new TOTP({ secret: Secret.fromBase32(secret) });
    const code = totp.generate();
    const wrong = { proposal, code: code === '000000' ? '111111' : '000000' };
    const mistyped = await send('PUT', '/console/totp', { baseUrl, headers, body: wrong });
    assert.deepEqual([mistyped.status, mistyped.body.code], [400, 'invalid_value']);
    assert.match(JSON.stringify(mistyped.body), /"pointer":"\/code".*that the new authenticator/);
    const set = await send('PUT', '/console/totp', { baseUrl, headers, body: { proposal, code } });
    assert.equal(set.status, 204, JSON.stringify(set.body));
    const tryCode = (given: string | undefined) =>
      send('POST', '/console/session', { baseUrl, body: { key, code: given } });
    assert.equal((await tryCode(undefined)).status, 401);
    // The code that set it up counts as used.
    assert.equal((await tryCode(code)).status, 401);
    const next = totp.generate({ timestamp: Date.now() + 30_000 });
    const open = await tryCode(next);
    assert.equal(open.status, 201);
    assert.equal(open.body['is_restricted'], false);
    assert.equal((await tryCode(next)).status, 401);
    const named = await send('GET', '/v0.1.4/account/balance', {
      baseUrl,
      headers: { cookie: readCookie(open) },
    });
    assert.equal(named.body.code, 'required');
  });
});
