import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, rename, rmdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import {
  listBooked,
  listValidationErrors,
} from '../../../testing/counterparties/nacha/ach-simulator.ts';
import {
  context,
  makeInstruction,
  type NachaBench,
  openBench,
} from '../../../testing/setups/nacha.ts';
import type { RailHost, RecordChange } from '../contract/contract.ts';
import { fromEastern } from './banking-days.ts';
import { railModule } from './rail.ts';

const closedMs = fromEastern({ day: '2026-11-20', time: '10:00' });

/** The same host, whose connection breaks at the write that brings a file into the state. */
function breakAt(host: RailHost, state: string, when: 'before' | 'after'): RailHost {
  let isBroken = false;
  const meets = ({ collection, next }: RecordChange) =>
    collection === 'files' && next?.state === state;
  return {
    ...host,
    store: {
      ...host.store,
      write: async (changes) => {
        const isMeant = !isBroken && changes.some(meets);
        if (isMeant && when === 'before') {
          isBroken = true;
          throw new Error('the connection broke');
        }
        const isWritten = await host.store.write(changes);
        if (isMeant) {
          isBroken = true;
          throw new Error('the connection broke');
        }
        return isWritten;
      },
    },
  };
}

async function listOutbox(bench: NachaBench): Promise<string[]> {
  const names = await readdir(path.join(bench.folder, 'outbox'));
  return names.filter((name) => !name.startsWith('.outlay-'));
}

for (const state of ['sealed', 'delivering', 'delivered', 'collected']) {
  for (const when of ['before', 'after'] as const) {
    test(`killed ${when} a file is recorded as ${state}, the bank gets it once`, async () => {
      const bench = await openBench();
      try {
        const payment = makeInstruction('p1');
        await bench.rail.send(payment, context);
        bench.clock.nowMs = closedMs;
        const dying = await railModule.create(bench.config, breakAt(bench.host, state, when));
        await dying.work?.(context);
        // The bank looks into the outbox before anyone repairs anything, and again after each pass.
        for (let round = 0; round < 3; round += 1) {
          await bench.bank.advance(bench.clock.nowMs);
          await bench.rail.work?.(context);
        }
        await bench.bank.advance(bench.clock.nowMs);
        assert.equal((await listBooked(bench.folder)).length, 1);
        assert.deepEqual(await listValidationErrors(bench.folder), []);
        // Nothing temporary is left either.
        assert.deepEqual(await listOutbox(bench), []);
        bench.clock.nowMs = fromEastern({ day: '2026-11-24', time: '18:30' });
        await bench.rail.work?.(context);
        assert.equal((await bench.rail.query(payment, context)).outcome, 'paid');
      } finally {
        await bench.close();
      }
    });
  }
}

test('two processes in the same pass deliver one file, with the stored bytes', async () => {
  const bench = await openBench();
  try {
    for (let index = 0; index < 6; index += 1) {
      await bench.rail.send(makeInstruction(`p${index}`), context);
    }
    bench.clock.nowMs = closedMs;
    const other = await bench.again();
    await Promise.all([bench.rail.work?.(context), other.work?.(context)]);
    await Promise.all([bench.rail.work?.(context), other.work?.(context)]);
    const [name = ''] = await listOutbox(bench);
    const text = await readFile(path.join(bench.folder, 'outbox', name), 'ascii');
    const [kept] = await bench.host.store.list('contents', { count: 2 });
    assert.ok(kept);
    assert.equal((kept.value as { text: string }).text, text);
    await bench.bank.advance(bench.clock.nowMs);
    assert.equal((await listBooked(bench.folder)).length, 6);
    assert.deepEqual(await listValidationErrors(bench.folder), []);
  } finally {
    await bench.close();
  }
});

