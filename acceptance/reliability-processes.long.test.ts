import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import {
  type CommitResult,
  createPayout,
  createRecipient,
  createUser,
  deliveryCases,
  type Payout,
  pay,
  payoutPath,
  readPayout,
} from './recipients.ts';
import { getMagicClabe, openBooks, type Pair, runThrough, startPair } from './reliability-kit.ts';
import {
  type Account,
  type Api,
  advance,
  createAccount,
  daySeconds,
  fund,
  ok,
  readBalance,
  startService,
} from './service.ts';
import { stopProcess } from './service-process.ts';
import { untilAdmitted } from './until-admitted.ts';

/** Two processes on one database behave as one. */

let pair: Pair;
before(async () => {
  pair = await startPair({ isProcess: true });
});
after(async () => {
  await pair.books.assertSound();
  await pair.stop();
});

/** The account through the first process and through the second. */
function bothOf(account: Account): [Api, Api] {
  return [account.api, runThrough(pair.second, account)];
}

const create = (...what: Parameters<typeof createPayout>): Promise<Payout> =>
  untilAdmitted(() => createPayout(...what));

const commit = (api: Api, path: string): Promise<CommitResult> =>
  untilAdmitted(async () => ok(await api.put<CommitResult>(path)));

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

test('resources of one process are served by the other at once', async () => {
  const account = await createAccount(pair.first, { USD: '500' });
  const [first, second] = bothOf(account);
  assert.equal(await readBalance(second), '500');
  const userToken = await createUser(first);
  assert.equal((await second.get(`/user/${userToken}`)).status, 200);
  await fund(second, 'EUR', '7.5');
  assert.equal(await readBalance(first, 'EUR'), '7.5');
  const form = new URLSearchParams({
    grant_type: 'client_credentials',
    client_id: account.credentials.client_id,
    client_secret: account.credentials.client_secret,
  });
  const issued = await second.post<{ access_token: string }>('/oauth2/token', String(form), {
    'content-type': 'application/x-www-form-urlencoded',
    authorization: [],
  });
  const token = ok(issued).access_token;
  for (const api of [first, second]) {
    assert.equal((await api.withToken(token).get('/account/balance')).status, 200);
  }
  // Both have cached the token as valid; it expires when the first one moves the clock.
  await advance(first, 3600);
  for (const api of [second, first]) {
    assert.equal((await api.withToken(token).get('/account/balance')).status, 401);
  }
});

test('both processes have the same clock', async () => {
  const { api } = await createAccount(pair.first);
  const other = pair.second.demo;
  const read = async (from: Api) =>
    Date.parse(ok(await from.get<{ now: string }>('/sandbox/clock')).now);
  const start = await read(api);
  await advance(other, 3600);
  const middle = await read(api);
  assert.ok(middle >= start + 3_600_000);
  await advance(api, 1800);
  const end = await read(other);
  assert.ok(end >= middle + 1_800_000);
  const [earlier] = [new Date(start).toISOString()];
  assert.equal((await other.post('/sandbox/clock', { to: earlier })).status, 409);
});

test('concurrent moves of the clock add up', async () => {
  const read = async () =>
    Date.parse(ok(await pair.first.demo.get<{ now: string }>('/sandbox/clock')).now);
  const start = await read();
  await Promise.all([
    advance(pair.first.demo, 1000),
    advance(pair.second.demo, 1000),
    advance(pair.first.demo, 1000),
  ]);
  assert.ok((await read()) >= start + 3_000_000, `moved by ${(await read()) - start} ms`);
});

test('64 parallel commits of one payout through both processes pay once', async () => {
  const account = await createAccount(pair.first, { USD: '10000' });
  const apis = bothOf(account);
  const recipient = await createRecipient(account.api, deliveryCases.cash);
  const payout = await createPayout(account.api, recipient);
  const path = payoutPath(recipient, payout['payout_token'] ?? '');
  const answers = await Promise.all(
    Array.from({ length: 64 }, (_, index) => commit(apis[index % 2] as Api, path)),
  );
  assert.deepEqual(countBy(answers.map(({ status }) => status)), { success: 64 });
  assert.equal(new Set(answers.map((answer) => answer.pickup_code)).size, 1);
  const journals = await pair.books.rows(
    `select distinct journal_id from ledger_transfers where kind = 'commit' and payout_id = $1`,
    [payout['payout_token']?.slice('payout_'.length)],
  );
  assert.equal(journals.length, 1);
});

test('of 60 commits through both processes on funds for 30, exactly 30 succeed', async () => {
  const account = await createAccount(pair.first);
  const apis = bothOf(account);
  await fund(account.api, 'USD', '1000000');
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const payouts = await Promise.all(
    Array.from({ length: 60 }, (_, index) => create(apis[index % 2] as Api, recipient)),
  );
  const fee = Number(payouts[0]?.fee.text);
  const cents = 30 * Math.round((100 + fee) * 100);
  const unfunded = await createAccount(pair.first, { USD: `${cents / 100}` });
  const unfundedApis = bothOf(unfunded);
  const unfundedRecipient = await createRecipient(unfunded.api, deliveryCases.bank);
  const poorPayouts = await Promise.all(
    Array.from({ length: 60 }, (_, index) =>
      create(unfundedApis[index % 2] as Api, unfundedRecipient),
    ),
  );
  const answers = await Promise.all(
    poorPayouts.map(({ payout_token: token = '' }, index) =>
      commit(unfundedApis[index % 2] as Api, payoutPath(unfundedRecipient, token)),
    ),
  );
  assert.deepEqual(countBy(answers.map(({ status }) => status)), { success: 30, failure: 30 });
  for (const { status, errors } of answers) {
    if (status === 'failure') assert.match(errors, /insufficient funds/i);
  }
  assert.equal(await readBalance(unfunded.api), '0');
});

