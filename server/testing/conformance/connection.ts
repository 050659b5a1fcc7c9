import assert from 'node:assert/strict';
import { type Fault, formatHttpAnswer } from '../fault-proxy/fault-proxy.ts';
import { assertPayments, type Case, start, type TestStage } from './happy-path.ts';
import { hasExpectedOutcome } from './round.ts';
import type { Capability } from './subject.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * A fault is injected into one exchange of a payment, and in another run into the one that follows a
 * lost answer; afterwards the connection works again.
 */

type Kind = {
  readonly name: string;
  readonly needs?: readonly Capability[];
  readonly fault: Fault;
  /** The short form has one of each sort: lost on the way, lost on the way back, a wrong answer. */
  readonly isInShortForm?: true;
};

const page = '<!doctype html><title>Sorry</title><p>Something went wrong.';

const kinds: readonly Kind[] = [
  { name: 'a connection reset before the request arrives', fault: { kind: 'reset' } },
  {
    name: 'a request lost before booking',
    fault: { kind: 'drop_request' },
    isInShortForm: true,
  },
  {
    name: 'an answer lost after booking',
    fault: { kind: 'drop_answer' },
    isInShortForm: true,
  },
  {
    name: 'a reset before the first byte of the answer',
    fault: { kind: 'truncate_answer', afterBytes: 0 },
  },
  {
    name: 'a reset in the middle of the answer',
    fault: { kind: 'truncate_answer', afterBytes: 60 },
  },
  {
    name: 'status 500 after booking',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(500, page) },
  },
  {
    name: 'an HTML page after booking',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(200, page) },
  },
  {
    name: 'an empty object after booking',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(200, '{}', 'application/json') },
  },
  {
    name: 'status 404 from an intermediary',
    needs: ['http'],
    fault: { kind: 'forge_answer', answer: formatHttpAnswer(404, page) },
    isInShortForm: true,
  },
  {
    name: 'status 503 from an intermediary',
    needs: ['http'],
    fault: { kind: 'forge_answer', answer: formatHttpAnswer(503, page) },
  },
  {
    name: 'garbage instead of an answer',
    fault: { kind: 'replace_answer', answer: Buffer.from('\u0000\u0007#?\r\n'.repeat(40)) },
  },
  {
    name: 'a corrupted answer',
    fault: { kind: 'corrupt_answer', fromByte: 40, everyBytes: 13 },
  },
  { name: 'a slow answer', fault: { kind: 'slow_answer', everyMs: 8 } },
];

export const connectionCases: readonly Case[] = [
  ...kinds.map(
    (kind, index): Case => ({
      name: kind.name,
      needs: ['connection', ...(kind.needs ?? [])],
      isLong: kind.isInShortForm !== true,
      run: (stage) =>
        stage.runInTestRun((testRun) => goThroughExchanges(stage, testRun, { kind, index })),
    }),
  ),
  {
    name: 'an order does not arrive after a query has answered retry',
    needs: ['connection', 'books'],
    run: (stage) => stage.runInTestRun((testRun) => deliverLate(stage, testRun)),
  },
  {
    name: 'a query of a stopped payment orders nothing',
    needs: ['connection'],
    run: (stage) => stage.runInTestRun((testRun) => queryStopped(stage, testRun)),
  },
];

async function goThroughExchanges(
  stage: TestStage,
  testRun: TestRun,
  { kind, index }: { kind: Kind; index: number },
): Promise<number> {
  let runs = 0;
  const { booking } = stage;
  const run = async (target: number | RegExp, faults = [kind.fault]): Promise<boolean> => {
    const isDone = await injectInOne(testRun, faults, target);
    if (isDone) runs += 1;
    return isDone;
  };
  if (booking !== undefined) await run(booking);
  await run(booking ?? 1, [{ kind: 'drop_answer' }, kind.fault]);
  for (let number = 1; number <= stage.exchangesMax; number += 1) {
    // Where the booking request is known, the kinds take turns at the other exchanges.
    if (booking !== undefined && (number - 1) % kinds.length !== index) continue;
    if (!(await run(number))) break;
  }
  if (runs === 0) throw new Error('no exchange came through the proxy');
  return runs;
}

