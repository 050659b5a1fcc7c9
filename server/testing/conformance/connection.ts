import assert from 'node:assert/strict';
import { type Fault, formatHttpAnswer } from '../fault-proxy/fault-proxy.ts';
import { assertPayments, type Case, start, type TestStage } from './happy-path.ts';
import { hasExpectedOutcome } from './round.ts';
import type { Capability } from './subject.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * One exchange of a payment's is injected, and in another run the one after an answer that got lost;
 * then the connection is as good as ever.
 */

type Kind = {
  readonly name: string;
  readonly needs?: readonly Capability[];
  readonly fault: Fault;
};

const page = '<!doctype html><title>Sorry</title><p>Something went wrong.';

const kinds: readonly Kind[] = [
  { name: 'a connection reset before the request arrives', fault: { kind: 'reset' } },
  { name: 'silence before booking', fault: { kind: 'drop_request' } },
  { name: 'silence after booking', fault: { kind: 'drop_answer' } },
  {
    name: 'a reset before the first byte of the answer',
    fault: { kind: 'truncate_answer', afterBytes: 0 },
  },
  {
    name: 'a reset in the middle of the answer',
    fault: { kind: 'truncate_answer', afterBytes: 60 },
  },
  {
    name: 'an error 500 for what was booked',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(500, page) },
  },
  {
    name: 'a page of HTML for what was booked',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(200, page) },
  },
  {
    name: 'an empty object for what was booked',
    needs: ['http'],
    fault: { kind: 'replace_answer', answer: formatHttpAnswer(200, '{}', 'application/json') },
  },
  {
    name: 'an error 404 by somebody in between',
    needs: ['http'],
    fault: { kind: 'forge_answer', answer: formatHttpAnswer(404, page) },
  },
  {
    name: 'an error 503 by somebody in between',
    needs: ['http'],
    fault: { kind: 'forge_answer', answer: formatHttpAnswer(503, page) },
  },
  {
    name: 'noise instead of an answer',
    fault: { kind: 'replace_answer', answer: Buffer.from('\u0000\u0007#?\r\n'.repeat(40)) },
  },
  {
    name: 'an answer with corrupted bytes',
    fault: { kind: 'corrupt_answer', fromByte: 40, everyBytes: 13 },
  },
  { name: 'an answer whose bytes trickle', fault: { kind: 'slow_answer', everyMs: 8 } },
];

export const connectionCases: readonly Case[] = [
  ...kinds.map(
    (kind, index): Case => ({
      name: kind.name,
      needs: ['connection', ...(kind.needs ?? [])],
      run: (stage) =>
        stage.runInTestRun((testRun) => goThroughExchanges(stage, testRun, { kind, index })),
    }),
  ),
  {
    name: 'what a query says was never sent does not arrive afterwards',
    needs: ['connection', 'books'],
    run: (stage) => stage.runInTestRun((testRun) => arriveLate(stage, testRun)),
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
    // With the one that books known, the kinds share the others among them.
    if (booking !== undefined && (number - 1) % kinds.length !== index) continue;
    if (!(await run(number))) break;
  }
  if (runs === 0) throw new Error('no exchange came through the proxy');
  return runs;
}

/** False when the payment ended without such an exchange. */
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

/** Harms the target and the exchanges that follow it; answers how many were. */
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

const queriesMax = 200;

/** A request stays on its way until the rail has said that nothing was sent, and arrives then. */
async function arriveLate(stage: TestStage, testRun: TestRun): Promise<number> {
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
