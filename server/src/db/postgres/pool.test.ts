import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { untilAdmitted } from '../../../testing/setups/until-admitted.ts';
import { newId } from '../../core/ids.ts';
import { connectDatabase, findSqlState, type Session } from './pool.ts';

const forbidden = ['42501'];

let money: MoneyTest;
let own: Owner;
let other: Owner;
before(async () => {
  money = await createMoneyTest();
  own = await money.createOwner({ USD: 1_000_000n });
  other = await money.createOwner({ USD: 1_000_000n });
  await money.rows(`select set_notice_channels('{email}')`);
  for (const owner of [own, other]) {
    const payout = await money.quoteAndCommit(owner, { notifyUser: true });
    await money.rows(
      `insert into attempts (account_id, payout_id, number, rail, payer_key, reference, state, fence, started_at)
       values ($1, $2, 1, 'fake', 'one', 'x', 'sending', 1, now())`,
      [payout.accountId, payout.payoutId],
    );
  }
});
after(async () => {
  await money[Symbol.asyncDispose]();
});

function ask<Row>(session: Session, text: string, values: readonly unknown[] = []): Promise<Row[]> {
  return readRows<Row>(session, { name: '', text }, values);
}

/** Runs with the rights of a tenant on whose connection no account was set. */
function withoutAccount<T>(
  work: (session: Session) => Promise<T>,
  from: MoneyTest = money,
): Promise<T> {
  return from.db.systemTransaction(async (session) => {
    await ask(session, 'set local role outlay_tenant');
    return work(session);
  });
}

test('64-bit integers decode as bigint, times as Date, and the tenant runs as the tenant role', async () => {
  const session = money.db.tenant(own.accountId);
  const [row] = await ask<Record<string, unknown>>(
    session,
    `select 9223372036854775807 as whole, environment_now() as at, '\\x00ff'::bytea as bytes,
       current_user::text as role, current_account()::text as account`,
  );
  assert.equal(row?.['whole'], 9_223_372_036_854_775_807n);
  assert.ok(row?.['at'] instanceof Date);
  assert.deepEqual(row?.['bytes'], Buffer.of(0, 255));
  assert.deepEqual([row?.['role'], row?.['account']], ['outlay_tenant', own.accountId]);
});

test('every table with an account has row-level security, or no grant for tenants', async () => {
  const open = await money.rows<{ table: string }>(`
    select c.relname as table from pg_class c
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not c.relrowsecurity
      and exists (select from pg_attribute a where a.attrelid = c.oid and a.attname = 'account_id')
      and has_any_column_privilege('outlay_tenant', c.oid, 'select, insert, update')`);
  assert.deepEqual(open, []);
});

test('a tenant sees the rows of its own account and no others', async () => {
  const tables = await money.rows<{ table: string; column: string }>(`
    select c.relname as table, case c.relname when 'accounts' then 'id' else 'account_id' end as column
    from pg_class c
    where c.relnamespace = 'public'::regnamespace
      and (c.relkind in ('r', 'p') and c.relrowsecurity or c.relkind = 'v')
      -- How payers stood is no account's.
      and c.relname <> 'payer_standings'`);
  assert.ok(tables.length >= 12);
  for (const { table, column } of tables) {
    if (!(await isReadable(table))) continue;
    const seen = await ask<{ account: string }>(
      money.db.tenant(own.accountId),
      `select distinct ${column} as account from ${table}`,
    );
    assert.deepEqual(
      seen.filter(({ account }) => account !== own.accountId),
      [],
      table,
    );
    const blind = await withoutAccount((session) => ask(session, `select 1 from ${table}`));
    assert.deepEqual(blind, [], `${table} without an account`);
  }
});

async function isReadable(table: string): Promise<boolean> {
  const [row] = await money.rows<{ isReadable: boolean }>(
    `select has_table_privilege('outlay_tenant', $1, 'select') as "isReadable"`,
    [table],
  );
  return row?.isReadable === true;
}

