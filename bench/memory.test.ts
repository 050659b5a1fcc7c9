import assert from 'node:assert/strict';
import { platform } from 'node:os';
import { test } from 'node:test';
import { readPeakBytes } from './memory.ts';

test('the peak of this process is at least what it holds now', () => {
  const held = process.memoryUsage.rss();
  const peak = readPeakBytes(process.pid);
  if (platform() === 'linux') assert.ok(peak !== undefined && peak >= held / 2, `${peak}`);
  else assert.equal(peak, undefined);
});

test('a process that is not there has no peak', () => {
  assert.equal(readPeakBytes(0), undefined);
});
