import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../../../testing/setups/database.ts';
import { openTestNetwork, type TestNetwork } from '../../../testing/setups/network.ts';
import { openOwner } from '../../../testing/setups/owner-session.ts';
import { readRows } from '../../../testing/setups/read-rows.ts';
import { newId } from '../../core/ids.ts';
import { connectDatabase, type Database, findSqlState, type Session } from './pool.ts';

/** Silently dead connections, servers that do not answer, and several hosts. */

const connectionsMax = 4;
/** A request may take thirteen seconds before it is given up; five were measured on an idle machine. */
const requestMsMax = 12_500;

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

async function measure<T>(work: () => Promise<T>): Promise<{ result: T; elapsedMs: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, elapsedMs: performance.now() - startMs };
}

async function open(url = network.url): Promise<Database> {
  const db = connectDatabase({ url, connectionsMax });
  const failures = await askEverywhere(db, 'select pg_sleep(0.05)');
  assert.deepEqual(
    failures.filter((failure) => failure !== undefined),
    [],
  );
  return db;
}

/** A network of its own, so that what one test loses is not lost to the others. */
async function openOwn(): Promise<AsyncDisposable & { db: Database; network: TestNetwork }> {
  const own = await openTestNetwork(database.url);
  const db = await open(own.url);
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
    const { result, elapsedMs } = await measure(() => askEverywhere(db));
    assert.ok(elapsedMs < requestMsMax, `${elapsedMs} ms`);
    for (const failure of result) {
      if (failure !== undefined) assert.match(failure, /Connection terminated/);
    }
    const healed = await measure(() => askEverywhere(db));
    assert.deepEqual(
      healed.result.filter((failure) => failure !== undefined),
      [],
    );
    assert.ok(healed.elapsedMs < requestMsMax, `${healed.elapsedMs} ms`);
    await db.checkReady();
  });

  test('connections that died while they were idle cause no error', async () => {
    await using own = await openOwn();
    const { db } = own;
    own.network.loseConnections();
    await sleep(2_500);
    const { result, elapsedMs } = await measure(() => askEverywhere(db));
    assert.deepEqual(
      result.filter((failure) => failure !== undefined),
      [],
    );
    assert.ok(elapsedMs < requestMsMax, `${elapsedMs} ms`);
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
    const { elapsedMs } = await measure(() => db.systemTransaction(lock));
    // Less than the wait for a lock.
    assert.ok(elapsedMs < 4_900, `${elapsedMs} ms`);
  });

  test('where nothing answers, statements fail in time, ready says so, and both come back', async () => {
    await using own = await openOwn();
    const { db } = own;
    own.network.loseEverything();
    const { result, elapsedMs } = await measure(() => askEverywhere(db));
    assert.ok(result.every((failure) => failure !== undefined));
    assert.ok(elapsedMs < requestMsMax, `${elapsedMs} ms`);
    const ready = await measure(() => db.checkReady().catch((error: unknown) => error));
    assert.ok(ready.result instanceof Error);
    assert.ok(ready.elapsedMs < requestMsMax, `${ready.elapsedMs} ms`);
    own.network.recover();
    const back = await measure(async () => {
      while ((await askEverywhere(db)).some((failure) => failure !== undefined)) continue;
    });
    assert.ok(back.elapsedMs < requestMsMax, `${back.elapsedMs} ms`);
    await db.checkReady();
  });

  test('a statement that is slow and not lost is left to its end', async () => {
    await using own = await openOwn();
    const { db } = own;
    const slow = await ask<{ one: number }>(db.system, 'select 1 as one from pg_sleep(5)');
    assert.deepEqual(slow, [{ one: 1 }]);
    const [lane] = db.lanes;
    assert.ok(lane !== undefined);
    assert.deepEqual(await ask(lane, 'select 1 as one from pg_sleep(5)'), [{ one: 1 }]);
  });
});

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

test('a server that takes no writes is refused, and taken again when it does', async () => {
  const direct = openOwner(database.url);
  const name = new URL(database.url).pathname.slice(1);
  await ask(direct.session, `alter database ${name} set default_transaction_read_only = on`);
  const db = connectDatabase({ url: network.url, connectionsMax });
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
  await ask(direct.session, 'set default_transaction_read_only = off');
  await ask(direct.session, `alter database ${name} reset default_transaction_read_only`);
  assert.equal((await ask(db.system, 'select 1')).length, 1);
  await Promise.all([db.close(), direct.close()]);
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
  await ask(owner.session, 'revoke all on accounts from outlay_tenant');
  await assert.rejects(db.checkReady(), (error) => findSqlState(error) === '42501');
  await ask(owner.session, 'grant select on accounts to outlay_tenant');
  await db.checkReady();
  await Promise.all([db.close(), owner.close()]);
});

test('connections raise synchronous_commit where it is weaker than on', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const direct = openOwner(database.url);
  for (const [set, kept] of [
    ['off', 'on'],
    ['local', 'on'],
    ['remote_apply', 'remote_apply'],
  ]) {
    await ask(direct.session, `alter database ${name} set synchronous_commit = ${set}`);
    const db = connectDatabase({ url: network.url, connectionsMax: 1 });
    const show = `select current_setting('synchronous_commit') as kept`;
    for (const session of [db.system, db.tenant(newId()), ...db.lanes]) {
      assert.deepEqual(await ask(session, show), [{ kept }]);
    }
    await db.close();
  }
  await ask(direct.session, `alter database ${name} reset synchronous_commit`);
  await direct.close();
});

test('connections read times in whatever form the server writes them', async () => {
  const name = new URL(database.url).pathname.slice(1);
  const direct = openOwner(database.url);
  await ask(direct.session, `alter database ${name} set datestyle = 'German'`);
  for (const pooling of ['session', 'transaction'] as const) {
    const db = connectDatabase({ url: network.url, connectionsMax: 1, pooling });
    for (const session of [db.system, db.tenant(newId()), ...db.lanes]) {
      const [row] = await ask<{ at: unknown }>(session, 'select clock_timestamp() as at');
      assert.ok(row?.at instanceof Date, pooling);
    }
    await db.close();
  }
  await ask(direct.session, `alter database ${name} reset datestyle`);
  await direct.close();
});
