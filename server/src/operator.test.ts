import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';

const main = join(import.meta.dirname, 'main.ts');

function runAsRoot(words: readonly string[], settings: Record<string, string>) {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-root-'));
  try {
    return spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', main, ...words], {
      env: {
        PATH: process.env['PATH'],
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        OUTLAY_DATA: folder,
        PORT: '0',
        ...settings,
      },
      encoding: 'utf8',
      timeout: 60_000,
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const unreachable = 'postgresql://outlay@127.0.0.1:2/outlay';

test('live refuses to start as root, before it opens anything', (context) => {
  if (process.getuid?.() !== 0) return context.skip('these tests do not run as root');
  for (const [environments = '', role = ''] of [
    ['live', 'all'],
    ['live', 'serve'],
    ['live', 'work'],
    ['staging,live', 'all'],
  ]) {
    const { status, stderr } = runAsRoot([role], {
      OUTLAY_ENVIRONMENTS: environments,
      OUTLAY_DEFAULT_ENVIRONMENT: 'live',
      DATABASE_URL: unreachable,
      OUTLAY_LIVE_DATABASE_URL: unreachable,
    });
    assert.equal(status, 1);
    assert.match(stderr, /^outlay: live must not run as root/m);
    assert.equal(stderr.trim().split('\n').length, 1);
  }
});

test('staging starts as root', (context) => {
  if (process.getuid?.() !== 0) return context.skip('these tests do not run as root');
  const { stderr } = runAsRoot(['serve'], { DATABASE_URL: unreachable });
  // It gets as far as the database.
  assert.match(stderr, /127\.0\.0\.1:2/);
});
