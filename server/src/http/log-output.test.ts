import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  closeSync,
  constants,
  mkdtempSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { openLogOutput } from './log-output.ts';

const folder = mkdtempSync(join(tmpdir(), 'outlay-log-'));
after(() => rmSync(folder, { recursive: true }));

/** A pipe whose reader is this test. */
function openPipe(): { input: number; read: () => string; close: () => void } {
  const path = join(folder, 'pipe');
  assert.equal(spawnSync('mkfifo', [path]).status, 0);
  const output = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const input = openSync(path, constants.O_WRONLY | constants.O_NONBLOCK);
  rmSync(path);
  const chunk = Buffer.alloc(1_000_000);
  return {
    input,
    read: () => {
      let text = '';
      for (;;) {
        try {
          text += chunk.toString('utf8', 0, readSync(output, chunk));
        } catch (error) {
          assert.ok(error instanceof Error && 'code' in error && error.code === 'EAGAIN');
          return text;
        }
      }
    },
    close: () => closeSync(output),
  };
}

const line = `${'x'.repeat(999)}\n`;

test('a full pipe keeps lines back, and says how many were lost once it is read', async () => {
  const pipe = openPipe();
  const output = openLogOutput(pipe.input, { charactersMax: 50_000 });
  const losses: [number, string][] = [];
  output.onLost((...loss) => losses.push(loss));
  let read = '';
  for (let written = 0; written < 200; written += 1) {
    output.write(line);
    await sleep(0);
  }
  assert.deepEqual(losses, []);
  while (losses.length === 0) {
    read += pipe.read();
    await sleep(1);
  }
  const [[count, code] = [0, '']] = losses;
  assert.equal(code, 'EAGAIN');
  output.write('the last one\n');
  while (!read.endsWith('the last one\n')) {
    read += pipe.read();
    await sleep(1);
  }
  assert.ok(count > 0);
  assert.equal(read.split('\n').length - 2, 200 - count);
  closeSync(pipe.input);
  pipe.close();
});

test('what waits is written before the process ends, and a full pipe does not delay that for long', () => {
  const pipe = openPipe();
  const output = openLogOutput(pipe.input, { flushMsMax: 5 });
  for (let written = 0; written < 200; written += 1) output.write(line);
  output.flush();
  assert.ok(pipe.read().startsWith(line));
  pipe.close();
});

test('an output that takes nothing raises no error', async () => {
  const pipe = openPipe();
  pipe.close();
  const path = join(folder, 'file');
  closeSync(openSync(path, 'w'));
  // A reader that has ended; a file that cannot be written.
  for (const fd of [pipe.input, openSync(path, 'r')]) {
    const output = openLogOutput(fd);
    output.write(line);
    await sleep(20);
    output.write(line);
    output.flush();
    closeSync(fd);
  }
  assert.equal(readFileSync(path, 'utf8'), '');
});
