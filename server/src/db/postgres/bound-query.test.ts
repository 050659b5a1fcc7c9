import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../../testing/setups/money.ts';
import { tenantRole } from './bound-query.ts';
import { type Connection, createOpener, run, runBound } from './connection.ts';
import { findSqlState } from './errors.ts';

let money: MoneyTest;
let own: Owner;
let other: Owner;
let connection: Connection;
before(async () => {
  money = await createMoneyTest();
  own = await money.createOwner({ USD: 1_000_000n });
  other = await money.createOwner({ USD: 1_000_000n });
  connection = await createOpener(money.url).open({ statementMsMax: 8_000, role: tenantRole });
});
after(async () => {
  await connection.client.end();
  await money[Symbol.asyncDispose]();
});

const accounts = { name: 'seen_accounts', text: 'select id::text from accounts' };
const see = async (accountId?: string): Promise<unknown[]> =>
  (accountId === undefined
    ? await run(connection, accounts)
    : await runBound(connection, accountId, { statement: accounts })
  ).rows.map(({ id }) => id);

test('a binding holds for one statement, and none sees nothing', async () => {
  assert.deepEqual(await see(), []);
  assert.deepEqual(await see(own.accountId), [own.accountId]);
  assert.deepEqual(await see(), []);
  assert.deepEqual(await Promise.all([own, other].map((owner) => see(owner.accountId))), [
    [own.accountId],
    [other.accountId],
  ]);
});

test('rows, parameters and the count are those of the statement itself', async () => {
  const statement = {
    name: '',
    text: 'select n::text as n from generate_series(1, $1::integer) n',
  };
  const answer = await runBound(connection, own.accountId, { statement, values: [3] });
  assert.deepEqual(answer.rows, [{ n: '1' }, { n: '2' }, { n: '3' }]);
  assert.equal(answer.rowCount, 3);
  assert.deepEqual(
    answer.fields.map(({ name }) => name),
    ['n'],
  );
});

test('after a statement that fails, or no account, the connection is as before', async () => {
  const broken = { name: 'broken', text: 'select 1 / $1::integer' };
  await assert.rejects(
    runBound(connection, own.accountId, { statement: broken, values: [0] }),
    (error) => findSqlState(error) === '22012',
  );
  await assert.rejects(
    runBound(connection, 'no account', { statement: accounts }),
    (error) => findSqlState(error) === '22P02',
  );
  assert.equal(connection.client.getTransactionStatus(), 'I');
  assert.deepEqual(await see(), []);
  assert.deepEqual(await see(other.accountId), [other.accountId]);
});

test('a transaction of a tenant is bound from its first statement to its end', async () => {
  const rows = await money.db.tenantTransaction(own.accountId, async (session) => {
    await session.query(accounts);
    return (await session.query(accounts)).rows;
  });
  assert.deepEqual(rows, [{ id: own.accountId }]);
});
