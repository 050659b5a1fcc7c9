import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createEnvironmentClock } from './environment-clock.ts';
import { createSession } from './postgres/connection.ts';

/** As the driver answers. */
const answerOf = (now: Date) =>
  ({
    rows: [{ now, real_now: now }],
    fields: ['now', 'real_now'].map((name) => ({ name, dataTypeID: 1184 })),
    rowCount: 1,
  }) as never;

/** A database whose clock is `databaseMs`, and whose answers take `delayMs` of the steady clock. */
async function begin() {
  const state = { databaseMs: 1_000_000, steadyMs: 0, delayMs: 0, machineAtStartMs: 1_000_000 };
  const session = createSession(async () => {
    const now = new Date(state.databaseMs);
    state.steadyMs += state.delayMs;
    state.databaseMs += state.delayMs;
    return answerOf(now);
  });
  const steadyMs = (): number => state.steadyMs;
  const realNowMs = (): number => state.machineAtStartMs + state.steadyMs;
  const options = { environmentName: 'live', steadyMs, realNowMs } as const;
  const clock = await createEnvironmentClock(session, options);
  return { state, session, clock };
}

test('the clock of a process follows that of the database back', async () => {
  const { state, session, clock } = await begin();
  state.databaseMs -= 3_600_000;
  await clock.refresh(session);
  assert.equal(clock.nowMs(), state.databaseMs);
  assert.equal(clock.stepsBack(), 1);
});

test('an answer that takes long does not set the clock back', async () => {
  const { state, session, clock } = await begin();
  state.delayMs = 5_000;
  await clock.refresh(session);
  assert.equal(clock.nowMs(), state.databaseMs);
});

test('a time that was read before the clock was moved does not set it back', async () => {
  const { state, session, clock } = await begin();
  const before = new Date(state.databaseMs);
  state.databaseMs += 3_600_000;
  const slow = createSession(async () => {
    // Another answer is faster.
    await clock.refresh(session);
    return answerOf(before);
  });
  await clock.refresh(slow);
  assert.equal(clock.nowMs(), state.databaseMs);
  clock.observe(before);
  assert.equal(clock.nowMs(), state.databaseMs);
});

test('how far the clocks of the machine and the database are apart is measured without the delay', async () => {
  const { state, session, clock } = await begin();
  state.delayMs = 5_000;
  await clock.refresh(session);
  assert.equal(clock.databaseAheadMs(), 0);
  state.delayMs = 0;
  state.databaseMs += 7_000;
  await clock.refresh(session);
  assert.equal(clock.databaseAheadMs(), 7_000);
  state.machineAtStartMs += 10_000;
  await clock.refresh(session);
  assert.equal(clock.databaseAheadMs(), -3_000);
});
