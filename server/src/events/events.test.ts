import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stepBack } from '../../testing/setups/clock-step.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { AppError } from '../core/errors.ts';
import { createSession } from '../db/postgres/connection.ts';
import { compileCatalog } from '../destinations/catalog.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { type EventContext, renderEvents } from './event-view.ts';
import { eventLists } from './events.sql.ts';
import { findStart, readEvents } from './events.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

test('an event written while the feed is read is not taken for a deleted one', async () => {
  const owner = await money.createOwner();
  const { accountId } = owner;
  const real = money.db.tenant(accountId);
  const known = await readEvents(real, { accountId, after: undefined, count: 100 });
  const newest = known.at(-1)?.sequence ?? 0n;
  let statements = 0;
  const interrupted = createSession(async (statement, values) => {
    const rows = await real.query(statement, values);
    statements += 1;
    if (statements === 1) await money.quote(owner);
    return rows;
  });
  const rows = await readEvents(interrupted, { accountId, after: newest, count: 100 });
  assert.deepEqual(
    rows.map(({ sequence, type }) => ({ sequence, type })),
    [{ sequence: newest + 1n, type: 'payout.pending' }],
  );
});

test('a request for deleted events is refused with the sequence to continue after', async () => {
  const owner = await money.createOwner();
  const { accountId } = owner;
  const session = money.db.tenant(accountId);
  await money.quote(owner);
  const all = await readEvents(session, { accountId, after: undefined, count: 100 });
  const newest = all.at(-1)?.sequence ?? 0n;
  await money.rows('delete from events where account_id = $1 and sequence < $2', [
    accountId,
    newest,
  ]);
  const ask = (from: bigint) => readEvents(session, { accountId, after: from, count: 100 });
  const isDropped = (error: unknown) =>
    error instanceof AppError && error.code === 'events_dropped';
  await assert.rejects(ask(0n), isDropped);
  assert.equal((await ask(newest - 1n)).length, 1);
  assert.equal(await findStart(session, accountId), newest - 1n);
  assert.equal((await ask(newest)).length, 0);
  await money.rows('delete from events where account_id = $1', [accountId]);
  await assert.rejects(ask(0n), isDropped);
  assert.equal((await ask(newest)).length, 0);
  // A reader without a place waits for the next event, not for what is gone.
  assert.equal(await findStart(session, accountId), newest);
});

/** The events of an owner's account as a client with every scope reads them. */
async function renderAll({ accountId }: Owner) {
  const session = money.db.tenant(accountId);
  const context: EventContext = {
    session,
    keys: money.keys,
    accountId,
    catalog: compileCatalog([]),
    rails: [],
    canRead: () => true,
  };
  const range = { accountId, after: undefined, count: 100 };
  return renderEvents(context, await readEvents(session, range));
}

test('the events of an erased user are still listed, without personal data', async () => {
  const owner = await money.createOwner();
  await money.quote(owner);
  const data = async (type: string) =>
    (await renderAll(owner)).find((event) => event.type === type)?.data as
      | { [key: string]: unknown }
      | undefined;
  assert.equal((await data('user.created'))?.['first_name'], 'Ana');
  await money.rows(`update users set data_key = '', erased_at = now() where account_id = $1`, [
    owner.accountId,
  ]);
  assert.deepEqual(await data('user.created'), {
    user_token: `usr_${owner.userId}`,
    status: 'ACTIVE',
  });
  assert.equal((await data('payout.pending'))?.['status'], 'PENDING');
});

test('no event holds personal data in the clear', async () => {
  const owner = await money.createOwner();
  const stored = await money.rows<{ payload: string }>(
    `select payload from events where account_id = $1 and type = 'user.created'`,
    [owner.accountId],
  );
  assert.equal(stored.length, 1);
  assert.doesNotMatch(stored[0]?.payload ?? '', /Ana|Gómez|example/);
});

test('the events of each object are numbered without gaps', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const other = { ...owner, userId: await money.createUser(owner.accountId) };
  await Promise.all([
    money.quoteAndCommit(owner),
    money.quoteAndCommit(other),
    fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n }),
    fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n }),
  ]);
  const events = await renderAll(owner);
  const objects = Map.groupBy(events, (event) => event.object);
  for (const [object, own] of objects) {
    assert.deepEqual(
      own.map((event) => event.object_sequence.text),
      own.map((_event, index) => String(index + 1)),
      object,
    );
  }
  assert.deepEqual(
    events.map((event) => event.sequence.text),
    events.map((_event, index) => String(index + 1)),
  );
});

test('filtered events are read along an index', async () => {
  const { accountId } = await money.createOwner();
  const explain = (name: keyof typeof eventLists, values: string): Promise<string> =>
    money.db.tenantTransaction(accountId, async (session) => {
      const run = (text: string) => readRows<Record<string, string>>(session, { name: '', text });
      // The tables of a test are too small for an index to pay.
      await run('set local enable_seqscan = off');
      await run('set local enable_bitmapscan = off');
      await run('set local plan_cache_mode = force_generic_plan');
      await run(`prepare ${name} as ${eventLists[name].text}`);
      const rows = await run(`explain execute ${name}('${accountId}', 0, 1000, ${values})`);
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  assert.match(
    await explain('ofRareTypes', `'{payout.hold,user.created}'`),
    /_type_sequence_idx|events_rare/,
  );
  assert.match(
    await explain('ofObject', `'${accountId}', null`),
    /subject_id_sequence_idx|events_subject/,
  );
});

test('events of a payout are counted across a month although the clock went back behind it', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const { accountId } = owner;
  const now = new Date(money.clock.nowMs());
  const month = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 30);
  await money.advance(month - money.clock.nowMs());
  const { id: payoutId } = await money.quote(owner);
  await stepBack(money, 1, () => money.commit(owner, payoutId));
  await money.observe({ ...owner, payoutId }, 'paid', { source: 'sandbox' });
  const session = money.db.tenant(accountId);
  const rows = await readEvents(session, { accountId, after: undefined, count: 100 });
  const own = rows.filter(({ subject_id: id }) => id === payoutId);
  assert.deepEqual(
    own.map(({ type, object_sequence: place }) => [type, place]),
    [
      ['payout.pending', 1n],
      ['payout.processing', 2n],
      ['payout.completed', 3n],
    ],
  );
});
