import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMoneyTest } from '../../testing/setups/money.ts';
import { type BackgroundParts, startWorkLoops } from './background.ts';

/** While a recovery is open nobody is paid, and nobody is told of what a restored database believes. */

type Loop = { idleMs: number; run: () => Promise<unknown> };

test('webhooks and notices wait until a recovery is closed', async () => {
  await using money = await createMoneyTest();
  let isOpen = true;
  const ran: string[] = [];
  const loops = new Map<string, Loop>();
  const note = (name: string) => async () => {
    ran.push(name);
    return false;
  };
  const config = {
    OUTLAY_EVENT_MONTHS: 24,
    OUTLAY_WEBHOOK_MONTHS: 3,
    OUTLAY_CHECKPOINT_SECONDS: 60,
    OUTLAY_CHECKPOINTS: '/dev/null',
  };
  const { db, keys, clock } = money;
  const none = { railNames: [] };
  const parts = {
    base: { db, keys, clock, config, name: 'live', signingKeys: () => [], steadyMs: () => 0 },
    payments: {
      dispatcher: { ...none, startDue: async () => 0, wake: () => undefined },
      rails: [],
      funds: none,
      prices: none,
    },
    recovery: { isRecovering: () => isOpen },
    deliverer: { startDue: note('webhooks') },
    notifiers: [{ channel: 'email', sendDue: note('notices email') }],
    identityChecks: {},
    scheduler: { runDue: async () => 0 },
  } as unknown as BackgroundParts;
  const start = (name: string, loop: Loop) => loops.set(name, loop);
  startWorkLoops({ start, wake: () => undefined, signal: undefined } as never, parts);
  const runAll = async (): Promise<void> => {
    for (const name of ['webhooks', 'notices email']) await loops.get(name)?.run();
  };
  await runAll();
  assert.deepEqual(ran, []);
  isOpen = false;
  await runAll();
  assert.deepEqual(ran, ['webhooks', 'notices email']);
});
