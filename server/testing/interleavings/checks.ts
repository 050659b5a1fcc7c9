import assert from 'node:assert/strict';
import { describeState } from './describe-state.ts';
import { listMoves, type Move, type Scene } from './moves.ts';
import { look, type Seen } from './seen.ts';
import { listLive, noFaults, type World } from './world.ts';

/** What must hold in every state, and where every state must lead. */

/** Of a quote in `setups/money.ts`: amount and fee in cents, and what arrives in centavos. */
const amount = 10_000;
const fee = 100;
const arriving = 180_000;

export type Start = {
  wallet: number;
  contradictions: number;
  /** States from which the way to the end was gone and checked. */
  readonly ended: Set<string>;
};

/** @throws AssertionError where a payout could be paid twice, or money is lost or made. */
export function checkState(world: World, seen: Seen, start: Start): void {
  const live = listLive(world);
  const isContradicted = world.left.contradiction < start.contradictions;
  const hasEnded = seen.status === 'CANCELLED' && !seen.wasCompleted;
  if (!isContradicted) {
    assert.ok(live.length <= 1, `two payments live: ${live.join()}`);
    if (hasEnded) assert.deepEqual(live, [], 'refunded, and a payment lives');
  }
  if (seen.status === 'COMPLETED') {
    const isPaid = Object.values(world.payments).some((state) => paidStates.has(state));
    assert.ok(isPaid, 'completed, and nobody paid');
  }
  assert.deepEqual(seen.unbalanced, [], 'a currency is out of balance');
  const returned = Math.trunc((amount * seen.returned) / arriving);
  const spent = hasEnded ? 0 : amount + fee - returned;
  assert.equal(seen.wallet, start.wallet - spent, `the wallet of a payout that is ${seen.status}`);
}

/** Of payments that the recipient has or had. */
const paidStates: ReadonlySet<string> = new Set(['paid', 'misstated', 'returned']);

const stepsMax = 40;

/**
 * From every state, without further faults, a payout ends as the counterparties say, or a person is
 * asked. States with the same text end in the same way, so each is followed once.
 */
export async function checkEnd(
  scene: Scene,
  from: { world: World; seen: Seen },
  start: Start,
): Promise<void> {
  let world: World = { ...from.world, workers: [] };
  let { seen } = from;
  const passed: string[] = [];
  for (let step = 0; step < stepsMax; step += 1) {
    const state = describeEnding(world, seen);
    const isKnown = start.ended.has(state);
    const next = isKnown ? undefined : pickNext(listMoves(withoutFaults(world), seen), seen);
    if (next === undefined) {
      if (!isKnown) checkEnded(world, seen);
      for (const one of [...passed, state]) start.ended.add(one);
      return;
    }
    passed.push(state);
    world = { ...(await next.play(scene)), left: world.left };
    seen = await look(scene.session, scene.payout);
    checkState(world, seen, start);
  }
  assert.fail(`the payout did not end in ${stepsMax} steps`);
}

/** Of the faults that are left, none happens any more, and the checks ask for contradictions only. */
function describeEnding(world: World, seen: Seen): string {
  const left = { ...noFaults, contradiction: world.left.contradiction };
  return describeState({ ...world, left }, seen);
}

const withoutFaults = (world: World): World => ({
  ...world,
  left: Object.fromEntries(Object.keys(world.left).map((fault) => [fault, 0])) as World['left'],
});

/** Events first, then what is due; a counterparty pays what it has booked. */
function pickNext(moves: readonly Move[], seen: Seen): Move | undefined {
  const wanted = [
    /^lift/,
    /^arrives, booked/,
    /^pays/,
    /^report/,
    /^record/,
    /^(passes|query|send, paid)/,
  ];
  if (seen.isDue) wanted.push(/^claim$/);
  for (const pattern of wanted) {
    const found = moves.find(({ name }) => pattern.test(name));
    if (found !== undefined) return found;
  }
  return undefined;
}

function checkEnded(world: World, seen: Seen): void {
  if (seen.open.length > 0) return;
  const paid = Object.values(world.payments).filter(
    (state) => state === 'paid' || state === 'misstated',
  ).length;
  // A person was asked about a contradiction, and knows what is left.
  const wasAsked = seen.closed.length > 0;
  assert.ok(['COMPLETED', 'CANCELLED'].includes(seen.status), 'a payout without a next step');
  if (wasAsked) return;
  if (seen.status === 'CANCELLED' && seen.wasCompleted) {
    assert.ok(seen.returned > 0, 'canceled after its completion, and nothing came back');
    return;
  }
  assert.equal(paid, seen.status === 'COMPLETED' ? 1 : 0, `payments of a ${seen.status} payout`);
}
