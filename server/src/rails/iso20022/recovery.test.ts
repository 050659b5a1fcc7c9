import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { listPaidTwice } from '../../../testing/counterparties/iso20022/bank-books.ts';
import { setBankOptions } from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import { receive, writeBooking, writeReport } from '../../../testing/setups/account-report.ts';
import {
  makeConfig,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
  testPayers,
} from '../../../testing/setups/iso20022.ts';
import { openTestHost, type TestHost } from '../../../testing/setups/rail.ts';
import type { Instruction, RailCalls } from '../contract/contract.ts';
import { railModule } from './rail.ts';

/** A database that was restored to before everything, while folders and bank are as they are. */

let it: TestRail;
const restoredHosts: TestHost[] = [];
const context = { signal: noSignal };

beforeEach(async () => {
  it = await openTestRail();
});
afterEach(async () => {
  for (const host of restoredHosts.splice(0)) await host.close();
  await it.close();
});

type Restored = { host: TestHost; rail: RailCalls };

async function restore(): Promise<Restored> {
  const host = await openTestHost({
    name: 'bank_test',
    payers: testPayers,
    nowMs: () => it.clock.nowMs,
  });
  restoredHosts.push(host);
  return { host, rail: await railModule.create(makeConfig(it.folder), host) };
}

async function listOutbox(): Promise<string[]> {
  return (await readdir(join(it.folder, 'outbox'))).toSorted();
}

async function readMessageIds(): Promise<string[]> {
  const texts = await Promise.all(
    (await listOutbox()).map((name) => readFile(join(it.folder, 'outbox', name), 'utf8')),
  );
  return texts.map((text) => /<MsgId>([^<]+)</.exec(text)?.[1] ?? '');
}

const hash = (text: string): string => createHash('sha256').update(text).digest('hex');

/** Sends, and lets the bank take the file and answer. */
async function pay(instructions: readonly Instruction[]): Promise<void> {
  for (const instruction of instructions) await it.rail.send(instruction, context);
  await it.work();
  await it.bank.advance(it.clock.nowMs);
}

describe('a restored database', () => {
  test('sends nothing while a file in the archive is unknown to it', async () => {
    const instruction = makeInstruction();
    await pay([instruction]);
    assert.deepEqual(await listOutbox(), []);
    await rm(join(it.folder, 'inbox'), { recursive: true });
    await mkdir(join(it.folder, 'inbox'));
    const { host, rail } = await restore();
    await rail.send(instruction, context);
    await rail.send(makeInstruction(), context);
    await rail.work?.(context);
    assert.deepEqual(await listOutbox(), []);
    assert.ok(
      host.lines.some(({ level, message }) => level === 'error' && /nothing is sent/.test(message)),
    );
    const faults = (await rail.check?.(context)) ?? [];
    assert.ok(faults.some((fault) => /does not know 1 payment files/.test(fault)));
  });

  test('sends nothing while a file in the outbox is unknown to it', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    await rm(join(it.folder, 'archive'), { recursive: true });
    await mkdir(join(it.folder, 'archive'));
    const { rail } = await restore();
    await rail.send(makeInstruction(), context);
    await rail.work?.(context);
    assert.equal((await listOutbox()).length, 1);
  });

  test('without copies of its files gives the same payments the same message id', async () => {
    const instructions = [makeInstruction(), makeInstruction()];
    for (const instruction of instructions) await it.rail.send(instruction, context);
    await it.work();
    const before = await readMessageIds();
    await it.bank.advance(it.clock.nowMs);
    for (const name of ['archive', 'inbox']) {
      await rm(join(it.folder, name), { recursive: true });
      await mkdir(join(it.folder, name));
    }
    const { rail } = await restore();
    it.clock.nowMs += 3_600_000;
    for (const instruction of instructions.toReversed()) await rail.send(instruction, context);
    await rail.work?.(context);
    assert.deepEqual(await readMessageIds(), before);
    await it.bank.advance(it.clock.nowMs);
    assert.deepEqual(listPaidTwice(it.bank.books), []);
    assert.equal(it.bank.books.secondCopies.length, 1);
  });

  test('recovers payments and outcomes from the files, and pays none again', async () => {
    await setBankOptions(it.folder, {
      rules: [
        { match: { amount: '101.00' }, decision: 'reject', reason: 'AC04' },
        { match: { amount: '102.00' }, decision: 'return', reason: 'AC06' },
        { match: { amount: '103.00' }, decision: 'silent' },
      ],
    });
    const instructions = [10_000n, 10_100n, 10_200n, 10_300n].map((amountMinor) =>
      makeInstruction({ amountMinor }),
    );
    await pay(instructions);
    await it.work();
    assert.deepEqual(await readdir(join(it.folder, 'inbox')), [], 'all answers are archived');
    const { host, rail } = await restore();
    const [paid, , , silent] = instructions;
    assert.ok(paid !== undefined && silent !== undefined);
    // One of them waits in the restored queue, the others are not known at all.
    await rail.send(silent, context);
    const recovered = (await rail.recover?.(it.clock.nowMs - 1_000, context)) ?? [];
    assert.deepEqual(
      recovered
        .map(({ amountMinor, currency, outcome }) => `${amountMinor} ${currency} ${outcome}`)
        .toSorted(),
      ['10000 EUR paid', '10100 EUR rejected', '10200 EUR returned', '10300 EUR accepted'],
    );
    assert.deepEqual(
      recovered.map(({ reference }) => reference).toSorted(),
      instructions.map(({ reference }) => reference).toSorted(),
    );
    assert.ok(
      recovered.every(({ countryCode, detail }) => countryCode === 'DEU' && /T1-/.test(detail)),
    );
    assert.equal((await rail.send(paid, context)).outcome, 'paid');
    const fresh = makeInstruction();
    await rail.send(fresh, context);
    await rail.work?.(context);
    await it.bank.advance(it.clock.nowMs);
    assert.deepEqual(listPaidTwice(it.bank.books), []);
    assert.equal((await rail.query(silent, context)).outcome, 'accepted');
    assert.ok(host.observations.some(({ outcome }) => outcome === 'returned'));
    const again = (await rail.recover?.(it.clock.nowMs - 1_000, context)) ?? [];
    assert.equal(again.length, instructions.length + 1);
    assert.deepEqual(await rail.check?.(context), []);
  });

  test('processes archived messages in the order in which they came', async () => {
    const instruction = makeInstruction({ amountMinor: 10_000n });
    await setBankOptions(it.folder, { rules: [{ decision: 'silent' }] });
    await pay([instruction]);
    const number = 'DEBIT-778899';
    const debit = writeReport(writeBooking({ reference: instruction.reference, number }));
    const writeReturn = () =>
      writeReport(
        writeBooking({
          reference: '',
          direction: 'CRDT',
          number,
          details: '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>',
        }),
      );
    let credit = writeReturn();
    // By name, it comes first in the archive.
    while (hash(credit) > hash(debit)) credit = writeReturn();
    await receive(it, debit);
    const before = await receive(it, credit);
    assert.deepEqual(before.problems, []);
    const { host, rail } = await restore();
    await rail.recover?.(it.clock.nowMs, context);
    assert.deepEqual(host.problems, []);
    assert.deepEqual(
      host.observations.map(({ outcome }) => outcome),
      it.host.observations.map(({ outcome }) => outcome),
    );
    assert.equal((await rail.query(instruction, context)).outcome, 'returned');
  });

  test('reports files in quarantine again, and archived ones that cannot be read any more', async () => {
    const inbox = join(it.folder, 'inbox');
    await writeFile(join(inbox, 'bad.xml'), 'hello');
    await writeFile(
      join(inbox, 'other.xml'),
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"/>',
    );
    await writeFile(join(inbox, 'long.xml'), Buffer.alloc(30_000_000, 'x'));
    await it.work();
    await it.work();
    const reported = it.host.problems.map(({ id }) => id).toSorted();
    assert.equal(reported.length, 3);
    const { host, rail } = await restore();
    const recover = async () => {
      await rail.recover?.(it.clock.nowMs, context);
      return host.problems.map(({ id }) => id).toSorted();
    };
    assert.deepEqual(await recover(), reported);
    await host.closeExceptions();
    await writeFile(join(it.folder, 'archive', '0123456789ab-cut-off.xml'), '<Document');
    assert.equal((await recover()).length, 4);
    assert.equal(await host.countUnresolvedInbound(), 1);
    assert.deepEqual((await recover()).length, 4);
    assert.equal((await readdir(join(it.folder, 'quarantine'))).length, 3);
  });

  test('answers another order under a recovered reference with unknown', async () => {
    const instruction = makeInstruction();
    await pay([instruction]);
    const { rail } = await restore();
    await rail.recover?.(0, context);
    const answer = await rail.send({ ...instruction, amountMinor: 1n }, context);
    assert.deepEqual(answer, { outcome: 'unknown', reason: 'duplicate' });
  });
});

