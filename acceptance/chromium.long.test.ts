import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { promisify } from 'node:util';

/** Tests that need a browser begin in several processes at once. */

const isBuilt = process.platform === 'linux' && process.arch === 'x64';
const run = promisify(execFile);

/** In a process of its own, with a folder of temporary files of its own that is gone afterwards. */
async function startElsewhere(cache: string): Promise<string> {
  const temporary = await mkdtemp(join(tmpdir(), 'outlay-chromium-process-'));
  try {
    const script = `
      const { provideChromium } = await import('./chromium.ts');
      process.stdout.write(await provideChromium(${JSON.stringify(cache)}));`;
    const words = [
      '--disable-warning=ExperimentalWarning',
      '--input-type=module',
      '--eval',
      script,
    ];
    const env = { ...process.env, TMPDIR: temporary };
    const { stdout } = await run(process.execPath, words, { cwd: import.meta.dirname, env });
    return stdout;
  } finally {
    await rm(temporary, { recursive: true });
  }
}

test('processes that unpack Chromium together all get a whole one that stays', async () => {
  if (!isBuilt) return;
  const cache = await mkdtemp(join(tmpdir(), 'outlay-chromium-'));
  try {
    const programs = await Promise.all(Array.from({ length: 3 }, () => startElsewhere(cache)));
    const [program = ''] = programs;
    assert.deepEqual(new Set(programs), new Set([program]));
    const { stdout } = await run(program, ['--version', '--no-sandbox']);
    assert.match(stdout, /\d+\.\d+\.\d+\.\d+/);
    const [folder, ...others] = await readdir(cache);
    assert.deepEqual(others, [], 'nothing unfinished is left');
    assert.ok(folder?.startsWith('chromium-'));
    assert.equal(await startElsewhere(cache), program);
  } finally {
    await rm(cache, { recursive: true });
  }
});
