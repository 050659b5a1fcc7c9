import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type BatchTest, createBatchTest, names } from '../../testing/setups/batches.ts';
import { stepBack } from '../../testing/setups/clock-step.ts';
import type { Owner } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { newId } from '../core/ids.ts';
import { createSession } from '../db/postgres/connection.ts';
import type { Database } from '../db/postgres/pool.ts';
import { createGroupCommit } from '../payouts/group-commit.ts';
import { commitBatch } from './batches.ts';
import { runCommits } from './committer.ts';

/** The money of batches, while processes crash and single payouts use the same balance. */

let batches: BatchTest;
before(async () => {
  batches = await createBatchTest();
});
after(() => batches[Symbol.asyncDispose]());

const commit = ({ accountId }: Owner, batchId: string) =>
  commitBatch(batches.money.db.tenant(accountId), { accountId, batchId, mode: 'all' });

/** A process that crashes after every second portion, before it reads the result. */
function createDying(db: Database): Database {
  let portions = 0;
  const system = createSession(async (statement, values) => {
    const rows = await db.system.query(statement, values);
    if (statement.name === 'commit_batch_rows') {
      portions += 1;
      if (portions % 2 === 0) throw new Error('the process died');
    }
    return rows;
  });
  return { ...db, system };
}

async function work(db: Database): Promise<void> {
  const dying = createDying(db);
  for (;;) {
    const [open] = await batches.money.rows<{ count: number }>(
      `select count(*)::integer as count from batches where status = 'COMMITTING'`,
    );
    if (open?.count === 0) return;
    const services = {
      db: dying,
      steadyMs: () => performance.now(),
      wakeDispatch: () => undefined,
    };
    await runCommits(services).catch(async (error: unknown) => {
      assert.match(String(error), /the process died/);
      // Its lease expires.
      await batches.money.rows(`update batches set lease_until = null where status = 'COMMITTING'`);
    });
  }
}

test('with crashes, single commits of the same transfers and an expired quote, each row is paid once or its reserve released', async () => {
  const { money } = batches;
  const owner = await batches.createOwner(30_000_000n);
  const { accountId } = owner;
  const transferIds = names(1700, 'raced');
  const batchId = await batches.createQuoted(owner, batches.describe(owner, transferIds));
  const other = await batches.createQuoted(owner, batches.describe(owner, names(600, 'aside')));
  const twins = await Promise.all(
    transferIds
      .filter((_, index) => index % 60 === 0)
      .map((clientTransferId) => money.quote(owner, { clientTransferId, lockSeconds: 100_000 })),
  );
  assert.equal((await commit(owner, batchId)).status, 'success');
  assert.equal((await commit(owner, other)).status, 'success');
  // Long after the rate lock: committed rows keep their rates.
  await money.advance(3_600_000);
  const group = createGroupCommit(money.db, money.keys);
  const [, , ...singles] = await Promise.all([
    work(money.db),
    work(money.connect()),
    ...twins.map(({ id }) => group.submit({ ...owner, payoutId: id, requestKey: undefined })),
  ]);
  const state = await batches.batchOf(batchId);
  assert.equal(state['status'], 'COMMITTED');
  const alone = singles.filter((answer) => answer !== undefined).length;
  assert.equal(state['refused_count'], alone);
  assert.equal(state['committed_count'], 1700 - alone);
  assert.equal(await money.balance(accountId, 'USD', 'reserved'), 0n);
  const paid = await money.rows<{ rows: number; transfers: number }>(
    `select count(*)::integer as rows, count(distinct client_transfer_id)::integer as transfers
     from payout_states where account_id = $1 and client_transfer_id like 'raced-%'`,
    [accountId],
  );
  assert.deepEqual(paid, [{ rows: 1700, transfers: 1700 }]);
  await assertChained(accountId);
  await money.assertSound();
});

