import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../../testing/setups/database.ts';
import { openTestNetwork, type TestNetwork } from '../../../testing/setups/network.ts';
import { openOwner } from '../../../testing/setups/owner-session.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { newId } from '../../core/ids.ts';
import type { SilenceLimits } from './dead-connections.ts';
import { connectDatabase, type Database, findSqlState, type Session } from './pool.ts';

/** Silently dead connections, servers that do not answer, and several hosts. */

const connectionsMax = 4;
/** A search comes soon, and a busy machine has time to begin a statement and to open a connection. */
const limits: SilenceLimits = {
  silentMsMax: 500,
  searchEveryMs: 10,
  transitMsMax: 10,
  testAfterMs: 2_000,
  testMsMax: 60_000,
  openMsMax: 60_000,
  probeMsMax: 60_000,
};
/** A statement without this end is given up by the driver after 13 seconds, with another error. */
const ended = /Connection terminated/;

let database: TestDatabase;
let network: TestNetwork;
before(async () => {
  database = await createTestDatabase();
  network = await openTestNetwork(database.url);
});
after(async () => {
  await network.close();
  await database.drop();
});

const ask = <Row>(session: Session, text: string, values: readonly unknown[] = []) =>
  readRows<Row>(session, { name: '', text }, values);

/** One statement on every connection that the database may open. */
async function askEverywhere(db: Database, text = 'select 1 as one') {
  const asked = [
    ...Array.from({ length: connectionsMax }, () => ask(db.system, text)),
    ...Array.from({ length: connectionsMax }, () => ask(db.tenant(newId()), text)),
    ...db.lanes.map((lane) => ask(lane, text)),
  ];
  return Promise.all(
    asked.map((answer) =>
      answer.then(
        () => undefined,
        (error: unknown) => (error instanceof Error ? error.message : 'no error'),
      ),
    ),
  );
}

async function open(url = network.url, given = limits): Promise<Database> {
  const db = connectDatabase({ url, connectionsMax, limits: given });
  const failures = await askEverywhere(db, 'select pg_sleep(0.05)');
  assertNone(failures);
  return db;
}

const assertNone = (failures: readonly (string | undefined)[]): void =>
  assert.deepEqual(
    failures.filter((failure) => failure !== undefined),
    [],
  );

/** A network of its own, so that what one test loses is not lost to the others. */
async function openOwn(
  given = limits,
): Promise<AsyncDisposable & { db: Database; network: TestNetwork }> {
  const own = await openTestNetwork(database.url);
  const db = await open(own.url, given);
  return {
    db,
    network: own,
    [Symbol.asyncDispose]: async () => {
      await db.close();
      await own.close();
    },
  };
}

describe('silently dead connections', { concurrency: true }, () => {
  test('connections that die while they are busy are replaced, and no statement waits long', async () => {
    await using own = await openOwn();
    const { db } = own;
    own.network.loseConnections();
    for (const failure of await askEverywhere(db)) {
      if (failure !== undefined) assert.match(failure, ended);
    }
    assertNone(await askEverywhere(db));
    await db.checkReady();
  });

  test('connections that died while they were idle cause no error', async () => {
    await using own = await openOwn({ ...limits, testAfterMs: 10, testMsMax: 20 });
    own.network.loseConnections();
    await sleep(11);
    assertNone(await askEverywhere(own.db));
  });

  test('a transaction whose connection died gives its locks back', async () => {
    await using own = await openOwn();
    const { db } = own;
    const id = newId();
    await ask(db.system, `insert into accounts (id, name, created_at) values ($1, 'a', now())`, [
      id,
    ]);
    const lock = (session: Session) =>
      ask(session, 'select 1 from accounts where id = $1 for update', [id]);
    await assert.rejects(
      db.systemTransaction(async (session) => {
        await lock(session);
        own.network.loseConnections();
        await lock(session);
      }),
    );
    // It is refused where the lock is held for longer than a statement waits.
    assert.equal((await db.systemTransaction(lock)).length, 1);
  });

  test('where nothing answers, statements fail in time, ready says so, and both come back', async () => {
    const shortened = { ...limits };
    await using own = await openOwn(shortened);
    const { db } = own;
    own.network.loseEverything();
    Object.assign(shortened, { openMsMax: 50, probeMsMax: 50 });
    for (const failure of await askEverywhere(db)) assert.match(failure ?? '', ended);
    await assert.rejects(db.checkReady());
    Object.assign(shortened, limits);
    own.network.recover();
    while ((await askEverywhere(db)).some((failure) => failure !== undefined)) continue;
    await db.checkReady();
  });

  test('a statement that is slow and not lost is left to its end', async () => {
    await using own = await openOwn();
    const owner = openOwner(database.url);
    const [lane] = own.db.lanes;
    assert.ok(lane !== undefined);
    for (const session of [own.db.system, lane]) {
      const before = own.network.opened();
      const slow = await owner.transaction(async (holder) => {
        await ask(holder, 'select pg_advisory_xact_lock(1)');
        const asked = ask(session, waitForHolder);
        // A search opens a connection.
        while (own.network.opened() < before + 3) await ask(holder, 'select pg_sleep(0.01)');
        return { asked };
      });
      await slow.asked;
    }
    await owner.close();
  });
});

