import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type Bouncer, findNewBouncer, startBouncer } from '../../../testing/setups/bouncer.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { openTestNetwork, type TestNetwork } from '../../../testing/setups/network.ts';
import { openOwner } from '../../../testing/setups/owner-session.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { untilAdmitted } from '../../../testing/setups/until-admitted.ts';
import { createGroupCommit } from '../../payouts/group-commit.ts';
import { tryLockIndexKey } from '../environment-record.ts';
import { createOpener, run } from './connection.ts';
import { connectDatabase, type Database, findSqlState, type Session } from './pool.ts';
import { inspectServer } from './server-check.ts';

/**
 * The service behind a PgBouncer that pools by transaction and keeps prepared statements (1.21 and newer).
 * Few server connections, so that all clients meet on them.
 */

let money: MoneyTest;
let network: TestNetwork;
let pooler: Bouncer;
let db: Database;
let owners: Owner[];
before(async () => {
  money = await createMoneyTest();
  network = await openTestNetwork(money.url);
  const settings = 'server_round_robin = 1\ndefault_pool_size = 3\n';
  pooler = await startBouncer(findNewBouncer(), {
    network,
    url: money.url,
    mode: 'transaction',
    settings,
  });
  db = connectDatabase({ url: pooler.url, connectionsMax: 8, pooling: 'transaction' });
  owners = [];
  for (let index = 0; index < 4; index += 1) {
    owners.push(await money.createOwner({ USD: 1_000_000n }));
  }
});
after(async () => {
  await db.close();
  await pooler[Symbol.asyncDispose]();
  await network.close();
  await money[Symbol.asyncDispose]();
});

const statement = (text: string) => ({ name: '', text });
const ask = (session: Session, text: string) =>
  readRows<Record<string, unknown>>(session, statement(text));

const settings = `
  select current_user::text as "user", current_setting('outlay.account', true) as account,
    current_setting('statement_timeout') as statement, current_setting('lock_timeout') as lock,
    current_setting('idle_in_transaction_session_timeout') as idle,
    current_setting('plan_cache_mode') as plans, current_setting('enable_seqscan') as scans`;
const bounds = { lock: '2500ms', idle: '10s', plans: 'force_generic_plan', scans: 'off' };

test('the start accepts it', async () => {
  const { faults, pooling } = await inspectServer(pooler.url);
  assert.deepEqual([faults, pooling], [[], 'transaction']);
});

test('without prepared statements the start refuses it, and says what to change', async () => {
  await using other = await startBouncer(findNewBouncer(), {
    network,
    url: money.url,
    mode: 'transaction',
    settings: 'max_prepared_statements = 0\n',
  });
  const { faults } = await inspectServer(other.url);
  assert.equal(faults.length, 1);
  assert.match(faults[0]?.text ?? '', /1\.21 or newer with max_prepared_statements/);
});

test('a pool of one server connection is refused, by name', { timeout: 60_000 }, async () => {
  await using other = await startBouncer(findNewBouncer(), {
    network,
    url: money.url,
    mode: 'transaction',
    settings: 'default_pool_size = 1\n',
  });
  const { faults } = await inspectServer(other.url);
  assert.match(faults[0]?.text ?? '', /raise default_pool_size/);
});

test('each statement and transaction has its role, its account and its bounds', async () => {
  const own = owners[0]?.accountId ?? '';
  const system = { user: 'outlay_service', account: '', statement: '30s', ...bounds };
  const tenant = { user: 'outlay_tenant', account: own, statement: '8s', ...bounds };
  for (let round = 0; round < 8; round += 1) {
    assert.deepEqual(await ask(db.system, settings), [system]);
    assert.deepEqual(await ask(db.tenant(own), settings), [tenant]);
    for (const lane of db.lanes) assert.deepEqual(await ask(lane, settings), [system]);
    await db.systemTransaction(async (session) => {
      const [row] = await ask(session, settings);
      assert.deepEqual({ ...row, account: '' }, system);
    });
    await db.tenantTransaction(own, async (session) => {
      assert.deepEqual(await ask(session, settings), [tenant]);
    });
  }
});

test('nothing of it stays on the connections of the server', async () => {
  const bare = await createOpener(pooler.url, { pooling: 'transaction' }).open({});
  const plain = { account: '', statement: '0', lock: '0', idle: '0', plans: 'auto', scans: 'on' };
  for (let round = 0; round < 12; round += 1) {
    await Promise.all(owners.map(({ accountId }) => ask(db.tenant(accountId), settings)));
    await Promise.all([db.system, ...db.lanes].map((session) => ask(session, settings)));
    const { rows } = await run(bare, statement(settings));
    assert.deepEqual(rows, [{ user: new URL(money.url).username, ...plain }]);
  }
  await bare.client.end();
});

test('sessions of many accounts on three server connections never mix', async () => {
  await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const accountId = owners[index % owners.length]?.accountId ?? '';
      const read = (session: Session) =>
        readRows(session, { name: 'see_accounts', text: 'select id from accounts' });
      const seen = await untilAdmitted(() =>
        index % 3 === 0 ? db.tenantTransaction(accountId, read) : read(db.tenant(accountId)),
      );
      assert.deepEqual(seen, [{ id: accountId }]);
    }),
  );
});

