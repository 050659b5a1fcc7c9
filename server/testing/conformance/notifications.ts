import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CallbackMessage } from '../../src/rails/contract/contract.ts';
import type { DeliveryPolicy } from './delivery.ts';
import type { Payment } from './driver.ts';
import { assertPayments, type Case, finish, pass, start, type TestStage } from './happy-path.ts';
import type { ExpectedOutcome } from './subject.ts';
import type { Actor, TestRun } from './test-run.ts';

/** Notifications are repeated, late, early, out of order, lost or forged. */

const inboundChannels = ['callbacks', 'files'] as const;

export const notificationCases: readonly Case[] = [
  {
    name: 'repeated notifications count once',
    needs: [],
    needsOne: inboundChannels,
    run: (stage) => runUnderPolicy(stage, 'twice'),
  },
  {
    name: 'notifications out of order lead to the same outcome',
    needs: [],
    needsOne: inboundChannels,
    run: (stage) => runUnderPolicy(stage, 'hold'),
  },
  {
    name: 'queries make up for lost callbacks',
    needs: ['callbacks'],
    // A paid payment is not queried, so the callback of its return has to arrive.
    run: (stage) => runUnderPolicy(stage, 'lose_every_other', ['paid', 'rejected']),
  },
  {
    name: 'a callback may come before the answer to its request',
    needs: ['callbacks', 'connection'],
    run: (stage) => stage.runInTestRun((testRun) => receiveEarly(stage, testRun)),
  },
  {
    name: 'stale notifications change nothing',
    needs: [],
    needsOne: inboundChannels,
    run: (stage) => stage.runInTestRun((testRun) => receiveStale(stage, testRun)),
  },
  {
    name: 'callbacks of unknown payments have no effect',
    needs: ['callbacks'],
    run: receiveUnknown,
  },
  {
    name: 'forged callbacks are refused',
    needs: ['callbacks'],
    run: (stage) => stage.runInTestRun(refuseForged),
  },
  {
    name: 'unreadable files do not block readable ones',
    needs: ['files'],
    run: (stage) => stage.runInTestRun((testRun) => receiveUnreadableFiles(stage, testRun)),
  },
];

/** One payment for each outcome that the counterparty can produce. */
async function instructAll(
  stage: TestStage,
  testRun: TestRun,
  expectedOutcomes: readonly ExpectedOutcome[] = ['paid', 'rejected', 'returned'],
): Promise<Payment[]> {
  const payments = [await testRun.instruct()];
  for (const expectedOutcome of expectedOutcomes) {
    const isPossible =
      expectedOutcome === 'paid' ||
      stage.supports(expectedOutcome === 'rejected' ? 'rejection' : 'return');
    if (isPossible) payments.push(await testRun.instruct(expectedOutcome));
  }
  return payments;
}

async function runUnderPolicy(
  stage: TestStage,
  policy: DeliveryPolicy,
  expectedOutcomes?: readonly ExpectedOutcome[],
): Promise<number> {
  return stage.runInTestRun(async (testRun) => {
    const actor = await start(testRun);
    testRun.callbackServer.setPolicy(policy);
    testRun.fileCourier?.setPolicy(policy);
    const payments = await instructAll(stage, testRun, expectedOutcomes);
    await finish(testRun, actor, payments);
    assertDelivered(testRun);
    return payments.length;
  });
}

function assertDelivered({ callbackServer, fileCourier }: TestRun): void {
  const count = callbackServer.seen.length + (fileCourier?.delivered.length ?? 0);
  assert.ok(count > 0, 'the counterparty delivered nothing');
}

const earlyTriesMax = 10;

/**
 * Holds answers back until a callback has arrived, while the counterparty continues. Where the booking
 * request is known it holds that answer only: nothing is reported before it.
 */
