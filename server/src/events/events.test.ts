import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { AppError } from '../core/errors.ts';
import { createSession } from '../db/postgres/connection.ts';
import { readEvents } from './events.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

test('an event written while the feed is read is not taken for a deleted one', async () => {
  const owner = await money.createOwner();
  const { accountId } = owner;
  const real = money.db.tenant(accountId);
  const known = await readEvents(real, { accountId, after: undefined, count: 100 });
  const newest = known.at(-1)?.sequence ?? 0n;
  let statements = 0;
  const interrupted = createSession(async (statement, values) => {
    const rows = await real.query(statement, values);
    statements += 1;
    if (statements === 1) await money.quote(owner);
    return rows;
  });
  const rows = await readEvents(interrupted, { accountId, after: newest, count: 100 });
  assert.deepEqual(
    rows.map(({ sequence, type }) => ({ sequence, type })),
    [{ sequence: newest + 1n, type: 'payout.pending' }],
  );
});

test('a request for deleted events is told where to continue', async () => {
  const owner = await money.createOwner();
  const { accountId } = owner;
  const session = money.db.tenant(accountId);
  await money.quote(owner);
  const all = await readEvents(session, { accountId, after: undefined, count: 100 });
  const newest = all.at(-1)?.sequence ?? 0n;
  await money.rows('delete from events where account_id = $1 and sequence < $2', [
    accountId,
    newest,
  ]);
  const ask = (from: bigint) => readEvents(session, { accountId, after: from, count: 100 });
  const isDropped = (error: unknown) =>
    error instanceof AppError && error.code === 'events_dropped';
  await assert.rejects(ask(0n), isDropped);
  assert.equal((await ask(newest - 1n)).length, 1);
  assert.equal((await ask(newest)).length, 0);
  await money.rows('delete from events where account_id = $1', [accountId]);
  await assert.rejects(ask(0n), isDropped);
  assert.equal((await ask(newest)).length, 0);
});
