import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  type User,
} from './recipients.ts';
import { type Books, findDatabaseUrl, openBooks } from './reliability-kit.ts';
import { type Account, createAccount, ok, type Service, startService } from './service.ts';
import { assertProblem } from './shapes.ts';

/** Records moved by someone with access to the database, and records after an erasure. */

let service: Service;
let books: Books;
let tenantA: Account;
let tenantB: Account;

before(async () => {
  service = await startService({ isOwn: true });
  books = openBooks(await findDatabaseUrl(service));
  tenantA = await createAccount(service, { USD: '1000' });
  tenantB = await createAccount(service);
});
after(async () => {
  await books.assertSound();
  await books.close();
  await service.stop();
});

const idOf = (token: string): string => token.slice(token.indexOf('_') + 1);

/** Copies rows of an account to another one in the database. */
async function copyRows(table: string, column: string, id: string): Promise<void> {
  const to = tenantB.credentials.account;
  const columns = await books.rows<{ name: string }>(
    `select column_name as name from information_schema.columns
     where table_name = $1 and column_name <> 'account_id' and is_generated = 'NEVER'
     order by ordinal_position`,
    [table],
  );
  const names = columns.map(({ name }) => name).join(', ');
  await books.rows(
    `insert into ${table} (account_id, ${names})
     select (select id from accounts where 'acc_' || id = $1 or id::text = $1), ${names}
     from ${table} where ${column} = $2`,
    [to, id],
  );
}

test('rows copied to another account cannot be opened', async () => {
  const { api } = tenantA;
  const { userToken, payer } = await createRecipient(api, deliveryCases.bank);
  const userId = idOf(userToken);
  const [user] = await books.rows<{ id: string }>('select id from users where id = $1', [userId]);
  assert.ok(user, 'the token holds the id');
  const sets = await books.rows<{ id: string }>(
    'select id from attribute_sets where user_id = $1',
    [userId],
  );
  await copyRows('users', 'id', userId);
  await copyRows('attribute_sets', 'user_id', userId);
  for (const { id } of sets) await copyRows('attribute_set_versions', 'set_id', id);
  const person = ok(await api.get<User>(`/user/${userToken}`));
  const path = `/attribute/${userToken}/${payer.destination_token}/MXN`;
  const lookup = `/user/lookup?internal_user_id=${person['internal_user_id']}`;
  for (const [status, copied] of [
    [500, `/user/${userToken}`],
    [500, path],
    // The hash by which it is found is keyed with the account.
    [404, lookup],
  ] as const) {
    const reply = await tenantB.api.get(copied);
    assert.equal(reply.status, status);
    assert.ok(!reply.text.includes(person['first_name'] ?? '?'));
  }
  ok(await api.get(lookup));
  ok(await api.get(path));
});

test('an answer about a user is not replayed after the erasure of the user', async () => {
  const { api } = tenantA;
  const recipient = await createRecipient(api, deliveryCases.bank);
  const person = describeUser();
  const keyed = (key: string) => ({ 'idempotency-key': key });
  const createKey = randomUUID();
  const created = ok(await api.post<User>('/user', person, keyed(createKey)));
  const updated = { first_name: 'Other' };
  const attributePath = (user: string): string =>
    `/attribute/${user}/${recipient.payer.destination_token}/MXN`;
  const updateKey = randomUUID();
  ok(await api.put(`/user/${created['user_token']}`, updated, keyed(updateKey)));
  const payout = describePayout(recipient);
  const payoutKey = randomUUID();
  const quoted = await api.post(`/payout/${recipient.userToken}`, payout, keyed(payoutKey));
  ok(quoted);
  const values = ok(await api.get<Value[]>(attributePath(recipient.userToken)))
    .filter(({ value }) => value !== '')
    .map(({ token, value }) => ({ token, value }));
  const storeKey = randomUUID();
  const store = { values };
  ok(await api.post(attributePath(recipient.userToken), store, keyed(storeKey)));
  const replays = (): Promise<Awaited<ReturnType<typeof api.post>>[]> =>
    Promise.all([
      api.post('/user', person, keyed(createKey)),
      api.put(`/user/${created['user_token']}`, updated, keyed(updateKey)),
      api.post(`/payout/${recipient.userToken}`, payout, keyed(payoutKey)),
      api.post(attributePath(recipient.userToken), store, keyed(storeKey)),
    ]);
  for (const reply of await replays()) {
    assert.equal(reply.status, 200);
    assert.equal(reply.headers['idempotent-replayed'], 'true');
  }
  await books.rows(
    `update users set data_key = '', erased_at = now() where id = any ($1::uuid[])`,
    [[idOf(created['user_token'] ?? ''), idOf(recipient.userToken)]],
  );
  for (const reply of await replays()) assertProblem(reply, 410, 'user_erased');
  assertProblem(await api.get(`/user/${recipient.userToken}`), 410, 'user_erased');
});

type Value = { token: string; value: string };

test('the database does not hold a pickup code in the form that the recipient gets', async () => {
  const { api } = tenantA;
  const recipient = await createRecipient(api, deliveryCases.cash);
  const quoted = ok(
    await api.post<Record<string, string>>(`/payout/${recipient.userToken}`, {
      client_transfer_id: randomUUID(),
      ...describePayout(recipient),
    }),
  );
  const key = { 'idempotency-key': randomUUID() };
  const path = `/payout/${recipient.userToken}/${quoted['payout_token']}`;
  const committed = ok(await api.put<{ pickup_code: string }>(path, undefined, key));
  const { pickup_code: code } = committed;
  assert.match(code, /^\d{8}$/);
  const replay = await api.put<{ pickup_code: string }>(path, undefined, key);
  assert.equal(replay.headers['idempotent-replayed'], 'true');
  assert.deepEqual(ok(replay), committed);
  const read = await api.get<{ pickup_code: string }>(path);
  assert.equal(ok(read).pickup_code, code);
  const history = ok(
    await api.get<{ pickup_code: string }[]>(`/user/${recipient.userToken}/history`),
  );
  assert.ok(history.some((row) => row.pickup_code === code));
  const tables = await books.rows<{ name: string }>(
    `select c.relname as name from pg_class c join pg_namespace n on n.oid = c.relnamespace
     where n.nspname = 'public' and c.relkind = 'r'`,
  );
  for (const { name } of tables) {
    const found = await books.rows(`select 1 from ${name} t where t::text like $1`, [
      `%"${code}"%`,
    ]);
    const plain = await books.rows(`select 1 from ${name} t where t::text ~ $1`, [
      `[,(]${code}[,)]`,
    ]);
    assert.deepEqual([found, plain], [[], []], name);
  }
  const bodies = await books.rows(
    `select 1 from idempotency_records where position(convert_to($1, 'UTF8') in body) > 0`,
    [code],
  );
  assert.deepEqual(bodies, []);
});
