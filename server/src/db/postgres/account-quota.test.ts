import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { AppError } from '../../core/errors.ts';
import { newId } from '../../core/ids.ts';
import { createBatcher, held } from '../batcher.ts';
import { createAccountQuota } from './account-quota.ts';
import { connectDatabase, type Database, findSqlState, type Session } from './pool.ts';

/** A locked account must not delay the others. */

const connectionsMax = 8;
/** A quarter of the connections. */
const ofAccountMax = 2;
/** A lock is waited for five seconds, and a second time would be ten; the rest is for a busy machine. */
const lockMsMax = 9_500;
const shareWaitMsMax = 2_000;
/** Less than the wait for a lock. */
const freeMsMax = 4_500;

let money: MoneyTest;
let db: Database;
let contended: Owner;
let other: Owner;
before(async () => {
  money = await createMoneyTest();
  db = connectDatabase({ url: money.url, connectionsMax });
  contended = await money.createOwner();
  other = await money.createOwner();
});
after(async () => {
  await money.assertSound();
  await db.close();
  await money[Symbol.asyncDispose]();
});

const lockText = 'select id from accounts where id = $1 for update';
const lock = (session: Session, accountId: string, text = lockText) =>
  readRows<{ id: string }>(session, { name: '', text }, [accountId]);

/** Holds the row of the account while `work` runs. */
const whileHeld = (accountId: string, work: () => Promise<void>): Promise<void> =>
  money.ownerTransaction(async (session) => {
    await lock(session, accountId);
    await work();
  });

const waitingText = `
  select 1 from pg_stat_activity
  where datname = current_database() and wait_event_type = 'Lock' and query like '%for update%'`;

/** Until the statements that may wait for the lock do so. */
async function untilWaiting(): Promise<void> {
  while ((await money.rows(waitingText)).length < ofAccountMax) await sleep(5);
}

type Timed = { error: unknown; elapsedMs: number };

async function time(work: () => Promise<unknown>): Promise<Timed> {
  const startMs = performance.now();
  const error: unknown = await work().then(
    () => undefined,
    (cause: unknown) => cause,
  );
  return { error, elapsedMs: performance.now() - startMs };
}

const crowd = (work: () => Promise<unknown>): Promise<Timed[]> =>
  Promise.all(Array.from({ length: 24 }, () => time(work)));

/** Says 503 in the end: the lock was not to be had, or others of the account were before it. */
function assertRefused({ error, elapsedMs }: Timed, waitMsMax: number): void {
  const isUnavailable = error instanceof AppError && error.code === 'unavailable';
  assert.ok(isUnavailable || findSqlState(error) === '55P03', String(error));
  assert.ok(elapsedMs < waitMsMax, `${elapsedMs} ms`);
}

const ways: Record<string, (pool: Database, accountId: string) => Promise<unknown[]>> = {
  'tenant transactions': (pool, accountId) =>
    pool.tenantTransaction(accountId, (session) => lock(session, accountId)),
  'single statements': (pool, accountId) => lock(pool.tenant(accountId), accountId),
  'system transactions': (pool, accountId) =>
    pool.systemTransaction((session) => lock(session, accountId), { accountId }),
};

describe('a crowd on a held account leaves the others their connections', {
  concurrency: true,
}, () => {
  for (const [what, run] of Object.entries(ways)) {
    test(what, async () => {
      const own = connectDatabase({ url: money.url, connectionsMax });
      const { accountId } = await money.createOwner();
      await whileHeld(accountId, async () => {
        const waiting = crowd(() => run(own, accountId));
        await untilWaiting();
        for (let count = 0; count < 20; count += 1) {
          const { error, elapsedMs } = await time(() => run(own, other.accountId));
          assert.equal(error, undefined);
          assert.ok(elapsedMs < freeMsMax, `${elapsedMs} ms`);
        }
        for (const one of await waiting) assertRefused(one, shareWaitMsMax + lockMsMax);
      });
      assert.equal((await run(own, accountId)).length, 1);
      await own.close();
    });
  }
});

test('commands of a held account wait for one lock timeout, however many batches they are', async () => {
  const batcher = createBatcher<{ account: string; key: string }, string>({
    name: 'test',
    db,
    accountOf: ({ account }) => account,
    keyOf: ({ key }) => key,
    run: async (session, commands, mayWait) => {
      const [first] = commands;
      const text = mayWait ? lockText : `${lockText} skip locked`;
      const rows = await lock(session, first?.account ?? '', text);
      return commands.map(() => (rows.length === 0 ? held : 'done'));
    },
  });
  await whileHeld(contended.accountId, async () => {
    // Equal keys are never in one batch, so that these are twenty-four batches.
    const key = newId();
    const waiting = crowd(() => batcher.submit({ account: contended.accountId, key }));
    const { elapsedMs } = await time(() => batcher.submit({ account: other.accountId, key }));
    assert.ok(elapsedMs < freeMsMax, `${elapsedMs} ms`);
    for (const one of await waiting) assertRefused(one, lockMsMax);
  });
  assert.equal(await batcher.submit({ account: contended.accountId, key: newId() }), 'done');
});

test('an account has its quota again when its requests have ended, also where they failed', async () => {
  const quota = createAccountQuota({ most: 2, waitMsMax: 50 });
  const busy = Promise.withResolvers<void>();
  const running = [0, 1].map(() => quota.run('a', () => busy.promise));
  await assert.rejects(
    quota.run('a', () => Promise.resolve()),
    /Too many requests of this account/,
  );
  assert.equal(await quota.run('b', async () => 'done'), 'done');
  const third = quota.run('a', async () => 'third');
  busy.reject(new Error('failed'));
  await Promise.allSettled(running);
  assert.equal(await third, 'third');
  assert.equal(await quota.run('a', async () => 'fourth'), 'fourth');
});
