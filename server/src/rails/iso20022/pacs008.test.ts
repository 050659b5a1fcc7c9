import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { listPaidAmounts } from '../../../testing/counterparties/iso20022/bank-books.ts';
import { setBankOptions } from '../../../testing/counterparties/iso20022/bank-simulator.ts';
import {
  describeScheme,
  makeConfig,
  makeSchemeInstruction,
  noSignal,
  openTestRail,
  schemePayers,
  type TestRail,
} from '../../../testing/setups/iso20022.ts';
import type { Instruction } from '../contract/contract.ts';
import { configSchema } from './config.ts';
import { readBankStatusReport } from './pain002.ts';
import { railModule } from './rail.ts';
import { readWrittenFile } from './written-file.ts';

let it: TestRail;
beforeEach(async () => {
  it = await openTestRail(
    { ...describeScheme('fednow'), schedule: { timeZone: 'America/New_York' } },
    schemePayers,
  );
  // A Saturday night in New York.
  it.clock.nowMs = Date.parse('2026-03-08T03:30:00Z');
});
afterEach(() => it.close());

const context = { signal: noSignal };
const query = (instruction: Instruction) => it.rail.query(instruction, context);

async function readMessages(): Promise<string[]> {
  const folder = join(it.folder, 'bank', 'received');
  const names = (await readdir(folder)).toSorted();
  return Promise.all(names.map((name) => readFile(join(folder, name), 'utf8')));
}

async function pass(seconds: number): Promise<void> {
  it.clock.nowMs += seconds * 1_000;
  await it.bank.advance(it.clock.nowMs);
  await it.work();
}

describe('a payment of a scheme', () => {
  test('is a message of its own, dated today, with its identifiers and both banks', async () => {
    const instructions = [makeSchemeInstruction(), makeSchemeInstruction()];
    for (const instruction of instructions) await it.rail.send(instruction, context);
    await it.work();
    await it.bank.advance(it.clock.nowMs);
    const messages = await readMessages();
    assert.equal(messages.length, 2);
    for (const text of messages) {
      const written = readWrittenFile(Buffer.from(text));
      const [payment] = written.payments;
      const reference = payment?.reference ?? '';
      assert.ok(instructions.some((one) => one.reference === reference));
      assert.ok(payment?.isInstant === true && payment.uetr.length === 36);
      assert.ok(text.includes(`<InstrId>${reference}</InstrId><EndToEndId>${reference}<`));
      assert.match(text, /<ClrSys><Cd>FDN<\/Cd><\/ClrSys>/);
      assert.match(text, /<IntrBkSttlmDt>2026-03-07</);
      assert.match(text, /<InstgAgt>.*<MmbId>021000021<.*<InstdAgt>.*<MmbId>011401533</);
    }
  });

  test('is paid, rejected or unknown as the bank reports, and never sent again', async () => {
    await setBankOptions(it.folder, {
      rules: [
        { match: { amount: '101.00' }, decision: 'reject', reason: 'AC04' },
        { match: { amount: '102.00' }, decision: 'silent' },
        { match: { amount: '103.00' }, decision: 'contradict', reason: 'AB05' },
      ],
      settleAfterMs: 30_000,
      answersTwice: true,
    });
    const instructions = [10_000n, 10_100n, 10_200n, 10_300n].map((amountMinor) =>
      makeSchemeInstruction({ amountMinor }),
    );
    for (const instruction of instructions) await it.rail.send(instruction, context);
    await it.work();
    await pass(1);
    const listOutcomes = async (): Promise<string[]> => {
      const answers = [];
      for (const instruction of instructions) answers.push(await query(instruction));
      return answers.map(({ outcome }) => outcome);
    };
    assert.deepEqual(await listOutcomes(), ['paid', 'rejected', 'accepted', 'rejected']);
    await pass(10);
    assert.deepEqual(await listOutcomes(), ['paid', 'rejected', 'unknown', 'rejected']);
    await pass(30);
    assert.deepEqual(await listOutcomes(), ['paid', 'rejected', 'unknown', 'paid']);
    for (const instruction of instructions) await it.rail.send(instruction, context);
    await it.work();
    assert.equal((await readMessages()).length, 4);
    assert.deepEqual(it.host.problems, []);
    const [paid, rejected] = instructions;
    assert.equal(listPaidAmounts(it.bank.books, paid?.reference ?? '').length, 1);
    assert.equal(listPaidAmounts(it.bank.books, rejected?.reference ?? '').length, 0);
  });

  test('is recovered from the copies of messages, and not sent again', async () => {
    const instruction = makeSchemeInstruction();
    await it.rail.send(instruction, context);
    await it.work();
    const restored = await openTestRail(describeScheme('fednow'), schemePayers);
    try {
      const rail = await railModule.create(it.config, restored.host);
      const recovered = await rail.recover?.(0, context);
      assert.deepEqual(
        recovered?.map(({ reference, amountMinor }) => [reference, amountMinor]),
        [[instruction.reference, instruction.amountMinor]],
      );
      assert.equal((await rail.send(instruction, context)).outcome, 'unknown');
    } finally {
      await restored.close();
    }
  });

  test('is refused before it is sent without a routing number, and above the limit', async () => {
    const scheme = { profile: 'rtp', routingNumber: '021000021', amountMax: '500.00' };
    const config = makeConfig(it.folder, { ...describeScheme('rtp'), scheme });
    const rail = await railModule.create(config, it.host);
    const check = (some: Partial<Instruction>) =>
      rail
        .checkRecipient?.(makeSchemeInstruction(some))
        ?.map(({ field, code }) => `${field} ${code}`);
    assert.deepEqual(check({}), []);
    assert.deepEqual(check({ amountMinor: 50_001n }), ['amount amount_refused']);
    const attributes = { BankAccountNumber: '123456789012' };
    assert.deepEqual(check({ attributes }), ['BankRoutingNumber not_served']);
  });
});

test('a report about several messages is not read', () => {
  const status = (id: string) => ({ OrgnlGrpInf: { OrgnlMsgId: id }, TxSts: 'RJCT' });
  const report = (...ids: string[]) =>
    readBankStatusReport({
      FIToFIPmtStsRpt: { GrpHdr: { MsgId: 'B' }, TxInfAndSts: ids.map(status) },
    });
  assert.equal(report('A', 'A')?.originalMessageId, 'A');
  assert.equal(report('A', 'B'), undefined);
  assert.equal(report(), undefined);
});

test('a scheme needs its version, an account of its debtor, and a payer that is always open', async () => {
  const scheme = describeScheme('rtp');
  const { version, ...withoutVersion } = scheme;
  const config = { ...it.config, ...withoutVersion, version: 'pain.001.001.10' };
  assert.equal(version, 'pacs.008.001.09');
  assert.equal(configSchema.safeParse(config).success, false);
  const [payer] = schemePayers;
  assert.ok(payer !== undefined);
  const closing = { ...payer, availability: { ...payer.availability, weekend: [0] } };
  const foreign = { ...payer, countryCode: 'CAN' };
  for (const [wrong, message] of [
    [closing, /is always open/],
    [foreign, /delivers USD in USA alone/],
  ] as const) {
    const host = { ...it.host, payers: [wrong] };
    await assert.rejects(railModule.create(it.config, host), message);
  }
});
