import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { newId } from '../core/ids.ts';
import { createGroupCommit } from '../payouts/group-commit.ts';
import { createBatcher, held } from './batcher.ts';
import { connectDatabase, type Session } from './postgres/pool.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const ask = <Row>(session: Session, text: string, values: readonly unknown[] = []) =>
  readRows<Row>(session, { name: '', text }, values);

test('a command of an unknown account is rejected, not retried forever', async () => {
  let runs = 0;
  const batcher = createBatcher<string, string>({
    name: 'test',
    db: money.db,
    accountOf: (account) => account,
    keyOf: () => newId(),
    run: async (_session, commands) => {
      runs += 1;
      if (runs > 50) return commands.map(() => 'tried forever');
      return commands.map(() => held);
    },
  });
  await assert.rejects(batcher.submit(newId()));
  const unknown = { accountId: newId(), userId: newId(), payoutId: newId(), requestKey: undefined };
  if (runs <= 50) await assert.rejects(createGroupCommit(money.db, money.keys).submit(unknown));
});

test('a lost connection settles every command in progress once, and the next one works', async () => {
  const db = connectDatabase({ url: money.url, connectionsMax: 2 });
  const account = newId();
  const batcher = createBatcher<string, string>({
    name: 'test',
    db,
    accountOf: () => account,
    keyOf: (command) => command,
    run: async (session, commands) => {
      const text = commands.includes('a') ? `select pg_sleep(20), 'lane' as lane` : 'select 1';
      await ask(session, text);
      return commands.map(() => 'done');
    },
  });
  const settle = (commands: readonly string[]) =>
    Promise.allSettled(commands.map((command) => batcher.submit(command)));
  const first = settle(['a', 'b']);
  // The second batch is sent behind the first one, the third waits.
  await new Promise((resolve) => setImmediate(resolve));
  await new Promise((resolve) => setImmediate(resolve));
  const second = settle(['c', 'd']);
  for (;;) {
    const busy = await money.rows<{ pid: number }>(
      `select pg_terminate_backend(pid) from pg_stat_activity
       where query like '%''lane''%' and pid <> pg_backend_pid() and state = 'active'
         and datname = current_database()`,
    );
    if (busy.length > 0) break;
  }
  for (const { status } of await first) assert.equal(status, 'rejected');
  const outcomes = (await second).map(({ status }) => status);
  assert.equal(new Set(outcomes).size, 1);
  assert.equal(await batcher.submit('e'), 'done');
  await db.close();
});

test('a statement that cannot be prepared fails alone, and the next one in the lane succeeds', async () => {
  const db = connectDatabase({ url: money.url, connectionsMax: 2 });
  const [lane] = db.lanes;
  assert.ok(lane !== undefined);
  await money.rows('create table slow_to_come (id integer)');
  await money.rows('grant select on slow_to_come to outlay_service');
  await ask(lane, 'set lock_timeout = 300');
  const late = { name: 'late', text: 'select count(*)::integer as count from slow_to_come' };
  const results = await money.ownerTransaction(async (session) => {
    await ask(session, 'lock table slow_to_come in access exclusive mode');
    const sent = Array.from({ length: 8 }, () => readRows(lane, late));
    return Promise.allSettled(sent);
  });
  for (const result of results) {
    if (result.status === 'fulfilled') continue;
    // The second fails first, because the failed one was to prepare the statement for both.
    const { code } = result.reason as { code: string };
    assert.ok(['55P03', '26000'].includes(code), String(result.reason));
  }
  const again = await Promise.allSettled(Array.from({ length: 8 }, () => readRows(lane, late)));
  for (const result of again) {
    assert.equal(result.status, 'fulfilled', JSON.stringify(result));
  }
  await db.close();
});
