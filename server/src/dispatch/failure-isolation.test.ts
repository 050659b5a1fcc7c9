import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
} from '../../testing/setups/money.ts';
import { createPersons } from '../../testing/setups/persons.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { MissingMasterKey } from '../core/sealing.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import { createHost } from '../rails/host/host.ts';
import { dispatchTimes } from './dispatch.ts';
import { applyNotifications } from './notifications.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

/** As if the leases of all payouts had ended. */
const endLeases = () => money.rows('update payout_dispatches set lease_until = clock_timestamp()');

const statusOf = async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status;

describe('slow checks', () => {
  it('do not keep checked payouts from being sent', async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const rail = createFakeRail(() => ({ outcome: 'paid' }));
    let checks = 0;
    let endFormer = (): void => undefined;
    const dispatcher = money.createDispatcherOf([rail], {
      rules: {
        check: async (rows) => {
          checks += 1;
          endFormer();
          // Its lease ends first, and it ends when the payout has been claimed again.
          const end = Promise.withResolvers<void>();
          endFormer = end.resolve;
          await endLeases();
          await end.promise;
          return rows.map(() => undefined);
        },
      },
    });
    await money.quoteAndCommit(owner);
    const endMs = performance.now() + 60_000;
    while (rail.sends() === 0 && performance.now() < endMs) {
      await dispatcher.startDue();
      await sleep(5);
    }
    endFormer();
    await dispatcher.settle();
    assert.equal(rail.sends(), 1, `checked ${checks} times, and never sent`);
  });
});

describe('a preparation that outlasts the lease', () => {
  it('is followed by no sending, because another process may have canceled it', async (context) => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const rail = createFakeRail(() => ({ outcome: 'paid' }));
    const { steadyMs } = money.clock;
    let aheadMs = 0;
    context.mock.method(money.clock, 'steadyMs', () => steadyMs() + aheadMs);
    let prepared = 0;
    const dispatcher = money.createDispatcherOf([rail], {
      travelRules: {
        guard: (guarded) => guarded,
        prepare: async (_rail, instruction) => {
          prepared += 1;
          aheadMs = dispatchTimes.staging.leaseMs;
          await endLeases();
          return { instruction };
        },
      },
    });
    const payout = await money.quoteAndCommit(owner);
    await dispatcher.runOne(payout.accountId, payout.payoutId);
    assert.equal(prepared, 1);
    assert.equal(rail.sends(), 0);
    const canceling = money.createDispatcher(rail);
    await canceling.cancelOne(payout.accountId, payout.payoutId);
    assert.equal(await statusOf(payout), 'CANCELLED');
  });
});