/** Not by waiting for the lock, which ends after some seconds. */
const waitForHolder = `
  do $$ begin
    while not pg_try_advisory_xact_lock_shared(1) loop perform pg_sleep(0.01); end loop;
  end $$`;

test('of several hosts the first that answers and takes writes is used', async () => {
  const { pathname, username, password } = new URL(network.url);
  const closed = await openTestNetwork(database.url);
  await closed.close();
  const hosts = `${closed.address},${network.address}`;
  const db = await open(
    `postgresql://${username}:${password}@${hosts}${pathname}?target_session_attrs=read-write`,
  );
  assert.deepEqual(await ask(db.system, 'select 1 as one'), [{ one: 1 }]);
  await db.close();
});

/** With a setting of the database, which ends with the work however that ends. */
async function withSetting(setting: string, work: () => Promise<void>): Promise<void> {
  const direct = openOwner(database.url);
  const name = new URL(database.url).pathname.slice(1);
  await ask(direct.session, `alter database ${name} set ${setting}`);
  try {
    await work();
  } finally {
    await ask(direct.session, 'set default_transaction_read_only = off');
    await ask(direct.session, `alter database ${name} reset all`);
    await direct.close();
  }
}

test('a server that takes no writes is refused, and taken again when it does', async () => {
  const db = connectDatabase({ url: network.url, connectionsMax });
  await withSetting('default_transaction_read_only = on', async () => {
    await assert.rejects(ask(db.system, 'select 1'), (error) => {
      assert.match(String(error), /accepts no writes/);
      return (error as { code?: string }).code === '25006';
    });
    const reading = connectDatabase({
      url: `${network.url}?target_session_attrs=any`,
      connectionsMax,
    });
    assert.equal((await ask(reading.system, 'select 1')).length, 1);
    await reading.close();
  });
  assert.equal((await ask(db.system, 'select 1')).length, 1);
  await db.close();
});

test('a connection to a primary that was stepped down is given up', async () => {
  const db = connectDatabase({ url: network.url, connectionsMax: 1 });
  await ask(db.system, 'set default_transaction_read_only = on');
  const write = () => ask(db.system, 'update environment set name = name');
  await assert.rejects(write(), (error) => findSqlState(error) === '25006');
  await write();
  await db.close();
});

test('ready is refused where the tenant role lacks its grants', async () => {
  const db = await open();
  const owner = openOwner(database.url);
  await db.checkReady();
  await ask(owner.session, 'revoke select on accounts from outlay_tenant');
  await assert.rejects(db.checkReady(), (error) => findSqlState(error) === '42501');
  await ask(owner.session, 'grant select on accounts to outlay_tenant');
  await db.checkReady();
  await Promise.all([db.close(), owner.close()]);
});

test('connections raise synchronous_commit where it is weaker than on', async () => {
  for (const [set, kept] of [
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ]) {
    await withSetting(`synchronous_commit = ${set}`, async () => {
      const db = connectDatabase({ url: network.url, connectionsMax: 1 });
      const show = `select current_setting('synchronous_commit') as kept`;
      for (const session of [db.system, db.tenant(newId()), ...db.lanes]) {
        assert.deepEqual(await ask(session, show), [{ kept }]);
      }
      await db.close();
    });
  }
});

test('connections read times in whatever form the server writes them', async () => {
  await withSetting(`datestyle = 'German'`, async () => {
    for (const pooling of ['session', 'transaction'] as const) {
      const db = connectDatabase({ url: network.url, connectionsMax: 1, pooling });
      for (const session of [db.system, db.tenant(newId()), ...db.lanes]) {
        const [row] = await ask<{ at: unknown }>(session, 'select clock_timestamp() as at');
        assert.ok(row?.at instanceof Date, pooling);
      }
      await db.close();
    }
  });
});
