import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import {
  type CommittedPayout,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { newId } from '../core/ids.ts';
import { claimDispatches } from './dispatch.sql.ts';
import { applyObservation, type Observation } from './observations.ts';

/** Every cell of the table in docs/guides/exceptions.md, through every channel. */

const amountMinor = 180_000n;
const partMinor = 108_000n;

let money: MoneyTest;
let owner: Owner;
before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
after(() => money[Symbol.asyncDispose]());

type Report = Pick<Observation, 'outcome'> & {
  amount?: bigint;
  rail?: string;
  source?: Observation['source'];
  fence?: bigint;
  details?: Observation['details'];
  /** Milliseconds; now when absent. */
  at?: number;
};

async function report(payout: CommittedPayout, given: Report): Promise<string> {
  const { outcome, amount, rail = 'fake', source = 'callback', fence, at } = given;
  return money.db.systemTransaction((session) =>
    applyObservation(
      { session, keys: money.keys },
      {
        accountId: payout.accountId,
        payoutId: payout.payoutId,
        rail,
        observationId: newId(),
        source,
        outcome,
        reason: outcome === 'rejected' ? 'refused' : '',
        fence,
        dueAt: outcome === 'park' ? undefined : new Date(Date.now() + 3_600_000),
        details: {
          reference: payout.reference,
          ...(amount === undefined ? {} : { amount: amount.toString() }),
          ...(at === undefined ? {} : { at }),
          ...given.details,
        },
      },
    ),
  );
}

/** The reports that bring a payout into the state of a row. */
const known: Readonly<Record<string, readonly Report[]>> = {
  'sent, no answer yet': [],
  accepted: [{ outcome: 'accepted' }],
  'outcome unknown': [{ outcome: 'unknown', source: 'query' }],
  'ready for pickup': [{ outcome: 'ready_for_pickup' }],
  'outcome unknown for a day': [
    { outcome: 'hold', source: 'query', details: { exception: 'unknown_outcome' } },
  ],
  'not sent for a day': [{ outcome: 'park', source: 'query', details: { exception: 'not_sent' } }],
  paid: [{ outcome: 'paid' }],
  'returned in part': [{ outcome: 'paid' }, { outcome: 'returned', amount: partMinor }],
  returned: [{ outcome: 'paid' }, { outcome: 'returned' }],
  rejected: [{ outcome: 'rejected' }],
  'rejected, no payer left': [
    { outcome: 'rejected', details: { is_exhausted: true, exception: 'routes_exhausted' } },
  ],
  'rejected, another payer has it': [
    { outcome: 'rejected', details: { next_rail: 'second', next_payer: 'second' } },
  ],
};

const arriving: Readonly<Record<string, Report>> = {
  accepted: { outcome: 'accepted' },
  ready_for_pickup: { outcome: 'ready_for_pickup' },
  paid: { outcome: 'paid' },
  'paid, another amount': { outcome: 'paid', amount: amountMinor - 1n },
  rejected: { outcome: 'rejected' },
  returned: { outcome: 'returned' },
  'returned in part': { outcome: 'returned', amount: partMinor / 2n },
};

type Cell = { row: string; column: string; status: string; kinds: string[]; isNewerOnly: boolean };

async function readTable(): Promise<Cell[]> {
  const path = new URL('../../../docs/guides/exceptions.md', import.meta.url);
  const text = await readFile(path, 'utf8');
  const lines =
    text.split('<!-- contradiction table -->\n')[1]?.split('\n\n')[0]?.split('\n') ?? [];
  const [heading = [], , ...rows] = lines.map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim()),
  );
  const columns = heading.slice(1);
  assert.deepEqual(columns, Object.keys(arriving));
  assert.deepEqual(
    rows.map(([row]) => row),
    Object.keys(known),
  );
  return rows.flatMap(([row = '', ...cells]) =>
    cells.map((cell, place) => {
      const [status = '', ...words] = cell.split(' ');
      return {
        row,
        column: columns[place] ?? '',
        status,
        kinds: words.filter((word) => word !== '†'),
        isNewerOnly: words.includes('†'),
      };
    }),
  );
}

async function prepare(row: string): Promise<CommittedPayout> {
  const payout = await money.quoteAndCommit(owner);
  await claimDispatches(money.db.system, {
    counts: new Map(),
    leaseMs: 60_000,
    hasRules: false,
    only: payout,
  });
  for (const given of known[row] ?? []) assert.equal(await report(payout, given), 'applied', row);
  return payout;
}

async function readState({ payoutId }: CommittedPayout) {
  const { status } = await money.payout(payoutId);
  const rows = await money.rows<{ kind: string }>(
    'select kind from exceptions where payout_id = $1 and closed_at is null',
    [payoutId],
  );
  return { status, kinds: rows.map(({ kind }) => kind) };
}

const outdatedFence = 999_999n;

type Channel = 'later report' | 'earlier report' | 'outdated answer' | 'present answer';

