import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { type OperatorCalls, openOperatorCalls } from '../../testing/setups/operator-calls.ts';
import { findAccount } from '../accounts/accounts.ts';
import { commands } from '../cli/commands.ts';
import { changePolicy } from '../operators/policies.ts';
import { listRoutes } from '../routes.ts';

/** Operators over HTTP: the same roles, two people and audit log as on the command line. */

type Row = Record<string, string>;
type Body = {
  code: string;
  detail: string;
  errors: { pointer?: string; parameter?: string; code: string }[];
  data: Row[];
  result: string;
  approval: string;
  outcome: Row;
  [name: string]: unknown;
};
let operators: OperatorCalls<Body>;
let account: string;

before(async () => {
  operators = await openOperatorCalls<Body>();
  ({ account } = operators.staging);
});
after(() => operators[Symbol.asyncDispose]());

const call = (by: string, request: string, body?: unknown) => operators.send(request, { by, body });

const read = async (path: string, name = 'vic'): Promise<Body> => {
  const { status, body } = await call(name, `GET ${path}`);
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
  return body;
};

describe('every list and number', () => {
  it('is read by a viewer', async () => {
    for (const route of listRoutes()) {
      if (route.access !== 'operator' || route.method !== 'GET') continue;
      if (/\{(?:user|payout)\}/.test(route.path)) continue;
      const path = route.path
        .replace('/operator/', '')
        .replace('{account}', account)
        .replace('{rail}', 'sandbox');
      const query = { 'reports/month': '?month=2026-11', tariffs: '?country=MEX' }[path] ?? '';
      if (path !== 'screenings') await read(path + query);
    }
  });

  it('shows money by account, and rails with their health', async () => {
    const { balances, needs } = (await read('overview?days=7')) as unknown as {
      balances: Row[];
      needs: Row;
    };
    const usd = balances.find((row) => row['currency'] === 'USD');
    assert.deepEqual(
      [usd?.['account_id'], usd?.['available'], usd?.['in_transit']],
      [account, '1000000', '0'],
    );
    assert.deepEqual(needs, { exceptions: 0, approvals: 0, identities: 0, freezes: 0 });
    const [rail] = (await read('rails')).data;
    // The process serves requests only: it makes no calls by which it could know.
    assert.deepEqual([rail?.['rail'], rail?.['health']], ['sandbox', null]);
  });
});

describe('prices', () => {
  it('are the rates in force with their source, and the tariffs of a country', async () => {
    const rates = (await read('rates')).data;
    const peso = rates.find((row) => row['base'] === 'USD' && row['quote'] === 'MXN');
    assert.match(peso?.['rate'] ?? '', /^\d+(?:\.\d+)?$/);
    assert.deepEqual([peso?.['expires_at'], peso?.['is_usable']], [null, true]);
    const { data } = await read('tariffs?country=MEX&delivery_type=CASH_PICKUP');
    assert.ok(data.length > 0);
    const {
      rail,
      country,
      delivery_type: type,
      tariffs,
    } = data[0] as unknown as Row & {
      tariffs: { fee: Row[]; margin_basis_points: number }[];
    };
    assert.deepEqual([rail, country, type], ['sandbox', 'MEX', 'CASH_PICKUP']);
    assert.equal(tariffs[0]?.fee.at(-1)?.['up_to'], null);
    assert.equal((await call('vic', 'GET tariffs')).body.errors[0]?.parameter, 'country');
  });
});

describe('a credential', () => {
  it('gets a budget, which the list shows, and a new secret once', async () => {
    const path = `accounts/${account}/credentials`;
    const reason = 'Assistant';
    const made = { kind: 'api_key', scopes: 'payouts:propose payouts:read', reason };
    const { outcome } = (await call('ada', `POST ${path}`, made)).body;
    const id = outcome['credential_id'] ?? '';
    const budget = { currency: 'USD', per_proposal: '250.00', open: '3', reason };
    const set = await call('ada', `POST ${path}/${id}/budget`, budget);
    assert.deepEqual(set.body.outcome, {
      data: [{ currency: 'USD', per_proposal: '250', per_day: null, open_max: 3 }],
    });
    const rotated = await call('ada', `POST ${path}/${id}/rotation`, { overlap: '2h', reason });
    assert.match(rotated.body.outcome['api_key'] ?? '', /^test_/);
    const listed = (await read(path)).data as unknown as (Row & { budgets: Row[] })[];
    const old = listed.find((row) => row['id'] === id);
    assert.equal(old?.['replaced_by'], rotated.body.outcome['credential_id']);
    assert.equal(old?.budgets[0]?.['per_proposal'], '250');
    const refused = await call('vic', `POST ${path}/${id}/rotation`, { reason });
    assert.equal(refused.body.code, 'role_not_permitted');
  });
});

