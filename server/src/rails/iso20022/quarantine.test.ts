import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { writeStatus } from '../../../testing/setups/bank-messages.ts';
import {
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';

/** Files of the bank that cannot be read. */

let it: TestRail;
beforeEach(async () => {
  it = await openTestRail();
});
afterEach(() => it.close());

const context = { signal: noSignal };

async function leave(name: string, content: string | Buffer): Promise<void> {
  const inbox = join(it.folder, 'inbox');
  await mkdir(inbox, { recursive: true });
  await writeFile(join(inbox, name), content);
}

/** The message id of the only file on its way. */
async function findFile(): Promise<string> {
  const [name = ''] = await readdir(join(it.folder, 'outbox'));
  const text = await readFile(join(it.folder, 'outbox', name), 'utf8');
  return /<MsgId>([^<]+)/.exec(text)?.[1] ?? '';
}

describe('files that are no messages', () => {
  const senseless: readonly [string, string | Buffer][] = [
    ['empty.xml', ''],
    ['text.xml', 'hello'],
    ['open.xml', '<Document><a>'],
    [
      'other.xml',
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:pain.001.001.09"><a/></Document>',
    ],
    [
      'form.xml',
      '<Document xmlns="urn:iso:std:iso:20022:tech:xsd:camt.054.001.08"><a/></Document>',
    ],
    ['latin.xml', Buffer.from([0x3c, 0xe9, 0x3e])],
    ['bomb.xml', '<!DOCTYPE a [<!ENTITY b "bbb"><!ENTITY c "&b;&b;">]><Document>&c;</Document>'],
    [
      'outside.xml',
      '<!DOCTYPE a [<!ENTITY b SYSTEM "file:///etc/passwd">]><Document>&b;</Document>',
    ],
    ['deep.xml', `${'<a>'.repeat(5_000)}${'</a>'.repeat(5_000)}`],
  ];

  test('go into quarantine at the second pass, without delaying others', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    for (const [name, content] of senseless) await leave(name, content);
    await leave('long.xml', Buffer.alloc(30_000_000, 'x'));
    await it.bank.advance(it.clock.nowMs);
    await it.work();
    assert.equal((await it.rail.query(instruction, context)).outcome, 'paid');
    assert.deepEqual(await readdir(join(it.folder, 'quarantine')), ['too-long-long.xml']);
    await it.work();
    const names = await readdir(join(it.folder, 'quarantine'));
    assert.equal(names.length, senseless.length + 1);
    assert.deepEqual(await readdir(join(it.folder, 'inbox')), []);
    assert.ok(it.host.lines.filter(({ level }) => level === 'error').length >= names.length);
  });

  test('one that is still being written is processed once it is complete', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const file = await findFile();
    const text = writeStatus(file, { reference: instruction.reference, status: 'ACSC', code: '' });
    await leave('slow.xml', text.slice(0, 300));
    await it.work();
    await leave('slow.xml', text);
    await it.work();
    assert.equal((await it.rail.query(instruction, context)).outcome, 'paid');
    assert.deepEqual(await readdir(join(it.folder, 'quarantine')), []);
  });
});
