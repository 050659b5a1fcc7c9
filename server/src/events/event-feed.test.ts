import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { AppError } from '../core/errors.ts';
import { createSession } from '../db/postgres/connection.ts';
import { createEventFeed, type EventFeed, type FeedOptions } from './event-feed.ts';
import { createEventPages } from './event-pages.ts';
import { openEventStream } from './event-stream.ts';
import { readEvents } from './events.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

/** A feed as of one process, with the statements that it has sent, and how many it sent at once. */
function createFeed(options: { readersMax?: number; pause?: FeedOptions['pause'] } = {}) {
  const sent: string[] = [];
  const atOnce = { now: 0, most: 0 };
  const count = (of: { query: MoneyTest['db']['system']['query'] }) =>
    createSession(async (statement, values) => {
      sent.push(statement.name);
      atOnce.now += 1;
      atOnce.most = Math.max(atOnce.most, atOnce.now);
      return of.query(statement, values).finally(() => {
        atOnce.now -= 1;
      });
    });
  const feed = createEventFeed({
    db: {
      system: count(money.db.system),
      tenant: (accountId) => count(money.db.tenant(accountId)),
    },
    readersMax: options.readersMax ?? 10,
    onError: () => assert.fail('no statement fails'),
    pause: options.pause ?? nextTurn,
  });
  return { feed, sent, atOnce };
}

async function findEnd(accountId: string): Promise<{ accountId: string; after: bigint }> {
  const session = money.db.tenant(accountId);
  const rows = await readEvents(session, { accountId, after: undefined, count: 1000 });
  return { accountId, after: rows.at(-1)?.sequence ?? 0n };
}

test('readers of different processes are woken by a change of another one', async () => {
  const owner = await money.createOwner();
  const end = await findEnd(owner.accountId);
  const waiting = [createFeed().feed, createFeed().feed].map((feed) => feed.next(end, 60_000));
  await money.quote(owner);
  for (const [event] of await Promise.all(waiting)) assert.equal(event?.type, 'payout.pending');
});

test('200 readers of an account share one statement, and one reading of the event', async () => {
  const owner = await money.createOwner();
  const end = await findEnd(owner.accountId);
  const isAskedOften = Promise.withResolvers<void>();
  const { feed, sent, atOnce } = createFeed({
    pause: () => {
      if (sent.length === 5) isAskedOften.resolve();
      return nextTurn();
    },
  });
  const waiting = Array.from({ length: 200 }, () => feed.next(end, 60_000));
  await isAskedOften.promise;
  await money.quote(owner);
  const [rows, ...others] = await Promise.all(waiting);
  for (const same of others) assert.equal(same, rows);
  assert.equal(atOnce.most, 1);
  assert.equal(sent.filter((name) => name === 'select_events').length, 1);
});

test('the database is not polled while no reader waits', async () => {
  const owner = await money.createOwner();
  const end = await findEnd(owner.accountId);
  const pauses: (() => void)[] = [];
  const { feed, sent } = createFeed({
    pause: () => new Promise<void>((resolve) => pauses.push(resolve)),
  });
  assert.deepEqual(await feed.next(end, 1), []);
  // The statement that was sent for the reader may still be under way.
  while (pauses.length === 0) await nextTurn();
  pauses.pop()?.();
  await nextTurn();
  assert.equal(sent.length, 1);
  assert.equal(pauses.length, 0);
});

test('a reader far behind gets every event once, page by page', async () => {
  const owner = await money.createOwner();
  for (let count = 0; count < 120; count += 1) await money.quote(owner);
  const { feed } = createFeed();
  const { after: newest } = await findEnd(owner.accountId);
  const got: bigint[] = [];
  while (got.length < Number(newest)) {
    const at = { accountId: owner.accountId, after: got.at(-1) ?? 0n };
    got.push(...(await feed.next(at, 60_000)).map(({ sequence }) => sequence));
  }
  assert.deepEqual(
    got,
    Array.from({ length: Number(newest) }, (_, index) => BigInt(index + 1)),
  );
});

test('a reader who waits for deleted events gets an error', async () => {
  const owner = await money.createOwner();
  const { feed } = createFeed();
  const { accountId } = owner;
  await money.rows('delete from events where account_id = $1', [accountId]);
  await assert.rejects(
    feed.next({ accountId, after: 0n }, 60_000),
    (error) => error instanceof AppError && error.code === 'events_dropped',
  );
});

test('a feed that stops ends every wait, and waits for its readers to leave', async () => {
  const owner = await money.createOwner();
  const { feed } = createFeed({ readersMax: 1 });
  const leave = feed.enter(owner.accountId);
  assert.throws(() => feed.enter(owner.accountId), { code: 'rate_limited' });
  const waiting = feed.next(await findEnd(owner.accountId), 60_000);
  let isStopped = false;
  const stopped = feed.stop().then(() => {
    isStopped = true;
  });
  assert.deepEqual(await waiting, []);
  assert.equal(isStopped, false);
  assert.throws(() => feed.enter(owner.accountId), { code: 'unavailable' });
  leave();
  await stopped;
});

test('a stream reads on only when its reader has taken what was sent', async (context) => {
  context.mock.timers.enable({ apis: ['setTimeout'] });
  let asked = 0;
  const feed: EventFeed = {
    next: async ({ after: last }) => {
      asked += 1;
      const event = { type: 'payout.pending', subject_id: '', payload: null, detail: '' };
      const sequence = last + 1n;
      return [{ ...event, sequence, object_sequence: 1n, created_at: new Date(0) }];
    },
    enter: () => () => undefined,
    pages: createEventPages(),
    isStopping: () => false,
    stop: () => Promise.resolve(),
  };
  const stream = openEventStream({
    feed,
    from: { accountId: '', after: 0n },
    matches: () => true,
    render: async (rows) => rows.map(() => 'x'.repeat(10_000)),
    isAllowed: () => Promise.resolve(true),
    isBehind: false,
    read: () => assert.fail('there is nothing to catch up'),
    pageKey: '',
  });
  stream.read();
  for (let turn = 0; turn < 100; turn += 1) await new Promise(setImmediate);
  assert.ok(asked < 10, `${asked} events are kept for a reader that takes none`);
  assert.equal(stream.destroyed, false);
  context.mock.timers.tick(15_000);
  assert.equal(stream.destroyed, true);
});
