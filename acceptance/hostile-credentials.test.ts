import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { runCommand } from './commands.ts';
import {
  commitPayout,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  describePayout,
  fillAttributes,
  findPayer,
  readAttributes,
} from './recipients.ts';
import { type Api, createAccount, daySeconds, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** What a restricted credential, a wrong secret or a child process must not get. */

const canary = `canary${randomBytes(12).toString('hex')}`;
const settings = {
  OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
  RAIL_SECRET: canary,
};

let dataDirectory: string;
let service: Service;

before(async () => {
  dataDirectory = await mkdtemp(join(tmpdir(), 'outlay-credentials-'));
  // The default limit.
  const bounded = { ...settings, OUTLAY_SANDBOX_CLOCK_DAYS: '400' };
  service = await startService({
    isProcess: true,
    isEmbedded: true,
    dataDirectory,
    settings: bounded,
  });
});
after(async () => {
  await service.stop();
  await rm(dataDirectory, { recursive: true });
});

/** A key of the Demo account with these scopes only. */
async function createKey(scopes: string): Promise<Api> {
  const { account } = service.credentials;
  const words = ['--account', account, '--kind', 'api_key', '--scopes', scopes];
  const made = await runCommand(service, ['credential', 'create', ...words]);
  return service.demo.withToken(made['api_key'] ?? '');
}

test('users:read gets no verification link with the attributes, and starts no verification', async () => {
  const { demo } = service;
  const userToken = await createUser(demo);
  const payer = await findPayer(demo, deliveryCases.cash, 'amount=1500');
  const attrSetToken = await fillAttributes(demo, {
    userToken,
    payer,
    delivery: deliveryCases.cash,
  });
  const recipient = { userToken, payer, delivery: deliveryCases.cash, attrSetToken };
  const payout = await createPayout(demo, recipient, { source_amount: 1500 });
  // A commit by a key with kyc:write starts the verification that it needs.
  const committer = await createKey('payouts:commit');
  await commitPayout(committer, recipient, payout['payout_token']);
  const destination = {
    userToken,
    destinationToken: payer.destination_token,
    currency: 'MXN',
  };
  const readLink = async (api: Api): Promise<string | undefined> => {
    const attributes = await readAttributes(api, destination);
    return attributes.find(({ type }) => type === 'IDSelfieCollection')?.value;
  };
  const reader = await createKey('users:read');
  assert.equal(await readLink(reader), '');
  assert.deepEqual(ok(await reader.get(`/user/${userToken}/kyc/id`)), []);
  assert.match((await readLink(await createKey('users:read kyc:write'))) ?? '', /\/verify\//);
});

test('Basic with text after the secret is refused', async () => {
  const { client_id: id, client_secret: secret } = service.credentials;
  const ask = async (pair: string): Promise<number> => {
    const reply = await service.demo.call('POST', '/oauth2/token', {
      body: 'grant_type=client_credentials',
      headers: {
        authorization: `Basic ${Buffer.from(pair).toString('base64')}`,
        'content-type': 'application/x-www-form-urlencoded',
      },
    });
    return reply.status;
  };
  assert.equal(await ask(`${id}:${secret}`), 200);
  for (const pair of [`${id}:${secret}:`, `${id}:${secret}:anything`, `${id}::${secret}`, id]) {
    assert.equal(await ask(pair), 401, pair);
  }
});

test('the sandbox needs a scope of its own', async () => {
  const narrow = await createKey('balance:read users:read users:write payouts:commit kyc:write');
  ok(await narrow.get('/sandbox/clock'));
  const calls: [string, unknown][] = [
    ['/sandbox/clock', { advance_s: 1 }],
    ['/sandbox/fund', { currency_code: 'USD', amount: 1 }],
    ['/sandbox/accounts', { name: 'Mine' }],
    ['/sandbox/payout/pay_x', { outcome: 'completed' }],
    ['/sandbox/kyc/usr_x', { decision: 'approved' }],
  ];
  for (const [path, body] of calls) {
    assertProblem(await narrow.post(path, body), 403, 'insufficient_scope');
  }
  const tester = await createKey('sandbox:write');
  ok(await tester.post('/sandbox/clock', { advance_s: 1 }));
  assertProblem(await tester.post('/sandbox/kyc/usr_x', { decision: 'approved' }), 404);
  assertProblem(await tester.get('/account/balance'), 403, 'insufficient_scope');
});

test('the shared clock stays within 400 days of real time', async () => {
  const { demo } = service;
  const { api } = await createAccount(service);
  for (const move of [{ to: '2999-12-31T00:00:00Z' }, { advance_s: 401 * daySeconds }]) {
    const problem = assertProblem(await api.post('/sandbox/clock', move), 400, 'too_late');
    assert.match(problem.detail, /within 400 days of real time/);
  }
  ok(await demo.post('/sandbox/clock', { advance_s: 250 * daySeconds }));
  assertProblem(await api.post('/sandbox/clock', { advance_s: 250 * daySeconds }), 400);
  ok(await api.post('/sandbox/clock', { advance_s: 0 }));
});

/** The descendants of the service's process. */
function listDescendants(pid: number): number[] {
  const parents = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const stat = readFileSync(`/proc/${name}/stat`, 'utf8');
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
      parents.set(Number(name), Number(fields[1]));
    } catch {
      // The process ended in between.
    }
  }
  const isBelow = (child: number): boolean => {
    const parent = parents.get(child);
    return parent !== undefined && parent !== 0 && (parent === pid || isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

test('no child process inherits a secret', {
  skip: process.platform !== 'linux' && 'needs /proc',
}, async () => {
  const pid = service.process?.pid ?? 0;
  const seen: string[] = [];
  for (const child of listDescendants(pid)) {
    try {
      const command = readFileSync(`/proc/${child}/cmdline`, 'utf8');
      seen.push(`${command}\n${readFileSync(`/proc/${child}/environ`, 'utf8')}`);
    } catch {
      // The process ended in between.
    }
  }
  assert.ok(seen.some((text) => text.includes('postgres')));
  for (const text of seen) {
    assert.ok(!text.includes(canary), text.slice(0, text.indexOf('\n')));
    assert.ok(!text.includes(settings.OUTLAY_MASTER_KEY), text.slice(0, text.indexOf('\n')));
  }
});

test('a token that is malformed, unknown or of another account gets the same 404', async () => {
  const own = (await createAccount(service, { USD: '1000' })).api;
  const recipient = await createRecipient(own, deliveryCases.bank);
  const payout = await createPayout(own, recipient);
  const stranger = (await createAccount(service)).api;
  const { userToken } = recipient;
  const unknown = [userToken, `usr_${randomUUID()}`, 'usr_x', 'x', '%00'];
  const body = describePayout(recipient);
  const { destination_token: destination, payout_token: payoutToken } = payout;
  for (const [method, pathOf, sent] of [
    ['GET', (token: string) => `/user/${token}`, undefined],
    ['PUT', (token: string) => `/user/${token}`, {}],
    ['GET', (token: string) => `/user/${token}/history`, undefined],
    ['GET', (token: string) => `/payout?user_token=${token}`, undefined],
    ['GET', (token: string) => `/payout/${token}`, undefined],
    ['POST', (token: string) => `/payout/${token}`, body],
    ['GET', (token: string) => `/user/${token}/kyc/id`, undefined],
    ['GET', (token: string) => `/attribute/${token}/${destination}/MXN`, undefined],
    ['PUT', (token: string) => `/payout/${token}/${payoutToken}`, undefined],
    ['GET', (token: string) => `/payout/${token}/${payoutToken}`, undefined],
    ['PATCH', (token: string) => `/payout/${token}/${payoutToken}`, undefined],
    [
      'PUT',
      (token: string) => `/payout/${userToken}/${token.replace('usr_', 'payout_')}`,
      undefined,
    ],
    [
      'GET',
      (token: string) => `/payout/${userToken}/${token.replace('usr_', 'payout_')}`,
      undefined,
    ],
  ] as const) {
    const answers = new Set<string>();
    for (const token of unknown) {
      // In a query it is refused as a malformed text.
      if (token === '%00' && pathOf('').includes('?')) continue;
      const reply = await stranger.call(method, pathOf(token), { body: sent });
      const { request_id: _id, ...problem } = assertProblem(reply, 404, 'not_found');
      answers.add(JSON.stringify(problem));
    }
    assert.equal(answers.size, 1, `${method} ${pathOf('')}: ${[...answers].join(' ')}`);
  }
});
