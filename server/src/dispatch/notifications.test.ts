import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, afterEach, before, describe, it } from 'node:test';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import type { Session } from '../db/postgres/pool.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import type { RailAnswer, RailObservation } from '../rails/contract/contract.ts';
import { createHost } from '../rails/host/host.ts';
import { applyNotifications } from './notifications.ts';

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

type Notified = Partial<RailObservation> & Pick<RailObservation, 'outcome'>;

function open(answer: () => RailAnswer | Promise<RailAnswer> = () => ({ outcome: 'accepted' })) {
  const rail = createFakeRail(answer);
  const dispatcher = money.createDispatcher(rail);
  const errors: unknown[] = [];
  const services = {
    db: money.db,
    keys: money.keys,
    router: dispatcher.router,
    measurements: dispatcher.measurements,
    nowMs: money.clock.nowMs,
    onNotification: () => undefined,
    onError: (error: unknown) => errors.push(error),
  };
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
  const notify = async (payout: CommittedPayout | string, ...all: readonly Notified[]) => {
    const reference = typeof payout === 'string' ? payout : payout.reference;
    const observations = all.map((observation) => ({
      id: randomUUID(),
      reference,
      atMs: 0,
      ...observation,
    }));
    await host.receive({ id: randomUUID(), channel: 'callback', raw: Buffer.of(1), observations });
    await applyNotifications(services);
    assert.deepEqual(errors, []);
  };
  const decide = (
    payout: CommittedPayout,
    action: 'release' | 'refund' | 'returned' | 'write_off' | 'dismiss',
  ) =>
    decidePayout(
      {
        db: money.db,
        keys: money.keys,
        dispatcher,
        rates: () => neverRates,
        readPolicy: twoPersonsAbove(1_000_000),
      },
      {
        ...payout,
        action,
        decidedBy: 'ada',
        operatorId: '00000000-0000-7000-8000-0000000000aa',
        reason: 'a test',
      },
    );
  return { rail, dispatcher, notify, decide, services };
}

const neverRates = {
  find: () => ({ ok: false, reason: 'unknown', detail: '' }) as const,
};

async function sent(kit: ReturnType<typeof open>): Promise<CommittedPayout> {
  const payout = await money.quoteAndCommit(owner);
  await kit.dispatcher.runDue();
  return payout;
}

const statusOf = async (payout: CommittedPayout) => (await money.payout(payout.payoutId)).status;
const exceptionsOf = async ({ payoutId }: CommittedPayout) =>
  (
    await money.rows<{ kind: string }>(
      'select kind from exceptions where payout_id = $1 and closed_at is null',
      [payoutId],
    )
  ).map(({ kind }) => kind);
const balance = (name?: string, currency = 'USD') => money.balance(owner.accountId, currency, name);

it('a pass without notifications asks the database once', async () => {
  const asked: string[] = [];
  const { services } = open();
  const system: Session = {
    query: (statement, values) => {
      asked.push(statement.name);
      return money.db.system.query(statement, values);
    },
  };
  await applyNotifications({ ...services, db: { ...money.db, system } });
  assert.deepEqual(asked, ['claim_notifications']);
});

describe('a notification', () => {
  it('completes a payout once', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'accepted' });
    await kit.notify(payout, { outcome: 'paid' });
    await kit.notify(payout, { outcome: 'paid' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await exceptionsOf(payout), []);
  });

  it('is applied to its own payout where several arrive together', async () => {
    const kit = open();
    const [paid, rejected] = [await sent(kit), await sent(kit)];
    const { reference } = rejected;
    const refusal = { reference, outcome: 'rejected', reason: 'account_closed' } as const;
    await kit.notify(paid, { outcome: 'paid' }, refusal);
    assert.deepEqual([await statusOf(paid), await statusOf(rejected)], ['COMPLETED', 'CANCELLED']);
  });

  it('keeps whether it changed its payout', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    await kit.notify(payout, { outcome: 'paid' });
    await kit.notify(payout, { outcome: 'rejected', reason: 'account_closed' });
    const kept = await money.rows<{ outcome: string; state: string }>(
      'select outcome, state from rail_observations where reference = $1 order by state',
      [payout.reference],
    );
    assert.deepEqual(
      kept.map(({ outcome, state }) => [outcome, state]),
      [
        ['paid', 'applied'],
        ['rejected', 'exception'],
        ['paid', 'no_effect'],
      ],
    );
  });

  it('may arrive in any order', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid', atMs: 5 }, { outcome: 'accepted', atMs: 1 });
    await kit.notify(payout, { outcome: 'accepted' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await exceptionsOf(payout), []);
  });

  it('may arrive before the answer to the sending', async () => {
    const answer = Promise.withResolvers<RailAnswer>();
    const called = Promise.withResolvers<void>();
    const kit = open(() => {
      called.resolve();
      return answer.promise;
    });
    const payout = await money.quoteAndCommit(owner);
    const running = kit.dispatcher.runDue();
    await called.promise;
    await kit.notify(payout, { outcome: 'paid' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    answer.resolve({ outcome: 'accepted' });
    await running;
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.equal(kit.rail.sends(), 1);
  });

  it('of an unknown payment opens an exception', async () => {
    const kit = open();
    const count = async () =>
      (await money.rows(`select from exceptions where kind = 'unmatched'`)).length;
    const before = await count();
    await kit.notify('f'.repeat(32), { outcome: 'paid' });
    await kit.notify('no reference at all', { outcome: 'returned' });
    assert.equal((await count()) - before, 2);
  });

  it('posts the charges of the rail once', async () => {
    const kit = open();
    const payout = await sent(kit);
    const charge = { id: 'fee', kind: 'bank', currency: 'MXN', amountMinor: 250n } as const;
    await kit.notify(payout, { outcome: 'paid', charges: [charge] });
    await kit.notify(payout, { outcome: 'paid', charges: [charge] });
    const rows = await money.rows<{ charges: object[] }>(
      'select charges from payout_margins where payout_id = $1',
      [payout.payoutId],
    );
    assert.equal(rows[0]?.charges.length, 1);
    assert.equal(await balance('costs', 'MXN'), -250n);
  });

  it('of a charge after the end of the payment posts it, and contradicts nothing', async () => {
    const before = await balance('costs', 'MXN');
    const kit = open();
    const [returned, refused] = [await sent(kit), await sent(kit)];
    const charges = [{ id: 'late', kind: 'bank', currency: 'MXN', amountMinor: 30n }] as const;
    await kit.notify(returned, { outcome: 'paid' });
    await kit.notify(returned, { outcome: 'returned', reason: 'account_closed', atMs: 1 });
    await kit.notify(returned, { outcome: 'accepted', charges, atMs: 2 });
    await kit.notify(refused, { outcome: 'rejected', reason: 'account_closed' });
    await kit.notify(refused, { outcome: 'rejected', charges, atMs: 2 });
    for (const { payoutId } of [returned, refused]) {
      assert.equal((await money.payout(payoutId)).status, 'CANCELLED');
      assert.deepEqual(
        await money.rows('select from exceptions where payout_id = $1', [payoutId]),
        [],
      );
    }
    assert.equal(await balance('costs', 'MXN'), before - 60n);
  });
});

