import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type ExecutedPlans, watchPlans } from '../../testing/setups/executed-plans.ts';
import { fillRecords } from '../../testing/setups/many-records.ts';
import { openStagingApp, type StagingApp } from '../../testing/setups/staging-app.ts';
import type { App } from '../app.ts';
import { findTokenId } from '../core/ids.ts';
import { listRoutes } from '../routes.ts';
import { insertUsers } from '../users/users.sql.ts';
import { prepareUser } from '../users/users.ts';

/**
 * Every list and chart of the console beside thousands of rows of each kind, by the plans that the
 * service really used: what one look reads does not grow with what there is.
 */

const copies = 6_000;
/** A page has at most a thousand rows. Exceptions are counted, up to ten thousand. */
const rowsMax = 2_500;
const exceptionsMax = 12_000;
/** More than a look may read, all of one country and active: a planner that trusts that walks them all. */
const usersCount = 3_000;

let staging: StagingApp;
let plans: ExecutedPlans;
let app: App;
let baseUrl: string;
let key: string;
let account: string;

before(async () => {
  staging = await openStagingApp({
    prepare: async (databaseUrl) => {
      plans = await watchPlans(databaseUrl);
    },
  });
  ({ app, baseUrl, account } = staging);
  key = await staging.createOperator('ada', 'owner');
});
after(async () => {
  await plans[Symbol.asyncDispose]();
  await staging[Symbol.asyncDispose]();
});

/** Returns what the paths of requests name. */
async function fill(): Promise<Record<string, string>> {
  const env = app.environments.staging ?? assert.fail('staging is open');
  const users = Array.from({ length: usersCount }, (_, index) => {
    const id = crypto.randomUUID();
    const person = { country: 'MEX', first_name: 'Ana', last_name: `Copy ${index}` };
    return prepareUser(
      { keys: env.keys, accountId: account },
      { ...person, internal_user_id: id, email: `${id}@example.org`, metadata: undefined },
    ).stored;
  });
  for (let at = 0; at < users.length; at += 500) {
    await insertUsers(env.db.system, users.slice(at, at + 500), true);
  }
  const payout = await payOnce();
  await fillRecords(staging.databaseUrl, {
    accountId: account,
    payoutId: findTokenId('payout', payout.payout_token) ?? '',
    count: copies,
  });
  const first = async (path: string, name: string) => {
    const answer = await ask<Named[]>(`GET ${path}`);
    return answer[0]?.[name] ?? assert.fail(`${path} is empty`);
  };
  return {
    account,
    ...payout,
    batch_token: await first('/batches', 'batch_token'),
    webhook_token: await first('/webhooks', 'webhook_token'),
    balance_token: await first('/account/balance', 'token'),
  };
}

/** Commits one to a new recipient. */
async function payOnce() {
  const { user_token = '' } = await ask<Named>('POST /user', {
    internal_user_id: 'first',
    country: 'MEX',
    first_name: 'Ana',
    last_name: 'First',
    email: 'first@example.org',
  });
  const { companies } = await ask<Lookup>('GET /country/MEX/cheapest');
  const payer = companies
    .flatMap(({ services }) => services)
    .find((service) => service.delivery_type === 'BANK_DEPOSIT')?.payers[0];
  const destination_token = payer?.destination_token ?? assert.fail('there is a bank');
  const attributes = `/attribute/${user_token}/${destination_token}/MXN`;
  const [{ token = '' } = {}] = await ask<Named[]>(`GET ${attributes}`);
  const values = [{ token, value: '032180000118359719' }];
  const { attr_set_token } = await ask<Named>(`POST ${attributes}`, { values });
  const { payout_token = '' } = await ask<Named>(`POST /payout/${user_token}`, {
    destination_token,
    attr_set_token,
    destination_currency_code: 'MXN',
    source_amount: 100,
  });
  await ask(`PUT /payout/${user_token}/${payout_token}`);
  return { user_token, payout_token };
}

type Named = Record<string, string>;
type Service = { delivery_type: string; payers: { destination_token: string }[] };
type Lookup = { companies: { services: Service[] }[] };

async function ask<Answer>(request: string, body?: object): Promise<Answer> {
  return JSON.parse((await send(request, body)).text) as Answer;
}