test('a client_transfer_id is committed once through both processes', async () => {
  const account = await createAccount(pair.first, { USD: '10000' });
  const apis = bothOf(account);
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const transfer = { client_transfer_id: randomUUID() };
  const payouts = await Promise.all(
    Array.from({ length: 12 }, (_, index) => create(apis[index % 2] as Api, recipient, transfer)),
  );
  const answers = await Promise.all(
    payouts.map(({ payout_token: token = '' }, index) =>
      commit(apis[index % 2] as Api, payoutPath(recipient, token)),
    ),
  );
  const winner = answers.find(({ status }) => status === 'success');
  assert.deepEqual(countBy(answers.map(({ status }) => status)), { success: 1, failure: 11 });
  for (const { status, errors } of answers) {
    if (status === 'failure')
      assert.match(errors, new RegExp(`^duplicate transfer.*${winner?.payout_token}`));
  }
});

test('each payout is sent once by either process', async () => {
  const account = await createAccount(pair.first, { USD: '100000' });
  const apis = bothOf(account);
  const chosen = { BankAccountNumber: getMagicClabe('paid_at_once') };
  const recipient = await createRecipient(account.api, deliveryCases.bank, { chosen });
  const payTo = async (api: Api): Promise<string> => {
    const { payout_token: token = '' } = await create(api, recipient);
    assert.equal((await commit(api, payoutPath(recipient, token))).status, 'success');
    return token;
  };
  const tokens = await Promise.all(
    Array.from({ length: 60 }, (_, index) => payTo(apis[index % 2] as Api)),
  );
  await advance(account.api, 1);
  for (const token of tokens) {
    const { status } = await readPayout(apis[1], recipient, token);
    assert.equal(status, 'COMPLETED');
  }
  const wrong = await pair.books.rows(
    `select payout_id, count(*) from attempts where account_id = $1
     group by payout_id having count(*) <> 1 or count(distinct reference) <> 1`,
    [account.credentials.account],
  );
  assert.deepEqual(wrong, []);
  const settled = await pair.books.rows<{ count: number }>(
    `select count(*)::integer as count from ledger_transfers
     where account_id = $1 and kind = 'complete'`,
    [account.credentials.account],
  );
  assert.deepEqual(settled, [{ count: 60 }]);
});

test('an outcome caused by moving the clock is visible through the other process', async () => {
  const account = await createAccount(pair.first, { USD: '1000' });
  const [first, second] = bothOf(account);
  const recipient = await createRecipient(first, deliveryCases.bank);
  const { payout_token: token } = await pay(first, recipient);
  assert.equal((await readPayout(second, recipient, token))['status'], 'PROCESSING');
  await advance(second, 10 * daySeconds);
  assert.equal((await readPayout(first, recipient, token))['status'], 'COMPLETED');
});

test('after SIGTERM under load every answer is complete and true', async () => {
  const another = await pair.startAnother();
  const account = await createAccount(pair.first, { USD: '100000' });
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  const leaving = runThrough(another, account);
  const acknowledged: CommitResult[] = [];
  const codes: string[] = [];
  let isStopping = false;
  const work = async (): Promise<void> => {
    for (;;) {
      try {
        const { payout_token: token = '' } = await create(leaving, recipient);
        acknowledged.push(await commit(leaving, payoutPath(recipient, token)));
      } catch (error) {
        assert.ok(isStopping, String(error));
        codes.push(error instanceof Error && 'code' in error ? String(error.code) : String(error));
        return;
      }
    }
  };
  const workers = Array.from({ length: 8 }, work);
  while (acknowledged.length < 20) await new Promise((resolve) => setTimeout(resolve, 5));
  isStopping = true;
  assert.ok(another.process !== undefined);
  const ended = stopProcess(another.process);
  await Promise.all(workers);
  await ended;
  assert.equal(another.process.exitCode, 0, another.output());
  for (const code of codes) assert.match(code, /ECONNREFUSED|ECONNRESET|EPIPE|^Error: 503 /);
  for (const { payout_token: token, status } of acknowledged) {
    assert.equal(status, 'success');
    const payout = await readPayout(account.api, recipient, token);
    assert.notEqual(payout['status'], 'PENDING');
  }
});

test('two processes that start on an empty database create one Demo account', async () => {
  const { settings, url } = await pair.createEmpty();
  const starts = await Promise.allSettled(
    Array.from({ length: 3 }, () => startService({ isProcess: true, settings })),
  );
  const services = starts.flatMap((start) => (start.status === 'fulfilled' ? [start.value] : []));
  const books = openBooks(url);
  try {
    assert.equal(services.length, starts.length);
    const accounts = services.map(({ credentials }) => credentials.account);
    assert.equal(new Set(accounts).size, 1);
    for (const { demo } of services) assert.equal(await readBalance(demo), '1000000');
    assert.deepEqual(await books.rows('select name from accounts'), [{ name: 'Demo' }]);
    await books.assertSound();
  } finally {
    await books.close();
    await Promise.all(services.map((service) => service.stop()));
  }
});
