import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, afterEach, before, test } from 'node:test';
import { type BatchTest, createBatchTest, names } from '../../testing/setups/batches.ts';
import type { Owner } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { AppError } from '../core/errors.ts';
import { newId } from '../core/ids.ts';
import { createRequestKey, openKeyRecord } from '../http/idempotency.ts';
import { cancelBatch, commitBatch } from './batches.ts';
import { removeAbandoned, runCommits } from './committer.ts';
import { quoteBatch } from './quote.ts';
import { listReportRows } from './row-report.sql.ts';

let batches: BatchTest;
before(async () => {
  batches = await createBatchTest();
});
afterEach(() => batches.money.assertSound());
after(() => batches[Symbol.asyncDispose]());

const isRefused =
  (code: string) =>
  (error: unknown): boolean =>
    error instanceof AppError && error.code === code;

const commit = ({ accountId }: Owner, batchId: string, mode: 'all' | 'valid' = 'all') =>
  commitBatch(batches.money.db.tenant(accountId), { accountId, batchId, mode });

async function commitAll(): Promise<void> {
  const services = { db: batches.money.db, steadyMs: () => performance.now() };
  const isLeft = async (): Promise<boolean> =>
    (await batches.money.rows(`select 1 from batches where status = 'COMMITTING'`)).length > 0;
  // A batch may stay locked for a moment after a rejection, and is then skipped.
  while ((await runCommits({ ...services, wakeDispatch: () => undefined })) || (await isLeft()));
}

test('an interrupted upload resumes where it stopped, with the same rows only', async () => {
  const owner = await batches.createOwner(0n);
  const lines = batches.describe(owner, names(2500, 'resumed'));
  const broken = batches.receive(owner, lines, { key: 'resumed', breakAfter: 1900 });
  await assert.rejects(broken, /the connection broke/);
  const [left] = await batches.money.rows<{ id: string; row_count: number; status: string }>(
    `select id, row_count, status from batches where request_key = 'resumed'`,
  );
  assert.ok(left !== undefined && left.row_count > 0 && left.row_count < 1900);
  assert.equal(left.status, 'RECEIVING');
  const first = await batches.money.rows('select number, payout_id from batch_rows order by 1');
  const other = lines.with(3, lines[3]?.replace('100', '101') ?? '');
  await assert.rejects(
    batches.receive(owner, other, { key: 'resumed' }),
    isRefused('idempotency_key_reused'),
  );
  const { batch, isRepeated } = await batches.receive(owner, lines, { key: 'resumed' });
  assert.equal(batch.id, left.id);
  assert.equal(isRepeated, false);
  assert.equal(batch.status, 'DRAFT');
  assert.equal(batch.valid_count, 2500);
  const rows = await batches.money.rows<{ number: number; payout_id: string }>(
    'select number, payout_id from batch_rows order by number',
  );
  assert.deepEqual(rows.slice(0, first.length), first);
  assert.deepEqual(
    rows.map(({ number }) => number),
    Array.from({ length: 2500 }, (_, index) => index + 1),
  );
  const again = await batches.receive(owner, lines, { key: 'resumed' });
  assert.equal(again.batch.id, batch.id);
  assert.equal(again.isRepeated, true);
});

test('a repeated upload returns the first answer, regardless of the state of the batch', async () => {
  const owner = await batches.createOwner(100_000n);
  const lines = batches.describe(owner, names(2, 'replayed'));
  const first = await batches.receive(owner, lines, { key: 'replayed' });
  assert.equal(first.text, 'DRAFT 2');
  await quoteBatch(batches.services, { accountId: owner.accountId, batchId: first.batch.id });
  const again = await batches.receive(owner, lines, { key: 'replayed' });
  assert.deepEqual([again.text, again.isRepeated], ['DRAFT 2', true]);
  assert.equal(again.batch.status, 'QUOTED');
  // After thirty days the record is gone; the key still belongs to the batch.
  await batches.money.rows(
    `update idempotency_records set created_at = created_at - interval '31 days'
     where key = 'replayed'`,
  );
  const late = await batches.receive(owner, lines, { key: 'replayed' });
  assert.equal(late.batch.id, first.batch.id);
  assert.deepEqual([late.text, late.isRepeated], ['QUOTED 2', false]);
});

test('the key of an upload belongs to it during and after it, and is freed by a rejection', async () => {
  const owner = await batches.createOwner(0n);
  const { accountId } = owner;
  const { keys, db } = batches.money;
  const lines = batches.describe(owner, names(3, 'keyed'));
  const recordOf = (key: string) => {
    const request = { method: 'POST', path: '/other', body: undefined };
    return openKeyRecord(keys, {
      accountId,
      ...createRequestKey(keys, { accountId, key }, request),
    });
  };
  const other = recordOf('keyed');
  const claim = () => db.tenantTransaction(accountId, (session) => other.claim(session));
  const reused = isRefused('idempotency_key_reused');
  await assert.rejects(batches.receive(owner, lines, { key: 'keyed', breakAfter: 2 }), /broke/);
  await assert.rejects(claim(), reused);
  await batches.receive(owner, lines, { key: 'keyed' });
  await assert.rejects(claim(), reused);

  const second = recordOf('first');
  await db.tenantTransaction(accountId, (session) => second.claim(session));
  await assert.rejects(batches.receive(owner, lines, { key: 'first' }), reused);

  const large = batches.receive(owner, Array(10_001).fill(lines[0]), { key: 'refused' });
  await assert.rejects(large, isRefused('body_too_large'));
  const third = recordOf('refused');
  await db.tenantTransaction(accountId, (session) => third.claim(session));
});

