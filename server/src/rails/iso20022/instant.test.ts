import assert from 'node:assert/strict';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import {
  listPaidAmounts,
  listPaidTwice,
} from '../../../testing/counterparties/iso20022/bank-books.ts';
import {
  type BankOptions,
  setBankOptions,
} from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import {
  makeConfig,
  makeInstruction,
  noSignal,
  openTestRail,
  type TestRail,
  testPayers,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction, RailAnswer } from '../contract/contract.ts';
import { railModule } from './rail.ts';

let it: TestRail;
beforeEach(async () => {
  it = await openTestRail({
    schedule: { timeZone: 'Europe/Berlin', cutOffs: ['11:00'] },
    pollSeconds: 600,
    instant: { amountMax: '1000.00', sendSeconds: 60 },
  });
  // A Saturday night.
  it.clock.nowMs = Date.parse('2026-03-07T22:30:00Z');
});
/** Of a test that restores a backup. */
let restored: TestRail | undefined;
afterEach(async () => {
  await it.close();
  await restored?.close();
  restored = undefined;
});

const context = { signal: noSignal };

function makeInstant(some: Partial<Instruction> = {}): Instruction {
  return makeInstruction({ payerKey: 'instant', ...some });
}

const query = (instruction: Instruction): Promise<RailAnswer> =>
  it.rail.query(instruction, context);

/** Sends a payment to a bank of these habits, which takes the file at once. */
async function sendTo(options: BankOptions, instruction = makeInstant()): Promise<Instruction> {
  await setBankOptions(it.folder, options);
  assert.equal((await it.rail.send(instruction, context)).outcome, 'accepted');
  await it.work();
  await it.bank.advance(it.clock.nowMs);
  return instruction;
}

async function pass(seconds: number): Promise<void> {
  it.clock.nowMs += seconds * 1_000;
  await it.bank.advance(it.clock.nowMs);
  await it.work();
}

async function readOutbox(): Promise<string[]> {
  const received = join(it.folder, 'bank', 'received');
  const names = (await readdir(received)).toSorted();
  return Promise.all(names.map((name) => readFile(join(received, name), 'utf8')));
}

