import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createGate, type Gate, inFlightMin } from './admission.ts';

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

/** How many of so many simultaneous requests are admitted. */
function admit(gate: Gate, count: number): number {
  let admitted = 0;
  for (let index = 0; index < count; index += 1) {
    if (gate.isFull()) gate.countShed();
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

/** Overload for this many windows, with `perWindow` completions in each. */
function overload(timed: ReturnType<typeof createTimedGate>, perWindow: number, windows: number) {
  for (let window = 0; window < windows; window += 1) {
    admit(timed.gate, 20_000);
    finish(timed.gate, Math.min(perWindow, timed.gate.read().inFlight));
    timed.pass(250);
  }
  admit(timed.gate, 20_000);
}

test('the minimum is admitted before anything has been measured, and no more', () => {
  const { gate } = createTimedGate();
  assert.equal(admit(gate, 3000), inFlightMin);
  assert.deepEqual(gate.read(), {
    inFlight: inFlightMin,
    limit: inFlightMin,
    shed: 3000 - inFlightMin,
  });
});

test('the limit follows the completions within the allowed wait, up and down', () => {
  const timed = createTimedGate({ waitMs: 500 });
  overload(timed, 2500, 40);
  // 10,000 completions a second: 5,000 in half a second.
  assert.ok(Math.abs(timed.gate.read().limit - 5000) < 250, String(timed.gate.read().limit));
  overload(timed, 1000, 40);
  assert.ok(Math.abs(timed.gate.read().limit - 2000) < 100, String(timed.gate.read().limit));
});

test('the minimum remains while nothing completes, and the limit grows again afterwards', () => {
  const timed = createTimedGate({ waitMs: 500 });
  overload(timed, 2500, 40);
  overload(timed, 0, 40);
  assert.equal(timed.gate.read().limit, inFlightMin);
  overload(timed, 1024, 60);
  assert.ok(timed.gate.read().limit > 1500, String(timed.gate.read().limit));
});

test('the limit survives a quiet time', () => {
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

test('refused requests do not raise the limit', () => {
  const timed = createTimedGate();
  for (let window = 0; window < 40; window += 1) {
    const admitted = admit(timed.gate, 1000);
    for (let index = 0; index < admitted; index += 1) timed.gate.leave(false);
    timed.pass(25);
  }
  assert.equal(timed.gate.read().limit, inFlightMin);
});

test('the configured maximum holds below the minimum too', () => {
  const timed = createTimedGate({ inFlightMax: 2 });
  assert.equal(admit(timed.gate, 10), 2);
  overload(timed, 2, 20);
  assert.equal(timed.gate.read().limit, 2);
  finish(timed.gate, 2);
  assert.equal(admit(timed.gate, 10), 2);
});
