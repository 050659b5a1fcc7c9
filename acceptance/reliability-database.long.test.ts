import assert from 'node:assert/strict';
import { randomBytes, randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { createTestDatabase, type TestDatabase } from '../server/testing/setups/database.ts';
import { type DatabaseProxy, type Fault, startDatabaseProxy } from './database-proxy.ts';
import {
  type CommitResult,
  createPayout,
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  type Payout,
  pay,
  payoutPath,
  type Recipient,
} from './recipients.ts';
import {
  type Books,
  chooseSeed,
  createRandom,
  openBooks,
  waitUntilIdle,
} from './reliability-kit.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  daySeconds,
  ok,
  type Reply,
  readBalance,
  type Service,
  startService,
} from './service.ts';
import { untilAdmitted } from './until-admitted.ts';

/**
 * The connection to the database fails between a group of commits and its answer. A repeated request
 * gets the true outcome; nothing is paid twice, and nothing acknowledged is lost.
 */

const seed = chooseSeed();
const random = createRandom(seed);
const accountsCount = 3;
const payoutsPerAccount = process.env['OUTLAY_TEST_LONG'] === '1' ? 40 : 16;
const funds = 100_000;

let database: TestDatabase;
let proxy: DatabaseProxy;
let service: Service;
let books: Books;
before(async () => {
  database = await createTestDatabase();
  proxy = await startDatabaseProxy(database.url);
  service = await startService({
    isOwn: true,
    settings: {
      DATABASE_URL: proxy.url,
      OUTLAY_MASTER_KEY: randomBytes(32).toString('base64'),
      OUTLAY_DATABASE_CONNECTIONS: '6',
    },
  });
  books = openBooks(database.url);
});
after(async () => {
  proxy.setFaults(undefined);
  proxy.release();
  await books.assertSound();
  await books.close();
  await service.stop();
  // A lost connection must not cause a 500.
  assert.doesNotMatch(service.output(), /"msg":"request failed"/);
  await proxy.close();
  await database.drop();
});

type Order = {
  account: Account;
  recipient: Recipient;
  token: string;
  fee: number;
  /** Earlier payments of this account. */
  spentBefore: number;
};

/**
 * Payouts to be committed, on several balances. One was committed before, because the first of its
 * kind is not committed in a group.
 */
async function prepareOrders(balances: number): Promise<Order[]> {
  const orders: Order[] = [];
  for (let count = 0; count < balances; count += 1) {
    const account = await createAccount(service, { USD: String(funds) });
    const recipient = await createRecipient(account.api, deliveryCases.bank);
    const payouts = await Promise.all(
      Array.from({ length: payoutsPerAccount }, () =>
        untilAdmitted(() => createPayout(account.api, recipient)),
      ),
    );
    const opening = await pay(account.api, recipient);
    const spentBefore = 100 + Number(opening.fee.text);
    for (const { payout_token: token = '', fee } of payouts) {
      orders.push({ account, recipient, token, fee: Number(fee.text), spentBefore });
    }
  }
  return orders.toSorted(() => random.below(3) - 1);
}

/** An unknown outcome: 503 with Retry-After and without internals. */
function assertInDoubt(reply: Reply<unknown>): void {
  const why = `seed ${seed}: ${reply.status} ${reply.text}`;
  const problem = JSON.parse(reply.text) as Record<string, unknown>;
  if (reply.status === 409) assert.equal(problem['code'], 'idempotency_in_progress', why);
  else {
    assert.equal(reply.status, 503, why);
    assert.equal(problem['code'], 'unavailable', why);
  }
  assert.match(String(reply.headers['retry-after']), /^[1-9]\d*$/, why);
}

type Answered = { errors: number; reply: Reply<CommitResult> };

/** Repeats the request, with the same key or without one, until it is answered. */
async function commitUntilAnswered(order: Order, key: string | undefined): Promise<Answered> {
  const headers: Record<string, string> = key === undefined ? {} : { 'idempotency-key': key };
  const path = payoutPath(order.recipient, order.token);
  const deadline = performance.now() + 60_000;
  for (let errors = 0; ; errors += 1) {
    const reply = await order.account.api.put<CommitResult>(path, undefined, headers);
    if (reply.status === 200) return { errors, reply };
    assertInDoubt(reply);
    assert.ok(performance.now() < deadline, `seed ${seed}: no answer after ${errors} errors`);
    await sleep(5);
  }
}

