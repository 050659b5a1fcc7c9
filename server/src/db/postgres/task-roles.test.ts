import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../../testing/setups/money.ts';
import { createGroupCommit } from '../../payouts/group-commit.ts';
import { openMonths } from '../partitions.ts';
import { connectDatabase, type Database, findSqlState } from './pool.ts';
import { ensureTenantRole, type Task, TenantRoleError } from './tenant-role.ts';

/** Logins of processes with one task: what each may do, compared with what the code of it does. */

let money: MoneyTest;
const logins: string[] = [];
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  for (const login of logins) {
    await money.rows(`drop owned by ${login}`);
    await money.rows(`drop role ${login}`);
  }
  await money[Symbol.asyncDispose]();
});

async function createLogin(...memberships: string[]): Promise<string> {
  const login = `login_${randomBytes(6).toString('hex')}`;
  logins.push(login);
  await money.rows(`create role ${login} login password 'secret'`);
  await money.rows(`grant ${memberships.join(', ')} to ${login}`);
  const url = new URL(money.url);
  url.username = login;
  url.password = 'secret';
  return url.href;
}

async function openAs(task: Task, ...memberships: string[]) {
  const url = await createLogin(...memberships);
  const serviceRole = await ensureTenantRole({ url, task });
  return { serviceRole, db: connectDatabase({ url, connectionsMax: 3, serviceRole }) };
}

async function assertRefused(db: Database, statements: Readonly<Record<string, string>>) {
  for (const [what, text] of Object.entries(statements)) {
    await assert.rejects(
      db.system.query({ name: '', text }),
      (error) => findSqlState(error) === '42501',
      what,
    );
  }
}

const funding = `select fund_balance(gen_random_uuid(), 'USD', 1, gen_random_uuid(), gen_random_uuid())`;

describe('the login of a process that serves', () => {
  it('quotes and commits', async () => {
    const { serviceRole, db } = await openAs('serve', 'outlay_api', 'outlay_tenant');
    assert.equal(serviceRole, 'outlay_api');
    await openMonths(db.system);
    await db.checkReady();
    const owner = await money.createOwner({ USD: 1_000_000n });
    const payout = await money.quote(owner);
    const group = createGroupCommit(db, money.keys);
    await group.submit({ ...owner, payoutId: payout.id, requestKey: undefined });
    const [row] = await money.rows<{ status: string }>(
      'select status from payouts where account_id = $1',
      [owner.accountId],
    );
    assert.equal(row?.status, 'PROCESSING');
    await db.close();
  });

  it('makes no pass, sends nothing, and drops no month', async () => {
    const { db } = await openAs('serve', 'outlay_api', 'outlay_tenant');
    await assertRefused(db, {
      'a pass': 'insert into rail_passes default values',
      'a notice changed': 'update notices set tries = 0',
      'a delivery invented': 'insert into webhook_deliveries default values',
      'a month dropped': `select drop_month('events_2020_01')`,
      'an audit entry changed': `update audit_entries set actor = 'eve'`,
    });
    await db.close();
  });
});

describe('the login of a process that works', () => {
  it('creates no credentials, makes no decisions and funds no balance', async () => {
    const { serviceRole, db } = await openAs('work', 'outlay_worker', 'outlay_tenant');
    assert.equal(serviceRole, 'outlay_worker');
    await db.checkReady();
    await assertRefused(db, {
      'a credential': 'insert into credentials default values',
      'a revocation lifted': 'update credentials set revoked_at = null',
      'a token': 'insert into access_tokens default values',
      'an operator': 'insert into operators default values',
      'a vote': 'insert into approvals default values',
      'a limit': 'delete from account_limits',
      'a stop lifted': 'delete from freezes',
      'a clearance': 'insert into screening_clearances default values',
      'a funding': funding,
      'a decision': 'insert into payout_decisions default values',
    });
    await db.close();
  });
});

it('a reading login writes nothing', async () => {
  const url = await createLogin('outlay_reader');
  const reader = connectDatabase({ url, connectionsMax: 1, serviceRole: 'outlay_reader' });
  const tables = await money.rows<{ name: string }>(`
    select c.relname as name from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and has_any_column_privilege('outlay_reader', c.oid, 'insert, update, references')
      or c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and has_table_privilege('outlay_reader', c.oid, 'delete, truncate, trigger')`);
  assert.deepEqual(tables, []);
  const { rows } = await reader.system.query({ name: '', text: 'select count(*) from payouts' });
  assert.equal(rows.length, 1);
  await assertRefused(reader, { 'a funding': funding, 'a write': 'delete from accounts' });
  await reader.close();
});

describe('the role of a process', () => {
  it('is the wide one where the login has only that', async () => {
    for (const task of ['serve', 'work', 'all'] as const) {
      const { serviceRole, db } = await openAs(task, 'outlay_service', 'outlay_tenant');
      assert.equal(serviceRole, 'outlay_service');
      await db.close();
    }
  });

  it('is missing where a login of one task starts for another one', async () => {
    const url = await createLogin('outlay_worker', 'outlay_tenant');
    for (const task of ['serve', 'all'] as const) {
      await assert.rejects(ensureTenantRole({ url, task }), TenantRoleError);
    }
  });
});