describe('files and messages', () => {
  it('a statement of the bank is refused whole, and the audit log has its hash alone', async () => {
    const path = 'POST reconciliation/sandbox/statements';
    const content = Buffer.from('booking_date,amount,currency\n2026-11-20,1,USD').toString(
      'base64',
    );
    const early = await call('ada', path, { content, reason: 'Daily' });
    assert.deepEqual([early.status, early.body.code], [404, 'not_found']);
    const text = await call('ada', path, { content: 'not base64', reason: 'Daily' });
    assert.equal(text.body.errors[0]?.pointer, '/content');
    const [entry] = (await read('audit?action=reconciliation')).data;
    assert.deepEqual(Object.keys(entry?.['object'] ?? {}), ['rail', 'sha256']);
  });

  it('an inbound message is shown to compliance alone', async () => {
    const path = 'POST rails/sandbox/message';
    const wanted = { id: 'none', reason: 'Inquiry 3' };
    assert.equal((await call('bob', path, wanted)).body.code, 'role_not_permitted');
    assert.equal((await call('cora', path, wanted)).status, 404);
  });
});

describe('a back-test', () => {
  it('compares both sides for a viewer, and names what the changes get wrong', async () => {
    const backtest = (changes: object) => call('vic', 'POST routing/backtest', { changes });
    const payers = [{ rail: 'sandbox', countryCode: 'MEX', maxLimit: '2500' }];
    const { status, body } = await backtest({ payers });
    assert.deepEqual([status, body.result, body.outcome['next']], [200, 'done', null]);
    for (const faulty of [{ payers: [{ rail: 'bank' }] }, { rails: [{}], payers }]) {
      const refused = await backtest(faulty);
      assert.equal(refused.status, 400);
      assert.deepEqual(
        refused.body.errors.map(({ pointer, code }) => [pointer, code]),
        [['/changes', 'invalid_value']],
      );
    }
  });
});

