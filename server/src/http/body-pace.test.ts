import assert from 'node:assert/strict';
import { afterEach, beforeEach, mock, test } from 'node:test';
import { createPace } from './body-pace.ts';

const options = { bytesPerSecondMin: 1000, windowMs: 200 };

let nowMs = 0;
beforeEach(() => {
  mock.timers.enable({ apis: ['setTimeout'] });
  mock.method(performance, 'now', () => nowMs);
});
afterEach(() => {
  mock.timers.reset();
  mock.restoreAll();
});

function pass(timeMs: number): void {
  nowMs += timeMs;
  mock.timers.tick(timeMs);
}

function start() {
  let slowCount = 0;
  const pace = createPace(() => {
    slowCount += 1;
  }, options);
  return { pace, slowCount: () => slowCount };
}

test('a body that arrives at the rate is never slow, and one below it is', () => {
  for (const [bytes, isSlow] of [
    [200, false],
    [5, true],
  ] as const) {
    const { pace, slowCount } = start();
    for (let times = 0; times < 10; times += 1) {
      pace.wait();
      pass(50);
      pace.receive(bytes);
    }
    pace.end();
    assert.equal(slowCount() > 0, isSlow, `${bytes} bytes`);
  }
});

test('nothing at all is slow after one window', () => {
  const { pace, slowCount } = start();
  pace.wait();
  pass(400);
  assert.equal(slowCount(), 1);
});

test('the time in which the service does not read is not counted', () => {
  const { pace, slowCount } = start();
  for (let times = 0; times < 4; times += 1) {
    pace.wait();
    pace.receive(1);
    pass(150);
  }
  pace.wait();
  pace.end();
  pass(300);
  assert.equal(slowCount(), 0);
});