describe('folders', () => {
  test('a missing one is refused at the start and never created', async () => {
    const folder = join(it.folder, 'not-mounted');
    await assert.rejects(railModule.create(makeConfig(folder), it.host), /does not exist/);
    await assert.rejects(readdir(folder));
    const exchange = { mode: 'directory', folder: it.folder, outbox: `${it.folder}-share/outbox` };
    await assert.rejects(
      railModule.create(makeConfig(it.folder, { exchange }), it.host),
      /does not exist/,
    );
  });

  test('one that disappears later stops the rail, is reported, and is not created again', async () => {
    await it.work();
    await rename(it.folder, `${it.folder}-away`);
    try {
      await it.rail.send(makeInstruction(), context);
      await it.work();
      assert.match((await it.rail.check?.(context))?.[0] ?? '', /does not exist/);
      // The bare mount point of a share that is not mounted.
      await mkdir(it.folder);
      await it.work();
      assert.deepEqual(await readdir(it.folder), []);
      assert.match((await it.rail.check?.(context))?.[0] ?? '', /outbox does not exist/);
      await rm(it.folder, { recursive: true });
    } finally {
      await rename(`${it.folder}-away`, it.folder);
    }
    await it.work();
    assert.equal((await listOutbox()).length, 1);
  });
});

test('a sent copy is in the archive before the file is in the outbox', async () => {
  const instruction = makeInstruction();
  await it.rail.send(instruction, context);
  await it.work();
  const [name = ''] = await listOutbox();
  const copy = await readFile(join(it.folder, 'archive', `sent-${name}`));
  assert.deepEqual(copy, await readFile(join(it.folder, 'outbox', name)));
  // Another file of that name is a fork: nothing is delivered over it.
  const next = makeInstruction();
  await it.rail.send(next, context);
  const received = await receive(
    it,
    writeReport(writeBooking({ reference: 'INVOICE7', direction: 'CRDT' })),
  );
  assert.deepEqual(received.problems, []);
  assert.equal((await listOutbox()).length, 2);
  await writeFile(join(it.folder, 'archive', 'sent-T1-00000000000000000000.xml'), 'x');
  await it.rail.send(makeInstruction(), context);
  await it.work();
  assert.equal((await listOutbox()).length, 2);
});
