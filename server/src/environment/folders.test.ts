import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readConfig } from '../config.ts';
import { requireFolders } from './folders.ts';

const root = mkdtempSync(join(tmpdir(), 'outlay-folders-'));
after(() => rmSync(root, { recursive: true }));

test('a folder for checkpoints or erasures that cannot be written to stops the start', () => {
  const file = join(root, 'file');
  writeFileSync(file, '');
  for (const setting of ['OUTLAY_CHECKPOINTS', 'OUTLAY_ERASURES']) {
    const check = (value: string) => requireFolders(readConfig({ [setting]: value }), 'all');
    check(join(root, 'made/when/absent'));
    assert.throws(() => check(join(file, 'below')), {
      message: new RegExp(`^${setting} must be a folder that the service can write to: ENOTDIR`),
    });
  }
});

test('a process that signs nothing needs no folder for checkpoints', () => {
  const file = join(root, 'other');
  writeFileSync(file, '');
  requireFolders(readConfig({ OUTLAY_CHECKPOINTS: join(file, 'below') }), 'serve');
});