test('a tenant cannot write the rows of another account', async () => {
  const insert = {
    text: `
      insert into users (account_id, id, internal_id_index, email_index, country, data_key, sealed,
        created_at, updated_at)
      values ($1, $2, sha256('x'), sha256('x'), 'MEX', 'x', 'x', now(), now())`,
    values: [other.accountId, newId()],
  };
  const what = 'a user of another account';
  await money.refuseTenant(own.accountId, insert, { states: forbidden, what });
  const session = money.db.tenant(own.accountId);
  const lock = `update users set status = 'LOCKED' where account_id = $1 returning id`;
  assert.deepEqual(await ask(session, lock, [other.accountId]), []);
  const give = {
    text: 'update users set account_id = $1 where id = $2',
    values: [other.accountId, own.userId],
  };
  const states = [...forbidden, '23503'];
  await money.refuseTenant(own.accountId, give, { states, what: 'a user given away' });
});

test('a tenant cannot write money, states or attempts by hand', async () => {
  const statements = [
    'update ledger_accounts set balance = 1',
    `insert into ledger_accounts (account_id, currency, name, token, created_at) values ('${own.accountId}', 'CHF', 'wallet', gen_random_uuid(), now())`,
    'delete from ledger_journals',
    `update payout_states set status = 'CANCELLED'`,
    'delete from payout_states',
    'delete from payout_quotes',
    'select * from payout_dispatches',
    'delete from payout_dispatches',
    `update attempts set state = 'rejected'`,
    'insert into observations (account_id, payout_id, id, source, outcome, is_applied, observed_at) select account_id, id, id, $$sandbox$$, $$paid$$, true, now() from payouts',
    'select * from sandbox_scripts',
    'update environment set clock_offset_us = 1',
    `update accounts set name = 'x'`,
    `update credentials set revoked_at = now()`,
    `insert into credentials (account_id, id, kind, secret_hash, scopes, mac, created_at) values ('${own.accountId}', gen_random_uuid(), 'api_key', sha256('x'), '{}', sha256('x'), now())`,
    'delete from events',
    'truncate events',
    'insert into rates (base, quote, source, as_of, digits, scale) values ($$USD$$, $$MXN$$, $$x$$, now(), 1, 0)',
    'create table theirs (id integer)',
  ];
  for (const statement of statements) {
    await money.refuseTenant(
      own.accountId,
      { text: statement },
      { states: forbidden, what: statement },
    );
  }
});

test('a tenant cannot call what only the service itself may do', async () => {
  const statements = [
    `select * from claim_dispatches(array['sandbox'], array[1], array[false], 1000, false)`,
    `select decide_payout('${own.accountId}', '${newId()}', '${newId()}', 'refund', 'x', '${newId()}', 'x', '', '', '{}', 1, null, null, null)`,
    'select * from rail_records',
    'select * from rail_messages',
    `select * from commit_payouts(array['${own.accountId}'::uuid], '{}', '{}', '{}', '{}', '{}', true)`,
    `select * from apply_observations(array['${own.accountId}'::uuid], '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', '{}', true)`,
    `insert into ledger_journals (account_id, id, kind, source_currency, source_amount, wallet_balance, created_at) values ('${own.accountId}', '${newId()}', 'fund', 'USD', 1, 1, now())`,
    `select move_payout(p, 'CANCELLED', '', now()) from payouts p`,
    `select post_amount(p, 'charge', 'sandbox', 'USD', 1, now()) from payouts p`,
    `select open_ledger_account('${own.accountId}', 'CHF', 'wallet', '${newId()}', now())`,
  ];
  for (const statement of statements) {
    await money.refuseTenant(
      own.accountId,
      { text: statement },
      { states: forbidden, what: statement },
    );
  }
  await money.assertSound();
});

