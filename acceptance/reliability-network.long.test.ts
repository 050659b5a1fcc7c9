import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { openTestNetwork, type TestNetwork } from '../server/testing/setups/network.ts';
import { createRecipient, createUser, deliveryCases, pay, type Recipient } from './recipients.ts';
import { type Books, openBooks } from './reliability-kit.ts';
import { type Account, createAccount, type Service, startService } from './service.ts';
import { untilAdmitted } from './until-admitted.ts';

/**
 * The network to the database fails silently, or a transaction holds the row of an account: other
 * requests are answered in time and correctly.
 */

/** The longest time of a request, and the time until recovery. */
const healedMsMax = 10_000;

let database: TestDatabase;
let network: TestNetwork;
let service: Service;
let books: Books;
let account: Account;
let other: Account;
let recipient: Recipient;
before(async () => {
  database = await createTestDatabase();
  network = await openTestNetwork(database.url);
  service = await startService({
    isOwn: true,
    settings: {
      DATABASE_URL: network.url,
      OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
      OUTLAY_DATABASE_CONNECTIONS: '8',
    },
  });
  books = openBooks(database.url);
  account = await createAccount(service, { USD: '100000' });
  other = await createAccount(service, { USD: '100000' });
  recipient = await createRecipient(account.api, deliveryCases.bank);
});
after(async () => {
  await books.assertSound();
  await books.close();
  await service.stop();
  assert.doesNotMatch(service.output(), /"msg":"request failed"/);
  await network.close();
  await database.drop();
});

async function measure<T>(work: () => Promise<T>): Promise<{ result: T; elapsedMs: number }> {
  const startMs = performance.now();
  const result = await work();
  return { result, elapsedMs: performance.now() - startMs };
}

/** Until it finds something. */
async function waitFor(query: string): Promise<void> {
  for (let tries = 0; tries < 6_000; tries += 1) {
    if ((await books.rows(query)).length > 0) return;
    await sleep(5);
  }
  throw new Error(`never: ${query}`);
}

test('if connections fail silently, no request takes ten seconds and payments continue', async () => {
  const counts = new Map<number, number>();
  let slowestMs = 0;
  let isOver = false;
  const look = async (ask: () => Promise<{ status: number }>): Promise<void> => {
    while (!isOver) {
      const { result, elapsedMs } = await measure(ask);
      counts.set(result.status, (counts.get(result.status) ?? 0) + 1);
      slowestMs = Math.max(slowestMs, elapsedMs);
      await sleep(20);
    }
  };
  const clients = [
    ...Array.from({ length: 4 }, () => look(() => account.api.get('/account/balance'))),
    look(() => account.api.put(`/user/${recipient.userToken}`, { first_name: 'Ana' })),
    look(() => fetch(`${service.baseUrl}/health/ready`)),
  ];
  while ((counts.get(200) ?? 0) < 100) await sleep(5);
  network.loseConnections();
  const lostMs = performance.now();
  let isPaid = false;
  while (!isPaid) {
    isPaid = await pay(account.api, recipient).then(
      () => true,
      () => false,
    );
    assert.ok(performance.now() - lostMs < 3 * healedMsMax, 'nothing can be paid');
  }
  const healedMs = performance.now() - lostMs;
  isOver = true;
  await Promise.all(clients);
  assert.ok(healedMs < healedMsMax, `healed after ${healedMs} ms`);
  assert.ok(slowestMs < healedMsMax, `${slowestMs} ms`);
  assert.deepEqual(
    [...counts.keys()].filter((status) => status !== 200 && status !== 503),
    [],
  );
});

test('many requests of an account with a locked row delay no other account', async () => {
  const users = await Promise.all(
    Array.from({ length: 24 }, () => untilAdmitted(() => createUser(account.api))),
  );
  const user = await createUser(other.api);
  const [held] = await books.rows<{ id: string }>(
    `select account_id as id from users where id = $1`,
    [users[0]?.slice(-36)],
  );
  assert.ok(held !== undefined);
  const holding = books.rows(
    `with own as materialized (select id from accounts where id = $1 for update)
     select pg_sleep(6) from own`,
    [held.id],
  );
  await waitFor(`select 1 from pg_stat_activity where wait_event = 'PgSleep'`);
  const crowd = users.map((token) =>
    measure(() => account.api.put(`/user/${token}`, { first_name: 'Eva' })),
  );
  await waitFor('select 1 from pg_locks where not granted');
  for (let count = 0; count < 40; count += 1) {
    const path = `/user/${user}`;
    const { result, elapsedMs } = await measure(() => other.api.put(path, { first_name: 'Eva' }));
    assert.equal(result.status, 200, result.text);
    // Less than the wait for the lock.
    assert.ok(elapsedMs < 4_900, `${elapsedMs} ms`);
  }
  for (const { result, elapsedMs } of await Promise.all(crowd)) {
    assert.ok(result.status === 503 || result.status === 200, result.text);
    if (result.status === 503) assert.match(String(result.headers['retry-after']), /^\d+$/);
    assert.ok(elapsedMs < healedMsMax, `${elapsedMs} ms`);
  }
  await holding;
});
