import assert from 'node:assert/strict';
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { makeFolder, requireWritable } from './make-folder.ts';

const root = mkdtempSync(join(tmpdir(), 'outlay-folders-'));
after(() => rmSync(root, { recursive: true }));

test('a folder is made with what is missing above it, and stays as it is', () => {
  const path = join(root, 'a/b/c');
  makeFolder(path);
  writeFileSync(join(path, 'file'), '');
  requireWritable(path);
  assert.deepEqual(readdirSync(path), ['file']);
});

test('what cannot be made fails at once', () => {
  writeFileSync(join(root, 'file'), '');
  assert.throws(() => makeFolder(join(root, 'file')), { code: 'EEXIST' });
  assert.throws(() => makeFolder(join(root, 'file/a/b')), { code: 'ENOTDIR' });
  assert.throws(() => makeFolder(join(root, 'a\0b')), TypeError);
});

if (process.platform === 'linux') {
  test('nothing is made in /proc, whoever asks', () => {
    assert.throws(() => makeFolder('/proc/x/y/z'), { code: 'ENOENT' });
    assert.throws(() => requireWritable('/proc'));
  });
}