async function describeChannel(
  channel: Channel,
  payout: CommittedPayout,
): Promise<Partial<Report> | undefined> {
  switch (channel) {
    case 'later report':
      return { at: Date.now() + 60_000 };
    case 'earlier report':
      return { at: 1 };
    case 'outdated answer':
      return { source: 'query', fence: outdatedFence };
    case 'present answer': {
      const dispatch = await money.dispatch(payout.payoutId);
      return dispatch === undefined ? undefined : { source: 'query', fence: dispatch.fence };
    }
  }
}

/** A cell, adjusted by the rules below the table. */
function expect(cell: Cell, channel: Channel, before: string): Pick<Cell, 'status' | 'kinds'> {
  const isOlder = channel === 'earlier report' || channel === 'outdated answer';
  const isOnItsWay = ['PROCESSING', 'READY_FOR_PICKUP', 'HOLD'].includes(before);
  if (channel === 'outdated answer' && cell.column === 'rejected' && isOnItsWay) {
    return { status: before, kinds: [] };
  }
  if (isOlder && cell.isNewerOnly) return { status: before, kinds: [] };
  // An answer states the total returned amount: a known or smaller one adds nothing.
  const isAnswer = channel === 'outdated answer' || channel === 'present answer';
  if (isAnswer && cell.kinds.includes('excess_return')) return { status: before, kinds: [] };
  return cell;
}

for (const channel of [
  'later report',
  'earlier report',
  'outdated answer',
  'present answer',
] as const) {
  test(`every cell of the table of contradictions: ${channel}`, async () => {
    for (const cell of await readTable()) {
      const name = `${cell.row} <- ${cell.column}, ${channel}`;
      const payout = await prepare(cell.row);
      const through = await describeChannel(channel, payout);
      if (through === undefined) continue;
      // A rail that the payout has left is not queried.
      if (channel === 'present answer' && cell.row === 'rejected, another payer has it') continue;
      const before = await readState(payout);
      const given = arriving[cell.column];
      assert.ok(given !== undefined);
      await report(payout, { ...given, ...through });
      const now = await readState(payout);
      const expected = expect(cell, channel, before.status);
      assert.equal(now.status, expected.status, name);
      const opened = now.kinds.filter((kind) => !before.kinds.includes(kind));
      assert.deepEqual(opened, expected.kinds, name);
    }
    await money.assertSound();
  });
}

test('partial returns add up in every order and through every channel', async () => {
  const parts: Report[] = [
    { outcome: 'returned', amount: partMinor, source: 'callback' },
    { outcome: 'returned', source: 'poll' },
    { outcome: 'returned', amount: partMinor, source: 'query', fence: outdatedFence },
  ];
  const orders = [
    [0, 1, 2],
    [0, 2, 1],
    [1, 0, 2],
    [1, 2, 0],
    [2, 0, 1],
    [2, 1, 0],
  ];
  for (const order of orders) {
    const before = await money.balance(owner.accountId, 'MXN', 'suspense');
    const payout = await prepare('paid');
    for (const place of order) await report(payout, parts[place] as Report);
    const { status, kinds } = await readState(payout);
    assert.deepEqual([status, kinds], ['CANCELLED', ['excess_return']], order.join());
    const excess = (await money.balance(owner.accountId, 'MXN', 'suspense')) - before;
    assert.equal(excess, partMinor, order.join());
  }
  await money.assertSound();
});

test('a rejection under an outdated claim makes the payout due for a query at once', async () => {
  const payout = await prepare('accepted');
  await money.rows(`update payout_dispatches set due_at = now() + interval '1 day'
    where payout_id = '${payout.payoutId}'`);
  const rejected = { outcome: 'rejected', source: 'query', fence: outdatedFence } as const;
  assert.equal(await report(payout, rejected), 'stale');
  const dispatch = await money.dispatch(payout.payoutId);
  assert.ok(dispatch !== undefined && dispatch.due_at.getTime() <= Date.now() + 1000);
});

test('a parked payout that is accepted after all is queried again', async () => {
  const payout = await prepare('not sent for a day');
  await report(payout, { outcome: 'accepted' });
  const dispatch = await money.dispatch(payout.payoutId);
  assert.ok(dispatch !== undefined && Number.isFinite(dispatch.due_at.getTime()));
  await money.assertSound();
});

test('the database refuses a payout without a next step', async () => {
  const payout = await prepare('accepted');
  const states = ['23514'];
  const what = 'a payout on its way that is never asked about again';
  await money.refuse('delete from payout_dispatches where payout_id = $1', [payout.payoutId], {
    states,
    what,
  });
  await money.refuse(
    `update payout_dispatches set due_at = 'infinity' where payout_id = $1`,
    [payout.payoutId],
    { states, what },
  );
  const held = await prepare('outcome unknown for a day');
  await money.rows(`update payout_dispatches set due_at = 'infinity' where payout_id = $1`, [
    held.payoutId,
  ]);
  await money.refuse(
    `update exceptions set closed_at = now(), resolution = 'a test' where payout_id = $1`,
    [held.payoutId],
    { states, what: 'a held payout without an open exception' },
  );
});
