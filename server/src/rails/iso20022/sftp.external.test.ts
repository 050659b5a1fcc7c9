import assert from 'node:assert/strict';
import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { listPaidTwice } from '../../../testing/counterparties/iso20022/bank-books.ts';
import { openBankSimulator } from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import { type SshServer, startSshServer } from '../../../testing/counterparties/iso20022/sshd.ts';
import { type Fault, openFaultProxy } from '../../../testing/fault-proxy/fault-proxy.ts';
import {
  makeConfig,
  makeInstruction,
  noSignal,
  openTestRail,
} from '../../../testing/setups/iso20022.ts';
import { type Config, configSchema, type SftpConfig } from './config.ts';
import { openSftp } from './sftp.ts';

/** The exchange with a real OpenSSH server. */

let server: SshServer;
let folder = '';
before(async () => {
  server = await startSshServer();
});
after(async () => {
  await server.stop();
});

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-sftp-'));
  await makeFolders(folder);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function makeFolders(parent: string): Promise<void> {
  for (const name of ['outbox', 'inbox', 'archive', 'quarantine']) await mkdir(join(parent, name));
}

function describeExchange(parent: string, some: Record<string, unknown> = {}): unknown {
  return {
    mode: 'sftp',
    host: '127.0.0.1',
    port: server.port,
    user: server.user,
    privateKey: server.privateKey,
    hostKeyFingerprints: [server.fingerprint],
    timeoutSeconds: 20,
    outbox: join(parent, 'outbox'),
    inbox: join(parent, 'inbox'),
    archive: join(parent, 'archive'),
    quarantine: join(parent, 'quarantine'),
    ...some,
  };
}

function sftpConfig(some: Record<string, unknown> = {}): SftpConfig {
  const config: Config = makeConfig(folder, { exchange: describeExchange(folder, some) });
  if (config.exchange.mode !== 'sftp') throw new Error('it is no SFTP configuration');
  return config.exchange;
}

const content = Buffer.alloc(100_000, 'ISO 20022 ');

describe('the SFTP exchange', () => {
  test('a file appears complete under its name, without temporary files', async () => {
    const exchange = await openSftp(sftpConfig(), noSignal);
    await exchange.outbox.put('A-1.xml', content);
    assert.deepEqual(await readdir(join(folder, 'outbox')), ['A-1.xml']);
    assert.deepEqual(await readFile(join(folder, 'outbox', 'A-1.xml')), content);
    await exchange[Symbol.asyncDispose]();
  });

  test('the same file again changes nothing, another one under its name is refused', async () => {
    const exchange = await openSftp(sftpConfig(), noSignal);
    assert.equal(await exchange.outbox.put('A-1.xml', content), 'written');
    assert.equal(await exchange.outbox.put('A-1.xml', content), 'written');
    assert.equal(await exchange.outbox.put('A-1.xml', Buffer.from('other')), 'taken');
    assert.deepEqual(await readFile(join(folder, 'outbox', 'A-1.xml')), content);
    await exchange[Symbol.asyncDispose]();
  });

  test('a temporary file of an interrupted write is replaced', async () => {
    await writeFile(join(folder, 'outbox', '.A-1.xml.part'), Buffer.alloc(200_000, 'x'));
    const exchange = await openSftp(sftpConfig(), noSignal);
    await exchange.outbox.put('A-1.xml', content);
    assert.deepEqual(await readdir(join(folder, 'outbox')), ['A-1.xml']);
    assert.deepEqual(await readFile(join(folder, 'outbox', 'A-1.xml')), content);
    await exchange[Symbol.asyncDispose]();
  });

  test('whole files are listed, read and moved; hidden and unfinished ones stay', async () => {
    const inbox = join(folder, 'inbox');
    await writeFile(join(inbox, 'b.xml'), 'bb');
    await writeFile(join(inbox, 'a.xml'), content);
    await writeFile(join(inbox, '.c.xml'), 'c');
    await writeFile(join(inbox, 'd.xml.part'), 'd');
    const exchange = await openSftp(sftpConfig(), noSignal);
    const names = (await exchange.inbox.list()).map(
      ({ name, sizeBytes }) => `${name} ${sizeBytes}`,
    );
    assert.deepEqual(names, ['a.xml 100000', 'b.xml 2']);
    assert.deepEqual(await exchange.inbox.read('a.xml', 100_000), content);
    await assert.rejects(exchange.inbox.read('a.xml', 99_999), /longer than 99999 bytes/);
    await exchange.inbox.move('a.xml', exchange.archive, 'label-a.xml');
    await exchange.inbox.move('b.xml', exchange.quarantine, 'label-b.xml');
    assert.deepEqual(await exchange.inbox.list(), []);
    assert.deepEqual(await readdir(join(folder, 'archive')), ['label-a.xml']);
    assert.deepEqual(await readdir(join(folder, 'quarantine')), ['label-b.xml']);
    // A second upload of the file replaces its copy.
    await writeFile(join(inbox, 'a.xml'), content);
    await exchange.inbox.move('a.xml', exchange.archive, 'label-a.xml');
    assert.deepEqual(await exchange.inbox.list(), []);
    await exchange[Symbol.asyncDispose]();
  });

  test('a server with another host key is refused before the login', async () => {
    const config = sftpConfig({ hostKeyFingerprints: [server.strangeFingerprint] });
    const seen = server.log().length;
    await assert.rejects(openSftp(config, noSignal), (error: Error) => {
      assert.match(error.message, /shows the key SHA256:/);
      assert.ok(error.message.includes(server.fingerprint));
      return true;
    });
    assert.doesNotMatch(server.log().slice(seen), /Accepted publickey/);
  });

  test('of two configured host keys, the old and the new, either is accepted', async () => {
    const hostKeyFingerprints = [server.strangeFingerprint, server.fingerprint];
    const exchange = await openSftp(sftpConfig({ hostKeyFingerprints }), noSignal);
    await exchange[Symbol.asyncDispose]();
  });

  test('a key that the server does not know is refused', async () => {
    const config = sftpConfig({ privateKey: server.strangeKey });
    await assert.rejects(openSftp(config, noSignal), /authentication methods failed/);
  });

  test('there is no configuration with a password', () => {
    const exchange = describeExchange(folder, { password: 'secret' });
    assert.throws(() => makeConfig(folder, { exchange }), /password/);
    assert.equal(configSchema.safeParse({}).success, false);
  });

  test('a server that accepts and does not answer ends the pass by a time-out', async () => {
    const mute = createServer((socket) => socket.on('error', () => undefined));
    const port = await new Promise<number>((resolve) => {
      mute.listen(0, '127.0.0.1', () => {
        const address = mute.address();
        resolve(typeof address === 'object' && address !== null ? address.port : 0);
      });
    });
    await assert.rejects(openSftp(sftpConfig({ port, timeoutSeconds: 1 }), noSignal));
    const abort = new AbortController();
    const opening = openSftp(sftpConfig({ port, timeoutSeconds: 600 }), abort.signal);
    setTimeout(() => abort.abort(), 100);
    await assert.rejects(opening);
    mute.close();
  });
});