describe('a return', () => {
  it('weeks after completion refunds the source amount and keeps the fee', async () => {
    const kit = open();
    const before = await balance();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    await money.advance(40 * 86_400_000);
    await kit.notify(payout, { outcome: 'returned', reason: 'account_closed' });
    const { status, status_reason: reason } = await money.payout(payout.payoutId);
    assert.deepEqual([status, reason], ['CANCELLED', 'returned: the account is closed']);
    assert.equal(await balance(), before - 100n);
  });

  it('in parts refunds in proportion, and the parts add up to the whole', async () => {
    const kit = open();
    const before = await balance();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    for (const amountMinor of [1n, 59_999n, 100_000n]) {
      await kit.notify(payout, { outcome: 'returned', amountMinor });
    }
    assert.equal(await balance(), before - 100n - 10_000n + 8_888n);
    await kit.notify(payout, { outcome: 'returned', amountMinor: 20_000n });
    assert.equal(await balance(), before - 100n);
    assert.deepEqual(await exceptionsOf(payout), []);
  });

  it('of more than was paid posts the excess separately and opens an exception', async () => {
    const kit = open();
    const before = await balance();
    const aside = await balance('suspense', 'MXN');
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    await kit.notify(payout, { outcome: 'returned', amountMinor: 180_500n });
    assert.equal(await balance(), before - 100n);
    assert.equal((await balance('suspense', 'MXN')) - aside, 500n);
    assert.deepEqual(await exceptionsOf(payout), ['excess_return']);
  });

  it('reported by an answer and by partial notifications counts once, in either order', async () => {
    for (const isAnswerFirst of [true, false]) {
      let answer: RailAnswer = { outcome: 'paid', checkAtMs: money.clock.nowMs() + 60_000 };
      const kit = open(() => answer);
      const payout = await sent(kit);
      const before = await balance();
      answer = { outcome: 'returned', reason: 'sent_back', amountMinor: 180_000n };
      const ask = async () => {
        await advanceToNextQuery(money, payout);
        await kit.dispatcher.runDue();
      };
      if (isAnswerFirst) await ask();
      await kit.notify(payout, { outcome: 'returned', amountMinor: 80_000n });
      await kit.notify(payout, { outcome: 'returned', amountMinor: 100_000n });
      if (!isAnswerFirst) await kit.dispatcher.runOne(payout.accountId, payout.payoutId);
      assert.equal(await balance(), before + 10_000n);
      assert.deepEqual(await exceptionsOf(payout), []);
    }
  });

  it('reported again refunds nothing', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    const returned = { id: 'the same', outcome: 'returned', amountMinor: 90_000n } as const;
    await kit.notify(payout, returned);
    const once = await balance();
    await kit.notify(payout, returned);
    assert.equal(await balance(), once);
  });
});

describe('a contradiction moves no money and opens an exception', () => {
  it('rejected after it was paid', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid' });
    const before = await balance();
    await kit.notify(payout, { outcome: 'rejected', reason: 'account_closed' });
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual(await exceptionsOf(payout), ['refused_after_payment']);
    assert.equal(await kit.decide(payout, 'returned'), 'done');
    assert.equal(await balance(), before + 10_000n);
    assert.deepEqual(await exceptionsOf(payout), []);
  });

  it('paid after it was rejected and refunded', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'rejected', reason: 'account_closed' });
    const before = await balance();
    await kit.notify(payout, { outcome: 'paid' });
    assert.equal(await statusOf(payout), 'CANCELLED');
    assert.equal(await balance(), before);
    assert.deepEqual(await exceptionsOf(payout), ['paid_after_refusal']);
    const aside = await balance('suspense', 'MXN');
    assert.equal(await kit.decide(payout, 'write_off'), 'done');
    assert.equal((await balance('suspense', 'MXN')) - aside, -180_000n);
  });

  it('paid with another amount', async () => {
    const kit = open();
    const payout = await sent(kit);
    await kit.notify(payout, { outcome: 'paid', amountMinor: 179_000n });
    assert.equal(await statusOf(payout), 'PROCESSING');
    assert.deepEqual(await exceptionsOf(payout), ['amount_differs']);
    await kit.dispatcher.runDue();
    assert.equal(kit.rail.sends(), 1);
  });
});
