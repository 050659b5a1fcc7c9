import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createEventPages, type EventPage } from './event-pages.ts';

const page = (last: bigint, bytes = 10): EventPage => ({
  frames: Buffer.alloc(bytes, 'x'),
  last,
  isComplete: true,
});

/** Pages that take 3 ms each, by a clock that only they and pauses move. */
function createPages() {
  let nowMs = 0;
  const made: string[] = [];
  const pauses: number[] = [];
  let making = 0;
  const pages = createEventPages({
    nowMs: () => nowMs,
    pause: async (pauseMs) => {
      pauses.push(pauseMs);
      nowMs += pauseMs;
      await nextTurn();
    },
  });
  const get = async (accountId: string, after: number, bytes?: number): Promise<EventPage> => {
    const got = await pages.get(accountId, `${accountId} ${after}`, async () => {
      making += 1;
      assert.equal(making, 1, 'only one page is made at a time');
      await nextTurn();
      made.push(`${accountId} ${after}`);
      nowMs += 3;
      making -= 1;
      return page(BigInt(after + 50), bytes);
    });
    return got ?? assert.fail('the pages have not ended');
  };
  return { get, made, pauses, pass: (ms: number) => void (nowMs += ms) };
}

/** Reads a history of 1,000 events from its beginning. */
async function catchUp(get: (after: number) => Promise<EventPage>): Promise<void> {
  for (let after = 0; after < 1000; ) after = Number((await get(after)).last);
}

test('250 readers that begin one after the other cost little more than one', async () => {
  const { get, made } = createPages();
  const readers = [];
  for (let count = 0; count < 250; count += 1) {
    readers.push(catchUp((after) => get('a', after)));
    if (count % 25 === 0) await nextTurn();
  }
  await Promise.all(readers);
  assert.ok(made.length < 2 * 20, `${made.length} pages were made of a history of 20`);
});

test('the process is left alone for as long as a page took, after each', async () => {
  const { get, made, pauses } = createPages();
  await Promise.all(
    Array.from({ length: 30 }, (_, reader) => catchUp((after) => get(`account ${reader}`, after))),
  );
  assert.equal(made.length, 600);
  assert.deepEqual(new Set(pauses), new Set([3]));
  assert.ok(pauses.length >= 599);
});

test('accounts take turns, however many readers one of them has', async () => {
  const { get, made } = createPages();
  const many = Array.from({ length: 100 }, (_, reader) => get('many', reader * 1000));
  await Promise.all([get('few', 0), ...many]);
  assert.ok(made.indexOf('few 0') <= 2, `the other account waited for ${made.indexOf('few 0')}`);
});

test('a page is kept for two seconds, and all of them within eight megabytes', async () => {
  const { get, made, pass } = createPages();
  await get('a', 0);
  await get('a', 0);
  assert.equal(made.length, 1);
  pass(2_001);
  await get('a', 0);
  assert.equal(made.length, 2);
  for (let after = 1000; after < 1010; after += 1) await get('b', after, 1024 * 1024);
  await get('b', 1009, 1024 * 1024);
  assert.equal(made.length, 12);
  await get('b', 1000, 1024 * 1024);
  assert.equal(made.length, 13);
});

test('at the end nothing more is made, and those who wait get nothing', async () => {
  const pages = createEventPages({ pause: () => assert.fail('there is no pause') });
  let made = 0;
  const waiting = ['a', 'b', 'c'].map((key) =>
    pages.get(key, key, async () => {
      made += 1;
      await nextTurn();
      return page(50n);
    }),
  );
  pages.end();
  assert.deepEqual(
    (await Promise.all(waiting)).map((one) => one?.last),
    [50n, undefined, undefined],
  );
  assert.equal(made, 1);
});

test('all who wait for a page get its error, and the next one tries again', async () => {
  const pages = createEventPages({ pause: nextTurn });
  let tries = 0;
  const make = async (): Promise<EventPage> => {
    tries += 1;
    await nextTurn();
    if (tries === 1) throw new Error('the database is away');
    return page(50n);
  };
  const both = await Promise.allSettled([pages.get('a', 'k', make), pages.get('a', 'k', make)]);
  assert.deepEqual(
    both.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.equal((await pages.get('a', 'k', make))?.last, 50n);
  assert.equal(tries, 2);
});

test('a page that events can still be added to is not kept', async () => {
  const pages = createEventPages({ pause: nextTurn });
  let made = 0;
  const make = async (): Promise<EventPage> => {
    made += 1;
    return { ...page(7n), isComplete: false };
  };
  await pages.get('a', 'k', make);
  await pages.get('a', 'k', make);
  assert.equal(made, 2);
});
