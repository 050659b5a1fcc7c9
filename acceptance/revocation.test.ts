import assert from 'node:assert/strict';
import { test } from 'node:test';
import { runCommand } from './commands.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Reply,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** Credentials end: by their expiry, and by the revocation endpoint (RFC 7009). */

let service: Service;

test.before(async () => {
  service = await startService({ takesCommands: true });
});
test.after(() => service.stop());

type TokenAnswer = { access_token: string; error: string };

function form(fields: Record<string, string>): { body: string; headers: Record<string, string> } {
  return {
    body: new URLSearchParams(fields).toString(),
    headers: { 'content-type': 'application/x-www-form-urlencoded', authorization: '' },
  };
}

function send(path: string, account: Account, fields: Record<string, string>) {
  const { client_id, client_secret } = account.credentials;
  const { body, headers } = form({ client_id, client_secret, ...fields });
  const { authorization: _none, ...rest } = headers;
  return service.demo.call<TokenAnswer>('POST', path, {
    body,
    headers: { ...rest, authorization: [] },
  });
}

async function getToken(account: Account): Promise<string> {
  const fields = { grant_type: 'client_credentials' };
  return ok(await send('/oauth2/token', account, fields)).access_token;
}

const revoke = (account: Account, token: string): Promise<Reply<TokenAnswer>> =>
  send('/oauth2/revoke', account, { token });

/** Waits for the status: a process notices a revocation within a second of its own. */
async function statusWithin(api: Api, status: number): Promise<void> {
  const deadlineMs = performance.now() + 60_000;
  for (;;) {
    const reply = await api.get('/account/balance');
    if (reply.status === status || performance.now() > deadlineMs) {
      assert.equal(reply.status, status);
      return;
    }
  }
}

test('an access token and an API key can be revoked by a client of their account', async () => {
  const account = await createAccount(service);
  const [token, other] = [await getToken(account), await getToken(account)];
  ok(await service.demo.withToken(token).get('/account/balance'));
  assert.equal((await revoke(account, token)).status, 200);
  await statusWithin(service.demo.withToken(token), 401);
  ok(await service.demo.withToken(other).get('/account/balance'));
  ok(await account.api.get('/account/balance'));
  assert.equal((await revoke(account, account.credentials.api_key)).status, 200);
  await statusWithin(account.api, 401);
  ok(await service.demo.withToken(other).get('/account/balance'));
});

test('a client revokes nothing of another account, and learns nothing about it', async () => {
  const [mine, others] = [await createAccount(service), await createAccount(service)];
  const token = await getToken(others);
  for (const given of [token, others.credentials.api_key, 'unknown', 'x'.repeat(64)]) {
    const reply = await revoke(mine, given);
    assert.deepEqual([reply.status, reply.text], [200, '']);
  }
  ok(await service.demo.withToken(token).get('/account/balance'));
  ok(await others.api.get('/account/balance'));
});

test('the revocation endpoint needs a client and a token', async () => {
  const account = await createAccount(service);
  const token = await getToken(account);
  const wrong = {
    ...account,
    credentials: { ...account.credentials, client_secret: 'wrong' },
  };
  const refused = await revoke(wrong, token);
  assert.deepEqual([refused.status, refused.body.error], [401, 'invalid_client']);
  const missing = await send('/oauth2/revoke', account, {});
  assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request']);
  ok(await service.demo.withToken(token).get('/account/balance'));
  const described = ok(
    await service.demo.get<{ revocation_endpoint: string }>(
      '/.well-known/oauth-authorization-server',
    ),
  );
  assert.match(described.revocation_endpoint, /\/oauth2\/revoke$/);
});

test('an API key with an expiry ends by the clock, and an unknown kind is refused', async () => {
  const { account } = service.credentials;
  const words = ['credential', 'create', '--account', account, '--kind'];
  const made = await runCommand(service, [...words, 'api_key', '--expires-days', '2']);
  const kept = await runCommand(service, [...words, 'api_key', '--expires-days', 'never']);
  const expiring = service.demo.withToken(made['api_key'] ?? '');
  ok(await expiring.get('/account/balance'));
  await advance(service.demo, 2 * daySeconds + 1);
  assertProblem(await expiring.get('/account/balance'), 401, 'unauthorized');
  ok(await service.demo.withToken(kept['api_key'] ?? '').get('/account/balance'));
  await assert.rejects(runCommand(service, [...words, 'banana']), /kind must be one of/);
  await assert.rejects(
    runCommand(service, [...words, 'api_key', '--expires-days', '0']),
    /must be never, or days from 1 to 9999/,
  );
});
