import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, test } from 'node:test';
import type { RailCalls } from '../../../src/rails/contract/contract.ts';
import { nameTransfer } from '../../../src/rails/fspiop/payment.ts';
import { railModule } from '../../../src/rails/fspiop/rail.ts';
import {
  type CallbackEndpoint,
  context,
  instruct,
  openCallbackEndpoint,
  payer,
} from '../../setups/fspiop.ts';
import { openTestHost, type TestHost } from '../../setups/rail.ts';
import { openHubBooks, openKeyFiles } from './hub-books.ts';

/** The simulated hub as a process that is killed. */

let folder: string;
let endpoint: CallbackEndpoint;
let host: TestHost;
let rail: RailCalls;
let child: ChildProcess;

before(async () => {
  folder = await mkdtemp(join(tmpdir(), 'fspiop-hub-'));
  endpoint = await openCallbackEndpoint(() => ({ rail, host }));
  host = await openTestHost({ name: 'momo', payers: [payer], callbackUrl: endpoint.url });
});
after(async () => {
  child.kill('SIGKILL');
  await endpoint.close();
  await host.close();
  await rm(folder, { recursive: true, force: true });
});

/** Returns the port. */
async function start(port: number, ...more: string[]): Promise<number> {
  const script = join(import.meta.dirname, 'hub-simulator-program.ts');
  const given = ['--folder', folder, '--callback', endpoint.url, '--port', String(port), ...more];
  child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', script, ...given], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  assert.ok(child.stdout);
  const [line] = (await once(createInterface({ input: child.stdout }), 'line')) as [string];
  return (JSON.parse(line) as { port: number }).port;
}

test('a hub that is killed and loses and repeats callbacks pays each payment once', async () => {
  const faults = ['--delay-ms', '5', '--lost-percent', '20', '--repeated-percent', '20'];
  const port = await start(0, ...faults);
  const keys = openKeyFiles(folder);
  rail = await railModule.create(
    railModule.configSchema.parse({
      hubUrl: `http://127.0.0.1:${port}`,
      fspId: 'outlay',
      hubFspId: 'hub',
      privateKey: keys.payer.privatePem,
      publicKeys: { hub: keys.hub.publicPem, wallets: keys.payee.publicPem },
      payer: { idType: 'BUSINESS', id: 'outlay' },
      feeMax: { fixed: {}, basisPoints: 0 },
      againMs: 100,
    }),
    host,
  );
  const instructions = Array.from({ length: 12 }, () => instruct());
  const paid = new Set<string>();
  for (let round = 0; paid.size < instructions.length; round += 1) {
    if (round === 3 || round === 6) {
      child.kill('SIGKILL');
      await once(child, 'exit');
      await start(port, ...faults);
    }
    for (const instruction of instructions) {
      const answer = await rail.query(instruction, context);
      if (answer.outcome === 'retry') await rail.send(instruction, context);
      if (answer.outcome === 'paid') paid.add(instruction.reference);
      assert.notEqual(answer.outcome, 'rejected');
    }
    await rail.work?.(context);
  }
  child.kill('SIGTERM');
  await once(child, 'exit');
  const books = openHubBooks(folder);
  const booked = books.list();
  books.close();
  assert.equal(booked.length, instructions.length);
  for (const { reference, amountMinor } of instructions) {
    const transfer = booked.find(({ transferId }) => transferId === nameTransfer(reference));
    assert.equal(transfer?.state, 'COMMITTED');
    assert.equal(transfer.reference, reference);
    assert.equal(amountMinor, 150_050n);
    assert.equal(transfer.amount, '1500.5');
  }
});