test('an unmounted outbox or inbox does not count as one that the bank has emptied', async () => {
  const bench = await openBench();
  const unmount = (name: string) =>
    rename(path.join(bench.folder, name), path.join(bench.folder, `${name}-away`));
  const mount = (name: string) =>
    rename(path.join(bench.folder, `${name}-away`), path.join(bench.folder, name));
  try {
    const payment = makeInstruction('p1');
    await bench.rail.send(payment, context);
    bench.clock.nowMs = closedMs;
    await bench.rail.work?.(context);
    for (const name of ['outbox', 'inbox']) {
      await unmount(name);
      await mkdir(path.join(bench.folder, name));
      for (const day of ['2026-11-24', '2026-12-02']) {
        bench.clock.nowMs = fromEastern({ day, time: '18:30' });
        await bench.rail.work?.(context);
      }
      assert.match((await bench.rail.check?.(context))?.[0] ?? '', /may not be mounted/);
      assert.equal((await bench.rail.query(payment, context)).outcome, 'accepted');
      await rmdir(path.join(bench.folder, name));
      await mount(name);
      await bench.bank.advance(bench.clock.nowMs);
      await bench.rail.work?.(context);
    }
    assert.deepEqual(await bench.rail.check?.(context), []);
    bench.clock.nowMs = fromEastern({ day: '2026-12-09', time: '18:30' });
    await bench.rail.work?.(context);
    assert.equal((await bench.rail.query(payment, context)).outcome, 'paid');
  } finally {
    await bench.close();
  }
});

test('contents that differ from the checked file are not delivered', async () => {
  const bench = await openBench();
  try {
    await bench.rail.send(makeInstruction('p1'), context);
    bench.clock.nowMs = closedMs;
    const dying = await railModule.create(
      bench.config,
      breakAt(bench.host, 'delivering', 'before'),
    );
    await dying.work?.(context);
    const [kept] = await bench.host.store.list('contents', { count: 2 });
    assert.ok(kept);
    const value = { ...(kept.value as object), text: 'another file' };
    await bench.host.store.write([
      {
        collection: 'contents',
        key: kept.key,
        revision: kept.revision,
        next: { state: kept.state, value },
      },
    ]);
    await bench.rail.work?.(context);
    await bench.bank.advance(bench.clock.nowMs);
    assert.deepEqual(await listBooked(bench.folder), []);
    assert.ok(bench.host.lines.some(({ level }) => level === 'error'));
  } finally {
    await bench.close();
  }
});

test('the simulated bank as a separate process, killed and restarted, books once', async () => {
  const bench = await openBench();
  const program = fileURLToPath(
    new URL('../../../testing/counterparties/nacha/ach-simulator.ts', import.meta.url),
  );
  const start = async () => {
    const flags = [program, '--folder', bench.folder, '--everyMs', '20'];
    const child = spawn(process.execPath, flags, { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(child.stdout, 'data');
    return child;
  };
  const options = { rules: [{ everyNth: 1, code: 'R02' }] };
  await writeFile(path.join(bench.folder, 'options.json'), JSON.stringify(options));
  let child = await start();
  try {
    const payment = makeInstruction('p1');
    await bench.rail.send(payment, context);
    bench.clock.nowMs = closedMs;
    await bench.rail.work?.(context);
    child.kill('SIGKILL');
    await once(child, 'exit');
    child = await start();
    for (let tries = 0; tries < 1_000; tries += 1) {
      await bench.rail.work?.(context);
      if ((await bench.rail.query(payment, context)).outcome === 'returned') break;
      await sleep(20);
    }
    assert.equal((await bench.rail.query(payment, context)).outcome, 'returned');
    assert.equal((await listBooked(bench.folder)).length, 1);
    assert.deepEqual(await listValidationErrors(bench.folder), []);
  } finally {
    child.kill('SIGTERM');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    await bench.close();
  }
});

test('the simulated bank detects a file that it had before, and a repeated entry', async () => {
  const bench = await openBench();
  try {
    await bench.rail.send(makeInstruction('p1'), context);
    bench.clock.nowMs = closedMs;
    await bench.rail.work?.(context);
    const [name = ''] = await listOutbox(bench);
    const outbox = path.join(bench.folder, 'outbox');
    const text = await readFile(path.join(outbox, name), 'ascii');
    await bench.bank.advance(bench.clock.nowMs);
    await writeFile(path.join(outbox, 'same.ach'), text);
    await bench.bank.advance(bench.clock.nowMs);
    assert.deepEqual(
      (await listValidationErrors(bench.folder)).map(({ kind }) => kind),
      ['double_file'],
    );
    // Under another file's name it is paid twice, and the books show it.
    await writeFile(path.join(outbox, 'other.ach'), `${text.slice(0, 33)}B${text.slice(34)}`);
    await bench.bank.advance(bench.clock.nowMs);
    assert.equal((await listBooked(bench.folder)).length, 2);
  } finally {
    await bench.close();
  }
});
