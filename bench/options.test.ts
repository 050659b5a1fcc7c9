import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { test } from 'node:test';
import { parts, readPart } from './options.ts';

test('--help prints the parts and variables, and measures nothing', () => {
  const main = join(import.meta.dirname, 'main.ts');
  const { status, stdout } = spawnSync(process.execPath, [main, '--help'], { encoding: 'utf8' });
  assert.equal(status, 0);
  for (const name of Object.keys(parts)) assert.match(stdout, new RegExp(`--${name} `));
  assert.match(stdout, /BENCH_ONLY/);
});

test('words that name no part, or two, are refused', () => {
  assert.equal(readPart([]), 'peers');
  assert.equal(readPart(['--growth']), 'growth');
  assert.equal(readPart(['--growth', '--help']), 'help');
  assert.throws(() => readPart(['--larg']), /--larg/);
  assert.throws(() => readPart(['growth']), /growth/);
  assert.throws(() => readPart(['--growth', '--large']), /--large and --growth exclude each other/);
});
