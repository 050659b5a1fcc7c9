import assert from 'node:assert/strict';
import { test } from 'node:test';
import fastify from 'fastify';
import { AppError } from '../core/errors.ts';
import { createRateLimiters } from './limits.ts';

const perSecond = 10;
/** The number of keys that a limiter holds. */
const keysMax = 50_000;

function createLimiter() {
  let nowMs = 1000;
  const limits = {
    credentialPerSecond: perSecond,
    addressPerSecond: perSecond,
    expensivePerSecond: perSecond,
  };
  const { credential } = createRateLimiters(fastify(), limits, () => nowMs);
  return {
    /** How many of so many requests at once are let through. */
    count: (key: string, tries: number): number => {
      let passed = 0;
      for (let index = 0; index < tries; index += 1) {
        try {
          credential.check(key);
          passed += 1;
        } catch (error) {
          assert.ok(error instanceof AppError && error.code === 'rate_limited');
        }
      }
      return passed;
    },
    wait: (ms: number): void => {
      nowMs += ms;
    },
  };
}

test("a burst of one second's requests passes, and then the rate applies", () => {
  const limiter = createLimiter();
  assert.equal(limiter.count('a', 25), perSecond);
  assert.equal(limiter.count('b', 25), perSecond);
  limiter.wait(300);
  assert.equal(limiter.count('a', 25), 3);
  limiter.wait(60_000);
  assert.equal(limiter.count('a', 25), perSecond);
});

test('the addresses of one subscriber are limited together', () => {
  const limits = { credentialPerSecond: 1, addressPerSecond: 2, expensivePerSecond: 2 };
  const limiters = createRateLimiters(fastify(), limits, () => 1000);
  for (const limiter of [limiters.address, limiters.expensive]) {
    const isLimited = (key: string): boolean => {
      try {
        limiter.check(key);
        return false;
      } catch {
        return true;
      }
    };
    const addresses = [
      '2001:db8:0:7::1',
      '2001:db8:0:7:ffff:ffff:ffff:ffff',
      '2001:db8::7:0:0:0:2',
    ];
    assert.deepEqual(addresses.map(isLimited), [false, false, true]);
    assert.equal(isLimited('2001:db8:0:8::1'), false);
    assert.deepEqual(['192.0.2.1', '::ffff:192.0.2.1', '192.0.2.1', '192.0.2.2'].map(isLimited), [
      false,
      false,
      true,
      false,
    ]);
  }
});

test('a key in use is kept when the number of keys exceeds the maximum', () => {
  const limiter = createLimiter();
  limiter.count('busy', perSecond);
  limiter.wait(100);
  for (let index = 0; index < keysMax - 1; index += 1) limiter.count(`other ${index}`, 1);
  limiter.wait(900);
  assert.equal(limiter.count('busy', perSecond), perSecond);
  for (let index = 0; index < keysMax - 1; index += 1) limiter.count(`more ${index}`, 1);
  assert.equal(limiter.count('busy', 1), 0);
});
