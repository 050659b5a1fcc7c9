import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import {
  type CommitResult,
  createPayout,
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  payoutPath,
} from './recipients.ts';
import { type Books, openBooks } from './reliability-kit.ts';
import {
  type Account,
  createAccount,
  ok,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { assertProblem } from './shapes.ts';

/**
 * The disk of the database is full: reads are answered, what would be stored is refused and leaves
 * nothing behind, and log, health and metrics name the cause.
 */

let database: TestDatabase;
let service: Service;
let account: Account;
let books: Books;
before(async () => {
  database = await createTestDatabase();
  service = await startService({ isOwn: true, settings: { DATABASE_URL: database.url } });
  account = await createAccount(service, { USD: '1000' });
  books = openBooks(database.url);
});
after(async () => {
  await books.assertSound();
  await books.close();
  await service.stop();
  await database.drop();
});

/** PostgreSQL answers so when a table can grow no more. */
const full = `
  create function refuse_growth() returns trigger language plpgsql as $$
  begin
    raise exception 'could not extend file "base/5/16385": No space left on device'
      using errcode = 'disk_full';
  end
  $$`;
/** Of a recipient, a quote, and the two halves of a commit. */
const tables = ['users', 'payout_quotes', 'ledger_journals', 'events'];

async function run(...statements: readonly string[]): Promise<void> {
  const client = new pg.Client({ connectionString: database.url });
  await client.connect();
  try {
    for (const statement of statements) await client.query(statement);
  } finally {
    await client.end();
  }
}

/** Fills the disk for all tables, or for these. */
async function withFullDisk(work: () => Promise<void>, named = tables): Promise<void> {
  const trigger = (table: string) =>
    `create trigger disk_is_full before insert on ${table}
     for each statement execute function refuse_growth()`;
  await run(full, ...named.map(trigger));
  try {
    await work();
  } finally {
    await run('drop function refuse_growth() cascade');
  }
}

test('what cannot be stored is refused with the reason, and nothing is half done', async () => {
  const { api } = account;
  const recipient = await createRecipient(api, deliveryCases.bank);
  const quote = await createPayout(api, recipient);
  const before = await readBalance(api, 'USD');
  const path = payoutPath(recipient, quote['payout_token'] ?? '');
  const key = { 'idempotency-key': 'full-disk-commit' };
  const user = describeUser();
  await withFullDisk(async () => {
    const refused = [
      await api.post('/user', user),
      await api.post(`/payout/${recipient.userToken}`, describePayout(recipient)),
      await api.put(path, undefined, key),
      ...(await Promise.all([1, 2, 3].map(() => api.put(path)))),
    ];
    for (const reply of refused) {
      const { detail } = assertProblem(reply, 503, 'unavailable');
      assert.match(detail, /no disk space left, so nothing can be stored/);
      assert.match(String(reply.headers['retry-after']), /^\d+$/);
    }
    assert.equal(ok(await api.get<{ status: string }>(path)).status, 'PENDING');
    assert.equal(await readBalance(api, 'USD'), before);
  });
  const users = ok(await api.get<unknown[]>(`/user?email=${String(user['email'])}`));
  assert.deepEqual(users, []);
  assert.equal(ok(await api.put<CommitResult>(path, undefined, key)).status, 'success');
  ok(await api.post('/user', user));
});

test('a commit whose event finds no space moves nothing', async () => {
  const { api } = account;
  const recipient = await createRecipient(api, deliveryCases.bank);
  const quote = await createPayout(api, recipient);
  const before = await readBalance(api, 'USD');
  const path = payoutPath(recipient, quote['payout_token'] ?? '');
  await withFullDisk(async () => {
    assertProblem(await api.put(path), 503, 'unavailable');
    assert.equal(await readBalance(api, 'USD'), before);
  }, ['events']);
  assert.equal(ok(await api.put<CommitResult>(path)).status, 'success');
});

test('health, metrics and log name the disk, and what to do', async () => {
  const fetchText = async (path: string) => {
    const reply = await fetch(`${service.baseUrl}${path}`);
    return { status: reply.status, text: await reply.text() };
  };
  await withFullDisk(async () => {
    assertProblem(await account.api.post('/user', describeUser()), 503, 'unavailable');
  });
  const { status, text } = await fetchText('/health/ready');
  // Reads are answered, and no other process would be better.
  assert.equal(status, 200);
  assert.match(text, /staging: the disk of the database is full: nothing can be stored/);
  const metrics = await fetchText('/metrics');
  assert.match(metrics.text, /^outlay_database_disk_full\{environment="staging"\} 1$/m);
  const lines = service.output().split('\n');
  const line = lines.find((one) => /"msg":"request not answered"/.test(one)) ?? '';
  assert.match(line, /"code":"53100"/);
  assert.match(line, /"advice":"free space on the disk of the database.*#outlaydatabasediskfull/);
  assert.doesNotMatch(service.output(), /"msg":"request failed"|No space left on device/);
});