/** With the path of the next page, where there is one. */
async function send(request: string, body?: object, status = 200) {
  const [method = '', path = ''] = request.split(' ');
  const response = await fetch(`${baseUrl}/v0.1.4${path}`, {
    method,
    headers: {
      authorization: `Bearer ${key}`,
      'outlay-account': account,
      ...(body !== undefined && { 'content-type': 'application/json' }),
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  const text = await response.text();
  assert.equal(response.status, status, `${request}: ${text}`);
  const link = /<[^>]+\/v0\.1\.4([^>]+)>; rel="next"/.exec(response.headers.get('link') ?? '')?.[1];
  const cursor = /^\{.*"next":"([^"]+)"/s.exec(text)?.[1];
  const parameter = path.startsWith('/operator/audit') ? 'before' : 'cursor';
  const further = `${path}${path.includes('?') ? '&' : '?'}${parameter}=${cursor ?? ''}`;
  return { text, next: link ?? (cursor === undefined ? undefined : further) };
}

/** Not lists: streams and answers of a required value; documents; and the report, which adds up a month. */
const leftOut = new Set([
  '/events/stream',
  '/identity/pending',
  '/user/lookup',
  '/console/session',
  '/operator/screenings',
  '/operator/tariffs',
  '/operator/reports/month',
]);

/** By filters, and of one object. */
const further = [
  '/operator/overview?days=366',
  '/operator/overview?days=30&account={account}',
  '/operator/tariffs?country=MEX',
  '/operator/exceptions?closed=true',
  '/operator/exceptions?all=true',
  '/operator/exceptions?kind=unmatched',
  '/operator/exceptions?kind=approval&closed=true',
  '/operator/exceptions?rail=rail_1&closed=true',
  '/operator/exceptions?account={account}&closed=true',
  '/operator/exceptions?payout={payout_token}&all=true',
  '/operator/audit?name=nobody',
  '/operator/audit?action=nothing',
  '/operator/audit?from=2026-01-01&to=2026-01-02',
  '/operator/identities?account={account}',
  '/operator/identities/{user_token}',
  '/operator/screenings?user={user_token}',
  '/operator/clearances?all=true',
  '/operator/freezes?all=true',
  '/operator/holds?all=true',
  '/operator/holds?user={user_token}',
  '/operator/reconciliation/sandbox',
  '/operator/accounts/{account}/bookings',
  '/operator/accounts/{account}/credentials',
  '/operator/accounts/{account}/limits',
  '/operator/approval-rules?account={account}',
  '/operator/payouts?account={account}',
  '/operator/payouts/{payout_token}/explanation',
  '/payout?status=COMPLETED',
  '/payout?status=CANCELLED',
  '/payout?status=HOLD',
  '/payout?country=BRA',
  '/payout?delivery_type=CASH_PICKUP',
  '/payout?client_transfer_id=unknown',
  '/payout?metadata[order]=unknown',
  '/payout?user_token={user_token}',
  '/payout?from=2026-01-01&to=2026-01-02',
  '/payout/{user_token}/{payout_token}',
  '/payout/{user_token}/{payout_token}/decision',
  '/user?from=2026-01-01&to=2026-01-02',
  '/user?country=BRA',
  '/user?status=LOCKED',
  '/user?name=nobody',
  '/user?email=nobody@example.org',
  '/user?user_tokens={user_token}',
  '/user/{user_token}',
  '/user/{user_token}/history',
  '/user/{user_token}/kyc/id',
  '/events?type=payout.hold',
  '/events?object={payout_token}',
  '/batches?status=COMMITTED',
  '/batches?from=2026-01-01&to=2026-01-02',
  '/batches/{batch_token}/rows',
  '/batches/{batch_token}/rows?status=COMMITTED',
  '/webhooks/{webhook_token}/deliveries',
  '/webhooks/{webhook_token}/deliveries?result=failed',
  '/account/balance/{balance_token}/entries',
];

function listRequests(): string[] {
  const all = listRoutes()
    .filter((route) => route.method === 'GET' && route.access !== 'public' && route.isVersioned)
    .map(({ path }) => path)
    .filter((path) => !path.includes('{') && !leftOut.has(path));
  return [...new Set([...all, ...further])];
}

/** Copies of sealed rows cannot be opened, so that these fail once they have read this relation. */
const sealed: Readonly<Record<string, string>> = {
  '/proposal': 'proposals',
  '/operator/identities/{user_token}': 'verification_decisions',
  '/operator/clearances': 'screening_clearances',
  '/operator/clearances?all=true': 'screening_clearances',
};

test('a look at a list or chart of the console reads its page, however much there is', async () => {
  const known = await fill();
  await plans.takeReads();
  const excess: string[] = [];
  for (const request of listRequests()) {
    const path = request.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => known[name] ?? '?');
    const { next } = await send(`GET ${path}`, undefined, request in sealed ? 500 : 200);
    const first = await plans.takeReads();
    const opened = sealed[request] ?? '';
    assert.ok(
      first.some(({ relation }) => relation.startsWith(opened)),
      path,
    );
    if (next !== undefined) await send(`GET ${next}`);
    for (const { statement, relation, rows } of [...first, ...(await plans.takeReads())]) {
      const most = relation.startsWith('exceptions') ? exceptionsMax : rowsMax;
      if (rows <= most || relation.startsWith('pg_')) continue;
      excess.push(`${request} reads ${rows} rows of ${relation}: ${statement}`);
    }
  }
  assert.deepEqual(excess, []);
});
