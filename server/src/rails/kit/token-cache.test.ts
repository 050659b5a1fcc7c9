import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTokenCache } from './token-cache.ts';

function createCache(given: readonly ({ value: string; untilMs: number } | 'refused')[]) {
  let nowMs = 0;
  let count = 0;
  const cache = createTokenCache(
    async () => {
      count += 1;
      return given[count - 1] ?? 'refused';
    },
    () => nowMs,
  );
  return {
    cache,
    countFetched: () => count,
    moveTo: (atMs: number) => {
      nowMs = atMs;
    },
  };
}

test('calls share one request for a token, which is used until it expires', async () => {
  const first = { value: 'one', untilMs: 10 };
  const second = { value: 'two', untilMs: 20 };
  const { cache, countFetched, moveTo } = createCache([first, second]);
  assert.deepEqual(await Promise.all([cache.get(), cache.get()]), [first, first]);
  assert.equal(countFetched(), 1);
  moveTo(10);
  assert.equal(await cache.get(), second);
});

test('a failure is not kept, and a refused token is not used again', async () => {
  const first = { value: 'one', untilMs: 10 };
  const second = { value: 'two', untilMs: 10 };
  const { cache } = createCache(['refused', first, second]);
  assert.equal(await cache.get(), 'refused');
  assert.equal(await cache.get(), first);
  // Another call already got a new token.
  cache.forget('earlier');
  assert.equal(await cache.get(), first);
  cache.forget('one');
  assert.equal(await cache.get(), second);
});