describe('an instant payment', () => {
  test('leaves at once on any day and hour, marked as instant, apart from others', async () => {
    const plain = makeInstruction();
    await it.rail.send(plain, context);
    const instruction = await sendTo({});
    const [text = '', ...others] = await readOutbox();
    assert.equal(others.length, 0);
    assert.match(text, /<SvcLvl><Cd>SEPA<\/Cd><\/SvcLvl><LclInstrm><Cd>INST<\/Cd><\/LclInstrm>/);
    assert.match(text, /<UETR>[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-/);
    assert.match(text, /<ReqdExctnDt><Dt>2026-03-07</);
    assert.ok(text.includes(instruction.reference) && !text.includes(plain.reference));
  });

  test('is paid by a positive confirmation, and its inbox is read every second', async () => {
    await setBankOptions(it.folder, { settleAfterMs: 3_600_000 });
    const instruction = makeInstant();
    await it.rail.send(instruction, context);
    assert.ok(it.host.wakes.count > 0);
    assert.equal(await it.work(), it.clock.nowMs + 1_000);
    const waiting = await query(instruction);
    assert.ok(waiting.outcome === 'accepted' && waiting.checkAtMs === it.clock.nowMs + 10_000);
    await pass(2);
    assert.equal((await query(instruction)).outcome, 'paid');
    const uetr = /<UETR>([^<]+)/.exec((await readOutbox())[0] ?? '')?.[1];
    assert.equal(waiting.providerReference, uetr);
    assert.equal(it.host.observations[0]?.providerReference, uetr);
    assert.equal(await it.work(), it.clock.nowMs + 600_000);
  });

  for (const [code, reason] of [
    ['AB05', 'payer_error'],
    ['AB08', 'payer_unavailable'],
    ['AC04', 'account_closed'],
    ['AM02', 'amount_refused'],
  ] as const) {
    test(`is rejected for certain by ${code}`, async () => {
      const instruction = await sendTo({
        rules: [{ match: {}, decision: 'reject', reason: code }],
      });
      await pass(1);
      const { outcome, ...rest } = await query(instruction);
      assert.equal(outcome, 'rejected');
      assert.deepEqual('reason' in rest && [rest.reason, rest.code], [reason, code]);
      assert.deepEqual(listPaidAmounts(it.bank.books, instruction.reference), []);
    });
  }

  test('has an unknown outcome after ten seconds of silence, and is never sent again', async () => {
    const instruction = await sendTo({ rules: [{ match: {}, decision: 'silent' }] });
    await pass(9);
    assert.equal((await query(instruction)).outcome, 'accepted');
    await pass(1);
    for (let hours = 0; hours < 3; hours += 1) {
      const answer = await query(instruction);
      assert.ok(answer.outcome === 'unknown' && answer.reason === 'no_answer');
      assert.equal((await it.rail.send(instruction, context)).outcome, 'unknown');
      assert.equal((await it.rail.cancel?.(instruction, context))?.outcome, 'unknown');
      await pass(3_600);
    }
    assert.equal((await readOutbox()).length, 1);
    assert.deepEqual(it.host.observations, []);
    assert.equal(listPaidAmounts(it.bank.books, instruction.reference).length, 1);
  });

  test('takes a late confirmation, and a late rejection', async () => {
    const options: BankOptions = {
      statusAfterMs: 45_000,
      settleAfterMs: 60_000,
      rules: [{ match: { amount: '7.00' }, decision: 'reject', reason: 'AB06' }],
    };
    const paid = await sendTo(options);
    const rejected = await sendTo(options, makeInstant({ amountMinor: 700n }));
    await pass(30);
    assert.equal((await query(paid)).outcome, 'unknown');
    assert.equal((await query(rejected)).outcome, 'unknown');
    await pass(15);
    assert.equal((await query(paid)).outcome, 'paid');
    assert.equal((await query(rejected)).outcome, 'rejected');
  });

  test('that the bank reports twice is reported once', async () => {
    const instruction = await sendTo({ answersTwice: true, settleAfterMs: 3_600_000 });
    await pass(1);
    const ids = it.host.observations.map(({ id, outcome }) => `${outcome} ${id}`);
    assert.deepEqual([...new Set(ids)], [`paid ${instruction.reference}:ACSC:`]);
  });

  test('that the bank rejects and then confirms is reported as both', async () => {
    const instruction = await sendTo({
      rules: [{ match: {}, decision: 'contradict', reason: 'AB05' }],
      settleAfterMs: 20_000,
    });
    await pass(1);
    assert.equal((await query(instruction)).outcome, 'rejected');
    await pass(20);
    assert.equal((await query(instruction)).outcome, 'paid');
    const outcomes = it.host.observations.map(({ outcome }) => outcome);
    assert.deepEqual([...new Set(outcomes)], ['rejected', 'paid']);
    assert.deepEqual(listPaidTwice(it.bank.books), []);
  });

  test('that could not leave in time is rejected for certain, and was not sent', async () => {
    const instruction = makeInstant();
    await it.rail.send(instruction, context);
    it.clock.nowMs += 61_000;
    await it.work();
    const answer = await query(instruction);
    assert.ok(answer.outcome === 'rejected' && answer.reason === 'payer_unavailable');
    assert.deepEqual(
      it.host.observations.map(({ outcome, reason }) => [outcome, reason]),
      [['rejected', 'payer_unavailable']],
    );
    assert.deepEqual(await readdir(join(it.folder, 'outbox')), []);
  });

  test('is not rejected for its age while files that left are missing in the database', async () => {
    const instruction = makeInstant();
    await it.rail.send(instruction, context);
    await mkdir(join(it.folder, 'archive'), { recursive: true });
    await writeFile(join(it.folder, 'archive', 'sent-T1-0123456789abcdef0123.xml'), '');
    it.clock.nowMs += 61_000;
    await it.work();
    assert.equal((await query(instruction)).outcome, 'accepted');
  });

  test('is recovered with an unknown outcome, and not sent again', async () => {
    const instruction = await sendTo({ rules: [{ match: {}, decision: 'silent' }] });
    const other = await railModule.create(
      makeConfig(it.folder),
      // Another database, as after the loss of everything since the backup.
      (restored = await openTestRail()).host,
    );
    const recovered = await other.recover?.(0, context);
    assert.deepEqual(
      recovered?.map(({ reference, outcome }) => [reference, outcome]),
      [[instruction.reference, 'accepted']],
    );
    const answer = await other.send(instruction, context);
    assert.equal(answer.outcome, 'unknown');
    assert.match(answer.providerReference ?? '', /^[0-9a-f-]{36}$/);
  });

  test('is refused before it is sent outside of euro and SEPA, and above the limit', () => {
    const check = (some: Partial<Instruction>) => {
      const draft = makeInstant(some);
      return it.rail.checkRecipient?.(draft)?.map(({ field, code }) => `${field} ${code}`);
    };
    assert.deepEqual(check({}), []);
    assert.deepEqual(check({ amountMinor: 100_000n }), []);
    assert.deepEqual(check({ amountMinor: 100_001n }), ['amount amount_refused']);
    const attributes = { BankAccountNumber: '000123456789' };
    assert.deepEqual(check({ attributes }), ['BankAccountNumber not_served']);
  });
});

test('an instant payer that closes or delivers another currency is refused at the start', async () => {
  const wrongs = [
    [{ currencies: ['EUR', 'USD'] }, /must deliver EUR alone/],
    [{ availability: { ...payer().availability, cutOff: '15:00' } }, /is always open/],
    [{ availability: { ...payer().availability, weekend: [0] } }, /is always open/],
  ] as const;
  for (const [wrong, message] of wrongs) {
    const host = { ...it.host, payers: [{ ...payer(), ...wrong }] };
    await assert.rejects(railModule.create(makeConfig(it.folder), host), message);
  }
});

function payer() {
  const found = testPayers.find(({ key }) => key === 'instant');
  assert.ok(found !== undefined);
  return found;
}
