import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import * as oauth from 'oauth4webapi';
import { runCommand } from './commands.ts';
import {
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  payoutPath,
} from './recipients.ts';
import {
  type Api,
  advance,
  type Balance,
  type Credentials,
  createAccount,
  ok,
  type Reply,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/** Tokens, API keys, scopes, and the separation of accounts and environments. */

let service: Service;

before(async () => {
  service = await startService();
});
after(() => service.stop());

async function discover(): Promise<oauth.AuthorizationServer> {
  const issuer = new URL(service.baseUrl);
  const response = await oauth.discoveryRequest(issuer, {
    algorithm: 'oauth2',
    [oauth.allowInsecureRequests]: true,
  });
  return oauth.processDiscoveryResponse(issuer, response);
}

async function grantToken(
  credentials: Credentials,
  authenticate: oauth.ClientAuth,
  parameters: Record<string, string> = {},
): Promise<oauth.TokenEndpointResponse> {
  const server = await discover();
  const client = { client_id: credentials.client_id };
  const response = await oauth.clientCredentialsGrantRequest(
    server,
    client,
    authenticate,
    parameters,
    { [oauth.allowInsecureRequests]: true },
  );
  return oauth.processClientCredentialsResponse(server, client, response);
}

for (const [name, create] of [
  ['client_secret_basic', oauth.ClientSecretBasic],
  ['client_secret_post', oauth.ClientSecretPost],
] as const) {
  test(`an OAuth client reads a balance after discovery by ${name}`, async () => {
    const { credentials } = await createAccount(service, { USD: '5' });
    const granted = await grantToken(credentials, create(credentials.client_secret));
    assert.equal(granted.token_type, 'bearer');
    assert.equal(granted.expires_in, 3600);
    const url = new URL(`${service.baseUrl}/v0.1.4/account/balance`);
    const headers = new Headers({ accept: 'application/json' });
    const response = await oauth.protectedResourceRequest(
      granted.access_token,
      'GET',
      url,
      headers,
      null,
      { [oauth.allowInsecureRequests]: true },
    );
    assert.equal(response.status, 200);
    const [balance] = (await response.json()) as { balance: number }[];
    assert.equal(balance?.balance, 5);
  });
}

test('a token has the requested scopes only', async () => {
  const { credentials } = await createAccount(service);
  const granted = await grantToken(
    credentials,
    oauth.ClientSecretBasic(credentials.client_secret),
    {
      scope: 'balance:read users:read',
    },
  );
  assert.equal(granted.scope, 'balance:read users:read');
  const api = service.demo.withToken(granted.access_token);
  ok(await api.get('/account/balance'));
  const refused = await api.post('/user', {});
  assertProblem(refused, 403, 'insufficient_scope');
  assert.match(String(refused.headers['www-authenticate']), /error="insufficient_scope"/);
  assertProblem(await api.get('/country/list'), 403);
});

test('a token expires after an hour of its environment', async () => {
  const { credentials } = await createAccount(service);
  const granted = await grantToken(credentials, oauth.ClientSecretBasic(credentials.client_secret));
  const api = service.demo.withToken(granted.access_token);
  await advance(service.demo, 3540);
  ok(await api.get('/account/balance'));
  await advance(service.demo, 61);
  assertProblem(await api.get('/account/balance'), 401, 'unauthorized');
  ok(await service.demo.withToken(credentials.api_key).get('/account/balance'));
});

type TokenRequest = { form: string; headers?: Record<string, string | string[]> };

function askToken({ form, headers = {} }: TokenRequest): Promise<Reply<{ error?: string }>> {
  return service.demo.call('POST', '/oauth2/token', {
    body: form,
    headers: { authorization: [], 'content-type': 'application/x-www-form-urlencoded', ...headers },
  });
}

test('errors of the token endpoint have the form of RFC 6749 5.2', async () => {
  const { client_id: id, client_secret: secret } = (await createAccount(service)).credentials;
  const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`;
  const form = 'grant_type=client_credentials';
  const wrong = `Basic ${Buffer.from(`${id}:wrong`).toString('base64')}`;
  const cases: [TokenRequest, number, string][] = [
    [{ form: '', headers: { authorization: basic } }, 400, 'invalid_request'],
    [
      { form: 'grant_type=password', headers: { authorization: basic } },
      400,
      'unsupported_grant_type',
    ],
    [{ form: `${form}&${form}`, headers: { authorization: basic } }, 400, 'invalid_request'],
    [{ form: `${form}&scope=root`, headers: { authorization: basic } }, 400, 'invalid_scope'],
    [{ form }, 401, 'invalid_client'],
    [{ form, headers: { authorization: wrong } }, 401, 'invalid_client'],
    [{ form, headers: { authorization: 'Basic !!' } }, 401, 'invalid_client'],
    [{ form: `${form}&client_id=${id}&client_secret=x` }, 401, 'invalid_client'],
    [{ form: `${form}&client_id=nobody&client_secret=${secret}` }, 401, 'invalid_client'],
    [{ form: `${form}&client_id=%00&client_secret=%00` }, 401, 'invalid_client'],
    [
      {
        form: `${form}&client_id=${id}&client_secret=${secret}`,
        headers: { authorization: basic },
      },
      400,
      'invalid_request',
    ],
    [
      {
        form: '{"grant_type":"client_credentials"}',
        headers: { 'content-type': 'application/json' },
      },
      400,
      'invalid_request',
    ],
  ];
  for (const [request, status, error] of cases) {
    const reply = await askToken(request);
    assert.equal(reply.status, status, `${request.form} ${reply.text}`);
    assert.match(String(reply.headers['content-type']), /^application\/json/);
    assert.equal(reply.body.error, error, request.form);
    assert.equal(reply.headers['cache-control'], 'no-store');
    if (status === 401) assert.match(String(reply.headers['www-authenticate']), /^Basic/);
  }
});

test('the token endpoint refuses other methods and large bodies', async () => {
  assertProblem(await service.demo.get('/oauth2/token'), 405);
  const reply = await askToken({ form: `grant_type=${'a'.repeat(300_000)}` });
  assert.equal(reply.status, 413);
});

test('a missing or wrong credential, another scheme and two headers are 401', async () => {
  const key = service.credentials.api_key || service.demo.token;
  const headers: (string | string[])[] = [
    [],
    '',
    'Bearer',
    'Bearer ',
    'bearer',
    key,
    `Basic ${Buffer.from(`${key}:`).toString('base64')}`,
    `Token ${key}`,
    `Bearer ${key}x`,
    `Bearer ${key.slice(0, -1)}`,
    `Bearer ${key.slice(0, -1)}~`,
    `Bearer test_${randomUUID()}`,
    `Bearer ${key} ${key}`,
    `Bearer ${key}, Bearer ${key}`,
    'Bearer null',
    `Bearer live_${key.slice(5)}`,
    `Bearer ${'a'.repeat(8000)}`,
    [`Bearer ${key}`, `Bearer ${key}`],
    ['Bearer junk', `Bearer ${key}`],
  ];
  for (const authorization of headers) {
    for (const path of ['/account/balance', '/sandbox/clock']) {
      const reply = await service.demo.get(path, { authorization });
      assertProblem(reply, 401, 'unauthorized');
    }
  }
  const spelled = await service.demo.get('/account/balance', { authorization: `bEaReR ${key}` });
  assert.equal(spelled.status, 200, 'the scheme is not case-sensitive');
});

test('a credential in the query is ignored', async () => {
  const path = `/account/balance?access_token=${service.demo.token}`;
  assertProblem(await service.demo.get(path, { authorization: [] }), 401);
});

test('a request without a credential does not reveal whether a resource exists', async () => {
  for (const [method, path] of [
    ['POST', '/user'],
    ['GET', `/user/${randomUUID()}`],
    ['PUT', '/payout/a/b'],
    ['GET', '/country/ZZZ'],
  ] as const) {
    const reply = await service.demo.call(method, path, { headers: { authorization: [] } });
    assertProblem(reply, 401);
  }
});

test('resources of another account are answered like unknown ones', async () => {
  const mine = await createAccount(service, { USD: '1000' });
  const other = await createAccount(service, { USD: '1000' });
  const recipient = await createRecipient(mine.api, deliveryCases.bank);
  const payout = await createPayout(mine.api, recipient);
  const [balance] = ok(await mine.api.get<Balance[]>('/account/balance'));
  const payer = recipient.payer.destination_token;
  const payoutToken = payout['payout_token'] ?? '';
  const unknownUser = `usr_${randomUUID()}`;
  const unknownPayout = `payout_${randomUUID()}`;
  const owner = recipient.userToken;
  const pairs: [string, string, string, unknown?][] = [
    ['GET', `/user/${owner}`, `/user/${unknownUser}`],
    ['PUT', `/user/${owner}`, `/user/${unknownUser}`, { city: 'Oslo' }],
    ['GET', `/user/${owner}/history`, `/user/${unknownUser}/history`],
    ['GET', `/payout/${owner}`, `/payout/${unknownUser}`],
    ['GET', `/user/${owner}/kyc/id`, `/user/${unknownUser}/kyc/id`],
    ['GET', `/attribute/${owner}/${payer}/MXN`, `/attribute/${unknownUser}/${payer}/MXN`],
    [
      'GET',
      payoutPath({ userToken: owner }, payoutToken),
      payoutPath({ userToken: owner }, unknownPayout),
    ],
    [
      'PUT',
      payoutPath({ userToken: owner }, payoutToken),
      payoutPath({ userToken: unknownUser }, unknownPayout),
    ],
    [
      'POST',
      `/sandbox/payout/${payoutToken}`,
      `/sandbox/payout/${unknownPayout}`,
      { outcome: 'completed' },
    ],
    ['POST', `/sandbox/kyc/${owner}`, `/sandbox/kyc/${unknownUser}`, { decision: 'approved' }],
    [
      'GET',
      `/account/balance/${balance?.token}/entries`,
      `/account/balance/${randomUUID()}/entries`,
    ],
    [
      'GET',
      `/account/balance/${balance?.token}/statement?date=2026-01-01`,
      `/account/balance/${randomUUID()}/statement?date=2026-01-01`,
    ],
    [
      'GET',
      `/country/MEX/cheapest?wallet_token=${balance?.token}`,
      `/country/MEX/cheapest?wallet_token=${randomUUID()}`,
    ],
  ];
  for (const [method, owned, unknown, body] of pairs) {
    const [foreign, nothing] = [
      await other.api.call(method, owned, { body }),
      await other.api.call(method, unknown, { body }),
    ];
    assert.equal(foreign.status, 404, `${method} ${owned} ${foreign.text}`);
    assertProblem(foreign, 404, 'not_found');
    const strip = (reply: Reply): string => reply.text.replace(/"request_id":"[^"]*"/, '');
    assert.equal(strip(foreign), strip(nothing), `${method} ${owned}`);
  }
});

test('the live environment does not know a staging key, and has no sandbox', async () => {
  const host = 'api.example.test';
  const reply = await service.demo.get('/account/balance', { host });
  assertProblem(reply, 401);
  for (const path of ['/sandbox/clock', '/sandbox/accounts', '/sandbox/fund']) {
    assertProblem(await service.demo.get(path, { host }), 404, 'not_found');
    assertProblem(await service.demo.post(path, {}, { host }), 404, 'not_found');
  }
  const staging = { host: 'staging-api.example.test:9999' };
  ok(await service.demo.get('/account/balance', staging));
  assertProblem(await service.demo.get('/account/balance', { host: 'API.example.test' }), 401);
});

test('credentials of the command line can be restricted by scope and address, and revoked', async () => {
  const own = await startService({ isOwn: true });
  try {
    const { account } = own.credentials;
    const create = (...words: string[]) =>
      runCommand(own, [
        'credential',
        'create',
        '--account',
        account,
        '--kind',
        'api_key',
        ...words,
      ]);
    const reader = await create('--scopes', 'balance:read');
    const far = await create('--addresses', '203.0.113.0/24');
    const near = await create('--addresses', '203.0.113.0/24 127.0.0.0/8');
    const gone = await create();
    const id = gone['credential'] ?? gone['id'] ?? gone['credential_id'] ?? '';
    await runCommand(own, ['credential', 'revoke', '--account', account, '--credential', id]);
    const as = (made: Record<string, string>): Api => own.demo.withToken(made['api_key'] ?? '');
    ok(await as(reader).get('/account/balance'));
    assertProblem(await as(reader).post('/user', {}), 403, 'insufficient_scope');
    assertProblem(await as(reader).get('/user/history'), 403);
    assert.ok([401, 403].includes((await as(far).get('/account/balance')).status));
    ok(await as(near).get('/account/balance'));
    assertProblem(await as(gone).get('/account/balance'), 401);
    ok(await createUserAs(own.demo));
    // The log says whose request was refused, and nothing of the credential itself.
    const readerId = reader['credential_id'] ?? assert.fail();
    assert.match(
      own.output(),
      new RegExp(`"status":403,"account_id":"${account}","credential_id":"${readerId}"`),
    );
    assert.ok(!own.output().includes(reader['api_key'] ?? assert.fail()));
  } finally {
    await own.stop();
  }
});

async function createUserAs(api: Api): Promise<Reply> {
  return api.get(`/user/${await createUser(api)}`);
}
