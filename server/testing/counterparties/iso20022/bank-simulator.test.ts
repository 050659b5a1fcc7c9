import assert from 'node:assert/strict';
import { appendFile, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { groupTransfers, writePaymentFile } from '../../../src/rails/iso20022/pain001.ts';
import { draftTransfer } from '../../../src/rails/iso20022/transfer.ts';
import { makeConfig, makeInstruction, testPayers } from '../../setups/iso20022.ts';
import { listPaidAmounts, readBankBooks } from './bank-books.ts';
import { openBankSimulator, setBankOptions } from './bank-simulator.ts';

let folder = '';
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'outlay-bank-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

const nowMs = Date.parse('2026-03-04T09:00:00Z');

function writeOrder(reference: string): string {
  const config = makeConfig(folder);
  const draft = draftTransfer(makeInstruction({ reference }), { config, payers: testPayers });
  if (!draft.ok) throw new Error(`refused: ${draft.faults[0].reason}`);
  const numbered = groupTransfers([draft.transfer], { prefix: 'T1' });
  const file = { ...numbered, createdAtMs: nowMs, executionDay: '2026-03-04' };
  return writePaymentFile(file, config);
}

describe('the simulated bank', () => {
  test('continues where it was killed, with a line of its books cut off', async () => {
    const first = await openBankSimulator({ folder });
    await setBankOptions(folder, { settleAfterMs: 1_000 });
    await writeFile(join(folder, 'outbox', 'a.xml'), writeOrder('a'));
    await first.advance(nowMs);
    await appendFile(join(folder, 'bank', 'books.jsonl'), '{"kind":"answ');
    const second = await openBankSimulator({ folder });
    assert.equal((await readdir(join(folder, 'inbox'))).length, 1);
    await second.advance(nowMs + 1_000);
    assert.equal((await readdir(join(folder, 'inbox'))).length, 2);
    const third = await openBankSimulator({ folder });
    await third.advance(nowMs + 2_000);
    assert.equal((await readdir(join(folder, 'inbox'))).length, 2);
    assert.equal(listPaidAmounts(third.books, 'a').length, 1);
  });

  test('killed between booking a file and putting it away, it books it once', async () => {
    const first = await openBankSimulator({ folder });
    const text = writeOrder('a');
    await writeFile(join(folder, 'outbox', 'a.xml'), text);
    await first.advance(nowMs);
    const path = join(folder, 'bank', 'books.jsonl');
    const [booked = ''] = (await readFile(path, 'utf8')).split('\n');
    for (const isStillThere of [true, false]) {
      await writeFile(path, `${booked}\n`);
      if (isStillThere) await writeFile(join(folder, 'outbox', 'a.xml'), text);
      const again = await openBankSimulator({ folder });
      await again.advance(nowMs);
      const { files, secondCopies } = await readBankBooks(join(folder, 'bank'));
      assert.deepEqual(secondCopies, []);
      assert.deepEqual(
        [...files.values()].map(({ answers }) => [...answers].toSorted()),
        [['debits', 'status']],
      );
    }
  });

  test('refuses what it cannot read', async () => {
    const bank = await openBankSimulator({ folder });
    await writeFile(join(folder, 'outbox', 'a.xml'), writeOrder('a').slice(0, 400));
    await writeFile(
      join(folder, 'outbox', 'b.xml'),
      writeOrder('b').replace('<NbOfTxs>1', '<NbOfTxs>2'),
    );
    await bank.advance(nowMs);
    assert.equal(bank.books.files.size, 0);
    assert.equal((await readdir(join(folder, 'inbox'))).length, 2);
  });

  test('the share of payments that a rule takes is the same ones every time', async () => {
    await setBankOptions(folder, { rules: [{ match: { share: 0.5 }, decision: 'reject' }] });
    const bank = await openBankSimulator({ folder });
    for (const reference of ['a', 'b', 'c', 'd', 'e', 'f']) {
      await writeFile(join(folder, 'outbox', `${reference}.xml`), writeOrder(reference));
    }
    await bank.advance(nowMs);
    const decisions = [...bank.books.files.values()].flatMap(({ orders }) =>
      orders.map(({ endToEndId, decision }) => `${endToEndId} ${decision}`),
    );
    assert.deepEqual(decisions.toSorted(), [
      'a pay',
      'b reject',
      'c reject',
      'd reject',
      'e reject',
      'f reject',
    ]);
  });
});
