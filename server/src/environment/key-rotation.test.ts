import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase } from '../../testing/setups/database.ts';
import { openOwner } from '../../testing/setups/owner-session.ts';
import { createAccount } from '../accounts/accounts.ts';
import { readConfig } from '../config.ts';
import { connectDatabase } from '../db/postgres/pool.ts';
import { insertUsers } from '../users/users.sql.ts';
import { findUser, prepareUser } from '../users/users.ts';
import { openKeyRing } from './key.ts';
import { listMasterKeys, removeOldKeys, rotateMasterKey } from './key-rotation.ts';
import { placeMasterKey, readEncodedKeys } from './master-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'outlay-keys-'));
after(() => rmSync(folder, { recursive: true }));

const users = 1_500;

async function openInstallation(settings: Record<string, string> = {}) {
  const database = await createTestDatabase();
  const data = mkdtempSync(join(folder, 'data-'));
  const variables = { DATABASE_URL: database.url, OUTLAY_DATA: data, ...settings };
  const config = readConfig(variables);
  const db = connectDatabase({ url: database.url, connectionsMax: 8 });
  const name = 'staging' as const;
  const { keys, follower } = await openKeyRing(db, { config, name });
  follower.close();
  return {
    base: { config, name, db },
    variables,
    keys,
    file: join(data, 'staging.key'),
    close: async () => {
      await db.close();
      await database.drop();
    },
  };
}

type Installation = Awaited<ReturnType<typeof openInstallation>>;

async function fill({ base: { db }, keys }: Installation, count: number) {
  const { account: accountId } = await db.systemTransaction((session) =>
    createAccount(session, { name: 'Test', environmentName: 'staging', keys }),
  );
  const prepared = Array.from({ length: count }, (_, index) =>
    prepareUser(
      { keys, accountId },
      {
        internal_user_id: `user-${index}`,
        country: 'MEX',
        first_name: 'Ana',
        last_name: 'Gómez',
        email: `${index}@example.org`,
        metadata: undefined,
      },
    ),
  ).map(({ stored }) => stored);
  await insertUsers(db.system, prepared, true);
  const ids = prepared.map(({ id }) => id).filter((_, index) => index % 20 === 0);
  return { accountId, ids };
}

async function assertReadable(
  { base: { db } }: Installation,
  keys: Installation['keys'],
  { accountId, ids }: { accountId: string; ids: string[] },
): Promise<void> {
  for (const id of ids) {
    const user = await findUser({ session: db.tenant(accountId), keys, accountId }, id);
    assert.equal(user?.person.first_name, 'Ana');
  }
}

test('a rotation that is killed half-way is completed by the next one, while the service continues', async () => {
  const installed = await openInstallation();
  const { base, file, variables } = installed;
  const filled = await fill(installed, users);
  const signing = installed.keys.signing.id;
  const owner = openOwner(variables.DATABASE_URL);
  const [old] = await listMasterKeys(base);
  const countFresh = async (): Promise<number> => {
    const used = await listMasterKeys(base);
    return used.length > 1 ? (used.find((key) => key.is_newest)?.users ?? 0) : 0;
  };
  await owner.transaction(async (session) => {
    // The last one that it comes to, so that it has not ended however late it is killed.
    const text = 'select from users order by account_id desc, id desc limit 1 for update';
    await session.query({ name: '', text });
    const rotating = spawn(
      process.execPath,
      [join(import.meta.dirname, '../main.ts'), 'key', 'rotate'],
      {
        env: {
          ...variables,
          PATH: process.env['PATH'],
          NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        },
        stdio: 'ignore',
      },
    );
    const ended = new Promise((resolve) => rotating.once('exit', resolve));
    while (rotating.exitCode === null && (await countFresh()) === 0) await sleep(2);
    rotating.kill('SIGKILL');
    await ended;
  });
  await owner.close();
  const half = await listMasterKeys(base);
  assert.ok(
    half.every((key) => key.users < users),
    `killed half-way: ${JSON.stringify(half)}`,
  );
  // The ring of the running process was opened before the new key was there.
  await assertReadable(installed, installed.keys, filled);
  await assert.rejects(removeOldKeys(base), /still needed/);

  const { keys: used } = await rotateMasterKey(base);
  assert.deepEqual(
    used.map((key) => [key.is_newest, key.users]),
    [
      [true, users],
      [false, 0],
    ],
  );
  await removeOldKeys(base);
  const [only] = readFileSync(file, 'utf8').trim().split('\n');
  assert.equal((await listMasterKeys(base)).length, 1);
  assert.notEqual((await listMasterKeys(base))[0]?.master_key, old?.master_key);
  assert.equal(Buffer.from(only ?? '', 'base64').length, 32);
  assert.equal(statSync(file).mode & 0o777, 0o600);
  const { keys: reopened, follower } = await openKeyRing(base.db, base);
  follower.close();
  assert.equal(reopened.signing.id, signing, 'receipts verify with the same key');
  await assertReadable(installed, reopened, filled);
  await installed.close();
});

test('a backup from before a rotation does not open with the new key alone', async () => {
  const installed = await openInstallation();
  const { base } = installed;
  const { accountId, ids } = await fill(installed, 1);
  const select = { name: '', text: 'select data_key from users' };
  const [row] = (await base.db.system.query(select, [])).rows as { data_key: Buffer }[];
  await rotateMasterKey(base, { pauseMs: 0 });
  await removeOldKeys(base);
  const { keys, follower } = await openKeyRing(base.db, base);
  follower.close();
  const owner = { accountId, userId: ids[0] ?? '' };
  assert.throws(() => keys.unwrap(row?.data_key ?? Buffer.alloc(0), owner), /is missing/);
  await installed.close();
});

test('a key file that others can read is refused, with the command that mends it', async () => {
  const installed = await openInstallation();
  chmodSync(installed.file, 0o640);
  await assert.rejects(
    openKeyRing(installed.base.db, installed.base),
    /staging\.key can be read by others: chmod 600 .*staging\.key/,
  );
  await installed.close();
});

test('a command gives the master key, as a key management service would', async () => {
  const sealed = join(folder, 'sealed');
  writeFileSync(sealed, randomBytes(32).toString('base64'));
  const command = `cat '${sealed}'`;
  const installed = await openInstallation({ OUTLAY_MASTER_KEY_COMMAND: command });
  const filled = await fill(installed, 1);
  await assert.rejects(rotateMasterKey(installed.base), /has no newer key: put one before/);
  const older = readFileSync(sealed, 'utf8');
  writeFileSync(sealed, `${randomBytes(32).toString('base64')}\n${older}\n`);
  const rotated = await rotateMasterKey(installed.base);
  assert.equal(rotated.users_rewrapped, 1);
  const { keys: reopened, follower } = await openKeyRing(installed.base.db, installed.base);
  follower.close();
  await assertReadable(installed, reopened, filled);
  await installed.close();
});

test('a command that fails or prints no key is named, and what it printed is not', () => {
  const run = (command: string) =>
    readEncodedKeys(
      placeMasterKey(
        readConfig({ OUTLAY_DATA: folder, OUTLAY_MASTER_KEY_COMMAND: command }),
        'staging',
      ),
    );
  assert.throws(
    () => run('exit 3'),
    /OUTLAY_MASTER_KEY_COMMAND gave no master key: it ended with 3/,
  );
  const secret = 'c2VjcmV0';
  for (const command of [`echo ${secret}`, `echo ${secret}; exit 1`, 'true']) {
    assert.throws(
      () => run(command),
      (error) => error instanceof Error && !error.message.includes(secret),
    );
  }
});
