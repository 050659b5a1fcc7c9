import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { RailAnswer } from '../rails/contract.ts';
import { createGate } from './gate.ts';

const unreachable: RailAnswer = { outcome: 'retry', reason: 'unreachable' };
const paid: RailAnswer = { outcome: 'paid' };

function open(pace: { concurrencyMax?: number; perSecondMax?: number | null } = {}) {
  let nowMs = 0;
  const gate = createGate(
    { pace: { concurrencyMax: 100, perSecondMax: null, ...pace } },
    () => nowMs,
  );
  const call = (answer: RailAnswer, count = 1): void => {
    for (let number = 0; number < count; number += 1) {
      gate.begin();
      gate.end(answer);
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
  it('lets so many calls be under way', () => {
    const { gate } = open({ concurrencyMax: 3 });
    gate.begin();
    gate.begin();
    assert.equal(gate.room(), 1);
    gate.begin();
    assert.equal(gate.room(), 0);
    gate.end(paid);
    assert.equal(gate.room(), 1);
  });

  it('lets so many calls begin in a second', () => {
    const { gate, call, wait } = open({ perSecondMax: 5 });
    assert.equal(gate.room(), 5);
    call(paid, 5);
    assert.equal(gate.room(), 0);
    wait(400);
    assert.equal(gate.room(), 2);
    wait(60_000);
    assert.equal(gate.room(), 5);
  });

  it('saves up for less than a call in a second', () => {
    const { gate, call, wait } = open({ perSecondMax: 0.5 });
    assert.equal(gate.room(), 1);
    call(paid);
    wait(1_000);
    assert.equal(gate.room(), 0);
    wait(1_000);
    assert.equal(gate.room(), 1);
  });

  it('leaves a rail alone that fails, and asks it one call at a time whether it is back', () => {
    const { gate, call, wait } = open();
    call(unreachable, 9);
    assert.equal(gate.health(), 'degraded');
    assert.equal(gate.room(), 100);
    call(unreachable);
    assert.equal(gate.health(), 'down');
    assert.equal(gate.room(), 0);
    assert.equal(gate.closedForMs(), 1_000);
    wait(1_000);
    assert.equal(gate.room(), 1);
    call(unreachable);
    assert.equal(gate.closedForMs(), 2_000);
    wait(2_000);
    call(paid);
    assert.equal(gate.health(), 'up');
    assert.equal(gate.room(), 100);
  });

  it('does not hold refusals and slow payments against a rail', () => {
    const { gate, call } = open();
    call({ outcome: 'rejected', reason: 'account_closed' }, 50);
    call({ outcome: 'accepted' }, 50);
    call({ outcome: 'retry', reason: 'daily_limit' }, 50);
    assert.equal(gate.health(), 'up');
  });
});
