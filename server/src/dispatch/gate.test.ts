import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { createGate } from './gate.ts';

const unreachable: RailAnswer = { outcome: 'retry', reason: 'unreachable' };
const unauthorized: RailAnswer = { outcome: 'retry', reason: 'not_configured' };
const paid: RailAnswer = { outcome: 'paid' };

function open(pace: { concurrencyMax?: number; perSecondMax?: number | null } = {}) {
  let nowMs = 0;
  const gate = createGate(
    { pace: { concurrencyMax: 100, perSecondMax: null, ...pace } },
    () => nowMs,
  );
  const call = (answer: RailAnswer, count = 1): void => {
    for (let number = 0; number < count; number += 1) {
      gate.end(gate.begin(false), answer);
    }
  };
  return {
    gate,
    call,
    wait: (ms: number) => {
      nowMs += ms;
    },
  };
}

describe('the gate of a rail', () => {
  it('limits concurrent calls', () => {
    const { gate } = open({ concurrencyMax: 3 });
    const call = gate.begin(false);
    gate.begin(false);
    assert.equal(gate.room(), 1);
    gate.begin(false);
    assert.equal(gate.room(), 0);
    gate.end(call, paid);
    assert.equal(gate.room(), 1);
  });

  it('limits calls per second', () => {
    const { gate, call, wait } = open({ perSecondMax: 5 });
    assert.equal(gate.room(), 5);
    call(paid, 5);
    assert.equal(gate.room(), 0);
    wait(400);
    assert.equal(gate.room(), 2);
    wait(60_000);
    assert.equal(gate.room(), 5);
  });

  it('accumulates a rate of less than one call per second', () => {
    const { gate, call, wait } = open({ perSecondMax: 0.5 });
    assert.equal(gate.room(), 1);
    call(paid);
    wait(1_000);
    assert.equal(gate.room(), 0);
    wait(1_000);
    assert.equal(gate.room(), 1);
  });

  it('opens where the counterparty refuses the credentials', () => {
    const { gate, call } = open();
    call(unauthorized, 10);
    assert.equal(gate.health(), 'down');
    call(paid);
    assert.equal(gate.health(), 'up');
  });

  it('opens after failures, and probes with half of the concurrency', () => {
    const { gate, call, wait } = open();
    call(unreachable, 9);
    assert.equal(gate.health(), 'degraded');
    assert.equal(gate.room(), 100);
    call(unreachable);
    assert.equal(gate.health(), 'down');
    assert.equal(gate.room(), 0);
    assert.equal(gate.closedForMs(), 1_000);
    wait(1_000);
    assert.equal(gate.room(), 50);
    call(unreachable);
    assert.equal(gate.closedForMs(), 2_000);
    wait(2_000);
    call(paid);
    assert.equal(gate.health(), 'up');
    assert.equal(gate.room(), 100);
    assert.ok(gate.isRecovering());
    wait(60_000);
    assert.ok(!gate.isRecovering());
  });

  it('doubles the wait once for each round of failed probes', () => {
    const { gate, wait } = open();
    const begin = (count: number) => Array.from({ length: count }, () => gate.begin(false));
    const late = begin(30);
    for (const call of late.splice(0, 20)) gate.end(call, unreachable);
    assert.equal(gate.closedForMs(), 1_000);
    wait(1_000);
    assert.equal(gate.room(), 50);
    const probes = begin(50);
    for (const call of late) gate.end(call, unreachable);
    assert.equal(gate.closedForMs(), 0, 'calls from before it opened do not count');
    for (const call of probes) gate.end(call, unreachable);
    assert.equal(gate.closedForMs(), 2_000);
  });

  it('counts repeated failures of a reference once', () => {
    const { gate } = open();
    for (let count = 0; count < 100; count += 1) gate.end(gate.begin(true), unreachable);
    assert.equal(gate.health(), 'up');
  });

  it('honors retryAfterMs within bounds', () => {
    const { gate, call, wait } = open();
    call({ outcome: 'retry', reason: 'busy', retryAfterMs: 30_000 });
    assert.equal(gate.room(), 0);
    assert.equal(gate.closedForMs(), 30_000);
    wait(30_000);
    assert.equal(gate.room(), 50);
    call({ outcome: 'unknown', reason: 'busy', retryAfterMs: 86_400_000 });
    assert.equal(gate.closedForMs(), 900_000);
  });

  it('does not count rejections and slow payments as failures', () => {
    const { gate, call } = open();
    call({ outcome: 'rejected', reason: 'account_closed' }, 50);
    call({ outcome: 'accepted' }, 50);
    call({ outcome: 'retry', reason: 'daily_limit' }, 50);
    assert.equal(gate.health(), 'up');
  });
});
