import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  listPaidAmounts,
  listPaidTwice,
} from '../../../testing/counterparties/iso20022/bank-books.ts';
import {
  openBankSimulator,
  setBankOptions,
} from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import {
  writeBatchDebit,
  writeDebit,
  writeGroupStatus,
  writeStatus,
} from '../../../testing/setups/bank-messages.ts';
import {
  makeConfig,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction, RailAnswer } from '../contract/contract.ts';
import { deriveUetr } from './purpose.ts';
import { railModule } from './rail.ts';

let it: TestRail;
beforeEach(async () => {
  it = await openTestRail();
});
afterEach(() => it.close());

const context = { signal: noSignal };

async function query(instruction: Instruction): Promise<RailAnswer> {
  return it.rail.query(instruction, context);
}

async function listOutbox(): Promise<string[]> {
  const names = await readdir(join(it.folder, 'outbox')).catch(() => []);
  return names.toSorted();
}

function outcomes(): string[] {
  return it.host.observations.map(({ reference, outcome }) => `${reference} ${outcome}`).toSorted();
}

describe('files are closed at the cut-offs of the bank', () => {
  beforeEach(async () => {
    await it.close();
    it = await openTestRail({
      schedule: { timeZone: 'Europe/Berlin', cutOffs: ['11:00', '15:00'] },
      paymentsPerFileMax: 3,
      pollSeconds: 600,
    });
  });

  test('nothing leaves before the cut-off, everything after it, and the passes come in time', async () => {
    const instruction = makeInstruction();
    const answer = await it.rail.send(instruction, context);
    // 11:00 in Berlin in winter, and an hour for the bank.
    const cutOffMs = Date.parse('2026-03-04T10:00:00Z');
    assert.deepEqual(answer, { outcome: 'accepted', checkAtMs: cutOffMs + 3_600_000 });
    it.clock.nowMs = cutOffMs - 120_000;
    assert.equal(await it.work(), cutOffMs);
    assert.deepEqual(await listOutbox(), []);
    it.clock.nowMs = cutOffMs;
    await it.work();
    assert.equal((await listOutbox()).length, 1);
  });

  test('no file holds more payments than configured, and no payment is in two', async () => {
    const instructions = Array.from({ length: 7 }, () => makeInstruction());
    for (const instruction of instructions) await it.rail.send(instruction, context);
    it.clock.nowMs = Date.parse('2026-03-04T10:00:00Z');
    await Promise.all([it.work(), it.work()]);
    const texts: string[] = [];
    for (const name of await listOutbox()) {
      texts.push(await readFile(join(it.folder, 'outbox', name), 'utf8'));
    }
    const counts = texts.map((text) => /<NbOfTxs>(\d)/.exec(text)?.[1]).toSorted();
    assert.deepEqual(counts, ['1', '3', '3']);
    const references = texts.flatMap((text) =>
      [...text.matchAll(/<EndToEndId>(\w+)</g)].map(([, reference]) => reference),
    );
    assert.deepEqual(references.toSorted(), instructions.map((one) => one.reference).toSorted());
  });

  test('a payment can be canceled until then and not after', async () => {
    const early = makeInstruction();
    const late = makeInstruction();
    await it.rail.send(early, context);
    await it.rail.send(late, context);
    const cancelled = { outcome: 'rejected', reason: 'cancelled' };
    assert.deepEqual(await it.rail.cancel?.(early, context), cancelled);
    it.clock.nowMs = Date.parse('2026-03-04T10:00:00Z');
    await it.work();
    assert.equal((await it.rail.cancel?.(late, context))?.outcome, 'accepted');
    const [name = ''] = await listOutbox();
    const text = await readFile(join(it.folder, 'outbox', name), 'utf8');
    assert.ok(text.includes(late.reference) && !text.includes(early.reference));
    assert.deepEqual(await it.rail.send(early, context), cancelled);
  });

  test('a payment canceled before it was ever sent is never sent', async () => {
    const instruction = makeInstruction();
    await it.rail.cancel?.(instruction, context);
    const answer = await it.rail.send(instruction, context);
    assert.deepEqual(answer, { outcome: 'rejected', reason: 'cancelled' });
  });
});

