import assert from 'node:assert/strict';
import { it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createFakeRail, createMoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { scriptPayout } from './sandbox.ts';

it('a scripted outcome follows an answer that was under way', async () => {
  await using money = await createMoneyTest();
  const owner = await money.createOwner({ USD: 1_000_000n });
  const nowMs = money.clock.nowMs();
  const payout = await money.quoteAndCommit(owner);
  const called = Promise.withResolvers<void>();
  const answered = Promise.withResolvers<RailAnswer>();
  const dispatcher = money.createDispatcher(
    createFakeRail(() => {
      called.resolve();
      return answered.promise;
    }),
  );
  const sending = dispatcher.runDue();
  await called.promise;
  const scripted = money.db.systemTransaction((session) =>
    scriptPayout({ session, keys: money.keys }, { ...payout, outcome: 'unknown', nowMs }),
  );
  await sleep(50);
  answered.resolve({ outcome: 'accepted', checkAtMs: nowMs + 40 * 3_600_000 });
  await Promise.all([sending, scripted]);
  const attempts = await readRows(
    money.db.system,
    {
      name: 'attempts',
      text: 'select state, unknown_since is not null as is_unknown from attempts',
    },
    [],
  );
  assert.deepEqual(attempts, [{ state: 'unknown', is_unknown: true }]);
});
