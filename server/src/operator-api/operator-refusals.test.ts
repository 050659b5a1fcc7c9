import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type OperatorCall,
  type OperatorCalls,
  openOperatorCalls,
} from '../../testing/setups/operator-calls.ts';
import { commands } from '../cli/commands.ts';
import { requestApproval } from '../operators/approvals.ts';
import { findGenuineOperator } from '../operators/operators.ts';
import { changePolicy } from '../operators/policies.ts';
import { listRoutes } from '../routes.ts';

/** What the operators' API refuses, and what the audit log says about it. */

type Row = Record<string, unknown>;
type Body = Row & {
  code: string;
  errors: { pointer?: string; parameter?: string }[];
  data: Row[];
  result: string;
  approval: string;
  outcome: Row;
};
let operators: OperatorCalls<Body>;
let account: string;

before(async () => {
  operators = await openOperatorCalls<Body>();
  ({ account } = operators.staging);
});
after(() => operators[Symbol.asyncDispose]());

const send = (request: string, given: OperatorCall) => operators.send(request, given);

const call = (by: string, request: string, body?: unknown) => send(request, { by, body });

const read = async (path: string): Promise<Body> => (await call('vic', `GET ${path}`)).body;

describe('a change', () => {
  it('has a second entry in the audit log too where it is refused before its effect', async () => {
    const refused = await call('ada', 'POST sending/resume', { reason: 'Nothing is stopped' });
    assert.equal(refused.status, 409);
    const { data } = await read('audit?action=sending');
    assert.deepEqual(
      data.slice(0, 2).map((row) => [row['outcome'], row['request_id'], row['after']]),
      [
        ['failed', refused.requestId, { error: 'illegal_move' }],
        ['requested', refused.requestId, null],
      ],
    );
  });

  it('has no dry run: the preference is refused, because ignoring it would do the act', async () => {
    const wire = { currency: 'USD', amount: '5', reference: 'dry', reason: 'Trial' };
    const path = `POST accounts/${account}/fundings`;
    const dry = await send(path, { by: 'ada', body: wire, headers: { prefer: 'dry-run' } });
    assert.deepEqual([dry.status, dry.body.code], [400, 'dry_run_unsupported']);
    const { data } = await read(`accounts/${account}/bookings`);
    assert.deepEqual(data, []);
  });

  it('names the field of an amount that the currency does not have', async () => {
    const path = `accounts/${account}/fundings`;
    const wire = { currency: 'USD', reference: 'amount', reason: 'Trial' };
    for (const amount of ['abc', '1e5', '-5', '0', '0.001', '9'.repeat(30)]) {
      const { status, body } = await call('ada', `POST ${path}`, { ...wire, amount });
      assert.deepEqual([status, body.errors[0]?.pointer], [400, '/amount'], amount);
    }
    const both = await call('ada', `POST ${path}`, { ...wire, amount: 'abc', reason: 'a\nb' });
    assert.deepEqual(
      both.body.errors.map(({ pointer }) => pointer),
      ['/amount', '/reason'],
    );
  });

  it('refuses values that the database cannot store', async () => {
    const bound = { per: 'account', reason: 'Contract' };
    for (const value of [{ usd: '9'.repeat(26) }, { usd: '5', hours: '8785' }]) {
      const limit = await call('ada', `PUT accounts/${account}/limits/far`, { ...bound, ...value });
      assert.equal(limit.status, 400, JSON.stringify(limit.body));
    }
    const year = await call('ada', 'GET reconciliation/sandbox?from=0000-01-01');
    assert.deepEqual([year.status, year.body.errors[0]?.parameter], [400, 'from']);
    const closing = { currency: 'USD', from: '0000-01-01', to: '2026-01-31', reason: 'Close' };
    const closed = await call('ada', 'POST reconciliation/sandbox/closing', closing);
    assert.deepEqual([closed.status, closed.body.errors[0]?.pointer], [400, '/from']);
  });

  it('has a reason that can be read', async () => {
    const hidden = '\u202e\u2066';
    const user = 'usr_00000000-0000-7000-8000-000000000000';
    const content = Buffer.from('booking_date,amount,currency\n').toString('base64');
    for (const [path, body] of [
      [`identities/${user}/images`, {}],
      ['reconciliation/sandbox/statements', { content }],
      [`approvals/${crypto.randomUUID()}/approve`, {}],
      ['accounts', { name: 'Hidden' }],
    ] as const) {
      const refused = await call('ada', `POST ${path}`, { ...body, reason: hidden });
      assert.deepEqual([refused.status, refused.body.errors[0]?.pointer], [400, '/reason'], path);
    }
  });

  it('of any kind is approved by its id, and withdrawn by its requester', async () => {
    await changePolicy(operators.services, { action: 'credential', persons: 2, aboveUsd: 0n });
    const shop = { name: 'Two persons', reason: 'Client' };
    const asked = await call('ada', 'POST accounts', shop);
    const approve = `POST approvals/${asked.body.approval}/approve`;
    const viewer = await call('vic', approve, { reason: 'Me' });
    assert.equal(viewer.body.code, 'role_not_permitted');
    const done = await call('bob', approve, { reason: 'Seen' });
    assert.deepEqual([done.status, done.body.result], [200, 'done']);
    const unknown = `POST accounts/${account}/credentials/${crypto.randomUUID()}`;
    for (const act of ['rotation', 'revoke', 'budget']) {
      const refused = await call('ada', `${unknown}/${act}`, { reason: 'None' });
      assert.equal(refused.status, 404, act);
    }
    await changePolicy(operators.services, { action: 'credential', persons: 1, aboveUsd: 0n });

    await changePolicy(operators.services, { action: 'erasure', persons: 2, aboveUsd: 0n });
    const user = await createRecipient('stays');
    const erasure = await call('cora', `POST recipients/${user}/erasure`, { reason: 'Letter' });
    const withdraw = `POST approvals/${erasure.body.approval}/withdraw`;
    const other = await call('vic', withdraw, { reason: 'Not mine' });
    assert.deepEqual([other.status, other.body.code], [403, 'role_not_permitted']);
    assert.equal((await call('cora', withdraw, { reason: 'A mistake' })).status, 200);
    await changePolicy(operators.services, { action: 'erasure', persons: 1, aboveUsd: 0n });
  });

  it('describes the conflict with a request that was approved just now', () => {
    const routes = listRoutes();
    for (const { name, asksSecond } of commands) {
      if (asksSecond !== true) continue;
      const route = routes.find(({ description = '' }) =>
        description.includes(`outlay admin ${name}\``),
      );
      assert.ok(route?.refusals?.includes(409), name);
    }
  });
});