/** One commit of each payout in the ledger, and a consistent balance. */
async function checkOrders(orders: readonly Order[]): Promise<void> {
  await waitUntilIdle(books);
  const ids = orders.map(({ token }) => token.slice('payout_'.length));
  const journals = await books.rows<{ payout_id: string; count: number }>(
    `select payout_id, count(distinct journal_id)::integer as count from ledger_transfers
     where kind = 'commit' and payout_id = any ($1::uuid[]) group by payout_id`,
    [ids],
  );
  assert.equal(journals.length, orders.length, `seed ${seed}: an acknowledged commit is missing`);
  for (const { count } of journals) assert.equal(count, 1, `seed ${seed}: paid twice`);
  for (const account of new Set(orders.map((order) => order.account))) {
    const own = orders.filter((order) => order.account === account);
    const spent = own.reduce((sum, { fee }) => sum + 100 + fee, own[0]?.spentBefore ?? 0);
    assert.equal(Number(await readBalance(account.api)).toFixed(2), (funds - spent).toFixed(2));
  }
  await books.assertSound();
}

/** Nothing is stuck: after ten days of the sandbox every payout has ended. */
async function checkEnds(orders: readonly Order[]): Promise<void> {
  const [first] = orders;
  assert.ok(first !== undefined);
  await advance(first.account.api, 10 * daySeconds);
  const ids = orders.map(({ token }) => token.slice('payout_'.length));
  const stuck = await books.rows(
    `select id, status from payouts where id = any ($1::uuid[]) and status <> 'COMPLETED'`,
    [ids],
  );
  assert.deepEqual(stuck, [], `seed ${seed}: a payout is stuck`);
  const resent = await books.rows(
    `select payout_id from attempts where payout_id = any ($1::uuid[])
     group by payout_id having count(*) > 1`,
    [ids],
  );
  assert.deepEqual(resent, [], `seed ${seed}: rail instructed twice`);
}

/** Injects the fault into every second group of commits, up to a number. */
function failBatches(fault: Fault, times: number): void {
  let seen = 0;
  const before = proxy.happened[fault];
  proxy.setFaults((sent) => {
    if (!isBatch(sent) || proxy.happened[fault] - before >= times) return undefined;
    seen += 1;
    return seen % 2 === 1 ? fault : undefined;
  });
}

/** The statement of a group, by its prepared name. */
function isBatch(sent: Buffer): boolean {
  return sent.includes('commit_payouts');
}

async function commitThrough(fault: Fault, options: { balances: number; withKey: boolean }) {
  const orders = await prepareOrders(options.balances);
  const before = proxy.happened[fault];
  failBatches(fault, 5);
  const answers = await Promise.all(
    orders.map((order) => commitUntilAnswered(order, options.withKey ? randomUUID() : undefined)),
  );
  proxy.setFaults(undefined);
  assert.ok(proxy.happened[fault] > before, 'no fault has happened');
  assert.ok(
    answers.some(({ errors }) => errors > 0),
    'no client has noticed',
  );
  for (const { reply } of answers) {
    assert.equal(reply.body.status, 'success', `seed ${seed}: ${reply.body.errors}`);
  }
  if (fault === 'answer lost' && options.withKey) {
    // The lost answer is replayed.
    const inDoubt = answers.filter(({ errors }) => errors > 0);
    const replayed = inDoubt.filter(({ reply }) => reply.headers['idempotent-replayed'] === 'true');
    assert.ok(replayed.length > 0, `seed ${seed}: nothing was replayed`);
  }
  await checkOrders(orders);
  await checkEnds(orders);
}

for (const balances of [1, accountsCount]) {
  for (const withKey of [false, true]) {
    const how = `${balances === 1 ? 'one balance' : `${balances} balances`}, ${withKey ? 'with keys' : 'without keys'}`;
    test(`if the answer of a committed group is lost, a repeat gets it (${how})`, () =>
      commitThrough('answer lost', { balances, withKey }));
    test(`if a group is lost before the database, a repeat succeeds (${how})`, () =>
      commitThrough('statement lost', { balances, withKey }));
  }
}

