import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../../testing/setups/database.ts';
import { openOwner } from '../../../testing/setups/owner-session.ts';
import { listIndexKeyHolders, tryLockIndexKey } from '../environment-record.ts';
import { type IndexKeyHold, IndexKeyUnheld } from './index-key-hold.ts';
import { connectDatabase, type Database } from './pool.ts';

/** Who holds the index key, who gets it, and whom the database refuses afterwards. */

let database: TestDatabase;
/** Of the command that replaces it: it holds nothing itself. */
let rotating: Database;
let owner: ReturnType<typeof openOwner>;
before(async () => {
  database = await createTestDatabase();
  rotating = connectDatabase({ url: database.url, connectionsMax: 2 });
  owner = openOwner(database.url);
  await change(`insert into environment (name, master_key_id) values ('staging', 'test')`);
});
after(async () => {
  await Promise.all([rotating.close(), owner.close()]);
  await database.drop();
});

const ask = { name: '', text: 'select 1' };
const change = (text: string) => owner.session.query({ name: '', text });
const replaceKey = () => change('update environment set index_generation = index_generation + 1');

function openProcess(processName = 'outlay test') {
  let replaced = 0;
  const indexKey: IndexKeyHold = {
    generation: undefined,
    onReplaced: () => {
      replaced += 1;
    },
  };
  const db = connectDatabase({ url: database.url, connectionsMax: 4, indexKey, processName });
  return { db, replaced: () => replaced, [Symbol.asyncDispose]: () => db.close() };
}

const isFree = () => rotating.systemTransaction((session) => tryLockIndexKey(session));

/** Ends all connections of a process, as a network or server does that fails. */
async function cut(processName: string): Promise<void> {
  await change(`select pg_terminate_backend(pid, 5000) from pg_stat_activity
    where datname = current_database() and application_name = '${processName}'`);
}

test('every kind of connection holds the key until it ends, and names its process', async () => {
  assert.equal(await isFree(), true);
  const account = '00000000-0000-7000-8000-000000000001';
  const kinds = [
    (db: Database) => db.system.query(ask),
    (db: Database) => db.tenant(account).query(ask),
    (db: Database) => db.waiting.query(ask),
    ...rotating.lanes.map((_, lane) => (db: Database) => db.lanes[lane]?.query(ask)),
  ];
  for (const use of kinds) {
    const held = openProcess();
    await use(held.db);
    assert.equal(await isFree(), false);
    const [holder, ...others] = await listIndexKeyHolders(rotating.system);
    assert.deepEqual([holder?.name, holder?.connections, others], ['outlay test', 1, []]);
    await held.db.close();
    assert.equal(await isFree(), true);
  }
});

test('while the key is replaced nobody else gets a connection, and the start says why', async () => {
  await using starting = openProcess();
  await rotating.systemTransaction(async (session) => {
    assert.equal(await tryLockIndexKey(session), true);
    await assert.rejects(starting.db.system.query(ask), (error) => {
      assert.ok(error instanceof IndexKeyUnheld);
      assert.match(error.message, /is being replaced/);
      return error.code === 'unavailable';
    });
  });
  await starting.db.system.query(ask);
  assert.equal(starting.replaced(), 0);
});

test('a process whose connections were cut off is refused once the key was replaced', async () => {
  await using asleep = openProcess('outlay asleep');
  await asleep.db.system.query(ask);
  await cut('outlay asleep');
  assert.equal(await isFree(), true);
  await replaceKey();
  await using other = openProcess('outlay other');
  await other.db.system.query(ask);
  for (const write of [
    () => asleep.db.system.query(ask),
    () => asleep.db.systemTransaction((session) => session.query(ask)),
    () => asleep.db.tenant('00000000-0000-7000-8000-000000000001').query(ask),
    () => asleep.db.lanes[0]?.query(ask) ?? assert.fail(),
  ]) {
    await assert.rejects(write(), /was replaced after this process began/);
  }
  assert.ok(asleep.replaced() >= 4);
  assert.equal(other.replaced(), 0);
});

test('the generation of the key does not go back', async () => {
  await replaceKey();
  await assert.rejects(
    change('update environment set index_generation = 1'),
    /generation of the index key must not go back/,
  );
});
