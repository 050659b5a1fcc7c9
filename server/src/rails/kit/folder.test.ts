import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { type Folder, findFolderFault, openFolder } from './folder.ts';

let path: string;
let folder: Folder;
beforeEach(async () => {
  path = await mkdtemp(join(tmpdir(), 'outlay-folder-'));
  folder = openFolder(path);
});
afterEach(() => rm(path, { recursive: true }));

const bytes = Buffer.from('one');

describe('a folder for files', () => {
  it('writes a file once, and nothing over another file of the name', async () => {
    assert.equal(await folder.put('a.xml', bytes), 'written');
    assert.equal(await folder.put('a.xml', bytes), 'written');
    assert.equal(await folder.put('a.xml', Buffer.from('two')), 'taken');
    assert.equal(await folder.put('a.xml', Buffer.from('one and more')), 'taken');
    assert.deepEqual(await folder.read('a.xml', 3), bytes);
    await folder.replace('a.xml', Buffer.from('two'));
    assert.deepEqual(await folder.read('a.xml', 3), Buffer.from('two'));
    assert.deepEqual(await readdir(path), ['a.xml']);
  });

  it('writes the same file from two processes at the same time', async () => {
    const other = openFolder(path);
    const outcomes = await Promise.all([folder.put('a', bytes), other.put('a', bytes)]);
    assert.deepEqual(outcomes, ['written', 'written']);
    assert.deepEqual(await folder.read('a', 3), bytes);
  });

  it('shows a staged file only once it is published', async () => {
    const first = await folder.stage('a', bytes);
    await folder.stage('a', bytes);
    assert.deepEqual(await folder.list(), []);
    assert.equal(await folder.publish(first, 'a'), 'published');
    assert.equal(await folder.publish(first, 'a'), 'gone');
    await folder.discardAll('a');
    assert.deepEqual(await readdir(path), ['a']);
  });

  it('lists whole files in the order of their names', async () => {
    for (const name of ['b', 'a', '.hidden', 'c.part', 'd.TMP', 'e.filepart', 'f\n']) {
      await writeFile(join(path, name), bytes);
    }
    await mkdir(join(path, 'folder'));
    await symlink('a', join(path, 'link'));
    const files = await folder.list();
    assert.deepEqual(
      files.map(({ name, sizeBytes }) => [name, sizeBytes]),
      [
        ['a', 3],
        ['b', 3],
      ],
    );
    assert.equal((await folder.list({ countMax: 1 })).length, 1);
    assert.deepEqual([await folder.has('a'), await folder.has('z')], [true, false]);
  });

  it('reads no link and no file that is too long', async () => {
    await writeFile(join(path, 'a'), bytes);
    await symlink('a', join(path, 'link'));
    await assert.rejects(folder.read('a', 2), /longer than 2 bytes/);
    await assert.rejects(folder.read('link', 3), /ELOOP/);
    await assert.rejects(folder.read('none', 3), /ENOENT/);
    assert.match(await folder.digest('a'), /^7692c3ad/);
  });

  it('moves a file, and nothing where it is moved already', async () => {
    await mkdir(join(path, 'archive'));
    const archive = openFolder(join(path, 'archive'));
    await folder.put('a', bytes);
    await folder.move('a', archive, 'a.read');
    await folder.move('a', archive, 'a.read');
    assert.deepEqual(await folder.list(), []);
    assert.deepEqual(await archive.read('a.read', 3), bytes);
  });

  it('names what is wrong with the folder', async () => {
    await writeFile(join(path, 'file'), bytes);
    assert.equal(await findFolderFault(path), undefined);
    assert.match((await findFolderFault(join(path, 'none'))) ?? '', /does not exist/);
    assert.match((await findFolderFault(join(path, 'file'))) ?? '', /must be a folder/);
  });
});
