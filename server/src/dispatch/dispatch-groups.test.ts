import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import {
  advanceToNextQuery,
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  createRouting,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { createSession } from '../db/postgres/connection.ts';
import type { Database } from '../db/postgres/pool.ts';
import { claimDispatches } from './dispatch.sql.ts';
import { createDispatcher, dispatchTimes } from './dispatch.ts';
import { applyObservation, applyObservations, type Observation } from './observations.ts';

/** Answers recorded in a group have the same effect as one by one. */

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
  await money.rows(`select set_notice_channels('{email}')`);
});
after(() => money[Symbol.asyncDispose]());

/** The outcomes that bring a sent payout into each state. */
const paths = {
  PROCESSING: [],
  HOLD: ['hold'],
  READY_FOR_PICKUP: ['ready_for_pickup'],
  COMPLETED: ['paid'],
} as const;
const outcomes = [
  'accepted',
  'ready_for_pickup',
  'paid',
  'rejected',
  'returned',
  'retry',
  'unknown',
  'hold',
];
const dueAt = new Date('2040-01-01T00:00:00Z');
const claimOne = (payout: CommittedPayout) =>
  claimDispatches(money.db.system, {
    counts: new Map(),
    leaseMs: 60_000,
    hasRules: false,
    only: payout,
  });

async function prepare(status: keyof typeof paths): Promise<Observation> {
  const payout = await money.quoteAndCommit(owner, { notifyUser: true });
  await claimOne(payout);
  for (const outcome of paths[status]) {
    assert.equal(await money.observe(payout, outcome, { dueAt }), 'applied');
  }
  const [claim] = paths[status].length === 0 ? [] : await claimOne(payout);
  return {
    ...payout,
    rail: undefined,
    observationId: newId(),
    source: 'query',
    outcome: '',
    reason: '',
    fence: claim?.fence ?? (await money.dispatch(payout.payoutId))?.fence,
    dueAt: undefined,
    details: undefined,
  };
}

/** All stored state of a payout, without its identifiers. */
const stored = {
  state: `select status, status_reason, completed_at is not null as is_completed,
      updated_at > committed_at as was_touched from payouts where id = $1`,
  events: 'select type, detail from events where subject_id = $1 order by sequence',
  attempts: `select number, state, reason, taken_at is not null as was_taken,
      unknown_since is not null as is_unknown, answered_at is not null as was_answered
      from attempts where payout_id = $1 order by number`,
  dispatches: `select case when due_at < environment_now() + interval '1 hour' then 'soon'
         else due_at::text end as due_at, fence = $2::bigint as is_claimed, tries,
         lease_until is not null as is_leased
       from payout_dispatches where payout_id = $1`,
  journals: `select kind, source_amount, fee, destination_amount, rail,
      wallet_balance is null as is_aside from ledger_journals where payout_id = $1 order by id`,
  notices:
    'select payout_status from notices where payout_id = $1 order by created_at, payout_status',
  observations: `select source, outcome, reason, is_applied from observations
      where payout_id = $1 order by observed_at`,
} as const;

const lists = Object.entries(stored).map(
  ([name, text]) => `(select json_agg(r) from (${text}) r) as ${name}`,
);

async function describe({ payoutId, fence }: Observation): Promise<unknown> {
  return money.rows(`select ${lists.join(',\n')}`, [payoutId, fence]);
}

test('every outcome in every state has the same effect in a group as alone', async () => {
  const services = { session: money.db.system, keys: money.keys };
  for (const status of Object.keys(paths) as (keyof typeof paths)[]) {
    for (const outcome of outcomes) {
      const what = `${status} ${outcome}`;
      const group: Observation[] = [];
      const expected: { result: unknown; stored: unknown }[] = [];
      for (const due of [undefined, dueAt]) {
        const change = { outcome, reason: 'as reported', dueAt: due };
        const alone = { ...(await prepare(status)), ...change };
        group.push({ ...(await prepare(status)), ...change });
        const result = await applyObservation(services, alone);
        expected.push({ result, stored: await describe(alone) });
      }
      const results = await applyObservations(services, group, true);
      assert.deepEqual(
        results.toSorted((a, b) => a.ordinal - b.ordinal),
        expected.map(({ result }, index) => ({ ordinal: index + 1, result })),
        what,
      );
      assert.deepEqual(
        await Promise.all(group.map(describe)),
        expected.map((one) => one.stored),
        what,
      );
    }
  }
  await money.assertSound();
});

test('a claim whose lease has ended is not sent: another process has sent it meanwhile', async () => {
  const payout = await money.quoteAndCommit(owner);
  let sent = 0;
  const rail = createFakeRail(({ kind }) => {
    if (kind === 'send') sent += 1;
    return sent === 0 ? { outcome: 'retry', reason: 'unreachable' } : { outcome: 'accepted' };
  });
  const quick = money.createDispatcher(rail);
  let steadyMs = 0;
  const takeOver = async (): Promise<void> => {
    steadyMs += dispatchTimes.staging.leaseMs;
    await money.rows(
      `update payout_dispatches set lease_until = now() - interval '1 second' where payout_id = $1`,
      [payout.payoutId],
    );
    await quick.runOne(payout.accountId, payout.payoutId);
    await advanceToNextQuery(money, payout);
    await quick.runOne(payout.accountId, payout.payoutId);
  };
  const slow: Database = {
    ...money.db,
    system: createSession(async (statement, values) => {
      const rows = await money.db.system.query(statement, values);
      if (statement.name === 'claim_dispatches') await takeOver();
      return rows;
    }),
  };
  const errors: unknown[] = [];
  const late = createDispatcher({
    times: dispatchTimes.staging,
    db: slow,
    keys: money.keys,
    clock: { ...money.clock, steadyMs: () => steadyMs },
    rails: new Map([[rail.name, rail]]),
    ...createRouting(money.db, [rail]),
    rules: undefined,
    onAnswer: () => undefined,
    onError: (error) => errors.push(error),
  });
  await late.runOne(payout.accountId, payout.payoutId);
  assert.equal(sent, 1);
  assert.equal(errors.length, 1);
  assert.deepEqual(
    (await money.attempts(payout.payoutId)).map(({ number, state }) => ({ number, state })),
    [
      { number: 1, state: 'retry' },
      { number: 2, state: 'accepted' },
    ],
  );
  assert.ok((await money.dispatch(payout.payoutId)) !== undefined);
});
