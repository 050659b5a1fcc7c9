import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { createRepeatedLines } from './repeated-lines.ts';

describe('repeated lines', () => {
  let lines: [string, number][] = [];
  beforeEach(() => {
    lines = [];
    mock.timers.enable({ apis: ['setTimeout'] });
  });
  afterEach(() => mock.timers.reset());
  const open = () => {
    const limiter = createRepeatedLines(1_000);
    const occur = (key: string, text = key) =>
      limiter.occurred(key, (count) => lines.push([text, count]));
    return { limiter, occur };
  };

  it('writes the first one at once, and the others as one line per interval', () => {
    const { occur } = open();
    for (let count = 0; count < 1_000; count += 1) occur('a', `a ${count}`);
    assert.deepEqual(lines, [['a 0', 1]]);
    mock.timers.tick(1_000);
    assert.deepEqual(lines.slice(1), [['a 999', 999]]);
    occur('a', 'later');
    mock.timers.tick(1_000);
    assert.deepEqual(lines.slice(2), [['later', 1]]);
  });

  it('begins anew after an interval without any', () => {
    const { occur } = open();
    occur('a');
    mock.timers.tick(1_000);
    assert.equal(lines.length, 1);
    occur('a');
    assert.deepEqual(lines, [
      ['a', 1],
      ['a', 1],
    ]);
  });

  it('keeps different keys apart, and bounds how many there are', () => {
    const { occur } = open();
    for (let key = 0; key < 10_000; key += 1) occur(`key ${key}`);
    assert.ok(lines.length <= 201, String(lines.length));
    mock.timers.tick(1_000);
    const counted = lines.reduce((sum, [, count]) => sum + count, 0);
    assert.equal(counted, 10_000);
  });

  it('writes what it has counted when it closes', () => {
    const { limiter, occur } = open();
    occur('a');
    occur('a');
    limiter.close();
    assert.deepEqual(lines, [
      ['a', 1],
      ['a', 1],
    ]);
    mock.timers.tick(10_000);
    assert.equal(lines.length, 2);
  });
});
