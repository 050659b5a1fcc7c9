import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stepBack } from '../../testing/setups/clock-step.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
} from '../../testing/setups/money.ts';
import { AppError } from '../core/errors.ts';
import { getPayoutBefore, listPayoutsAfterEvents } from './payout-history.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

type Point = { type: string; status: string; returned_amount: bigint; sequence: bigint };

/** The payout after each of its events, and what the last one returned in all. */
function describeEvents({ accountId, payoutId }: CommittedPayout): Promise<Point[]> {
  return money.rows<Point>(
    `select e.type, p.status, p.returned_amount, e.sequence
     from events e
     cross join lateral payout_as_of(e.account_id, e.subject_id, e.created_at, e.sequence) p
     where e.account_id = $1 and e.subject_id = $2 order by e.sequence`,
    [accountId, payoutId],
  );
}

async function createReturnedInParts(): Promise<CommittedPayout> {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  await money.observe(payout, 'paid', { source: 'sandbox' });
  // An answer has the total.
  for (const amount of ['300', '500']) {
    const details = { amount };
    await money.observe(payout, 'returned', { source: 'sandbox', details });
  }
  return payout;
}

test('each part of a return is an event, and the payout had so much returned after it', async () => {
  const payout = await createReturnedInParts();
  const points = await describeEvents(payout);
  assert.deepEqual(
    points.map(({ type, status, returned_amount: returned }) => [type, status, returned]),
    [
      ['payout.pending', 'PENDING', 0n],
      ['payout.processing', 'PROCESSING', 0n],
      ['payout.completed', 'COMPLETED', 0n],
      // The first part came with the move.
      ['payout.cancelled', 'CANCELLED', 300n],
      ['payout.returned', 'CANCELLED', 300n],
      ['payout.returned', 'CANCELLED', 500n],
    ],
  );
});

test('a payout that is on hold again is read as of each hold and each continuation', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  const statuses = ['PROCESSING'];
  for (const [outcome, status] of [
    ['hold', 'HOLD'],
    ['accepted', 'PROCESSING'],
    ['hold', 'HOLD'],
    ['rejected', 'CANCELLED'],
  ] as const) {
    await money.observe(payout, outcome, { source: 'sandbox' });
    statuses.push(status);
  }
  const points = await describeEvents(payout);
  assert.deepEqual(
    points.map(({ status }) => status),
    ['PENDING', ...statuses],
  );
});

type Times = { created: Date; committed: Date; completed: Date };

async function readTimes({ accountId, payoutId }: CommittedPayout): Promise<Times> {
  const [times] = await money.rows<Times>(
    `select p.created_at as created, s.committed_at as committed, s.completed_at as completed
     from payouts p join payout_states s on s.account_id = p.account_id and s.payout_id = p.id
     where p.account_id = $1 and p.id = $2`,
    [accountId, payoutId],
  );
  assert.ok(times !== undefined);
  return times;
}

test('where the events are no longer kept, a past state is unknown and the present one is not', async () => {
  let payout = await createReturnedInParts();
  let times = await readTimes(payout);
  // A Date has no microseconds: the moment before the commit has to be after the quote.
  while (times.created.getTime() === times.committed.getTime()) {
    payout = await createReturnedInParts();
    times = await readTimes(payout);
  }
  const { accountId, userId, payoutId } = payout;
  const session = money.db.tenant(accountId);
  await money.rows(
    `delete from events
     where account_id = $1 and subject_id = $2 and type <> 'payout.returned'`,
    [accountId, payoutId],
  );
  const read = (before: Date) => getPayoutBefore(session, { accountId, userId, payoutId, before });
  assert.equal((await read(times.committed)).status, 'PENDING');
  await assert.rejects(
    read(times.completed),
    (error) => error instanceof AppError && error.code === 'events_dropped',
  );
  assert.equal((await read(new Date(Date.now() + 60_000))).status, 'CANCELLED');
  await assert.rejects(
    read(new Date(0)),
    (error) => error instanceof AppError && error.code === 'not_found',
  );
});