describe('a locked account', () => {
  it('does not delay notifications of other accounts', async () => {
    const [one, other] = [
      await money.createOwner({ USD: 1_000_000n }),
      await money.createOwner({ USD: 1_000_000n }),
    ];
    const rail = createFakeRail(() => ({ outcome: 'accepted' }));
    const dispatcher = money.createDispatcher(rail);
    const held = await money.quoteAndCommit(one);
    const free = await money.quoteAndCommit(other);
    await dispatcher.runDue();
    const host = createHost({
      name: 'fake',
      payers: [],
      db: money.db,
      keys: money.keys,
      nowMs: money.clock.nowMs,
      realNowMs: Date.now,
      fetch,
      callbackUrl: '',
      wake: () => undefined,
      onInboundMessage: () => undefined,
      log: () => undefined,
    });
    for (const [index, payout] of [held, free].entries()) {
      const reference = payout.reference;
      const observation = { id: randomUUID(), reference, outcome: 'paid', atMs: index } as const;
      await host.receive({
        id: randomUUID(),
        channel: 'callback',
        raw: Buffer.of(1),
        observations: [observation],
      });
    }
    const lock = Promise.withResolvers<void>();
    const locked = Promise.withResolvers<void>();
    const holding = money.connect().systemTransaction(async (session) => {
      await readRows(session, { name: '', text: 'select from accounts where id = $1 for update' }, [
        one.accountId,
      ]);
      locked.resolve();
      await lock.promise;
    });
    await locked.promise;
    const applying = applyNotifications({
      db: money.db,
      keys: money.keys,
      router: dispatcher.router,
      measurements: dispatcher.measurements,
      nowMs: money.clock.nowMs,
      onNotification: () => undefined,
      onError: () => undefined,
    });
    let status = await statusOf(free);
    for (let look = 0; look < 6_000 && status !== 'COMPLETED'; look += 1) {
      await sleep(10);
      status = await statusOf(free);
    }
    lock.resolve();
    await holding;
    await applying;
    assert.equal(status, 'COMPLETED');
  });

  it('opens no exception for payouts whose check had to wait for it, however often', async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const rail = createFakeRail(() => ({ outcome: 'paid' }));
    let isLocked = true;
    const dispatcher = money.createDispatcherOf([rail], {
      rules: {
        check: async (rows) => {
          if (isLocked) await waitInVain(owner.accountId);
          return rows.map(() => undefined);
        },
      },
    });
    const payout = await money.quoteAndCommit(owner);
    for (let round = 0; round < 10; round += 1) {
      await dispatcher.runDue();
      await money.advance(1001);
    }
    assert.equal(dispatcher.errors.length, 10);
    assert.equal(await statusOf(payout), 'PROCESSING');
    isLocked = false;
    await dispatcher.drain();
    assert.equal(await statusOf(payout), 'COMPLETED');
  });
});

const lockText = 'select from accounts where id = $1 for update';

/** As a statement that another transaction makes wait for longer than it may. */
const waitInVain = (accountId: string): Promise<void> =>
  money.ownerTransaction(async (holder) => {
    await readRows(holder, { name: '', text: lockText }, [accountId]);
    await money.db.systemTransaction(async (session) => {
      await readRows(session, { name: '', text: 'set local lock_timeout = 1' });
      await readRows(session, { name: '', text: lockText }, [accountId]);
    });
  });

describe('a failure of this process', () => {
  it('is tried again with back-off, and opens an exception after eight times', async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const dispatcher = money.createDispatcherOf([createFakeRail(() => ({ outcome: 'paid' }))], {
      rules: { check: () => Promise.reject(new MissingMasterKey('the key of a test')) },
    });
    const payout = await money.quoteAndCommit(owner);
    const waits: number[] = [];
    for (let round = 0; round < 7; round += 1) {
      await dispatcher.runDue();
      waits.push(Math.round((await advanceToNextQuery(money, payout)) / 60_000));
    }
    assert.deepEqual(waits, [1, 2, 4, 8, 16, 32, 64]);
    assert.equal(await statusOf(payout), 'PROCESSING');
    await dispatcher.runDue();
    assert.equal(await statusOf(payout), 'HOLD');
  });
});

describe('a second person', () => {
  it('is not the first one again', async () => {
    const owner = await money.createOwner({ USD: 1_000_000n });
    const rail = createFakeRail(() => ({ outcome: 'paid' }));
    const person = createPersons(money);
    const dispatcher = money.createDispatcherOf([rail], {
      rules: { check: async (rows) => rows.map(() => ({ exception: 'velocity', detail: '' })) },
    });
    const payout = await money.quoteAndCommit(owner);
    await dispatcher.runDue();
    const decide = async (name: string) =>
      decidePayout(
        {
          db: money.db,
          keys: money.keys,
          dispatcher,
          rates: () => ({ find: () => ({ ok: false, reason: 'unknown', detail: '' }) }),
          readPolicy: twoPersonsAbove(1),
        },
        { ...payout, action: 'release', ...(await person(name)), reason: 'a test' },
      );
    assert.equal(await decide('ada'), 'waiting');
    assert.equal(await decide('ada'), 'waiting');
  });
});