test('a payment leaves through SFTP and its reports come back', async () => {
  const rail = await openTestRail({ exchange: describeExchange(folder) });
  // The bank of the other side has the same folders.
  const bank = await openBankSimulator({ folder });
  try {
    const instruction = makeInstruction();
    await rail.rail.send(instruction, { signal: noSignal });
    await rail.work();
    await bank.advance(rail.clock.nowMs);
    await rail.work();
    const answer = await rail.rail.query(instruction, { signal: noSignal });
    assert.equal(answer.outcome, 'paid');
    assert.deepEqual(
      rail.host.observations.map(({ outcome }) => outcome),
      ['paid', 'accepted'],
    );
    assert.deepEqual(await rail.rail.check?.({ signal: noSignal }), []);
  } finally {
    await rail.close();
  }
});

describe('a connection that fails at any exchange of a pass', () => {
  const faults: readonly Fault[] = [
    { kind: 'reset' },
    { kind: 'truncate_answer', afterBytes: 0 },
    { kind: 'truncate_answer', afterBytes: 20 },
    { kind: 'drop_answer' },
  ];
  for (const fault of faults) {
    const size = 'afterBytes' in fault ? ` after ${fault.afterBytes} bytes` : '';
    test(`pays once and completes: ${fault.kind}${size}`, async () => {
      const proxy = await openFaultProxy({ host: '127.0.0.1', port: server.port });
      const { port } = proxy.address;
      const rail = await openTestRail({
        exchange: describeExchange(folder, {
          port,
          timeoutSeconds: fault.kind === 'drop_answer' ? 2 : 30,
        }),
      });
      const bank = await openBankSimulator({ folder });
      try {
        let injected = 0;
        for (let number = 1; number === 1 || injected === number - 1; number += 1) {
          const instruction = makeInstruction();
          await rail.rail.send(instruction, { signal: noSignal });
          const seen = proxy.exchanges;
          proxy.decide((exchange) => {
            if (exchange.number !== seen + number) return { kind: 'none' };
            injected += 1;
            return fault;
          });
          await rail.work();
          proxy.decide(() => ({ kind: 'none' }));
          // The bank may have taken the file before the rail knew that it was there.
          let outcome = '';
          for (let tries = 0; tries < 50 && outcome !== 'paid'; tries += 1) {
            await bank.advance(rail.clock.nowMs);
            await rail.work();
            ({ outcome } = await rail.rail.query(instruction, { signal: noSignal }));
          }
          assert.equal(outcome, 'paid', `fault at exchange ${number}`);
        }
        assert.ok(injected > 10, `${injected} exchanges`);
        assert.deepEqual(listPaidTwice(bank.books), []);
        const refused = rail.host.observations.filter(({ outcome }) => outcome === 'rejected');
        assert.deepEqual(refused, []);
        assert.deepEqual(await readdir(join(folder, 'quarantine')), []);
      } finally {
        await rail.close();
        await proxy.close();
      }
    });
  }
});