const payoutOf = async (from: MoneyTest, owner: Owner): Promise<string> => {
  const [row] = await from.rows<{ id: string }>('select id from payouts where account_id = $1', [
    owner.accountId,
  ]);
  return row?.id ?? '';
};

const observation = `select apply_observation($1, $2, gen_random_uuid(), $3, $4, '', $5, null,
  null, sha256('') || '\\x00000001') as result`;
const funding = `select fund_balance($1, 'USD', 100, gen_random_uuid(), gen_random_uuid())`;
const commit = `select result from commit_payout($1, $2, $3, null)`;

const withoutFence: null = null;

/** Every function that a tenant may call and that moves money, for this account and payout. */
function listMoves(owner: Owner, payoutId: string) {
  return {
    'a funding': { text: funding, values: [owner.accountId] },
    'a commit': { text: commit, values: [owner.accountId, owner.userId, payoutId] },
    'an outcome': {
      text: observation,
      values: [owner.accountId, payoutId, 'sandbox', 'rejected', withoutFence],
    },
    'a script': {
      text: `select script_sandbox_payout($1, $2, 'completed')`,
      values: [owner.accountId, payoutId],
    },
  };
}

test('the functions that move money refuse to act for another account', async () => {
  for (const [what, move] of Object.entries(listMoves(other, await payoutOf(money, other)))) {
    await money.refuseTenant(own.accountId, move, { states: forbidden, what });
  }
  await money.assertSound();
});

for (const name of ['a funding', 'a commit', 'an outcome', 'a script'] as const) {
  test(`a tenant connection on which no account was set is refused ${name}`, async () => {
    const moves = listMoves(other, await payoutOf(money, other));
    await money.refuseTenant('', moves[name], { states: forbidden, what: name });
  });
}

test('in live a tenant does not fund itself', async () => {
  await using live = await createMoneyTest({ environmentName: 'live' });
  const owner = await live.createOwner();
  for (const accountId of [owner.accountId, '']) {
    const move = { text: funding, values: [owner.accountId] };
    await live.refuseTenant(accountId, move, {
      states: forbidden,
      what: `funding by '${accountId}'`,
    });
  }
  await live.assertSound();
});

test('in live a tenant does not decide the outcome of its payouts', async () => {
  await using live = await createMoneyTest({ environmentName: 'live' });
  const owner = await live.createOwner({ USD: 1_000_000n });
  const { payoutId } = await live.quoteAndCommit(owner);
  const { 'a script': script } = listMoves(owner, payoutId);
  await live.refuseTenant(owner.accountId, script, { states: forbidden, what: 'a script' });
  for (const outcome of ['rejected', 'paid', 'returned']) {
    const values = [owner.accountId, payoutId, 'sandbox', outcome, withoutFence];
    const move = { text: observation, values };
    await live.refuseTenant(owner.accountId, move, { states: forbidden, what: outcome });
  }
  await live.assertSound();
});

test('a tenant does not speak for the dispatch loop, in the sandbox either', async () => {
  const payoutId = await payoutOf(money, own);
  const [row] = await money.rows<{ fence: bigint }>(
    'select fence from payout_dispatches where payout_id = $1',
    [payoutId],
  );
  const move = {
    text: observation,
    values: [own.accountId, payoutId, 'query', 'paid', row?.fence],
  };
  await money.refuseTenant(own.accountId, move, {
    states: forbidden,
    what: 'an answer of the rail',
  });
});

test('sessions of many accounts at once on few connections never mix', async () => {
  const db = connectDatabase({ url: money.url, connectionsMax: 3 });
  const owners = await Promise.all(Array.from({ length: 6 }, () => money.createOwner()));
  const ids = owners.map(({ accountId }) => accountId);
  await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      const accountId = ids[index % ids.length] ?? '';
      const read = (session: Session) => ask<{ id: string }>(session, 'select id from accounts');
      const seen = await untilAdmitted(() =>
        index % 3 === 0 ? db.tenantTransaction(accountId, read) : read(db.tenant(accountId)),
      );
      assert.deepEqual(seen, [{ id: accountId }]);
    }),
  );
  await db.close();
});

