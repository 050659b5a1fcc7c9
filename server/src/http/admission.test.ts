import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate, type Gate, inFlightFloor } from './admission.ts';

/** A gate, and a clock that only the test moves. */
function createTimedGate(options: { waitMs?: number; inFlightMax?: number } = {}) {
  let nowMs = 0;
  const gate = createGate({
    waitMs: options.waitMs ?? 500,
    inFlightMax: options.inFlightMax ?? 10_000,
    steadyMs: () => nowMs,
  });
  return {
    gate,
    pass: (milliseconds: number): void => {
      nowMs += milliseconds;
    },
  };
}

/** As many as are let in, of this many that come at once. */
function admit(gate: Gate, coming: number): number {
  let admitted = 0;
  for (let index = 0; index < coming; index += 1) {
    if (gate.isFull()) gate.turnAway();
    else {
      gate.enter();
      admitted += 1;
    }
  }
  return admitted;
}

function finish(gate: Gate, count: number): void {
  for (let index = 0; index < count; index += 1) gate.leave(true);
}

/** More comes than is done, for this many windows; `perWindow` are done in each. */
function overload(timed: ReturnType<typeof createTimedGate>, perWindow: number, windows: number) {
  for (let window = 0; window < windows; window += 1) {
    admit(timed.gate, 20_000);
    finish(timed.gate, Math.min(perWindow, timed.gate.read().inFlight));
    timed.pass(250);
  }
  admit(timed.gate, 20_000);
}

test('a crowd is let in before anything has been measured, and what is beyond it turned away', () => {
  const { gate } = createTimedGate();
  assert.equal(admit(gate, 3000), inFlightFloor);
  assert.deepEqual(gate.read(), {
    inFlight: inFlightFloor,
    limit: inFlightFloor,
    shed: 3000 - inFlightFloor,
  });
});

test('the limit is what is done in the allowed wait, up and down', () => {
  const timed = createTimedGate({ waitMs: 500 });
  overload(timed, 2500, 40);
  // 10,000 a second are done: 5,000 of them in half a second.
  assert.ok(Math.abs(timed.gate.read().limit - 5000) < 250, String(timed.gate.read().limit));
  overload(timed, 1000, 40);
  assert.ok(Math.abs(timed.gate.read().limit - 2000) < 100, String(timed.gate.read().limit));
});

test('where nothing is done for a while the floor stays, and the limit grows again afterwards', () => {
  const timed = createTimedGate({ waitMs: 500 });
  overload(timed, 2500, 40);
  overload(timed, 0, 40);
  assert.equal(timed.gate.read().limit, inFlightFloor);
  overload(timed, 1024, 60);
  assert.ok(timed.gate.read().limit > 1500, String(timed.gate.read().limit));
});

test('a quiet time does not make it forget what can be done', () => {
  const timed = createTimedGate();
  overload(timed, 2500, 40);
  finish(timed.gate, timed.gate.read().inFlight);
  timed.pass(3_600_000);
  for (let window = 0; window < 40; window += 1) {
    admit(timed.gate, 3);
    finish(timed.gate, 3);
    timed.pass(250);
  }
  assert.ok(timed.gate.read().limit > 4500, String(timed.gate.read().limit));
});

test('refusals that cost nothing do not raise the limit', () => {
  const timed = createTimedGate();
  for (let window = 0; window < 40; window += 1) {
    const admitted = admit(timed.gate, 1000);
    for (let index = 0; index < admitted; index += 1) timed.gate.leave(false);
    timed.pass(25);
  }
  assert.equal(timed.gate.read().limit, inFlightFloor);
});

test('the highest number that is allowed holds below the floor too', () => {
  const timed = createTimedGate({ inFlightMax: 2 });
  assert.equal(admit(timed.gate, 10), 2);
  overload(timed, 2, 20);
  assert.equal(timed.gate.read().limit, 2);
  finish(timed.gate, 2);
  assert.equal(admit(timed.gate, 10), 2);
});
