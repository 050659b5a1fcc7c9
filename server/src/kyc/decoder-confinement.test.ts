import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { ProbeAnswer } from '../../testing/setups/decoder-probe.ts';
import { findConfinement, forkConfined } from './decoder-confinement.ts';
import { withImageDecoder } from './image-decoder.ts';

/** From inside the decoder: finding 9 of the security review. */

const data = mkdtempSync(join(tmpdir(), 'outlay-decoder-'));
const key = join(data, 'live.key');
const probe = join(import.meta.dirname, '../../testing/setups/decoder-probe.ts');
const server = createServer((socket) => socket.destroy());
let port = 0;

before(async () => {
  writeFileSync(key, 'secret', { mode: 0o600 });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  port = (server.address() as { port: number }).port;
});
after(() => {
  server.close();
  rmSync(data, { recursive: true, force: true });
});

async function askProbe() {
  const child = await forkConfined(probe);
  const exited = once(child, 'exit');
  try {
    child.send({ key, port });
    const [answer] = (await Promise.race([once(child, 'message'), exited])) as [ProbeAnswer];
    const place = `/proc/${child.pid}`;
    return {
      answer,
      status: readFileSync(`${place}/status`, 'utf8'),
      limits: readFileSync(`${place}/limits`, 'utf8'),
      network: readlinkSync(`${place}/ns/net`),
    };
  } finally {
    child.kill('SIGKILL');
    await exited;
  }
}

describe('the decoder of images', { skip: process.platform !== 'linux' }, () => {
  test('cannot read the master key, write, start a process or reach a socket', async () => {
    const { answer } = await askProbe();
    const { lacks } = await findConfinement();
    assert.equal(answer.read, 'ERR_ACCESS_DENIED');
    assert.equal(answer.write, 'ERR_ACCESS_DENIED');
    assert.equal(answer.start, 'ERR_ACCESS_DENIED');
    assert.deepEqual(
      answer.environment.filter((name) => /OUTLAY|DATABASE|PATH/.test(name)),
      [],
    );
    if (!lacks.some((text) => text.includes('network'))) assert.equal(answer.socket, 'ENETUNREACH');
  });

  test('is another user than the service, without capabilities, with limits', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can start another user');
    const { status, limits, network } = await askProbe();
    assert.deepEqual((await findConfinement()).lacks, []);
    assert.match(status, /^Uid:\s+61090\s+61090\s+61090\s+61090$/m);
    assert.match(status, /^Groups:\s*$/m);
    for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb']) {
      assert.match(status, new RegExp(`^${set}:\\s+0+$`, 'm'));
    }
    assert.match(status, /^NoNewPrivs:\s+1$/m);
    assert.match(limits, /^Max file size\s+0\s+0\s/m);
    assert.match(limits, /^Max data size\s+1073741824\s/m);
    assert.match(limits, /^Max cpu time\s+120\s+120\s/m);
    assert.match(limits, /^Max open files\s+64\s+64\s/m);
    assert.match(limits, /^Max processes\s+512\s+512\s/m);
    assert.notEqual(network, readlinkSync('/proc/self/ns/net'));
  });

  test('native code in it cannot read the key either', async (context) => {
    if (process.getuid?.() !== 0) return context.skip('only root can start another user');
    const [program = '', ...words] = (await findConfinement()).words;
    const { status, stderr } = spawnSync(program, [...words, '/bin/cat', key], {
      encoding: 'utf8',
    });
    assert.notEqual(status, 0);
    assert.match(stderr, /Permission denied/);
  });

  test('still decodes', async () => {
    const pixel =
      'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
    const answer = await withImageDecoder((decoder) =>
      decoder.decode(Buffer.from(pixel, 'base64')),
    );
    assert.ok(answer.isDamaged !== true && answer.width === 1);
  });
});
