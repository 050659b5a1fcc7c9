import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '../../testing/setups/database.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { createAccount } from '../accounts/accounts.ts';
import { readConfig } from '../config.ts';
import { findEnvironment } from '../db/environment-record.ts';
import { connectDatabase } from '../db/postgres/pool.ts';
import { lookUpUser } from '../users/user-search.ts';
import { createUser, prepareUser } from '../users/users.ts';
import { rotateIndexKey } from './index-key-rotation.ts';
import { openKeyRing } from './key.ts';
import { rotateMasterKey } from './key-rotation.ts';

/** A new index key: all or nothing, and what keeps it from being made. */

const folder = mkdtempSync(join(tmpdir(), 'outlay-index-rotation-'));
after(() => rmSync(folder, { recursive: true }));

const times = { waitMs: 0, tryEveryMs: 10 };
const name = 'staging' as const;

async function openInstallation(database: TestDatabase, data: string) {
  const config = readConfig({ DATABASE_URL: database.url, OUTLAY_DATA: data });
  const db = connectDatabase({ url: database.url, connectionsMax: 4 });
  const base = { config, name, db };
  const { keys, follower } = await openKeyRing(db, base);
  follower.close();
  const find = async (accountId: string, internalUserId: string): Promise<string | undefined> =>
    (await lookUpUser({ session: db.system, keys, accountId }, { internalUserId }))?.id;
  return { base, db, keys, find, [Symbol.asyncDispose]: () => db.close() };
}

type Installation = Awaited<ReturnType<typeof openInstallation>>;

async function storeUsers({ db, keys }: Installation, ids: readonly string[]) {
  const { account: accountId } = await db.systemTransaction((session) =>
    createAccount(session, { name: 'Test', environmentName: name, keys }),
  );
  const userIds: string[] = [];
  for (const id of ids) {
    const data = { internal_user_id: id, country: 'MEX', first_name: 'Ana', last_name: 'Gómez' };
    const user = prepareUser(
      { keys, accountId },
      { ...data, email: `${id}@example.org`, metadata: undefined },
    );
    userIds.push((await createUser(db.system, user)).id);
  }
  return { accountId, userIds };
}

async function begin() {
  const database = await createTestDatabase();
  const data = mkdtempSync(join(folder, 'data-'));
  const installed = await openInstallation(database, data);
  const owner = openOwner(database.url);
  return {
    database,
    data,
    installed,
    change: (text: string) => owner.session.query({ name: '', text }),
    end: async () => {
      await Promise.all([installed.db.close(), owner.close()]);
      await database.drop();
    },
  };
}

test('the new key finds everyone, the old one nobody, and a backup from before opens with its own', async () => {
  const { database, data, installed, end } = await begin();
  const { accountId, userIds } = await storeUsers(installed, ['one', 'two']);
  const before = await findEnvironment(installed.db.system);
  await installed.db.close();
  const backup = await createTestDatabase({ copyOf: database.url });

  const rotating = await openInstallation(database, data);
  const report = await rotateIndexKey(rotating.base, times);
  assert.deepEqual([report.index_generation, report.renewed], [2, { users: 2 }]);
  assert.equal(await rotating.find(accountId, 'one'), undefined);
  await rotateMasterKey(rotating.base, { pauseMs: 0 });
  await rotating.db.close();
  const later = await openInstallation(database, data);
  assert.deepEqual(
    [await later.find(accountId, 'one'), await later.find(accountId, 'two')],
    userIds,
  );
  const present = await findEnvironment(later.db.system);
  assert.notDeepEqual(present?.index_key, before?.index_key);
  await later.db.close();

  const restored = await openInstallation(backup, data);
  assert.equal(await restored.find(accountId, 'two'), userIds[1]);
  await restored.db.close();
  await backup.drop();
  await end();
});

test('a recipient whose data do not open keeps everything as it was, and is named', async () => {
  const { installed, change, end } = await begin();
  const { accountId, userIds } = await storeUsers(installed, ['one', 'two', 'three']);
  const broken = userIds[1] ?? '';
  await change(`update users set version = version + 1 where id = '${broken}'`);
  await assert.rejects(
    rotateIndexKey(installed.base, times),
    new RegExp(`nothing was changed: users ${accountId} ${broken} does not open`),
  );
  assert.equal((await findEnvironment(installed.db.system))?.index_generation, 1);
  assert.equal(await installed.find(accountId, 'three'), userIds[2]);
  await end();
});

test('two recipients with one identifier, as only another writer makes them, are reported', async () => {
  const { installed, change, end } = await begin();
  const { accountId, userIds } = await storeUsers(installed, ['one']);
  await change(
    `update users set internal_id_index = sha256('other'), email_index = sha256('other')`,
  );
  await createUser(
    installed.db.system,
    prepareUser(
      { keys: installed.keys, accountId },
      {
        internal_user_id: 'one',
        country: 'MEX',
        first_name: 'Ana',
        last_name: 'Gómez',
        email: 'other@example.org',
        metadata: undefined,
      },
    ),
  );
  await assert.rejects(
    rotateIndexKey(installed.base, times),
    /nothing was changed: two recipients of one account have the same internal_user_id/,
  );
  assert.equal(userIds.length, 1);
  await end();
});