/** False where the payment ended without such an exchange. */
async function injectInOne(
  testRun: TestRun,
  faults: readonly Fault[],
  target: number | RegExp,
): Promise<boolean> {
  const actor = await start(testRun);
  const countInjected = injectOnce(actor, target, faults);
  const payment = await testRun.instruct();
  try {
    await testRun.drive(actor, [payment]);
    await testRun.runExtraRounds(actor);
    await assertPayments(testRun, [payment], { mayBeRefused: true });
  } catch (error) {
    const where = typeof target === 'number' ? `exchange ${target}` : 'the booking';
    throw new Error(`at ${where}: ${String(error)}`, { cause: error });
  }
  await actor.close();
  return countInjected() > 0;
}

/** Injects the faults into the target and the exchanges after it; returns how many it injected. */
function injectOnce(actor: Actor, target: number | RegExp, faults: readonly Fault[]): () => number {
  const { proxy } = actor;
  if (proxy === undefined) throw new Error('the counterparty has no address');
  let injected = 0;
  const seen = proxy.exchanges;
  proxy.decide(({ number, request }) => {
    const isTarget = typeof target === 'number' ? number === seen + target : target.test(request);
    const fault = injected > 0 || isTarget ? faults[injected] : undefined;
    if (fault === undefined) return { kind: 'none' };
    injected += 1;
    return fault;
  });
  return () => injected;
}

const stoppedQueries = 3;

/** The order is lost on its way, and a stop comes before a query would repeat it. */
async function queryStopped(stage: TestStage, testRun: TestRun): Promise<number> {
  const targets: readonly (number | RegExp)[] =
    stage.booking === undefined
      ? Array.from({ length: stage.exchangesMax }, (_, index) => index + 1)
      : [stage.booking];
  let runs = 0;
  for (const target of targets) {
    const actor = await start(testRun);
    const lost = injectOnce(actor, target, [{ kind: 'drop_request' }]);
    const payment = await testRun.instruct();
    const { instruction } = payment;
    // Until the order is lost; rails that order in passes never get there, because these rest.
    await testRun.driver.callNext(payment, actor);
    const before = await testRun.counterparty.payments(instruction);
    for (let query = 0; query < stoppedQueries; query += 1) {
      testRun.passTime();
      const answer = await testRun.driver.call('query while stopped', payment, actor);
      assert.notEqual(answer, 'thrown');
      await testRun.counterparty.advance?.(testRun.nowMs());
    }
    assert.deepEqual(
      await testRun.counterparty.payments(instruction),
      before,
      `ordered while stopped: ${payment.history.join(', ')}`,
    );
    await testRun.drive(actor, [payment]);
    await testRun.runExtraRounds(actor);
    await assertPayments(testRun, [payment], { mayBeRefused: true });
    await actor.close();
    runs += 1;
    if (lost() === 0) break;
  }
  return runs;
}

const queriesMax = 200;

/** Delays a request until the rail has answered that nothing was sent. */
async function deliverLate(stage: TestStage, testRun: TestRun): Promise<number> {
  const targets =
    stage.booking === undefined
      ? Array.from({ length: stage.exchangesMax }, (_, index) => index + 1)
      : [stage.booking];
  let runs = 0;
  for (const target of targets) {
    const actor = await start(testRun);
    const sent = createGate();
    const received = createGate();
    const delayed = injectOnce(actor, target, [
      { kind: 'delay_request', until: () => sent.opened, arrived: received.open },
    ]);
    const payment = await testRun.instruct();
    const payments = [payment];
    for (let query = 0; query < queriesMax && payment.attempt !== 'retry'; query += 1) {
      if (hasExpectedOutcome(payment)) break;
      await testRun.runRound(actor, payments);
    }
    const wasDenied = payment.attempt === 'retry';
    sent.open();
    if (delayed() > 0) await received.opened;
    if (wasDenied) {
      const amounts = await testRun.counterparty.payments(payment.instruction);
      assert.deepEqual(amounts, [], `it arrived after: ${payment.history.join(', ')}`);
    }
    await testRun.drive(actor, payments);
    await testRun.runExtraRounds(actor);
    await assertPayments(testRun, payments, { mayBeRefused: true });
    await actor.close();
    if (delayed() === 0) break;
    runs += 1;
  }
  if (runs === 0) throw new Error('no exchange came through the proxy');
  return runs;
}

function createGate(): { readonly opened: Promise<void>; open(): void } {
  let open: () => void = () => undefined;
  const opened = new Promise<void>((resolve) => {
    open = resolve;
  });
  return { opened, open: () => open() };
}