describe('reports of the bank', () => {
  test('refused, paid, returned in part and as a whole, with the charges', async () => {
    await setBankOptions(it.folder, {
      rules: [
        { match: { amount: '101.00' }, decision: 'reject', reason: 'AC04' },
        { match: { amount: '102.00' }, decision: 'return', reason: 'AC06' },
        { match: { amount: '103.00' }, decision: 'partial_return', returnedAmount: '50.00' },
        { match: { amount: '104.00' }, decision: 'silent' },
      ],
      charge: '0.35',
      answersTwice: true,
      writesStatements: true,
    });
    const amounts = [10_000n, 10_100n, 10_200n, 10_300n, 10_400n];
    const instructions = amounts.map((amountMinor) => makeInstruction({ amountMinor }));
    for (const instruction of instructions) await it.rail.send(instruction, context);
    await it.work();
    await it.bank.advance(it.clock.nowMs);
    await it.work();
    const answers: RailAnswer[] = [];
    const uetr = deriveUetr(instructions[4]?.reference ?? '', {
      service: 'sepa',
      config: it.config,
    });
    for (const instruction of instructions) answers.push(await query(instruction));
    const checkAtMs = it.clock.nowMs + 3_600_000;
    assert.deepEqual(answers, [
      { outcome: 'paid' },
      { outcome: 'rejected', reason: 'account_closed', code: 'AC04' },
      { outcome: 'returned', reason: 'account_blocked', code: 'AC06', amountMinor: 10_200n },
      { outcome: 'returned', reason: 'account_closed', code: 'AC04', amountMinor: 5_000n },
      { outcome: 'accepted', checkAtMs, providerReference: uetr },
    ]);
    // Status, debits, returns and statement, each of them once for all that they were left twice.
    assert.equal(it.host.messages.length, 4);
    const distinct = new Map(it.host.observations.map((one) => [one.id, one]));
    const shown = [...distinct.values()].flatMap(({ reference, charges: all = [] }) =>
      all.map((charge) => [`${reference} ${charge.id}`, charge] as const),
    );
    const charges = [...new Map(shown).values()];
    assert.equal(charges.length, 3 + 2);
    assert.ok(charges.every(({ amountMinor, kind }) => amountMinor === 35n && kind === 'bank'));
    assert.deepEqual(await readdir(join(it.folder, 'inbox')), []);
  });

  test('the rejection of a whole file rejects its payments, and no others', async () => {
    const [instruction, other] = [makeInstruction(), makeInstruction()];
    await it.rail.send(instruction, context);
    await it.work();
    await it.rail.send(other, context);
    await it.work();
    const [file] = await findFiles(instruction.reference);
    await leave('refusal.xml', writeGroupStatus(file ?? '', 'RJCT', 'FF01'));
    await it.work();
    assert.equal((await query(instruction)).outcome, 'rejected');
    assert.equal((await query(other)).outcome, 'accepted');
  });

  test('a second copy is recognized by the code for a duplicate on any level', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const [file = ''] = await findFiles(instruction.reference);
    const reason = (code: string) => `<StsRsnInf><Rsn><Cd>${code}</Cd></Rsn></StsRsnInf>`;
    const group = writeGroupStatus(file, 'RJCT', 'AM05');
    const single = writeStatus(file, { reference: instruction.reference, status: 'RJCT', code: '' })
      .replaceAll(/(<\/?)n:/g, '$1')
      .replace('xmlns:n=', 'xmlns=')
      .replace('pain.001</OrgnlMsgNmId>', `$&<GrpSts>RJCT</GrpSts>${reason('AM05')}`);
    await leave('a.xml', group.replace(reason('AM05'), `${reason('NARR')}${reason('AM05')}`));
    await leave('b.xml', single);
    await leave(
      'c.xml',
      single.replace(/<TxInfAndSts>.*<.TxInfAndSts>/s, '<PmtInfSts>RJCT</PmtInfSts>'),
    );
    await it.work();
    assert.equal((await query(instruction)).outcome, 'accepted');
    assert.deepEqual(
      [...new Set(it.host.observations.map(({ id, outcome }) => `${id} ${outcome}`))],
      [`${instruction.reference}:RJCT:AM05 accepted`],
    );
    assert.equal(it.host.messages.length, 3);
    assert.deepEqual(it.host.problems, []);
  });

  test('a rejection of a whole file that may have left twice rejects no payment', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const [file = ''] = await findFiles(instruction.reference);
    const record = await it.host.store.get('files', file);
    assert.ok(record !== undefined);
    // As after a death between the delivery and its record.
    const next = { state: 'closed', value: record.value };
    const { revision } = record;
    await it.host.store.write([{ collection: 'files', key: file, revision, next }]);
    await it.work();
    await leave('a.xml', writeGroupStatus(file, 'RJCT', 'NARR'));
    await it.work();
    assert.equal((await query(instruction)).outcome, 'accepted');
  });

  test('a second copy rejected as a duplicate rejects no payment', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const [name = ''] = await listOutbox();
    const copy = await readFile(join(it.folder, 'outbox', name));
    await it.bank.advance(it.clock.nowMs);
    await writeFile(join(it.folder, 'outbox', name), copy);
    await it.bank.advance(it.clock.nowMs);
    assert.deepEqual(
      it.bank.books.secondCopies.map(({ isSame }) => isSame),
      [true],
    );
    await it.work();
    assert.equal((await query(instruction)).outcome, 'paid');
    assert.ok(outcomes().every((one) => !one.endsWith('rejected')));
    assert.equal(listPaidAmounts(it.bank.books, instruction.reference).length, 1);
  });

  test('a report with another amount, or about another file, has no effect', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const [file = ''] = await findFiles(instruction.reference);
    const status = { reference: instruction.reference, status: 'RJCT', code: 'AC04' };
    await leave('a.xml', writeStatus(file, { ...status, amount: '999.00' }));
    await leave('b.xml', writeStatus('T1-0000099-0123456789', status));
    await it.work();
    assert.equal((await query(instruction)).outcome, 'accepted');
    assert.deepEqual(outcomes(), []);
    assert.equal(it.host.messages.length, 2);
    await leave('c.xml', writeStatus(file, status));
    await it.work();
    assert.equal((await query(instruction)).outcome, 'rejected');
  });

  test('an unknown payment opens an exception', async () => {
    await leave(
      'foreign.xml',
      writeStatus('X', { reference: 'WHO', status: 'RJCT', code: 'AC04' }),
    );
    await it.work();
    assert.deepEqual(outcomes(), []);
    const kinds = it.host.problems.map(({ kind }) => kind);
    assert.deepEqual(kinds, ['unmatched', 'unmatched'], 'the file and the payment');
  });

  test('files that the bank has are not sent again after a restore from backup', async () => {
    const instruction = makeInstruction();
    await it.rail.send(instruction, context);
    await mkdir(join(it.folder, 'inbox'), { recursive: true });
    await leave(
      'status.xml',
      writeStatus('LOST', { reference: 'other', status: 'ACSP', code: '' }),
    );
    await leave('debit.xml', writeDebit(instruction.reference));
    await it.work();
    assert.equal((await query(instruction)).outcome, 'paid');
    assert.deepEqual(await listOutbox(), []);
  });
});