test('a transaction that throws leaves nothing, and its connection is as new', async () => {
  const db = connectDatabase({ url: money.url, connectionsMax: 1 });
  const userId = newId();
  const add = (session: Session) =>
    ask(
      session,
      `insert into users (account_id, id, internal_id_index, email_index, country, data_key, sealed,
         created_at, updated_at)
       values ($1, $2, sha256($3), sha256($3), 'MEX', 'x', 'x', now(), now())`,
      [own.accountId, userId, Buffer.from(userId)],
    );
  await assert.rejects(
    db.tenantTransaction(own.accountId, async (session) => {
      await add(session);
      throw new Error('after the insert');
    }),
    /after the insert/,
  );
  await assert.rejects(
    db.tenantTransaction(own.accountId, (session) => ask(session, 'select 1 / 0')),
  );
  assert.deepEqual(
    await ask(db.tenant(own.accountId), 'select 1 as one from users where id = $1', [userId]),
    [],
  );
  await db.tenantTransaction(own.accountId, add);
  assert.equal(
    (await ask(db.tenant(own.accountId), 'select 1 as one from users where id = $1', [userId]))
      .length,
    1,
  );
  await db.close();
});

test('a transaction that continues after an error has not happened, and says so', async () => {
  const id = newId();
  await assert.rejects(
    money.db.systemTransaction(async (session) => {
      const text = `insert into accounts (id, name, created_at) values ($1, 'lost', now())`;
      await ask(session, text, [id]);
      await ask(session, 'select 1 / 0').catch(() => undefined);
      return 'done';
    }),
    /rolled back/,
  );
  assert.deepEqual(await money.rows('select 1 from accounts where id = $1', [id]), []);
});

test('transactions that wait for each other in a circle are both done in the end', async () => {
  const touch = async (session: Session, id: string) =>
    ask(session, 'update users set updated_at = now() where id = $1', [id]);
  const third = await money.createUser(own.accountId);
  let arrived = 0;
  let tries = 0;
  const both = Promise.withResolvers<void>();
  const cross = (first: string, second: string) =>
    money.db.tenantTransaction(own.accountId, async (session) => {
      tries += 1;
      await touch(session, first);
      arrived += 1;
      if (arrived === 2) both.resolve();
      await both.promise;
      await touch(session, second);
    });
  await Promise.all([cross(own.userId, third), cross(third, own.userId)]);
  // At least one was refused by the server and ran again.
  assert.ok(tries > 2);
});

test('a connection that the server ends is replaced, and only its statement fails', async () => {
  const lost: Error[] = [];
  const db = connectDatabase({
    url: money.url,
    connectionsMax: 2,
    onConnectionLost: (error) => lost.push(error),
  });
  const [row] = await ask<{ pid: number }>(db.system, 'select pg_backend_pid() as pid');
  await money.rows('select pg_terminate_backend($1)', [row?.pid]);
  const results = await Promise.allSettled(
    Array.from({ length: 4 }, () => ask(db.system, 'select 1 as one')),
  );
  assert.ok(results.some(({ status }) => status === 'fulfilled'));
  const running = ask(db.system, 'select pg_sleep(20)').catch((error: unknown) => error);
  for (;;) {
    const [busy] = await money.rows<{ pid: number }>(
      `select pid from pg_stat_activity where query = 'select pg_sleep(20)' and datname = current_database() and state = 'active'`,
    );
    if (busy === undefined) continue;
    await money.rows('select pg_terminate_backend($1)', [busy.pid]);
    break;
  }
  const error = await running;
  assert.ok(error instanceof Error);
  assert.equal(findSqlState(error) ?? '57P01', '57P01');
  assert.deepEqual(await ask(db.system, 'select 1 as one'), [{ one: 1 }]);
  await db.close();
});