async function receiveEarly(stage: TestStage, testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  const { callbackServer, counterparty } = testRun;
  let early = 0;
  const holdMsMax = stage.callMsMax / 2;
  actor.proxy?.decide(({ request }) => {
    if (stage.booking?.test(request) === false) return { kind: 'none' };
    const before = callbackServer.delivered;
    const hold = async (): Promise<'go'> => {
      const endMs = performance.now() + holdMsMax;
      while (callbackServer.delivered === before && performance.now() < endMs) await sleep(5);
      if (callbackServer.delivered > before) early += 1;
      return 'go';
    };
    return { kind: 'hold_answer', until: hold };
  });
  const payments: Payment[] = [];
  // On a slow machine a callback may not arrive before the answer must go.
  while (early === 0 && payments.length < earlyTriesMax) {
    const payment = await testRun.instruct();
    payments.push(payment);
    let isAsked = false;
    const turn = async (): Promise<void> => {
      while (!isAsked) {
        await counterparty.advance?.(testRun.nowMs());
        await sleep(10);
      }
    };
    const ask = async (): Promise<void> => {
      await testRun.driver.callNext(payment, actor);
      await pass(actor);
      isAsked = true;
    };
    await Promise.all([ask(), turn()]);
  }
  assert.ok(early > 0, 'no callback came before an answer');
  actor.proxy?.decide(() => ({ kind: 'none' }));
  await finish(testRun, actor, payments);
  return early;
}

async function receiveStale(stage: TestStage, testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  const payments = await instructAll(stage, testRun);
  await finish(testRun, actor, payments);
  assertDelivered(testRun);
  await testRun.fileCourier?.repeat();
  await deliverAll(testRun, actor, testRun.callbackServer.seen.slice());
  await testRun.runExtraRounds(actor);
  await assertPayments(testRun, payments);
  for (const payment of payments) {
    const answer = await testRun.driver.call('query', payment, actor);
    if (typeof answer === 'object') await testRun.driver.apply(payment, answer);
  }
  await assertPayments(testRun, payments);
  return payments.length;
}

/** Delivers callbacks as the service does; the rail may refuse them by now. */
async function deliverAll(
  testRun: TestRun,
  { rail }: Actor,
  messages: readonly CallbackMessage[],
): Promise<void> {
  for (const message of messages) {
    const reading = await rail.readCallback?.(message);
    if (reading?.kind !== 'accepted') continue;
    const isNew = (await testRun.host.receive(reading.message)) === 'new';
    if (isNew) testRun.driver.observe(reading.message.observations);
  }
}

/** Delivers genuine callbacks to a rail with an empty store. */
async function receiveUnknown(stage: TestStage): Promise<number> {
  const seen = await stage.runInTestRun(async (testRun) => {
    const actor = await start(testRun);
    await finish(testRun, actor, await instructAll(stage, testRun));
    return testRun.callbackServer.seen.slice();
  });
  assert.ok(seen.length > 0, 'the counterparty delivered nothing');
  return stage.runInTestRun(async (testRun) => {
    const actor = await start(testRun);
    await deliverAll(testRun, actor, seen);
    await finish(testRun, actor, [await testRun.instruct()]);
    return seen.length;
  });
}

async function refuseForged(testRun: TestRun): Promise<number> {
  const actor = await start(testRun);
  const payments = [await testRun.instruct(), await testRun.instruct()];
  await finish(testRun, actor, payments);
  const references = payments.map(({ instruction }) => instruction.reference);
  let count = 0;
  for (const genuine of testRun.callbackServer.seen.slice()) {
    for (const [what, message] of forge(genuine, references)) {
      count += 1;
      const reading = await actor.rail.readCallback?.(message);
      assert.ok(
        reading?.kind === 'refused' || reading?.kind === 'malformed',
        `a callback with ${what} is ${reading?.kind}`,
      );
    }
  }
  assert.ok(count > 0, 'the counterparty sent no callback');
  await testRun.runExtraRounds(actor);
  await assertPayments(testRun, payments);
  return count;
}