test('a debit of the whole batch counts for each of its payments', async () => {
  const instructions = [makeInstruction(), makeInstruction(), makeInstruction()];
  for (const instruction of instructions) await it.rail.send(instruction, context);
  await it.work();
  const [refused, ...others] = instructions;
  const [file = ''] = await findFiles(refused?.reference ?? '');
  const reference = refused?.reference ?? '';
  await leave('a.xml', writeStatus(file, { reference, status: 'RJCT', code: 'AC01' }));
  // The sum of all three is not what can have left.
  await leave('b.xml', writeBatchDebit(`${file}-1`, { amount: '370.35', count: 3 }));
  await it.work();
  for (const other of others) assert.equal((await query(other)).outcome, 'accepted');
  await leave('c.xml', writeBatchDebit(`${file}-1`, { amount: '246.90', count: 2 }));
  await it.work();
  for (const other of others) assert.equal((await query(other)).outcome, 'paid');
  assert.equal((await query({ ...makeInstruction(), ...refused })).outcome, 'rejected');
});

test('a reference that is used again with another amount is answered with unknown, and paid once', async () => {
  const instruction = makeInstruction();
  await it.rail.send(instruction, context);
  const answer = await it.rail.send({ ...instruction, amountMinor: 1n }, context);
  assert.deepEqual(answer, { outcome: 'unknown', reason: 'duplicate' });
  await it.work();
  await it.bank.advance(it.clock.nowMs);
  assert.deepEqual(listPaidAmounts(it.bank.books, instruction.reference), [
    { amount: '123.45', currency: 'EUR' },
  ]);
});

test('while the bank cannot be reached no file is closed, and payments can be canceled', async () => {
  const instruction = makeInstruction();
  await writeFile(join(it.folder, 'outbox-blocked'), '');
  const exchange = { mode: 'directory', folder: it.folder, outbox: 'outbox-blocked/x' };
  const rail = await railModule.create(makeConfig(it.folder, { exchange }), it.host);
  await rail.send(instruction, context);
  await rail.work?.(context);
  assert.equal((await rail.cancel?.(instruction, context))?.outcome, 'rejected');
  assert.equal((await rail.check?.(context))?.length, 1);
});

test('a payer whose currency no account pays is refused at the start', async () => {
  const debtors = [{ key: 'a', name: 'A', iban: 'DE89370400440532013000', currencies: ['EUR'] }];
  const config = makeConfig(it.folder, { debtors });
  await assert.rejects(
    railModule.create(config, it.host),
    /payer world: no debtor account pays USD/,
  );
});

test('the simulated bank pays what comes twice under different ids, and its books show it', async () => {
  const instruction = makeInstruction();
  await it.rail.send(instruction, context);
  await it.work();
  const [name = ''] = await listOutbox();
  const text = await readFile(join(it.folder, 'outbox', name), 'utf8');
  await it.bank.advance(it.clock.nowMs);
  await writeFile(join(it.folder, 'outbox', 'again.xml'), text.replace('<MsgId>T1', '<MsgId>T2'));
  const again = await openBankSimulator({ folder: it.folder });
  await again.advance(it.clock.nowMs);
  assert.deepEqual(listPaidTwice(again.books), [instruction.reference]);
});

async function leave(name: string, content: string | Buffer): Promise<void> {
  const inbox = join(it.folder, 'inbox');
  await mkdir(inbox, { recursive: true });
  await writeFile(join(inbox, name), content);
}

/** The message ids of the files that hold the reference. */
async function findFiles(reference: string): Promise<string[]> {
  const names = await listOutbox();
  const texts = await Promise.all(
    names.map((name) => readFile(join(it.folder, 'outbox', name), 'utf8')),
  );
  const holding = texts.filter((text) => text.includes(reference));
  return holding.map((text) => /<MsgId>([^<]+)/.exec(text)?.[1] ?? '');
}