test('a draft shows which rows use stored details, and of which set', async () => {
  const owner = await batches.createOwner(100_000n);
  const { accountId, userId } = owner;
  const named = batches.describe(owner, ['named'], { attr_set_token: `attr_set_${userId}` });
  const lines = [...batches.describe(owner, names(2, 'stored')), ...named];
  batches.setRate('18');
  const { batch } = await batches.receive(owner, lines);
  assert.equal(batch.stored_details_count, 2);
  const session = batches.money.db.tenant(accountId);
  const range = { accountId, batchId: batch.id, afterNumber: 0, count: 10, status: undefined };
  const rows = await listReportRows(session, range);
  assert.deepEqual(
    rows.map(({ details, attr_set_id }) => ({ details, attr_set_id })),
    ['stored', 'stored', 'row'].map((details) => ({ details, attr_set_id: userId })),
  );
  assert.ok(rows.every(({ details_stored_at }) => details_stored_at !== null));
  // A newer set that is incomplete is not used instead.
  await batches.money.rows(
    `insert into attribute_sets (account_id, id, user_id, destination_token, currency,
       latest_version, touched_at, created_at)
     select account_id, $1, user_id, destination_token, currency, 0, touched_at + interval '1 hour',
       created_at
     from attribute_sets where id = $2`,
    [newId(), userId],
  );
  const later = await batches.receive(owner, batches.describe(owner, ['later']));
  assert.equal(later.batch.valid_count, 1);
  batches.setRate('0.000001');
  const quoted = await quoteBatch(batches.services, { accountId, batchId: batch.id });
  assert.deepEqual([quoted.valid_count, quoted.stored_details_count], [0, 0]);
  batches.setRate('18');
});

test('an upload with a lease is exclusive, and fails after another process has taken it over', async () => {
  const owner = await batches.createOwner(0n);
  const lines = batches.describe(owner, names(1200, 'held'));
  const { money } = batches;
  let second: Promise<unknown> = Promise.resolve();
  async function* slow(): AsyncGenerator<Buffer> {
    yield Buffer.from(`${lines.slice(0, 600).join('\n')}\n`);
    second = batches.receive(owner, lines, { key: 'held' });
    await assert.rejects(second, isRefused('idempotency_in_progress'));
    await money.rows(`update batches set fence = fence + 1 where request_key = 'held'`);
    yield Buffer.from(`${lines.slice(600).join('\n')}\n`);
  }
  const { receiveBatch } = await import('./receive.ts');
  const upload = {
    accountId: owner.accountId,
    format: 'ndjson',
    name: '',
    ...batches.keyOf(owner, 'held'),
  } as const;
  await assert.rejects(
    receiveBatch(batches.services, { ...upload, bytes: slow() }),
    isRefused('idempotency_in_progress'),
  );
});

test('a quote keeps prices while rates are unchanged, and prices again otherwise', async () => {
  const owner = await batches.createOwner(1_000_000n);
  const id = { accountId: owner.accountId, batchId: '' };
  batches.setRate('18');
  const lines = [
    ...batches.describe(owner, names(1200, 'priced')),
    ...batches.describe(owner, ['fixed'], { source_amount: '', destination_amount: '1800' }),
  ];
  const { batch } = await batches.receive(owner, lines);
  id.batchId = batch.id;
  const before = (await quoteBatch(batches.services, id)).totals;
  assert.deepEqual((await quoteBatch(batches.services, id)).totals, before);
  batches.setRate('20');
  const quoted = await quoteBatch(batches.services, id);
  assert.equal(quoted.status, 'QUOTED');
  const [total, ...others] = quoted.totals;
  assert.equal(others.length, 0);
  assert.ok(total !== undefined && before[0] !== undefined);
  assert.ok(total.destinationMinor > before[0].destinationMinor);
  assert.ok(total.sourceMinor < before[0].sourceMinor);
  const [fixed] = await batches.money.rows<{ destination_amount: bigint }>(
    `select destination_amount from batch_rows where client_transfer_id = 'fixed'`,
  );
  assert.equal(fixed?.destination_amount, 180_000n);
  // At this rate a hundred dollars are less than a cent, so no row can be paid.
  batches.setRate('0.000001');
  const unfunded = await quoteBatch(batches.services, id);
  assert.equal(unfunded.valid_count, 0);
  assert.equal(unfunded.invalid_count, 1201);
  batches.setRate('18');
});

