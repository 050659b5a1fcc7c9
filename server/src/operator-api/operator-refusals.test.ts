import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openStagingApp, type StagingApp } from '../../testing/setups/staging-app.ts';

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
type Reply = { status: number; body: Body; requestId: string };

let staging: StagingApp;
let account: string;
const keys: Record<string, string> = {};

before(async () => {
  staging = await openStagingApp();
  account = staging.account;
  for (const [name, role] of [
    ['ada', 'owner'],
    ['bob', 'approver'],
    ['vic', 'viewer'],
    ['cora', 'compliance'],
  ] as const) {
    keys[name] = await staging.createOperator(name, role);
  }
});
after(() => staging[Symbol.asyncDispose]());

type Call = { by: string; body?: unknown; headers?: Record<string, string> };

async function send(request: string, { by, body, headers = {} }: Call): Promise<Reply> {
  const [method = '', path = ''] = request.split(' ');
  const response = await fetch(`${staging.baseUrl}/v0.1.4/operator/${path}`, {
    method,
    headers: {
      authorization: `Bearer ${keys[by] ?? ''}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    body: body === undefined ? null : JSON.stringify(body),
  });
  return {
    status: response.status,
    body: (await response.json()) as Body,
    requestId: response.headers.get('x-request-id') ?? '',
  };
}

const call = (by: string, request: string, body?: unknown): Promise<Reply> =>
  send(request, { by, body });

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
});
