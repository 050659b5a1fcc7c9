import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import pg from 'pg';
import { type OperatorCalls, openOperatorCalls } from '../../testing/setups/operator-calls.ts';
import { changePolicy } from '../operators/policies.ts';

/** No list of operators ends without saying that there is more, and what follows can be read. */

type Row = Record<string, string>;
type List = { data: Row[]; next?: string | null; code?: string };

let operators: OperatorCalls<List>;
let account: string;
let client: pg.Client;

before(async () => {
  operators = await openOperatorCalls<List>();
  ({ account } = operators.staging);
  client = new pg.Client({ connectionString: operators.staging.databaseUrl });
  await client.connect();
  await client.query('set session_replication_role = replica');
});
after(async () => {
  await client.end();
  await operators[Symbol.asyncDispose]();
});

const read = async (path: string): Promise<List> => {
  const { status, body } = await operators.send(`GET ${path}`, { by: 'vic' });
  assert.equal(status, 200, `${path}: ${JSON.stringify(body)}`);
  return body;
};

/** Page by page, two rows each. */
async function readAll(path: string): Promise<Row[]> {
  const rows: Row[] = [];
  const start = `${path}${path.includes('?') ? '&' : '?'}limit=2`;
  for (let next: string | null = ''; next !== null; ) {
    const at = next === '' ? start : `${start}&cursor=${encodeURIComponent(next)}`;
    const page: List = await read(at);
    assert.ok(page.next !== undefined, `${path} does not say whether there is more`);
    assert.ok(page.next === null || page.data.length === 2, `${path}: ${JSON.stringify(page)}`);
    rows.push(...page.data);
    ({ next } = page);
  }
  return rows;
}

/** Five rows at two times: a page ends between rows of the same time. */
const fill = (into: string, values: string): Promise<unknown> =>
  client.query(
    `insert into ${into} select ${values}
     from (select n, timestamptz '2026-01-01 00:00:00.123456Z' + (n / 3) * interval '1 microsecond' as at
       from generate_series(1, 5) n) given`,
    values.includes('$1') ? [account] : [],
  );

const longer = '2999-01-01';

/** A list, what fills it, and what tells its rows apart. */
const lists: readonly (readonly [path: () => string, key: string, fill: () => Promise<unknown>])[] =
  [
    [
      () => 'accounts',
      'id',
      () => fill('accounts (id, name, created_at)', "gen_random_uuid(), 'Page ' || n, at"),
    ],
    [
      () => `accounts/${account}/bookings`,
      'reference',
      () =>
        fill(
          `balance_bookings (account_id, reference, kind, currency, amount, reason, booked_by,
          balance_after, booked_at, mac)`,
          `$1::uuid, 'wire & "' || n || '" of 1.5', 'fund', 'USD', 100, 'x', 'ada', 100, at,
          sha256('') || '\\x00000001'`,
        ),
    ],
    [
      () => 'freezes?all=true',
      'id',
      async () => {
        const columns =
          'freezes (id, scope, rail, reason, frozen_by, since, lifted_at, lifted_by, lift_reason)';
        await fill(
          columns,
          "gen_random_uuid(), 'rail', 'r' || n, 'x', 'ada', at, null, null, null",
        );
        await fill(columns, "gen_random_uuid(), 'rail', 'r' || n, 'x', 'ada', at, at, 'ada', 'x'");
      },
    ],
    [
      () => 'holds',
      'hold',
      () =>
        fill(
          'legal_holds (account_id, id, user_id, reason, placed_by, placed_at, until)',
          `$1::uuid, gen_random_uuid(), gen_random_uuid(), 'x', 'ada', at, '${longer}'`,
        ),
    ],
    [
      () => 'identities',
      'session_id',
      () =>
        fill(
          `verification_sessions (account_id, id, user_id, status, submission, expires_at, created_at,
          updated_at)`,
          `$1::uuid, gen_random_uuid(), gen_random_uuid(), 'Submitted', 1, '${longer}', at, at`,
        ),
    ],
    [
      () => 'approval-rules',
      'version',
      () =>
        fill(
          `approval_policies (account_id, version, content, has_rules, set_by, reason, set_at,
          replaced_at, mac)`,
          `'00000000-0000-0000-0000-000000000000'::uuid, n, '{"rules":[]}', false, 'ada', 'x', at,
          case when n < 5 then at end, sha256('') || '\\x00000001'`,
        ),
    ],
    [
      () => 'approvals',
      'approval',
      async () => {
        await changePolicy(operators.services, { action: 'funding', persons: 2, aboveUsd: 0n });
        for (const reference of ['a', 'b', 'c', 'd', 'e']) {
          const body = { currency: 'USD', amount: '5', reference, reason: 'Wire' };
          await operators.send(`POST accounts/${account}/fundings`, { by: 'ada', body });
        }
      },
    ],
  ];

