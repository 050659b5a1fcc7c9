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
  const waiting = `
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event = 'PgSleep'`;
  while ((await money.rows(waiting)).length === 0) await sleep(5);
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

it('scripting an outcome locks the account before the payout, as answers do', async () => {
  await using money = await createMoneyTest();
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId, payoutId } = await money.quoteAndCommit(owner);
  const script = { accountId, payoutId, outcome: 'rejected', nowMs: money.clock.nowMs() } as const;
  const waiting = `
    select 1 from pg_stat_activity
    where datname = current_database() and wait_event_type = 'Lock'`;
  const { scripted } = await money.ownerTransaction(async (session) => {
    const lockAccount = 'select 1 from accounts where id = $1 for update';
    await readRows(session, { name: '', text: lockAccount }, [accountId]);
    const running = money.db.systemTransaction((other) =>
      scriptPayout({ session: other, keys: money.keys }, script),
    );
    while ((await money.rows(waiting)).length === 0) await sleep(5);
    // Refused where the other transaction has the row: a deadlock.
    const lockPayout = 'select 1 from payout_dispatches where payout_id = $1 for update nowait';
    await readRows(session, { name: '', text: lockPayout }, [payoutId]);
    return { scripted: running };
  });
  await scripted;
  assert.equal((await money.payout(payoutId)).status, 'CANCELLED');
  await money.assertSound();
});
