import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { findRecord, storeRecords } from '../http/idempotency.sql.ts';
import { createGroupCommit } from '../payouts/group-commit.ts';
import { keepPartitions, openMonths } from './partitions.ts';
import { createSession } from './postgres/connection.ts';
import type { Session } from './postgres/pool.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
  await openMonths(money.db.system);
});
after(() => money[Symbol.asyncDispose]());

const dayMs = 86_400_000;

async function connect(settings: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: money.url });
  await client.connect();
  await client.query(settings);
  return client;
}

const sessionOf = (client: pg.Client): Session =>
  createSession(({ text }, values = []) => client.query(text, [...values]));

const monthsOf = async (table: string): Promise<string[]> =>
  (
    await money.rows<{ name: string }>(
      `select c.relname as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
       where i.inhparent = $1::regclass and not i.inhdetachpending order by 1`,
      [table],
    )
  ).map(({ name }) => name);

test('an interrupted removal is completed later, and other work continues meanwhile', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.advance(70 * dayMs);
  await openMonths(money.db.system);
  const [oldest = ''] = await monthsOf('events');
  const reader = await connect('begin isolation level repeatable read');
  await reader.query('select count(*) from events');
  const interrupted = await connect(`set application_name = 'interrupted'`);
  const removing = assert.rejects(
    keepPartitions(sessionOf(interrupted), { eventMonths: 1, webhookMonths: 1 }, 0),
    { code: '57014' },
  );
  const listPending = () =>
    money.rows(
      `select 1 from pg_inherits where inhparent = 'events'::regclass and inhdetachpending`,
    );
  // Then it waits for the reader.
  while ((await listPending()).length === 0) await sleep(10);
  await money.rows(
    `select pg_cancel_backend(pid) from pg_stat_activity
     where application_name = 'interrupted' and datname = current_database()`,
  );
  await removing;
  assert.equal((await listPending()).length, 1);
  // Only the removal waits for the reader.
  const payout = await money.quote(owner);
  const payoutId = payout.id;
  const group = createGroupCommit(money.db, money.keys);
  assert.ok((await group.submit({ ...owner, payoutId, requestKey: undefined })) !== undefined);
  await reader.query('commit');
  await keepPartitions(money.db.system, { eventMonths: 1, webhookMonths: 1 }, 0);
  const left = await money.rows('select 1 from pg_class where relname = $1', [oldest]);
  assert.equal(left.length, 0);
  await Promise.all([reader.end(), interrupted.end()]);
});

test('no month is removed while the database alone takes it for expired', async () => {
  await money.createOwner({ USD: 1n });
  await money.advance(70 * dayMs);
  await openMonths(money.db.system);
  const before = await monthsOf('events');
  const retention = { eventMonths: 1, webhookMonths: 1 };
  await assert.rejects(
    keepPartitions(money.db.system, retention, 2 * dayMs),
    /more than a day ahead/,
  );
  assert.deepEqual(await monthsOf('events'), before);
  await keepPartitions(money.db.system, retention, 0);
  assert.ok((await monthsOf('events')).length < before.length);
});

test('the months ahead are the same in every time zone of a session', async () => {
  const west = await connect(`set timezone = 'America/New_York'`);
  // There it is 30 January, and a month later is March in UTC.
  await west.query(`select open_months('2041-01-31T03:00:00Z')`);
  await west.end();
  const months = (await monthsOf('events')).filter((name) => name.includes('2041'));
  assert.deepEqual(months, ['events_2041_01', 'events_2041_02', 'events_2041_03']);
});

test('concurrent commits are atomic while the clock jumps by years', async () => {
  const owner = await money.createOwner({ USD: 100_000_000n });
  const ids: string[] = [];
  for (let count = 0; count < 40; count += 1) {
    ids.push((await money.quote(owner, { lockSeconds: 2_000_000_000 })).id);
  }
  const group = createGroupCommit(money.db, money.keys);
  const keyOf = (payoutId: string) => ({ key: payoutId, fingerprint: Buffer.alloc(65) });
  const commits = ids.map(async (payoutId, index) => {
    for (let turn = 0; turn < index; turn += 1) await money.rows('select 1');
    return group.submit({ ...owner, payoutId, requestKey: keyOf(payoutId) });
  });
  for (let jump = 0; jump < 5; jump += 1) await money.advance(700 * dayMs);
  const answers = await Promise.all(commits);
  assert.ok(answers.every((answer) => answer !== undefined));
  const events = await money.rows<{ sequence: bigint; month: string; is_own_month: boolean }>(
    `select sequence, month = month_of(created_at) as is_own_month
     from events where account_id = $1 order by sequence`,
    [owner.accountId],
  );
  assert.ok(events.every((event) => event.is_own_month));
  assert.deepEqual(
    events.map(({ sequence }) => sequence),
    events.map((_, index) => BigInt(index + 1)),
  );
  await money.assertSound();
});

test('an idempotency key is known across the end of a month, and new after thirty days', async () => {
  const { accountId } = await money.createOwner();
  const record = { accountId, key: newId(), fingerprint: Buffer.alloc(65), body: null };
  const [now] = await money.rows<{ wait: bigint }>(
    `select (extract(epoch from month_of(environment_now() + interval '1 month')::timestamp
       at time zone 'UTC' - environment_now()) * 1000)::bigint - 60000 as wait`,
  );
  await money.advance(Number(now?.wait));
  assert.equal(await storeRecords(money.db.system, [record]), true);
  await money.advance(120_000);
  for (const days of [0, 29]) {
    await money.advance(days * dayMs);
    assert.ok((await findRecord(money.db.system, record)) !== undefined);
    assert.equal(await storeRecords(money.db.system, [record]), false);
  }
  await money.advance(dayMs);
  assert.equal(await findRecord(money.db.system, record), undefined);
  assert.equal(await storeRecords(money.db.system, [record]), true);
  const count = await money.rows('select 1 from idempotency_records where key = $1', [record.key]);
  assert.equal(count.length, 2);
});