/** The status and the rail's reference after each event of a payout. */
async function listReferences({ accountId, payoutId }: CommittedPayout): Promise<string[]> {
  const events = await money.rows<{ sequence: bigint }>(
    `select sequence from events where account_id = $1 and subject_id = $2`,
    [accountId, payoutId],
  );
  const sequences = events.map(({ sequence }) => sequence);
  const session = money.db.tenant(accountId);
  const rows = await listPayoutsAfterEvents(session, accountId, sequences);
  return rows
    .toSorted((a, b) => Number(a.event_sequence - b.event_sequence))
    .map(({ status, rail_reference: reference }) => `${status} ${reference}`);
}

test("the rail's reference is that of the payment after a return too, and is there after a rejection", async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const answer = async (outcome: 'paid' | 'rejected') => {
    const payout = await money.quoteAndCommit(owner);
    const rail = createFakeRail(() => ({ outcome, reason: 'other', providerReference: 'PAYMENT' }));
    await money.createDispatcher(rail).runOne(owner.accountId, payout.payoutId);
    return payout;
  };
  const paid = await answer('paid');
  await money.observe(paid, 'returned', { details: { provider_reference: 'RETURN' } });
  assert.deepEqual(await listReferences(paid), [
    'PENDING ',
    'PROCESSING ',
    'COMPLETED PAYMENT',
    'CANCELLED PAYMENT',
    'CANCELLED PAYMENT',
  ]);
  assert.deepEqual(await listReferences(await answer('rejected')), [
    'PENDING ',
    'PROCESSING ',
    'CANCELLED PAYMENT',
  ]);
});

test("the rail's reference stays in events of before a later answer", async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const payout = await money.quoteAndCommit(owner);
  const rail = createFakeRail(() => ({
    outcome: 'unknown',
    reason: 'no_answer',
    providerReference: 'PAYMENT',
  }));
  const dispatcher = money.createDispatcher(rail);
  await dispatcher.runOne(owner.accountId, payout.payoutId);
  await money.advance(25 * 3_600_000);
  await dispatcher.runOne(owner.accountId, payout.payoutId);
  const held = ['PENDING ', 'PROCESSING ', 'HOLD PAYMENT'];
  assert.deepEqual(await listReferences(payout), held);
  await money.advance(3_600_000);
  await dispatcher.runOne(owner.accountId, payout.payoutId);
  await money.observe(payout, 'accepted', { details: { provider_reference: 'PAYMENT' } });
  assert.deepEqual((await listReferences(payout)).slice(0, 3), held);
});

test('a payout after each of its events is told by their order after a step back of the clock', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId } = owner;
  // Behind the border of a month.
  const now = new Date(money.clock.nowMs());
  const later = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 30);
  await money.advance(later - now.getTime());
  const quoted = await money.quote(owner);
  const payout = { ...owner, payoutId: quoted.id, reference: '' };
  await stepBack(money, 1, () => money.commit(owner, quoted.id));
  await money.observe(payout, 'hold', { source: 'sandbox' });
  await stepBack(money, 2, () => money.observe(payout, 'paid', { source: 'sandbox' }));
  const events = await money.rows<{ sequence: bigint }>(
    'select sequence from events where account_id = $1 and subject_id = $2 order by sequence',
    [accountId, payout.payoutId],
  );
  const sequences = events.map(({ sequence }) => sequence);
  const session = money.db.tenant(accountId);
  const rows = await listPayoutsAfterEvents(session, accountId, sequences);
  const sorted = rows.toSorted((a, b) => Number(a.event_sequence - b.event_sequence));
  assert.deepEqual(
    sorted.map(({ status, committed_at: committed, completed_at: completed, timeline }) => [
      status,
      committed !== null,
      completed !== null,
      timeline.length,
    ]),
    [
      ['PENDING', false, false, 1],
      ['PROCESSING', true, false, 2],
      ['HOLD', true, false, 3],
      ['PROCESSING', true, false, 4],
      ['COMPLETED', true, true, 5],
    ],
  );
});
