import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Batch,
  commit,
  countOf,
  createSender,
  csv,
  describeRows,
  pathOf,
  quote,
  type Sender,
  upload,
  uploadRows,
  waitUntilCommitted,
  writeCsv,
} from './batch-kit.ts';
import { subtract } from './exact.ts';
import { type Pair, runThrough, startPair } from './reliability-kit.ts';
import { type Api, ok, readBalance, type Service } from './service.ts';
import { stopProcess } from './service-process.ts';

/** kill -9 of processes that work on a batch: another one continues, and nothing happens twice. */

let pair: Pair;
let sender: Sender;

before(async () => {
  pair = await startPair({ isProcess: true });
  sender = await createSender(pair.first, { funds: '1000000', count: 3 });
});
after(() => pair.stop());

async function kill(service: Service): Promise<void> {
  assert.ok(service.process !== undefined);
  await stopProcess(service.process, 'SIGKILL');
}

const survivors: Service[] = [];

/** A process beside the killed ones; the tests share those that live. */
const openSurvivor = async (index = 0): Promise<Service> =>
  (survivors[index] ??= await pair.startAnother());

/** Waits until a condition on the batches holds. */
async function waitFor(condition: string): Promise<void> {
  for (let tries = 0; tries < 2000; tries += 1) {
    const found = await pair.books.rows(`select 1 from batches where ${condition}`);
    if (found.length > 0) return;
    await sleep(5);
  }
  throw new Error(`never: ${condition}`);
}

/** A dead process holds its batch for a few seconds; the test does not wait for their end. */
async function endLease(): Promise<void> {
  const [held] = await pair.books.rows<{ is_short: boolean }>(
    `select lease_until < clock_timestamp() + interval '15 seconds' as is_short
     from batches where lease_until is not null`,
  );
  assert.equal(held?.is_short, true);
  await pair.books.rows('update batches set lease_until = clock_timestamp()');
}

/** Retries while a lease holds, such as the one of a dead process. */
async function uploadAgain(api: Api, body: string, headers: Record<string, string>) {
  for (let tries = 0; tries < 200; tries += 1) {
    const reply = await upload(api, body, headers);
    if (reply.status !== 409) return ok(reply);
    assert.ok(Number(reply.headers['retry-after']) > 0);
    await sleep(200);
  }
  throw new Error('the batch of a dead process is never free');
}

test('a batch survives kill -9 during upload and commit, and pays every row once', async () => {
  const count = process.env['OUTLAY_TEST_LONG'] === '1' ? 8000 : 2000;
  const rows = describeRows(sender, count, { source_amount: '21' });
  const body = writeCsv(rows);
  const headers = { ...csv, 'idempotency-key': randomUUID() };

  const broken = upload(sender.api, body, headers).then(
    () => false,
    () => true,
  );
  await waitFor(`row_count >= 500`);
  await kill(pair.first);
  assert.equal(await broken, true, 'the upload ended before it could be broken off');
  const api = runThrough(pair.second, sender);
  assert.equal((await upload(api, body, headers)).status, 409);
  await endLease();
  const draft = await uploadAgain(api, body, headers);
  assert.equal(countOf(draft, 'total'), String(count));
  assert.equal(countOf(draft, 'valid'), String(count));
  const stored = await pair.books.rows<{ count: bigint; ids: bigint }>(
    `select count(*), count(distinct payout_id) as ids from batch_rows`,
  );
  assert.deepEqual(stored, [{ count: BigInt(count), ids: BigInt(count) }]);

  const quoted = await quote(api, draft);
  assert.equal((await commit(api, draft)).status, 'success');
  await waitFor(`next_row > 500`);
  await kill(pair.second);
  const [state] = await pair.books.rows<{ status: string }>('select status from batches');
  assert.equal(state?.status, 'COMMITTING', 'the batch was through before it could be broken off');
  await endLease();
  const third = runThrough(await openSurvivor(), sender);
  const committed = await waitUntilCommitted(third, draft);
  await assertPaidOnce(third, committed, quoted);
});

async function assertPaidOnce(api: Api, committed: Batch, quoted: Batch): Promise<void> {
  const count = countOf(quoted, 'valid');
  assert.equal(countOf(committed, 'committed'), count);
  const [paid] = await pair.books.rows<{ payouts: bigint; rows: bigint }>(
    `select count(*) as payouts, count(distinct r.number) as rows
     from batch_rows r join payouts p on p.account_id = r.account_id
       and p.client_transfer_id = r.client_transfer_id and p.committed_at is not null`,
  );
  assert.deepEqual(paid, { payouts: BigInt(count), rows: BigInt(count) });
  assert.equal(await readBalance(api), subtract('1000000', quoted.funds[0]?.needed.text ?? ''));
  await pair.books.assertSound();
}

test('two concurrent uploads with one key make one batch', async () => {
  const service = await openSurvivor();
  const api = runThrough(service, sender);
  const body = writeCsv(describeRows(sender, 600, { source_amount: '21' }));
  const headers = { ...csv, 'idempotency-key': randomUUID() };
  const replies = await Promise.all([1, 2, 3].map(() => upload(api, body, headers)));
  const made = replies.filter(({ status }) => status === 200);
  assert.ok(made.length >= 1);
  for (const { status } of replies) assert.ok(status === 200 || status === 409, String(status));
  assert.equal(new Set(made.map(({ body: batch }) => batch.batch_token)).size, 1);
});

test('two processes commit the same batches once', async () => {
  const services = await Promise.all([openSurvivor(), openSurvivor(1)]);
  const [one, other] = services.map((service) => runThrough(service, sender));
  assert.ok(one !== undefined && other !== undefined);
  const before = await readBalance(one);
  const batches = await Promise.all(
    [1, 2, 3].map(async () =>
      quote(one, await uploadRows(one, describeRows(sender, 600, { source_amount: '22' }))),
    ),
  );
  const answers = await Promise.all(
    batches.flatMap((batch) => [commit(one, batch), commit(other, batch)]),
  );
  assert.deepEqual(new Set(answers.map(({ status }) => status)), new Set(['success']));
  let expected = before;
  for (const batch of batches) {
    await waitUntilCommitted(one, batch);
    expected = subtract(expected, batch.funds[0]?.needed.text ?? '');
    assert.equal((await other.get(pathOf(batch))).status, 200);
  }
  assert.equal(await readBalance(other), expected);
  await pair.books.assertSound();
});
