import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  type CommitResult,
  createPayout,
  createRecipient,
  deliveryCases,
  describePayout,
  type Payout,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import { type Books, findDatabaseUrl, openBooks } from './reliability-kit.ts';
import {
  type Account,
  type Api,
  createAccount,
  ok,
  type Reply,
  readBalance,
  type Service,
  startService,
} from './service.ts';

/**
 * A service with room for two requests of each kind is overloaded: most requests are refused before
 * any work is done, are repeated, and in the end take effect exactly once.
 */

const clientCount = 40;

let service: Service;
let books: Books;
let account: Account;
let recipient: Recipient;
before(async () => {
  service = await startService({ isProcess: true, settings: { OUTLAY_IN_FLIGHT_MAX: '2' } });
  books = openBooks(await findDatabaseUrl(service));
  account = await createAccount(service, { USD: '1000000' });
  recipient = await createRecipient(account.api, deliveryCases.bank);
});
after(async () => {
  await books.assertSound();
  await books.close();
  await service.stop();
});

function assertTurnedAway(reply: Reply<unknown>): void {
  assert.equal(reply.status, 503, reply.text);
  assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/);
  assert.match(String(reply.headers['content-type']), /^application\/problem\+json/);
  const problem = JSON.parse(reply.text) as Record<string, unknown>;
  assert.equal(problem['code'], 'unavailable');
  assert.equal(problem['request_id'], reply.headers['x-request-id']);
}

/** Repeats the request until it is admitted, and counts the refusals. */
async function insist<T>(ask: () => Promise<Reply<T>>): Promise<{ reply: Reply<T>; shed: number }> {
  for (let shed = 0; ; shed += 1) {
    const reply = await ask();
    if (reply.status === 200) return { reply, shed };
    assertTurnedAway(reply);
    assert.ok(shed < 100_000, 'no request is ever admitted');
  }
}

const sum = (answers: readonly { shed: number }[]): number =>
  answers.reduce((total, { shed }) => total + shed, 0);

async function readShed(kind: string): Promise<number> {
  const text = (await service.demo.get('/metrics')).text;
  const line = new RegExp(`^outlay_requests_shed_total\\{.*kind="${kind}"\\} (\\d+)$`, 'm');
  return Number(line.exec(text)?.[1] ?? Number.NaN);
}

async function commitAll(withKey: boolean): Promise<void> {
  const payouts: Payout[] = [];
  for (let count = 0; count < clientCount; count += 1) {
    payouts.push(await createPayout(account.api, recipient));
  }
  const balanceBefore = Number(await readBalance(account.api));
  const shedBefore = await readShed('commit');
  const health: number[] = [];
  const answers = await Promise.all(
    payouts.map(async ({ payout_token: token = '' }, index) => {
      if (index % 4 === 0) health.push((await service.demo.get('/health/ready')).status);
      const headers: Record<string, string> = withKey ? { 'idempotency-key': randomUUID() } : {};
      const path = payoutPath(recipient, token);
      return insist(() => account.api.put<CommitResult>(path, undefined, headers));
    }),
  );
  for (const { reply } of answers) assert.equal(reply.body.status, 'success');
  assert.deepEqual(new Set(health), new Set([200]));
  assert.ok(sum(answers) > 0, 'no request was refused: no overload');
  assert.equal((await readShed('commit')) - shedBefore, sum(answers));
  const cost = payouts.reduce((total, one) => total + 100 + Number(one.fee.text), 0);
  const taken = balanceBefore - Number(await readBalance(account.api));
  assert.equal(taken.toFixed(2), cost.toFixed(2));
  const ids = payouts.map(({ payout_token: token = '' }) => token.slice('payout_'.length));
  const journals = await books.rows(
    `select distinct payout_id, journal_id from ledger_transfers
     where kind = 'commit' and payout_id = any ($1::uuid[])`,
    [ids],
  );
  assert.equal(journals.length, clientCount);
}

test('under overload each commit is refused or takes effect, once', () => commitAll(false));

test('the same with an Idempotency-Key, which a refusal does not consume', () => commitAll(true));

test('under overload there are as many payouts as acknowledged creations', async () => {
  const transferIds = Array.from({ length: clientCount }, () => randomUUID());
  const answers = await Promise.all(
    transferIds.map((id) => {
      const body = describePayout(recipient, { client_transfer_id: id });
      return insist(() => account.api.post<Payout>(`/payout/${recipient.userToken}`, body));
    }),
  );
  assert.ok(sum(answers) > 0, 'no request was refused: no overload');
  const made = await books.rows<{ id: string }>(
    'select id from payouts where client_transfer_id = any ($1)',
    [transferIds],
  );
  const acknowledged = answers.map(({ reply }) =>
    reply.body['payout_token']?.slice('payout_'.length),
  );
  assert.deepEqual(made.map(({ id }) => id).toSorted(), acknowledged.toSorted());
});

test('overload by reads is refused, while commits and health are answered', async () => {
  const payout = await createPayout(account.api, recipient);
  let isOver = false;
  let shed = 0;
  const read = async (api: Api): Promise<void> => {
    while (!isOver) {
      const reply = await api.get('/account/balance');
      if (reply.status === 200) continue;
      assertTurnedAway(reply);
      shed += 1;
    }
  };
  const readers = Array.from({ length: 16 }, () => read(account.api));
  while (shed < 20) await new Promise((resolve) => setImmediate(resolve));
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  assert.equal(ok(await account.api.put<CommitResult>(path)).status, 'success');
  assert.equal((await service.demo.get('/health/live')).status, 200);
  assert.equal((await service.demo.get('/health/ready')).status, 200);
  isOver = true;
  await Promise.all(readers);
  // After the overload no request is refused.
  for (let times = 0; times < 20; times += 1) ok(await account.api.get('/account/balance'));
});
