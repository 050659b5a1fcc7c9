import assert from 'node:assert/strict';
import { after, afterEach, before, describe, it } from 'node:test';
import { createCompany, createPayer, createRates } from '../../testing/setups/destinations.ts';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { createPersons } from '../../testing/setups/persons.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { getRate } from '../core/rate.ts';
import { getDestinationToken } from '../destinations/catalog.ts';
import type { Rules } from '../dispatch/dispatch.ts';
import { revokeOperator } from '../operators/operators.ts';
import type { RailAnswer } from '../rails/contract/contract.ts';
import { type DecisionAction, decidePayout, findPayoutVersion } from './decisions.ts';
import { listExceptionRows } from './exceptions.sql.ts';

let money: MoneyTest;
let owner: Owner;
let person: ReturnType<typeof createPersons>;
before(async () => {
  money = await createMoneyTest();
  person = createPersons(money);
  owner = await money.createOwner({ USD: 1_000_000_000n });
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const rates = createRates({ 'USD/MXN': getRate('20') });

function open(answer: () => RailAnswer, rules?: Rules) {
  const rail = createFakeRail(answer);
  const dispatcher = money.createDispatcherOf([rail], { rates, ...(rules && { rules }) });
  const { db, keys } = money;
  const readPolicy = twoPersonsAbove(10_000);
  const services = { db, keys, dispatcher, rates: () => rates, readPolicy };
  const decide = async (payout: CommittedPayout, action: DecisionAction, name = 'ada') =>
    decidePayout(services, { ...payout, action, ...(await person(name)), reason: 'a test' });
  return { rail, dispatcher, services, decide };
}

const statusOf = async ({ payoutId }: CommittedPayout) => (await money.payout(payoutId)).status;
const openKinds = async (payout: CommittedPayout) =>
  (await listExceptionRows(money.db.system, {}, { state: 'open', after: undefined, count: 1000 }))
    .filter(({ payout_id: id }) => id === payout.payoutId)
    .map(({ kind }) => kind);

const hit: Rules = {
  check: async (rows) => rows.map(() => ({ exception: 'screening', detail: 'list X, entry 1' })),
};

describe('a payout that the rules hold', () => {
  it('is not sent until a person releases it', async () => {
    const kit = open(() => ({ outcome: 'paid' }), hit);
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), kit.rail.sends()], ['HOLD', 0]);
    assert.deepEqual(await openKinds(payout), ['screening']);
    assert.equal(await kit.decide(payout, 'release'), 'done');
    await kit.dispatcher.runDue();
    assert.deepEqual([await statusOf(payout), kit.rail.sends()], ['COMPLETED', 1]);
    assert.deepEqual(await openKinds(payout), []);
  });

  it('is refunded in full when a person refunds it', async () => {
    const kit = open(() => ({ outcome: 'paid' }), hit);
    const before = await money.balance(owner.accountId, 'USD');
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    assert.equal(await kit.decide(payout, 'refund'), 'done');
    assert.equal(await statusOf(payout), 'CANCELLED');
    assert.equal(await money.balance(owner.accountId, 'USD'), before);
    await assert.rejects(
      kit.decide(payout, 'release'),
      /release is not possible: the payout is CANCELLED and no exception of it is open$/,
    );
  });

  it('is checked first and sent in a second step', async () => {
    const kit = open(() => ({ outcome: 'paid' }), {
      check: async (rows) => rows.map(() => undefined),
    });
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    assert.equal(kit.rail.sends(), 0);
    await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'COMPLETED');
  });

  it('is not sent while the rules fail', async () => {
    const kit = open(() => ({ outcome: 'paid' }), {
      check: () => Promise.reject(new Error('no lists')),
    });
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    for (let round = 0; round < 8; round += 1) {
      await advanceToNextQuery(money, payout);
      await kit.dispatcher.runDue();
      if ((await statusOf(payout)) === 'HOLD') break;
    }
    assert.deepEqual([await statusOf(payout), kit.rail.sends()], ['HOLD', 0]);
    assert.deepEqual(await openKinds(payout), ['parked']);
  });
});