/** In the order of the statement each line continues the one before it, and the last is the balance. */
async function assertChained(accountId: string): Promise<void> {
  const broken = await batches.money.rows(
    `with lines as (
       select journal_id, line, wallet_balance as after,
         wallet_balance + case when from_name = 'wallet' then amount else -amount end as before,
         lag(wallet_balance) over (order by journal_id, line) as previous
       from ledger_transfers where account_id = $1 and currency = 'USD' and wallet_balance is not null
     )
     select * from lines where before <> coalesce(previous, 0)`,
    [accountId],
  );
  assert.deepEqual(broken.slice(0, 3), []);
}

test('the journals of a batch follow those before them after a step back of the clock', async () => {
  const { money } = batches;
  const owner = await batches.createOwner(10_000_000n);
  await money.advance(2 * 3_600_000);
  await money.quoteAndCommit(owner, { lockSeconds: 100_000 });
  await stepBack(money, 2, async () => {
    const transferIds = names(4, 'stepped');
    const batchId = await batches.createQuoted(owner, batches.describe(owner, transferIds));
    const [clientTransferId = ''] = transferIds;
    const { id } = await money.quote(owner, { clientTransferId, lockSeconds: 100_000 });
    assert.equal((await commit(owner, batchId)).status, 'success');
    assert.equal((await money.commit(owner, id)).result, 'success');
    await work(money.db);
    const { committed_count: committed, refused_count: refused } = await batches.batchOf(batchId);
    assert.deepEqual([committed, refused], [3, 1]);
  });
  await assertChained(owner.accountId);
  await money.assertSound();
});

test("no tenant can commit another's batch, or process its own directly", async () => {
  const owner = await batches.createOwner(100_000n);
  const stranger = await batches.createOwner(100_000n);
  const batchId = await batches.createQuoted(owner, batches.describe(owner, ['own']));
  const states = ['42501'];
  for (const text of [
    `select begin_batch_commit('${owner.accountId}', '${batchId}', 'all', null, null)`,
    `select commit_batch_rows('${owner.accountId}', '${batchId}', 1, 500, 10000)`,
    `select new_pickup_code()`,
    `insert into ledger_journals (account_id, id, kind, batch_id, source_currency, source_amount,
       wallet_balance, created_at)
     values ('${stranger.accountId}', '${newId()}', 'release', '${batchId}', 'USD', 1, 1, now())`,
  ]) {
    await batches.money.refuseTenant(stranger.accountId, { text }, { states, what: text });
  }
  const seen = await readRows(batches.money.db.tenant(stranger.accountId), {
    name: '',
    text: 'select 1 from batch_rows union all select 1 from batches',
  });
  assert.deepEqual(seen, []);
  assert.equal(await batches.money.balance(owner.accountId, 'USD'), 100_000n);
});

test('payouts of a batch are due when its last row will be one, at the pace of the rows so far', async () => {
  const { money } = batches;
  const owner = await batches.createOwner(1_000_000n);
  const batchId = await batches.createQuoted(owner, batches.describe(owner, names(12, 'paced')));
  assert.equal((await commit(owner, batchId)).status, 'success');
  // Three rows and nine that are left, then six and six, then nine and three; a minute at most.
  for (const [advanceMs, leftForEach] of [
    [6000, 9 / 3],
    [0, 6 / 6],
    [3_600_000, 3 / 9],
  ] as const) {
    await money.advance(advanceMs);
    await money.rows(
      `select commit_batch_rows($1, $2, fence, 3, 10000) from batches where id = $2`,
      [owner.accountId, batchId],
    );
    const [last] = await money.rows<{ passed: number; wait: number }>(
      `select extract(epoch from b.updated_at - b.committed_at)::float8 as passed,
         extract(epoch from (select max(due_at) from payout_dispatches where account_id = $1)
           - b.updated_at)::float8 as wait
       from batches b where id = $2`,
      [owner.accountId, batchId],
    );
    assert.ok(last !== undefined && last.passed >= Math.max(6, advanceMs / 1000));
    const expected = Math.min(60, last.passed * leftForEach);
    assert.ok(Math.abs(last.wait - expected) < 0.001, `${last.wait}, not ${expected}`);
    await money.rows(`update payout_dispatches set due_at = '2000-01-01' where account_id = $1`, [
      owner.accountId,
    ]);
  }
});