test('a transaction chooses its isolation, and lifts its bounds for itself', async () => {
  await db.systemTransaction(async (session) => {
    await ask(session, 'set transaction isolation level repeatable read, read only');
    await ask(session, 'set local statement_timeout = 0');
    const [row] = await ask(session, settings);
    assert.equal(row?.['statement'], '0');
  });
  const [row] = await ask(db.system, settings);
  assert.equal(row?.['statement'], '30s');
});

test('a statement that fails leaves its connections usable', async () => {
  const own = owners[0]?.accountId ?? '';
  const sessions = [db.system, db.tenant(own), ...db.lanes];
  for (const session of sessions) {
    for (let round = 0; round < 4; round += 1) {
      const broken = { name: 'broken', text: 'select 1 / $1::integer as one' };
      await assert.rejects(session.query(broken, [0]), (error) => findSqlState(error) === '22012');
      const unparsable = { name: 'unparsable', text: 'select no_such_column' };
      await assert.rejects(session.query(unparsable), (error) => findSqlState(error) === '42703');
      assert.deepEqual((await session.query(broken, [1])).rows, [{ one: 1 }]);
    }
  }
});

test('payouts of many accounts are committed in groups, and the ledger is sound', async () => {
  const group = createGroupCommit(db, money.keys);
  const payouts = await Promise.all(
    Array.from({ length: 40 }, async (_, index) => {
      const owner = owners[index % owners.length];
      assert.ok(owner !== undefined);
      return { owner, payout: await money.quote(owner) };
    }),
  );
  const results = await Promise.all(
    payouts.map(({ owner, payout }) =>
      group.submit({ ...owner, payoutId: payout.id, requestKey: undefined }),
    ),
  );
  assert.equal(results.length, 40);
  const [row] = await money.rows<{ many: bigint }>(
    `select count(*) as many from payout_states where status = 'PROCESSING'`,
  );
  assert.equal(row?.many, 40n);
  await money.assertSound();
});

test('a column that a newer release adds fails no statement, on any connection', async () => {
  const owner = openOwner(money.url);
  const readAll = { name: 'read_all', text: 'select * from accounts' };
  const read = (session: Session) => session.query(readAll);
  const everywhere = () =>
    Promise.all([
      ...Array.from({ length: 12 }, () => read(db.system)),
      ...Array.from({ length: 6 }, () => db.systemTransaction(read)),
      ...db.lanes.map(read),
    ]);
  for (const column of ['added_first', 'added_second']) {
    await everywhere();
    await ask(owner.session, `alter table accounts add column ${column} text`);
    for (const { fields } of await everywhere()) {
      assert.ok(fields.some(({ name }) => name === column));
    }
  }
  await owner.close();
});

test('each transaction holds the index key, and none is made with one that was replaced', async () => {
  let replaced = 0;
  const indexKey = { generation: undefined, onReplaced: () => void (replaced += 1) };
  const holding = connectDatabase({
    url: pooler.url,
    connectionsMax: 4,
    pooling: 'transaction',
    indexKey,
  });
  // A rotation works behind the same pooler: it is a single transaction.
  const rotate = (work: () => Promise<void>) =>
    db.systemTransaction(async (session) => {
      assert.equal(await tryLockIndexKey(session), true);
      await work();
      await session.query(
        statement('update environment set index_generation = index_generation + 1'),
      );
    });
  const own = owners[0]?.accountId ?? '';
  const write = (session: Session) =>
    session.query(statement(`update accounts set name = 'late' where id = '${own}'`));
  const uses: (() => Promise<unknown>)[] = [
    () => write(holding.system),
    () => ask(holding.tenant(own), settings),
    () => ask(holding.lanes[0] ?? holding.system, settings),
    () => holding.systemTransaction((session) => ask(session, settings)),
    () => holding.tenantTransaction(own, (session) => ask(session, settings)),
  ];
  const before = await money.rows(`select name from accounts where id = $1`, [own]);
  for (const use of uses.slice(1)) await use();
  assert.equal(await ask(db.system, 'select 1 as one').then(([row]) => row?.['one']), 1);
  await holding.systemTransaction(async (session) => {
    await ask(session, 'set transaction isolation level repeatable read, read only');
    await ask(session, settings);
  });

  const late = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  const overtaken = holding.systemTransaction(async (session) => {
    await write(session);
    begun.resolve();
    await late.promise;
  });
  await begun.promise;
  await rotate(async () => {
    for (const use of uses) await assert.rejects(use(), /The index key is being replaced/);
  });
  late.resolve();
  await assert.rejects(overtaken, /was replaced after this process began/);
  for (const use of uses) await assert.rejects(use(), /was replaced after this process began/);
  assert.ok(replaced >= uses.length);
  assert.deepEqual(await money.rows(`select name from accounts where id = $1`, [own]), before);
  await holding.close();
});