describe('a request with a file of another machine', () => {
  it('is approved by the same command only', async () => {
    const { services } = operators;
    const ada = (await findGenuineOperator(services, 'ada')) ?? assert.fail('ada is an operator');
    const parameters = { account, logo: '/etc/hostname' };
    const asked = { action: 'account set', parameters, reason: 'New' };
    const { id } = await requestApproval(services, ada, asked);
    const refused = await call('bob', `POST approvals/${id}/approve`, { reason: 'Seen' });
    assert.deepEqual([refused.status, refused.body.code], [409, 'illegal_move']);
    assert.match(String(refused.body['detail']), /outlay admin account set/);
  });
});

async function createRecipient(id: string): Promise<string> {
  const response = await fetch(`${operators.staging.baseUrl}/v0.1.4/user`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${operators.staging.apiKey ?? ''}`,
      'content-type': 'application/json',
    },
    body: JSON.stringify({
      internal_user_id: id,
      country: 'MEX',
      first_name: 'Iris',
      last_name: 'Campos',
      email: `${id}@example.org`,
    }),
  });
  return ((await response.json()) as { user_token: string }).user_token;
}

describe('a recipient whose data was erased', () => {
  it('is answered as the description of the operation says', async () => {
    const user = await createRecipient('leaves');
    const reason = 'Letter';
    await changePolicy(operators.services, { action: 'screening', persons: 1, aboveUsd: 0n });
    assert.equal((await call('cora', `POST recipients/${user}/erasure`, { reason })).status, 200);
    const routes = listRoutes();
    for (const [method, path, body] of [
      ['GET', 'identities/{user}', undefined],
      ['POST', 'recipients/{user}/holds', { until: '2099-01-01', reason }],
      ['POST', 'clearances', { user, result: '1', until: '2099-01-01', reason }],
    ] as const) {
      const refused = await call('cora', `${method} ${path.replace('{user}', user)}`, body);
      assert.deepEqual([refused.status, refused.body.code], [410, 'user_erased'], path);
      const route = routes.find((one) => one.method === method && one.path === `/operator/${path}`);
      assert.ok(route?.refusals?.includes(410), path);
    }
  });
});

describe('a budget', () => {
  it('is refused where it would change nothing, or says two things', async () => {
    const path = `accounts/${account}/credentials`;
    const reason = 'Assistant';
    const made = { kind: 'api_key', scopes: 'payouts:propose', reason };
    const { outcome } = (await call('ada', `POST ${path}`, made)).body;
    const [logged] = (await read('audit?action=credential')).data;
    assert.deepEqual(logged?.['after'], {
      credential_id: outcome['credential_id'],
      scopes: ['payouts:propose'],
    });
    for (const [fields, pointer] of [
      [{ currency: 'USD' }, ''],
      [{ remove: true }, ''],
      [{ currency: 'USD', remove: true, open: '3' }, ''],
      [{ currency: 'USD', per_day: '0.001' }, '/per_day'],
      [{ currency: 'USD', per_day: '-5', per_proposal: 'x' }, '/per_proposal'],
    ] as const) {
      const budget = `POST ${path}/${String(outcome['credential_id'])}/budget`;
      const { status, body } = await call('ada', budget, { ...fields, reason });
      assert.deepEqual([status, body.errors[0]?.pointer], [400, pointer], JSON.stringify(fields));
    }
  });
});