/**
 * Where the code uses what a role lacks. Each file is one of the other task's; a new one must be that too,
 * or the grant must be given (`restrict_tasks`).
 */
const users: Readonly<Record<string, readonly string[]>> = {
  // Loops only: `environment/background.ts`.
  outlay_api: [
    'accounts/expiry-warnings.ts',
    // Rotations of keys are commands.
    'attributes/fingerprint-renewal.sql.ts',
    'db/environment-key-rows.ts',
    'db/partitions.ts',
    'notices/notices.sql.ts',
    'proposals/proposals.sql.ts',
    'rails/host/rail-memory.sql.ts',
    'rules/recipient-rescreening.sql.ts',
    'rules/subject-renewal.sql.ts',
    'webhooks/deliveries.sql.ts',
  ],
  // Routes, the console and commands only.
  outlay_worker: [
    'accounts/accounts.sql.ts',
    'accounts/authentication.sql.ts',
    'accounts/rotation.ts',
    'approvals/approval-policies.sql.ts',
    'attributes/fingerprint-renewal.sql.ts',
    'controls/freezes.sql.ts',
    'db/environment-key-rows.ts',
    'dispatch/recovery.sql.ts',
    'erasure/erasure.sql.ts',
    'exceptions/decisions.sql.ts',
    'ledger/bookings.sql.ts',
    'ledger/ledger.sql.ts',
    'operators/approvals.sql.ts',
    'operators/logins.sql.ts',
    'operators/operators.sql.ts',
    'operators/sessions.sql.ts',
    'proposals/proposals.sql.ts',
    'rules/account-limits.ts',
    'rules/subject-renewal.sql.ts',
    'screening/clearances.sql.ts',
    'travel-rule/sender.ts',
    'webhooks/webhooks.sql.ts',
  ],
};

for (const [role, files] of Object.entries(users)) {
  it(`${role} lacks nothing but what files of the other task use`, async () => {
    const lacking = await listLacking(role);
    assert.ok(lacking.length > 5);
    const functions = await listCallers(lacking);
    const patterns = [
      ...lacking.filter(({ kind }) => kind === 'table').map(describeWrite),
      ...functions.map((name) => `\\b${name}\\(`),
    ];
    const pattern = new RegExp(patterns.join('|'));
    const root = join(import.meta.dirname, '../..');
    const found: string[] = [];
    for (const name of await readdir(root, { recursive: true })) {
      if (!name.endsWith('.ts') || name.endsWith('.test.ts')) continue;
      if (pattern.test(await readFile(join(root, name), 'utf8'))) found.push(name);
    }
    assert.deepEqual(found.toSorted(), files);
  });
}

type Lacking = { kind: 'table' | 'function'; name: string; privilege: string };

/** What outlay_service may do and the role may not. */
function listLacking(role: string): Promise<Lacking[]> {
  return money.rows<Lacking>(
    `select 'table' as kind, c.relname::text as name, p.privilege
     from pg_class c cross join unnest(array['insert', 'update', 'delete']) p (privilege)
     where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
       and has_table_privilege('outlay_service', c.oid, p.privilege)
       and not has_table_privilege($1, c.oid, p.privilege)
     union all
     select 'function', f.proname::text, 'execute' from pg_proc f
     where f.pronamespace = 'public'::regnamespace
       and has_function_privilege('outlay_service', f.oid, 'execute')
       and not has_function_privilege($1, f.oid, 'execute')`,
    [role],
  );
}

const verbs: Readonly<Record<string, string>> = {
  insert: 'insert into',
  update: 'update',
  delete: 'delete from',
};

const describeWrite = ({ name, privilege }: Lacking): string => {
  const write = `${verbs[privilege] ?? privilege} ${name}\\b`;
  // Locking a row takes the right to change it.
  const lock = `(?:from|join) ${name}\\b[^;\`]*\\bfor (?:no key )?(?:key )?(?:update|share)`;
  return privilege === 'update' ? `${write}|${lock}` : write;
};

/** The lacking functions, and those that use something lacking with the rights of their caller. */
async function listCallers(lacking: readonly Lacking[]): Promise<string[]> {
  const found = new Set(lacking.filter(({ kind }) => kind === 'function').map(({ name }) => name));
  const writes = lacking.filter(({ kind }) => kind === 'table').map(describeWrite);
  const functions = await money.rows<{ name: string; body: string }>(`
    select proname::text as name, pg_get_functiondef(oid) as body from pg_proc
    where pronamespace = 'public'::regnamespace and not prosecdef
      and prolang in (select oid from pg_language where lanname in ('sql', 'plpgsql'))
      and proname <> 'restrict_tasks'`);
  for (let before = -1; before !== found.size; ) {
    before = found.size;
    const calls = [...found].map((name) => `\\b${name}\\(`);
    const pattern = new RegExp([...writes, ...calls].join('|'), 'i');
    for (const { name, body } of functions) {
      if (pattern.test(body.replace(/^create.*$/im, ''))) found.add(name);
    }
  }
  const triggers = await money.rows<{ name: string }>(
    `select tgname::text as name from pg_trigger t join pg_proc f on f.oid = t.tgfoid
     where not t.tgisinternal and not f.prosecdef and f.proname = any ($1)`,
    [[...found]],
  );
  assert.deepEqual(triggers, [], 'a trigger would need what is lacking');
  return [...found];
}