describe('a change', () => {
  it('needs the role, and is refused with every fault at once', async () => {
    const refused = await call('vic', 'POST sending/stop', { reason: 'Trial' });
    assert.deepEqual([refused.status, refused.body.code], [403, 'role_not_permitted']);
    const faulty = await call('ada', `POST accounts/${account}/fundings`, { currency: 'XX1' });
    assert.equal(faulty.status, 400);
    assert.deepEqual(
      faulty.body.errors.map(({ pointer, code }) => [pointer, code]),
      [
        ['/currency', 'invalid_value'],
        ['/amount', 'required'],
        ['/reference', 'required'],
        ['/reason', 'required'],
      ],
    );
    const either = await call('ada', 'GET exceptions?all=true&closed=true');
    assert.match(either.body.detail, /^all and closed exclude each other/);
    const missing = { currency: 'USD', amount: '1', reference: 'r', reason: 'Why' };
    const unknown = await call('ada', `POST accounts/${crypto.randomUUID()}/fundings`, missing);
    assert.deepEqual([unknown.status, unknown.body.code], [404, 'not_found']);
    const nowhere = await call('cora', 'POST sending/resume', { reason: 'Why' });
    assert.equal(nowhere.status, 403);
    const calm = await call('ada', 'POST sending/resume', { reason: 'Why' });
    assert.deepEqual([calm.status, calm.body.code], [409, 'illegal_move']);
  });

  it('has its entries in the audit log, with key, address, reason and request', async () => {
    const stopped = await call('bob', 'POST sending/stop', { reason: 'Drill 3' });
    assert.deepEqual([stopped.status, stopped.body.result], [200, 'done']);
    assert.equal((stopped.body.outcome as { result?: string }).result, 'stopped');
    const { data } = await read('audit?action=sending');
    assert.deepEqual(
      data.slice(0, 2).map((row) => [row['outcome'], row['actor'], row['reason'], row['address']]),
      [
        ['done', 'bob', 'Drill 3', '127.0.0.1'],
        ['requested', 'bob', 'Drill 3', '127.0.0.1'],
      ],
    );
    assert.equal(data[0]?.['request_id'], stopped.requestId);
    const bob = (await read('operators')).data.find((row) => row['name'] === 'bob');
    assert.match(String(bob?.['key']), /^key_[0-9a-f]{12}$/);
    assert.equal(data[0]?.['credential'], bob?.['key']);
    assert.equal((await call('bob', 'POST sending/resume', { reason: 'Over' })).status, 200);
  });

  it('waits for a second operator, who approves it by its id', async () => {
    const policy = { action: 'funding', persons: 2, aboveUsd: 100n } as const;
    await changePolicy(operators.services, policy);
    const path = `POST accounts/${account}/fundings`;
    const wire = { currency: 'USD', amount: '100.01', reference: 'wire 1', reason: 'Wire' };
    const asked = await call('ada', path, wire);
    assert.deepEqual([asked.body.result, asked.body.outcome], ['waiting', null]);
    const [waiting] = (await read('approvals')).data;
    assert.equal(waiting?.['approval'], asked.body.approval);
    const approve = `POST approvals/${asked.body.approval}/approve`;
    const own = await call('ada', approve, { reason: 'Mine' });
    assert.equal(own.body.result, 'waiting');
    const viewer = await call('vic', approve, { reason: 'Me' });
    assert.equal(viewer.body.code, 'role_not_permitted');
    const done = await call('bob', approve, { reason: 'Seen the statement' });
    assert.deepEqual([done.body.result, done.body.outcome?.['balance']], ['done', '1000100.01']);
    const again = await call('bob', approve, { reason: 'Again' });
    assert.equal(again.status, 404);
    // A repeated booking moves nothing and needs no approval.
    const repeated = await call('ada', path, wire);
    assert.equal(repeated.body.outcome?.['balance'], '1000100.01');
  });

  it('turns settings on and off by booleans', async () => {
    for (const isAccepted of [true, false]) {
      const changed = await call('ada', `PATCH accounts/${account}`, {
        accept_both_tokens: isAccepted,
      });
      assert.deepEqual([changed.status, changed.body.result], [200, 'done']);
      const settings = await findAccount(operators.services.session, account);
      assert.equal(settings?.accept_both_tokens, isAccepted);
    }
    const text = await call('ada', `PATCH accounts/${account}`, { accept_both_tokens: 'yes' });
    assert.deepEqual([text.status, text.body.code], [400, 'invalid_type']);
  });

  it('is a link that leads to the service, also where the service chose its port', async () => {
    const { body } = await call('ada', 'POST operators/vic/invite', { reason: 'Hired' });
    const { link } = body.outcome as { link: string };
    assert.ok(link.startsWith(`${operators.staging.baseUrl}/console#link=`), link);
  });

  it('takes no credential of a client, and no account', async () => {
    const { apiKey: key } = operators.staging;
    operators.keys['client'] = key ?? '';
    const refused = await call('client', 'GET operators');
    assert.deepEqual([refused.status, refused.body.code], [403, 'insufficient_scope']);
  });
});

describe('a command', () => {
  /** They work on files, secrets or whole tables, or have no operation yet (docs/guides/operators.md). */
  const withoutOperation = [
    'cell describe',
    'ledger export',
    'ledger checkpoint',
    'rates import',
    'link details',
    'link verification',
    'link status',
    'link list',
    'link revoke',
    'key list',
    'key rotate',
    'key remove-old',
    'environment-key list',
    'environment-key rotate',
    'environment-key rotate-index',
    'environment-key destroy-old',
    'report journal',
    'receipt key',
    'rail check',
    'secret seal',
    'screening import',
    'identity export',
    'identity read',
  ];

  it('has an operation, or stays on the command line', () => {
    const offered = new Set(
      listRoutes().flatMap(
        ({ description }) => /outlay admin ([a-z -]+)`/.exec(description ?? '')?.[1] ?? [],
      ),
    );
    const missing = commands
      .filter(({ perform, name }) => perform !== undefined && !offered.has(name))
      .map(({ name }) => name);
    assert.deepEqual(missing, withoutOperation);
  });
});