describe('a payout of high value', () => {
  it('needs the same decision by two different people', async () => {
    const kit = open(() => ({ outcome: 'paid' }), hit);
    const payout = await money.quoteAndCommit(owner, { sourceMinor: 1_000_001n });
    await kit.dispatcher.runDue();
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'waiting');
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'waiting');
    assert.equal(await kit.decide(payout, 'refund', 'bob'), 'waiting');
    assert.equal(await statusOf(payout), 'HOLD');
    assert.equal(await kit.decide(payout, 'release', 'bob'), 'done');
    assert.equal(await statusOf(payout), 'PROCESSING');
  });

  async function holdLarge() {
    const kit = open(() => ({ outcome: 'paid' }), hit);
    const payout = await money.quoteAndCommit(owner, { sourceMinor: 1_000_001n });
    await kit.dispatcher.runDue();
    return { kit, payout };
  }

  it('is not released by a vote that was given before another exception opened', async () => {
    const { kit, payout } = await holdLarge();
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'waiting');
    await money.rows(
      `select open_exception($1, $2, 'bank', 'velocity', 'over a limit', null, null, environment_now())`,
      [owner.accountId, payout.payoutId],
    );
    assert.equal(await kit.decide(payout, 'release', 'bob'), 'waiting');
    assert.equal(await statusOf(payout), 'HOLD');
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'done');
  });

  it('is not released by a vote that was written past the service', async () => {
    const { kit, payout } = await holdLarge();
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'waiting');
    const bob = await person('bob');
    // The second vote, copied from the first one with write access to the database.
    await money.rows(
      `insert into payout_decisions select (jsonb_populate_record(d, jsonb_build_object(
         'id', gen_random_uuid(), 'decided_by', 'bob', 'operator_id', $2::uuid))).*
       from payout_decisions d where payout_id = $1`,
      [payout.payoutId, bob.operatorId],
    );
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'waiting');
    assert.equal(await kit.decide(payout, 'release', 'bob'), 'done');
  });

  it('is not released by the vote of an operator who was revoked since', async () => {
    const { kit, payout } = await holdLarge();
    assert.equal(await kit.decide(payout, 'release', 'mal'), 'waiting');
    const { decidedBy: name, operatorId: id } = await person('mal');
    await revokeOperator(money.db.system, { id, name, role: 'approver' });
    assert.equal(await kit.decide(payout, 'release', 'bob'), 'waiting');
    assert.equal(await kit.decide(payout, 'release', 'ada'), 'done');
  });

  it('needs both again for a later exception', async () => {
    let isPaid = false;
    const kit = open(() =>
      isPaid ? { outcome: 'paid' } : { outcome: 'unknown', reason: 'no_answer' },
    );
    const payout = await money.quoteAndCommit(owner, { sourceMinor: 1_000_001n });
    await kit.dispatcher.runDue();
    assert.equal(await kit.decide(payout, 'not_paid', 'ada'), 'waiting');
    isPaid = true;
    await advanceToNextQuery(money, payout);
    await kit.dispatcher.runDue();
    assert.equal(await statusOf(payout), 'COMPLETED');
    await assert.rejects(kit.decide(payout, 'not_paid', 'bob'), /is not possible/);
  });
});

describe('a payout whose outcome stays unknown', () => {
  async function hold(kit: ReturnType<typeof open>): Promise<CommittedPayout> {
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    while ((await statusOf(payout)) !== 'HOLD') {
      await advanceToNextQuery(money, payout);
      await kit.dispatcher.runDue();
    }
    assert.deepEqual(await openKinds(payout), ['unknown_outcome']);
    return payout;
  }
  const vague = (): RailAnswer => ({ outcome: 'unknown', reason: 'no_answer' });

  it('is not refunded while an attempt may be alive, unless a person decides not_paid', async () => {
    const kit = open(vague);
    const before = await money.balance(owner.accountId, 'USD');
    const payout = await hold(kit);
    await assert.rejects(kit.decide(payout, 'refund'), /still be in flight/);
    assert.equal(await kit.decide(payout, 'not_paid'), 'done');
    assert.equal(await statusOf(payout), 'CANCELLED');
    assert.equal(await money.balance(owner.accountId, 'USD'), before);
    assert.equal(kit.rail.sends(), 1);
  });

  it('is completed when a person decides paid', async () => {
    const kit = open(vague);
    const payout = await hold(kit);
    assert.equal(await kit.decide(payout, 'paid'), 'done');
    assert.equal(await statusOf(payout), 'COMPLETED');
  });

  it('is queried and not sent again when a person releases it', async () => {
    const kit = open(vague);
    const payout = await hold(kit);
    assert.equal(await kit.decide(payout, 'release'), 'done');
    await kit.dispatcher.runDue();
    assert.equal(kit.rail.sends(), 1);
  });
});