const unsignedHeaders = ['host', 'connection', 'content-type', 'content-length', 'date', 'accept'];

/** Changes of a genuine callback that need no key. */
function* forge(
  genuine: CallbackMessage,
  references: readonly string[],
): Generator<[string, CallbackMessage]> {
  const text = Buffer.from(genuine.body).toString('latin1');
  yield ['a changed amount or number', { ...genuine, body: changeDigit(text) }];
  yield ['a longer body', { ...genuine, body: Buffer.from(`${text} {}`, 'latin1') }];
  yield ['an empty body', { ...genuine, body: Buffer.alloc(0) }];
  yield ['noise', { ...genuine, body: Buffer.from([0, 255, 7, 35, 128]) }];
  const headers = Object.fromEntries(
    Object.entries(genuine.headers).filter(([name]) => unsignedHeaders.includes(name)),
  );
  yield ['no signature', { ...genuine, headers }];
  const mine = references.find((reference) => `${genuine.path} ${text}`.includes(reference));
  const other = references.find((reference) => reference !== mine);
  if (mine !== undefined && other !== undefined) {
    const change = (from: string): string => from.replaceAll(mine, other);
    const body = Buffer.from(change(text), 'latin1');
    yield ["another payment's reference", { ...genuine, path: change(genuine.path), body }];
    if (genuine.path.includes(mine)) {
      yield ["another payment's path", { ...genuine, path: change(genuine.path) }];
    }
  }
  for (const [name, value] of Object.entries(genuine.headers)) {
    if (!/signature|digest|authorization/.test(name)) continue;
    yield [
      `a changed ${name}`,
      { ...genuine, headers: { ...genuine.headers, [name]: scramble(value) } },
    ];
  }
}

/** Changes the last digit of the body, or its first character. */
function changeDigit(text: string): Buffer {
  const index = Math.max(text.search(/\d(?=\D*$)/), 0);
  const changed = text[index] === '7' ? '8' : '7';
  return Buffer.from(text.slice(0, index) + changed + text.slice(index + 1), 'latin1');
}

/** Replaces some characters in the middle. */
function scramble(value: string): string {
  const middle = Math.floor(value.length / 2);
  const part = value.slice(middle, middle + 4);
  const scrambled = part.replace(/[A-Za-z0-9]/g, (letter) => (letter === 'A' ? 'B' : 'A'));
  return value.slice(0, middle) + scrambled + value.slice(middle + 4);
}

async function receiveUnreadableFiles(stage: TestStage, testRun: TestRun): Promise<number> {
  const { fileCourier } = testRun;
  assert.ok(fileCourier !== undefined);
  const actor = await start(testRun);
  // Nothing settles by the calendar while an exception about an inbound file is open.
  testRun.operator.isPresent = true;
  const drop = async (bytes: Uint8Array, mark: string): Promise<void> => {
    const ends = [
      ...new Set(fileCourier.delivered.map((name) => /\.[^.]*$/.exec(name)?.[0] ?? '')),
    ];
    for (const end of ends.length === 0 ? ['.xml', '.txt', ''] : ends) {
      await fileCourier.drop(`${mark}${end}`, bytes);
    }
  };
  await drop(new Uint8Array(0), '000-empty');
  await drop(Buffer.from([0, 1, 2, 255, 254, 10, 13, 60, 63]), '000-noise');
  const payments = await instructAll(stage, testRun);
  await finish(testRun, actor, payments);
  assertDelivered(testRun);
  await drop(Buffer.from('<?xml version="1.0"?><Document><a>'), '001-broken');
  await drop(Buffer.from('9'.repeat(40_000)), '001-long');
  for (const [index, bytes] of (await fileCourier.read()).entries()) {
    await drop(bytes.subarray(0, Math.floor(bytes.length / 2)), `002-half-${index}`);
  }
  await finish(testRun, actor, [...payments, ...(await instructAll(stage, testRun))]);
  return fileCourier.delivered.length;
}
