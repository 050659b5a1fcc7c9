import assert from 'node:assert/strict';
import { type Fault, formatHttpAnswer } from '../fault-proxy/fault-proxy.ts';
import { type Case, judge, type Stage, start } from './plain.ts';
import { hasMetFate } from './round.ts';
import type { Capability } from './subject.ts';
import type { Actor, TestRun } from './test-run.ts';

/**
 * One exchange of a payment's is harmed, and in another run the one after an answer that got lost;
 * then the connection is as good as ever.
 */

type Kind = { readonly name: string; readonly needs?: readonly Capability[]; readonly harm: Fault };

const page = '<!doctype html><title>Sorry</title><p>Something went wrong.';

const kinds: readonly Kind[] = [
  { name: 'a connection reset before the request arrives', harm: { kind: 'reset' } },
  { name: 'silence before booking', harm: { kind: 'swallow' } },
  { name: 'silence after booking', harm: { kind: 'mute' } },
  { name: 'a reset before the first byte of the answer', harm: { kind: 'cut', afterBytes: 0 } },
  { name: 'a reset in the middle of the answer', harm: { kind: 'cut', afterBytes: 60 } },
  {
    name: 'an error 500 for what was booked',
    needs: ['http'],
    harm: { kind: 'replace', answer: formatHttpAnswer(500, page) },
  },
  {
    name: 'a page of HTML for what was booked',
    needs: ['http'],
    harm: { kind: 'replace', answer: formatHttpAnswer(200, page) },
  },
  {
    name: 'an empty object for what was booked',
    needs: ['http'],
    harm: { kind: 'replace', answer: formatHttpAnswer(200, '{}', 'application/json') },
  },
  {
    name: 'an error 404 by somebody in between',
    needs: ['http'],
    harm: { kind: 'impostor', answer: formatHttpAnswer(404, page) },
  },
  {
    name: 'an error 503 by somebody in between',
    needs: ['http'],
    harm: { kind: 'impostor', answer: formatHttpAnswer(503, page) },
  },
  {
    name: 'noise instead of an answer',
    harm: { kind: 'replace', answer: Buffer.from('\u0000\u0007#?\r\n'.repeat(40)) },
  },
  {
    name: 'an answer with corrupted bytes',
    harm: { kind: 'corrupt', fromByte: 40, everyBytes: 13 },
  },
  { name: 'an answer whose bytes trickle', harm: { kind: 'trickle', everyMs: 8 } },
];

export const connectionCases: readonly Case[] = [
  ...kinds.map(
    (kind, index): Case => ({
      name: kind.name,
      needs: ['connection', ...(kind.needs ?? [])],
      run: (stage) => stage.within((scene) => goThroughExchanges(stage, scene, { kind, index })),
    }),
  ),
  {
    name: 'what a query says was never sent does not arrive afterwards',
    needs: ['connection', 'books'],
    run: (stage) => stage.within((scene) => arriveLate(stage, scene)),
  },
];

async function goThroughExchanges(
  stage: Stage,
  scene: TestRun,
  { kind, index }: { kind: Kind; index: number },
): Promise<number> {
  let runs = 0;
  const { booking } = stage;
  const run = async (target: number | RegExp, harms = [kind.harm]): Promise<boolean> => {
    const isDone = await harmOne(scene, harms, target);
    if (isDone) runs += 1;
    return isDone;
  };
  if (booking !== undefined) await run(booking);
  await run(booking ?? 1, [{ kind: 'mute' }, kind.harm]);
  for (let number = 1; number <= stage.exchangesMax; number += 1) {
    // With the one that books known, the kinds share the others among them.
    if (booking !== undefined && (number - 1) % kinds.length !== index) continue;
    if (!(await run(number))) break;
  }
  if (runs === 0) throw new Error('no exchange came through the proxy');
  return runs;
}

/** False when the payment ended without such an exchange. */
async function harmOne(
  scene: TestRun,
  harms: readonly Fault[],
  target: number | RegExp,
): Promise<boolean> {
  const actor = await start(scene);
  const countHarmed = harmOnce(actor, target, harms);
  const payment = await scene.instruct();
  try {
    await scene.drive(actor, [payment]);
    await scene.linger(actor);
    await judge(scene, [payment], { mayBeRefused: true });
  } catch (error) {
    const where = typeof target === 'number' ? `exchange ${target}` : 'the booking';
    throw new Error(`at ${where}: ${String(error)}`, { cause: error });
  }
  await actor.close();
  return countHarmed() > 0;
}

/** Harms the target and the exchanges that follow it; answers how many were. */
function harmOnce(actor: Actor, target: number | RegExp, harms: readonly Fault[]): () => number {
  const { proxy } = actor;
  if (proxy === undefined) throw new Error('the counterpart has no address');
  let harmed = 0;
  const seen = proxy.exchanges;
  proxy.decide(({ number, request }) => {
    const isTarget = typeof target === 'number' ? number === seen + target : target.test(request);
    const harm = harmed > 0 || isTarget ? harms[harmed] : undefined;
    if (harm === undefined) return { kind: 'none' };
    harmed += 1;
    return harm;
  });
  return () => harmed;
}

const queriesMax = 200;

/** A request stays on its way until the rail has said that nothing was sent, and arrives then. */
async function arriveLate(stage: Stage, scene: TestRun): Promise<number> {
  const targets =
    stage.booking === undefined
      ? Array.from({ length: stage.exchangesMax }, (_, index) => index + 1)
      : [stage.booking];
  let runs = 0;
  for (const target of targets) {
    const actor = await start(scene);
    const sent = createGate();
    const received = createGate();
    const delayed = harmOnce(actor, target, [
      { kind: 'delay', until: () => sent.opened, arrived: received.open },
    ]);
    const payment = await scene.instruct();
    const payments = [payment];
    for (let query = 0; query < queriesMax && payment.attempt !== 'retry'; query += 1) {
      if (hasMetFate(payment)) break;
      await scene.goRound(actor, payments);
    }
    const wasDenied = payment.attempt === 'retry';
    sent.open();
    if (delayed() > 0) await received.opened;
    if (wasDenied) {
      const amounts = await scene.counterpart.payments(payment.instruction);
      assert.deepEqual(amounts, [], `it arrived after: ${payment.history.join(', ')}`);
    }
    await scene.drive(actor, payments);
    await scene.linger(actor);
    await judge(scene, payments, { mayBeRefused: true });
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
