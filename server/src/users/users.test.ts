import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { readNameParts } from './name-terms.ts';
import { listUsers } from './user-search.ts';
import { insertUsers, userListOfName } from './users.sql.ts';
import { findUser, type PreparedUser, prepareUser, updateUser } from './users.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

function prepare(accountId: string, first: string, last: string): PreparedUser {
  const id = crypto.randomUUID();
  return prepareUser(
    { keys: money.keys, accountId },
    {
      internal_user_id: id,
      country: 'MEX',
      first_name: first,
      last_name: last,
      email: `${id}@example.org`,
      metadata: undefined,
    },
  );
}

async function search(
  accountId: string,
  name: string,
  { count = 100, ids }: { count?: number; ids?: string[] } = {},
): Promise<string[]> {
  const users = await listUsers(
    { session: money.db.tenant(accountId), keys: money.keys, accountId },
    { beforeId: undefined, count },
    {
      nameParts: readNameParts(name),
      internalUserId: undefined,
      email: undefined,
      country: undefined,
      status: undefined,
      from: undefined,
      until: undefined,
      ids,
    },
  );
  return users.map(({ id }) => id);
}

const countHashes = (userId: string): Promise<Record<string, unknown>[]> =>
  money.rows('select term_hash from user_names where user_id = $1', [userId]);

test('the index of names follows a change of the name and ends with an erasure', async () => {
  const { accountId } = await money.createOwner();
  const [user] = [prepare(accountId, 'Zoé', 'Pérez')].map(({ stored }) => stored);
  assert.ok(user);
  await insertUsers(money.db.system, [user], true);
  assert.equal((await countHashes(user.id)).length, 4, 'zoe, per, pere, perez');
  await money.db.tenantTransaction(accountId, (session) =>
    updateUser({ session, keys: money.keys, accountId }, user.id, { last_name: 'Pereda' }),
  );
  assert.equal((await countHashes(user.id)).length, 5, 'zoe, per, pere, pered, pereda');
  assert.deepEqual(await search(accountId, 'perez'), []);
  assert.deepEqual(await search(accountId, 'pereda'), [user.id]);
  await money.rows(`update users set data_key = '', erased_at = now() where id = $1`, [user.id]);
  assert.deepEqual(await countHashes(user.id), []);
});

test('equal names of two accounts have nothing in common in the database', async () => {
  const users = await Promise.all(
    [1, 2].map(async () => prepare((await money.createOwner()).accountId, 'Zoë', 'Ólafsdóttir')),
  );
  const hashes = users.map(({ stored }) => stored.nameHashes.map((hash) => hash.toString('hex')));
  assert.equal(new Set(hashes.flat()).size, 2 * (hashes[0]?.length ?? 0));
});

test('a search reads along the rarest part of the name, and only its page', async () => {
  const { accountId } = await money.createOwner();
  const users = Array.from(
    { length: 2000 },
    (_, index) => prepare(accountId, 'María', index === 7 ? 'Quetzal' : 'López').stored,
  );
  for (let at = 0; at < users.length; at += 500) {
    await insertUsers(money.db.system, users.slice(at, at + 500), true);
  }
  await money.rows('analyze');
  const explain = (name: string): Promise<string> =>
    money.db.tenantTransaction(accountId, async (session) => {
      const hashes = readNameParts(name).map((part) =>
        money.keys.blindIndex(`name ${accountId}`, part).toString('hex', 0, 8),
      );
      const values = [
        `'${accountId}'`,
        `'ffffffff-ffff-ffff-ffff-ffffffffffff'`,
        '101',
        'null, null, null, null',
        `array[${hashes.map((hash) => String.raw`'\x${hash}'::bytea`).join(', ')}]`,
      ];
      const run = (text: string) => readRows<Record<string, string>>(session, { name: '', text });
      await run('set local plan_cache_mode = force_generic_plan');
      await run(`prepare searched as ${userListOfName.text}`);
      const rows = await run(
        `explain (analyze, costs off, timing off) execute searched(${values.join(', ')})`,
      );
      await run('deallocate searched');
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
  const common = await explain('mar lop');
  assert.match(common, /Backward using user_names_pkey on user_names n \(actual rows=101/, common);
  const rare = await explain('maria quetzal');
  assert.match(rare, /Backward using user_names_pkey on user_names n \(actual rows=1\.?0* /, rare);
  assert.doesNotMatch(`${common}${rare}`, /Seq Scan on (users|user_names)/);
  assert.deepEqual(await search(accountId, 'quetz mar'), [users[7]?.id]);
  assert.equal((await search(accountId, 'lop', { count: 101 })).length, 101);
});

test('an older ciphertext that is put back does not open, nor does a row of another account', async () => {
  const { accountId, userId } = await money.createOwner();
  const other = await money.createOwner();
  const read = (id: string) =>
    findUser({ session: money.db.tenant(id), keys: money.keys, accountId: id }, userId);
  const [before] = await money.rows<{ sealed: Buffer }>('select sealed from users where id = $1', [
    userId,
  ]);
  await money.db.tenantTransaction(accountId, (session) =>
    updateUser({ session, keys: money.keys, accountId }, userId, { last_name: 'Pereda' }),
  );
  await money.rows(
    `insert into users (account_id, id, internal_id_index, email_index, country, data_key, version,
      sealed, created_at, updated_at)
    select $2, id, sha256('copied'), email_index, country, data_key, version, sealed, created_at, updated_at
    from users where id = $1`,
    [userId, other.accountId],
  );
  await assert.rejects(read(other.accountId), /unable to authenticate/);
  await money.rows('update users set sealed = $2 where id = $1 and account_id = $3', [
    userId,
    before?.sealed,
    accountId,
  ]);
  await assert.rejects(read(accountId), /unable to authenticate/);
});

test('recipients are listed by their tokens, and other filters hold too', async () => {
  const { accountId } = await money.createOwner();
  const other = await money.createOwner();
  const users = ['Amélie', 'Benoît', 'Amélie'].map((first) => prepare(accountId, first, 'Sol'));
  const stored = users.map((user) => user.stored);
  await insertUsers(money.db.system, stored, true);
  const [first, second] = stored.map(({ id }) => id);
  assert.ok(first !== undefined && second !== undefined);
  const ids = [first, second, other.userId, first];
  assert.deepEqual((await search(accountId, '', { ids })).toSorted(), [first, second].toSorted());
  assert.deepEqual(await search(accountId, 'amelie', { ids }), [first]);
  assert.deepEqual(await search(accountId, '', { ids: [] }), []);
});