describe('a decision about a payout as a person saw it', () => {
  it('is recorded only while the payout is as it was', async () => {
    const kit = open(() => ({ outcome: 'unknown', reason: 'no_answer' }), hit);
    const payout = await money.quoteAndCommit(owner);
    await kit.dispatcher.runDue();
    const decide = async (action: DecisionAction, version: string) =>
      decidePayout(kit.services, {
        ...payout,
        action,
        version,
        ...(await person('ada')),
        reason: 'a test',
      });
    const held = await findPayoutVersion(money.db.system, payout);
    assert.equal(await decide('release', held), 'done');
    await kit.dispatcher.runDue();
    const sent = await findPayoutVersion(money.db.system, payout);
    const changed = { code: 'payout_changed' };
    await assert.rejects(decide('not_paid', held), changed);
    await assert.rejects(decide('refund', held), changed);
    assert.equal(await statusOf(payout), 'PROCESSING');
    assert.equal(await findPayoutVersion(money.db.system, payout), sent);
    assert.equal(await decide('not_paid', sent), 'done');
    assert.equal(await statusOf(payout), 'CANCELLED');
  });

  it('is not recorded where the rail, asked to stop the order, says that it has it', async () => {
    const answers: RailAnswer[] = [{ outcome: 'unknown', reason: 'no_answer' }];
    const rail = {
      ...createFakeRail(() => answers[0] ?? { outcome: 'accepted' }),
      cancel: async (): Promise<RailAnswer> => ({ outcome: 'accepted' }),
    };
    const dispatcher = money.createDispatcherOf([rail], { rates });
    const payout = await money.quoteAndCommit(owner);
    await dispatcher.runDue();
    const version = await findPayoutVersion(money.db.system, payout);
    const { services } = open(() => ({ outcome: 'accepted' }));
    const decision = { ...payout, action: 'not_paid', version, reason: 'a test' } as const;
    await assert.rejects(
      decidePayout({ ...services, dispatcher }, { ...decision, ...(await person('ada')) }),
      { code: 'payout_changed' },
    );
    assert.equal(await statusOf(payout), 'PROCESSING');
  });
});