describe('a list of operators', () => {
  for (const [path, key, fillList] of lists) {
    it(`can be read to its end: ${path().replace(/undefined/, '{account}')}`, async () => {
      await fillList();
      const whole = (await read(path())).data.map((row) => row[key]);
      assert.ok(whole.length >= 5, `${whole.length}`);
      assert.deepEqual(
        (await readAll(path())).map((row) => row[key]),
        whole,
      );
      assert.equal(new Set(whole).size, whole.length);
      const wrong = `${path()}${path().includes('?') ? '&' : '?'}cursor=nothing`;
      assert.equal((await operators.send(`GET ${wrong}`, { by: 'vic' })).status, 400);
    });
  }
});

describe('more than a thousand', () => {
  it('accounts are found by page, name and identifier, and the session says that there are more', async () => {
    await client.query(
      `insert into accounts (id, name, created_at)
       select gen_random_uuid(), 'Client ' || lpad(n::text, 4, '0'), now() from generate_series(1, 1100) n`,
    );
    const first = await read('accounts');
    assert.equal(first.data.length, 1000);
    const rest = await read(`accounts?cursor=${first.next}`);
    assert.ok(rest.data.length > 100 && rest.next === null);
    const [last] = rest.data.slice(-1);
    const named = await read(
      `accounts?name=${encodeURIComponent(last?.['name']?.toUpperCase() ?? '')}`,
    );
    assert.equal(named.data[0]?.['id'], last?.['id']);
    assert.equal((await read('accounts?name=lient')).data.length, 0);
    const chosen = await read(`accounts?accounts=${last?.['id']},${account}`);
    assert.deepEqual(
      chosen.data.map(({ id }) => id).toSorted(),
      [account, last?.['id']].toSorted(),
    );
    const { baseUrl } = operators.staging;
    const response = await fetch(`${baseUrl}/console/session`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'sec-fetch-site': 'same-origin' },
      body: JSON.stringify({ key: operators.keys['vic'] }),
    });
    const session = (await response.json()) as { accounts: Row[]; has_more_accounts: boolean };
    assert.deepEqual([session.accounts.length, session.has_more_accounts], [1000, true]);
  });

  it('frozen recipients hide neither that sending is stopped nor that a rail is frozen', async () => {
    const reason = 'Drill';
    await operators.send('POST sending/stop', { by: 'bob', body: { reason } });
    await operators.send('POST freezes/rail', { by: 'bob', body: { rail: 'sandbox', reason } });
    await client.query(
      `insert into freezes (id, scope, account_id, user_id, reason, frozen_by, since)
       select gen_random_uuid(), 'recipient', $1, gen_random_uuid(), 'x', 'ada', now() + interval '1 hour'
       from generate_series(1, 1001)`,
      [account],
    );
    const rails = (await read('rails')).data as unknown as { rail: string; is_frozen: boolean }[];
    assert.deepEqual(rails.find(({ rail }) => rail === 'sandbox')?.is_frozen, true);
    for (const path of ['sending', 'status']) {
      const shown = (await read(path)) as unknown as { freezes: Row[]; freezes_in_force: number };
      assert.ok(
        shown.freezes.some(({ scope }) => scope === 'sending'),
        path,
      );
      assert.ok(shown.freezes_in_force > 1001, path);
    }
    const resumed = await operators.send('POST sending/resume', { by: 'bob', body: { reason } });
    assert.equal(resumed.status, 200);
  });
});
