import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  type EntryParts,
  receive,
  writeBooking,
  writeReport,
} from '../../../testing/setups/account-report.ts';
import { wrap } from '../../../testing/setups/bank-messages.ts';
import {
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction } from '../contract/contract.ts';

let it: TestRail;
let payment: Instruction;
const context = { signal: noSignal };

beforeEach(async () => {
  it = await openTestRail();
  payment = makeInstruction({ amountMinor: 10_000n });
  await it.rail.send(payment, context);
  await it.work();
});
afterEach(() => it.close());

const rtrInf = '<RtrInf><Rsn><Cd>AC04</Cd></Rsn></RtrInf>';

function entry(parts: Partial<EntryParts> = {}): string {
  return writeBooking({ reference: payment.reference, ...parts });
}

describe('files of the bank', () => {
  const umlaut = 'Gebühr für Überweisung';

  function write(encoding: string): string {
    const text = writeReport(
      entry({ direction: 'CRDT', details: `${rtrInf}<AddtlTxInf>${umlaut}</AddtlTxInf>` }),
    );
    return `<?xml version="1.0" encoding="${encoding}"?>\n${text}`;
  }

  const encodings: readonly [string, (text: string) => Buffer][] = [
    ['ISO-8859-1', (text) => Buffer.from(text, 'latin1')],
    ['windows-1252', (text) => Buffer.from(text, 'latin1')],
    ['UTF-8', (text) => Buffer.from(`\ufeff${text}`)],
    ['UTF-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le')],
    ['UTF-16', (text) => Buffer.from(`\ufeff${text}`, 'utf16le').swap16()],
    ['UTF-16', (text) => Buffer.from(text, 'utf16le')],
  ];
  for (const [index, [encoding, encode]] of encodings.entries()) {
    test(`in ${encoding} are read (${index + 1})`, async () => {
      const { observations } = await receive(it, encode(write(encoding)));
      assert.equal(observations[0]?.outcome, 'returned');
    });
  }

  test('that cannot be read are exceptions, and the check lists them', async () => {
    const cases: readonly [Buffer, string][] = [
      [Buffer.from(write('UTF-8'), 'latin1'), 'unreadable'],
      [Buffer.from(write('EBCDIC-US')), 'unreadable'],
      [Buffer.from('<Document>'), 'unreadable'],
      [Buffer.from(wrap('camt.029.001.09', '<RsltnOfInvstgtn/>')), 'not_understood'],
    ];
    for (const [bytes, kind] of cases) {
      const first = await receive(it, bytes);
      assert.deepEqual(first, { observations: [], problems: [] }, 'it may be unfinished');
      await it.work();
      assert.equal(it.host.problems.at(-1)?.kind, kind);
    }
    assert.equal(await it.host.countUnresolvedInbound(), cases.length);
    const faults = (await it.rail.check?.(context)) ?? [];
    assert.ok(faults.some((fault) => /4 inbound/.test(fault)));
    assert.ok(faults.some((fault) => /quarantine.* 4 files/.test(fault)));
  });

  test('of kinds that are not read open an exception that says what to do', async () => {
    const kinds = [
      ['pacs.004.001.09', /pacs\.004\.001\.09, a return of payments.*camt\.053 or camt\.054/],
      ['camt.056.001.08', /camt\.056\.001\.08, a request to return.*answer it at the bank/],
      ['camt.029.001.09', /camt\.029\.001\.09, the answer to a request.*moves no money/],
      ['camt.060.001.05', /messages camt\.060\.001\.05 are not supported/],
    ] as const;
    for (const [name, expected] of kinds) {
      await receive(it, Buffer.from(wrap(name, '<X/>')));
      await it.work();
      const problem = it.host.problems.at(-1);
      assert.equal(problem?.kind, 'not_understood');
      assert.match(problem?.detail ?? '', expected);
    }
  });

  test('of intraday reports are stored without effect', async () => {
    const interim = writeReport(entry({ direction: 'CRDT', details: rtrInf }), {
      name: 'camt.052.001.08',
    });
    assert.deepEqual(await receive(it, interim), { observations: [], problems: [] });
    assert.equal(it.host.messages.length, 1);
    assert.deepEqual(await readdir(join(it.folder, 'quarantine')), []);
    assert.ok(it.host.lines.every(({ level }) => level !== 'error'));
  });
});