describe('a statement about an attempt', () => {
  it('does not count while a process works on the payout', async () => {
    const called = Promise.withResolvers<void>();
    const answered = Promise.withResolvers<RailAnswer>();
    const rail = createFakeRail(() => {
      called.resolve();
      return answered.promise;
    });
    const dispatcher = money.createDispatcherOf([rail], { rates });
    const payout = await money.quoteAndCommit(owner);
    const kit = open(() => ({ outcome: 'unknown', reason: 'no_answer' }));
    const running = dispatcher.runDue();
    await called.promise;
    for (const action of ['not_paid', 'paid'] as const) {
      await assert.rejects(kit.decide(payout, action), /a process is working on the payout/);
    }
    answered.resolve({ outcome: 'unknown', reason: 'no_answer' });
    await running;
    assert.equal(await kit.decide(payout, 'not_paid'), 'done');
    assert.equal(await statusOf(payout), 'CANCELLED');
  });

  it('that nothing was paid stops the order at its rail first', async () => {
    const answers: Record<'cancel' | 'other', RailAnswer> = {
      cancel: { outcome: 'rejected', reason: 'cancelled' },
      other: { outcome: 'accepted' },
    };
    let cancels = 0;
    const rail = {
      ...createFakeRail(() => answers.other),
      cancel: async () => {
        cancels += 1;
        return answers.cancel;
      },
    };
    const dispatcher = money.createDispatcherOf([rail], { rates });
    const kit = open(() => answers.other);
    const decide = async (payout: CommittedPayout) =>
      decidePayout(
        { ...kit.services, dispatcher },
        { ...payout, action: 'not_paid', ...(await person('ada')), reason: 'a test' },
      );
    const collected = await money.quoteAndCommit(owner);
    await dispatcher.runDue();
    assert.equal(await decide(collected), 'done');
    assert.deepEqual([cancels, await statusOf(collected)], [1, 'CANCELLED']);
    assert.match((await money.payout(collected.payoutId)).status_reason, /canceled/);

    answers.cancel = { outcome: 'unknown', reason: 'no_answer' };
    const unclear = await money.quoteAndCommit(owner);
    await dispatcher.runDue();
    assert.equal(await decide(unclear), 'done');
    assert.deepEqual([cancels, await statusOf(unclear)], [2, 'CANCELLED']);
    assert.match((await money.payout(unclear.payoutId)).status_reason, /decided by a person/);

    answers.cancel = { outcome: 'paid' };
    const paid = await money.quoteAndCommit(owner);
    await dispatcher.runDue();
    await assert.rejects(decide(paid), /the payout is COMPLETED/);
  });

  it('of one person does not count for an attempt that began after it', async () => {
    const answers: RailAnswer[] = [
      { outcome: 'retry', reason: 'busy' },
      { outcome: 'unknown', reason: 'no_answer' },
    ];
    const kit = open(() => answers.shift() ?? { outcome: 'unknown', reason: 'no_answer' });
    const payout = await money.quoteAndCommit(owner, { sourceMinor: 5_000_000n });
    await kit.dispatcher.runDue();
    await advanceToNextQuery(money, payout);
    await kit.dispatcher.runDue();
    assert.equal(await kit.decide(payout, 'not_paid'), 'waiting');
    // Its state is as it was when the first person decided, and the attempt is another one.
    await money.observe(payout, 'retry', { source: 'query' });
    await kit.dispatcher.runOne(payout.accountId, payout.payoutId);
    assert.equal(await kit.decide(payout, 'not_paid', 'ben'), 'waiting');
    assert.equal(await kit.decide(payout, 'not_paid', 'cleo'), 'done');
  });
});

describe('a payout without a payer left', () => {
  it('goes to a new payer when a person retries it', async () => {
    const refuse = (): RailAnswer => ({ outcome: 'rejected', reason: 'payer_unavailable' });
    const payer = (key: string, isDynamicToken: boolean) =>
      createPayer(key, { payerName: 'Bank', isDynamicToken });
    const first = {
      ...createFakeRail(refuse),
      name: 'first',
      companies: [createCompany('first')],
      payers: [payer('dynamic', true)],
    };
    const second = {
      ...createFakeRail(() => ({ outcome: 'paid' }) as const),
      name: 'second',
      companies: [createCompany('first')],
      payers: [payer('other', false)],
    };
    const payout = await money.quoteAndCommit(owner, {
      rail: 'first',
      payerKey: 'dynamic',
      destinationToken: getDestinationToken('first', 'dynamic'),
    });
    const alone = money.createDispatcherOf([first], { rates });
    await alone.runDue();
    assert.equal(await statusOf(payout), 'ERROR');
    const services = {
      db: money.db,
      keys: money.keys,
      rates: () => rates,
      readPolicy: twoPersonsAbove(10_000),
    };
    const decision = { ...payout, ...(await person('ada')), reason: 'a test' } as const;
    await assert.rejects(
      decidePayout({ ...services, dispatcher: alone }, { ...decision, action: 'retry' }),
      /no other payer can pay/,
    );
    // Nothing is left to cancel, and the row of the dispatch goes.
    assert.equal(await alone.cancelOne(payout.accountId, payout.payoutId), false);
    const both = money.createDispatcherOf([first, second], { rates });
    const retried = await decidePayout(
      { ...services, dispatcher: both },
      { ...decision, action: 'retry' },
    );
    assert.equal(retried, 'done');
    await both.runDue();
    assert.equal(await statusOf(payout), 'COMPLETED');
    assert.deepEqual([first.sends(), second.sends()], [1, 1]);
    // A claim that was made before the new row is not taken for a present one.
    const [before, after] = await money.attempts(payout.payoutId);
    assert.ok((after?.fence ?? 0n) > (before?.fence ?? 0n));
  });
});