test('a repeat while the answer is delayed pays nothing twice', async () => {
  const orders = await prepareOrders(1);
  const before = proxy.happened['answer late'];
  let hasMet = false;
  proxy.setFaults((sent) => {
    if (hasMet || !isBatch(sent)) return undefined;
    hasMet = true;
    return 'answer late';
  });
  const keyed = orders.map((order, index) => ({
    order,
    key: index % 2 === 0 ? randomUUID() : undefined,
  }));
  const first = keyed.map(({ order, key }) => commitUntilAnswered(order, key));
  while (proxy.happened['answer late'] === before) await sleep(2);
  // These clients have timed out and repeat their request.
  const second = keyed.map(({ order, key }) => commitUntilAnswered(order, key));
  const reader = await orders[0]?.account.api.get('/account/balance');
  assert.equal(reader?.status, 200, 'reading continues meanwhile');
  proxy.setFaults(undefined);
  proxy.release();
  for (const { reply } of await Promise.all([...first, ...second])) {
    assert.equal(reply.body.status, 'success', `seed ${seed}: ${reply.body.errors}`);
  }
  await checkOrders(orders);
  await checkEnds(orders);
});

test('if the answer to COMMIT is lost, a creation with a key is found again and made once', async () => {
  const account = await createAccount(service, { USD: String(funds) });
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  let seen = 0;
  const before = proxy.happened['answer lost'];
  proxy.setFaults((sent) => {
    if (!sent.includes('Q\0\0\0\x0bcommit\0')) return undefined;
    seen += 1;
    // The first one too: a quick machine commits all in fewer than three groups.
    return seen % 3 === 1 ? 'answer lost' : undefined;
  });
  const insist = async <T>(path: string, body: unknown): Promise<T> => {
    const key = randomUUID();
    for (let tries = 0; tries < 200; tries += 1) {
      const reply = await account.api.post<T>(path, body, { 'idempotency-key': key });
      if (reply.status === 200) return reply.body;
      assertInDoubt(reply);
      await sleep(5);
    }
    throw new Error(`seed ${seed}: no answer`);
  };
  const transferIds = Array.from({ length: 20 }, () => randomUUID());
  const payouts = await Promise.all(
    transferIds.map((id) =>
      insist<Payout>(
        `/payout/${recipient.userToken}`,
        describePayout(recipient, { client_transfer_id: id }),
      ),
    ),
  );
  const users = Array.from({ length: 10 }, () => describeUser());
  const made = await Promise.all(
    users.map((user) => insist<{ user_token: string }>('/user', user)),
  );
  proxy.setFaults(undefined);
  assert.ok(proxy.happened['answer lost'] > before, 'no fault has happened');
  const rows = await books.rows<{ id: string }>(
    'select id from payouts where client_transfer_id = any ($1)',
    [transferIds],
  );
  const answers = payouts.map((payout) => payout['payout_token']?.slice('payout_'.length));
  assert.deepEqual(rows.map(({ id }) => id).toSorted(), answers.toSorted());
  for (const [index, user] of users.entries()) {
    const path = `/user/lookup?internal_user_id=${String(user['internal_user_id'])}`;
    const found = ok(await account.api.get<{ user_token: string }>(path));
    assert.equal(found.user_token, made[index]?.user_token);
  }
});

test('while connections break one after the other, requests fail with 503 only', async () => {
  const orders = await prepareOrders(accountsCount);
  const breaks = 60;
  const before = proxy.happened['statement lost'];
  const broken = (): number => proxy.happened['statement lost'] - before;
  // They end, because a request alone needs several intact connections in a row.
  proxy.setFaults(() =>
    broken() < breaks && random.below(3) === 0 ? 'statement lost' : undefined,
  );
  let isOver = false;
  const reading = readUntil(orders[0]?.account.api, () => isOver);
  const answers = Promise.all(
    orders.map((order, index) =>
      commitUntilAnswered(order, index % 2 === 0 ? randomUUID() : undefined),
    ),
  );
  await answers.finally(() => {
    isOver = true;
    proxy.setFaults(undefined);
  });
  await reading;
  assert.ok(broken() > 0, 'no connection has broken');
  for (const { reply } of await answers) assert.equal(reply.body.status, 'success');
  await checkOrders(orders);
  await checkEnds(orders);
});

async function readUntil(api: Api | undefined, isOver: () => boolean): Promise<void> {
  while (!isOver()) {
    const reply = await api?.get('/account/balance');
    if (reply !== undefined && reply.status !== 200) assertInDoubt(reply);
  }
}