test('the reserve of rows refused after the quote is released', async () => {
  const owner = await batches.createOwner(100_000n);
  const other: Owner = { ...owner, userId: await batches.money.createUser(owner.accountId) };
  const lines = batches.describe(owner, names(3, 'refused'));
  const batchId = await batches.createQuoted(owner, lines);
  assert.equal((await commit(owner, batchId)).status, 'success');
  const reserved = await batches.money.balance(owner.accountId, 'USD');
  assert.ok(reserved < 70_000n);
  await batches.money.rows(`update users set status = 'LOCKED' where id = $1`, [owner.userId]);
  await commitAll();
  assert.equal(await batches.money.balance(owner.accountId, 'USD'), 100_000n);
  const state = await batches.batchOf(batchId);
  assert.equal(state['status'], 'COMMITTED');
  assert.equal(state['refused_count'], 3);
  assert.ok(other.userId !== owner.userId);
});

test('a batch can be canceled before its commit only', async () => {
  const owner = await batches.createOwner(100_000n);
  const batchId = await batches.createQuoted(owner, batches.describe(owner, ['cancelled']));
  const session = batches.money.db.tenant(owner.accountId);
  const id = { accountId: owner.accountId, batchId };
  assert.equal((await cancelBatch(session, id)).status, 'CANCELLED');
  assert.equal((await cancelBatch(session, id)).status, 'CANCELLED');
  assert.deepEqual(await commit(owner, batchId), {
    status: 'failure',
    errors: 'the batch is CANCELLED',
    code: 'not_quoted',
  });
  const second = await batches.createQuoted(owner, batches.describe(owner, ['committed']));
  assert.equal((await commit(owner, second)).status, 'success');
  await assert.rejects(cancelBatch(session, { ...id, batchId: second }), isRefused('illegal_move'));
  await commitAll();
});

test('an abandoned upload is removed after a day', async () => {
  const owner = await batches.createOwner(0n);
  const lines = batches.describe(owner, names(1200, 'abandoned'));
  await assert.rejects(batches.receive(owner, lines, { key: 'abandoned', breakAfter: 1100 }));
  await removeAbandoned(batches.money);
  const count = () => batches.money.rows(`select 1 from batches where request_key = 'abandoned'`);
  assert.equal((await count()).length, 1);
  await batches.money.rows(
    `update batches set updated_at = updated_at - interval '2 days' where request_key = 'abandoned'`,
  );
  await removeAbandoned(batches.money);
  assert.equal((await count()).length, 0);
  const left = await batches.money.rows(
    `select 1 from batch_rows where client_transfer_id like 'abandoned%'`,
  );
  assert.equal(left.length, 0);
});

test('the database rejects changes that would pay a row twice or never', async () => {
  const owner = await batches.createOwner(100_000n);
  const batchId = await batches.createQuoted(owner, batches.describe(owner, ['guarded']));
  const { money } = batches;
  const asTenant = (text: string) =>
    assert.rejects(readRows(money.db.tenant(owner.accountId), { name: '', text }, [batchId]), {
      code: '23001',
    });
  await asTenant(`update batches set status = 'COMMITTING', mode = 'all', committed_at = now()
    where id = $1`);
  await asTenant(`update batch_rows set status = 'COMMITTED' where batch_id = $1`);
  await asTenant(`update batches set row_count = 2, valid_count = 2 where id = $1`);
  await asTenant(`delete from batch_rows where batch_id = $1`);
  await asTenant(`delete from batches where id = $1`);
  assert.equal((await commit(owner, batchId)).status, 'success');
  await asTenant(`update batch_rows set source_amount = 1 where batch_id = $1`);
  await asTenant(`update batches set status = 'CANCELLED' where id = $1`);
  await commitAll();
  const state = await batches.batchOf(batchId);
  assert.equal(state['committed_count'], 1);
  await assert.rejects(money.rows('truncate batch_rows'), { code: '23001' });
  await assert.rejects(money.rows(`update batches set next_row = 1 where id = $1`, [batchId]), {
    code: '23001',
  });
});

test('a repeated upload under another name is another request', async () => {
  const owner = await batches.createOwner(0n);
  const lines = batches.describe(owner, names(1, 'named'));
  const { batch } = await batches.receive(owner, lines, { key: 'named', name: 'June' });
  await assert.rejects(
    batches.receive(owner, lines, { key: 'named', name: 'July' }),
    isRefused('idempotency_key_reused'),
  );
  const again = await batches.receive(owner, lines, { key: 'named', name: 'June' });
  assert.deepEqual([again.isRepeated, again.batch.id], [true, batch.id]);
});

test('the stored hash of a file cannot be found by trying rows', async () => {
  const owner = await batches.createOwner(0n);
  const lines = batches.describe(owner, names(1, 'guessed'));
  const { batch } = await batches.receive(owner, lines);
  const [stored] = await batches.money.rows<{ content_hash: Buffer }>(
    'select content_hash from batches where id = $1',
    [batch.id],
  );
  for (const text of [lines[0] ?? '', `${lines[0]}\n`]) {
    const guessed = createHash('sha256').update(text).digest();
    assert.notDeepEqual(stored?.content_hash, guessed);
  }
});
