import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type CommitResult,
  commitPayout,
  createPayout,
  createRecipient,
  deliveryCases,
  describePayout,
  describeUser,
  payoutPath,
} from './recipients.ts';
import {
  chooseSeed,
  createRandom,
  type Pair,
  type RawRequest,
  runThrough,
  sendTruncated,
  startPair,
  type Truncation,
} from './reliability-kit.ts';
import { type Account, type Api, createAccount, type Reply, readBalance } from './service.ts';
import { untilAdmitted } from './until-admitted.ts';

/** Clients whose connections break and that repeat the request with the same key: one effect each. */

const seed = chooseSeed();
const random = createRandom(seed);
const truncationsPerKey = 6;
const keysPerKind = 12;

let pair: Pair;
let account: Account;
before(async () => {
  pair = await startPair({ isProcess: true });
  account = await createAccount(pair.first, { USD: '100000' });
});
after(async () => {
  await pair.books.assertSound();
  await pair.stop();
});

const apis = (): [Api, Api] => [account.api, runThrough(pair.second, account)];

const truncations: readonly Truncation[] = [
  { sentShare: 0.5, waitsForAnswer: false },
  { sentShare: 0.95, waitsForAnswer: false },
  { sentShare: 1, waitsForAnswer: false },
  { sentShare: 1, waitsForAnswer: true },
];

type Request = Omit<RawRequest, 'api' | 'key'>;

/** Repeats the request until it is admitted, answered and no longer in progress. */
async function ask(api: Api, request: Request, key: string): Promise<Reply> {
  for (;;) {
    const headers = {
      'idempotency-key': key,
      ...(request.body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    const { method, path, body } = request;
    const reply = await api.call(method, path, {
      ...(body === undefined ? {} : { body }),
      headers,
    });
    const isInProgress = reply.status === 409 && reply.text.includes('idempotency_in_progress');
    // A busy machine refuses some of so many that are sent at once.
    const isBusy = reply.status === 503 && reply.text.includes('Too many requests');
    if (!isInProgress && !isBusy) return reply;
    await sleep(20);
  }
}

/** Truncates the request many times through both processes, then sends it in full. */
async function sendRepeatedly(request: Request): Promise<Reply[]> {
  const key = randomUUID();
  const [first, second] = apis();
  const truncated = Array.from({ length: truncationsPerKey }, () =>
    sendTruncated({ ...request, api: random.pick([first, second]), key }, random.pick(truncations)),
  );
  const early = [ask(second, request, key), ask(first, request, key)];
  await Promise.all(truncated);
  const late = [await ask(first, request, key), await ask(second, request, key)];
  return [...(await Promise.all(early)), ...late];
}

function assertOneAnswer(replies: readonly Reply[]): void {
  for (const reply of replies) {
    assert.equal(reply.status, 200, `seed ${seed}: ${reply.text}`);
    assert.equal(reply.text, replies[0]?.text, `seed ${seed}`);
  }
  for (const { headers } of replies.slice(-2)) assert.equal(headers['idempotent-replayed'], 'true');
}

async function countRows(text: string, values: readonly unknown[]): Promise<number> {
  return (await pair.books.rows(text, values)).length;
}

test('a user is created once', async () => {
  await Promise.all(
    Array.from({ length: keysPerKind }, async () => {
      const user = describeUser();
      const replies = await sendRepeatedly({
        method: 'POST',
        path: '/user',
        body: JSON.stringify(user),
      });
      assertOneAnswer(replies);
      const found = await account.api.get<readonly { user_token: string }[]>(
        `/user?internal_user_id=${String(user['internal_user_id'])}`,
      );
      assert.equal(found.body.length, 1, `seed ${seed}`);
      const events = await countRows(
        `select 1 from events where type = 'user.created' and subject_id = $1`,
        [found.body[0]?.user_token.slice(-36)],
      );
      assert.equal(events, 1, `seed ${seed}`);
    }),
  );
});

test('a payout is created once, although quotes may repeat their client_transfer_id', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  await Promise.all(
    Array.from({ length: keysPerKind }, async () => {
      const transfer = { client_transfer_id: randomUUID() };
      const body = JSON.stringify(describePayout(recipient, transfer));
      assertOneAnswer(
        await sendRepeatedly({ method: 'POST', path: `/payout/${recipient.userToken}`, body }),
      );
      const made = await countRows('select 1 from payouts where client_transfer_id = $1', [
        transfer.client_transfer_id,
      ]);
      assert.equal(made, 1, `seed ${seed}`);
    }),
  );
});

test('a payout is committed once', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  await Promise.all(
    Array.from({ length: keysPerKind }, async () => {
      const { payout_token: token = '' } = await untilAdmitted(() =>
        createPayout(account.api, recipient),
      );
      const replies = await sendRepeatedly({ method: 'PUT', path: payoutPath(recipient, token) });
      assertOneAnswer(replies);
      const result = replies[0]?.body as unknown as CommitResult | undefined;
      assert.equal(result?.status, 'success');
      const taken = await countRows(
        `select distinct journal_id from ledger_transfers where payout_id = $1 and kind = 'commit'`,
        [token.slice('payout_'.length)],
      );
      assert.equal(taken, 1, `seed ${seed}`);
    }),
  );
});

test('a commit without a key pays once, too', async () => {
  const recipient = await createRecipient(account.api, deliveryCases.bank);
  await Promise.all(
    Array.from({ length: keysPerKind }, async () => {
      const { payout_token: token = '' } = await untilAdmitted(() =>
        createPayout(account.api, recipient),
      );
      const path = payoutPath(recipient, token);
      // Each with its own key, so that the service sees different requests.
      await Promise.all(
        Array.from({ length: truncationsPerKey }, () =>
          sendTruncated(
            { api: random.pick(apis()), method: 'PUT', path, key: randomUUID() },
            random.pick(truncations),
          ),
        ),
      );
      const { status } = await untilAdmitted(() => commitPayout(account.api, recipient, token));
      assert.equal(status, 'success');
      const taken = await countRows(
        `select distinct journal_id from ledger_transfers where payout_id = $1`,
        [token.slice('payout_'.length)],
      );
      assert.equal(taken, 1, `seed ${seed}`);
    }),
  );
});

test('a funding is booked once', async () => {
  const funded = await createAccount(pair.first);
  const before = account;
  account = funded;
  try {
    await Promise.all(
      Array.from({ length: keysPerKind }, async () => {
        const body = '{"currency_code":"USD","amount":12.34}';
        assertOneAnswer(await sendRepeatedly({ method: 'POST', path: '/sandbox/fund', body }));
      }),
    );
    assert.equal(await readBalance(funded.api), (12.34 * keysPerKind).toFixed(2).replace(/0$/, ''));
  } finally {
    account = before;
  }
});

test('a sandbox account is created once', async () => {
  await Promise.all(
    Array.from({ length: keysPerKind }, async () => {
      const name = `Truncated ${randomUUID()}`;
      const body = JSON.stringify({ name });
      assertOneAnswer(await sendRepeatedly({ method: 'POST', path: '/sandbox/accounts', body }));
      const made = await countRows('select 1 from accounts where name = $1', [name]);
      assert.equal(made, 1, `seed ${seed}`);
    }),
  );
});

test('the clock is moved once', async () => {
  const read = async () =>
    Date.parse((await account.api.get<{ now: string }>('/sandbox/clock')).body.now);
  const start = await read();
  const body = '{"advance_s":5000}';
  assertOneAnswer(await sendRepeatedly({ method: 'POST', path: '/sandbox/clock', body }));
  const moved = (await read()) - start;
  assert.ok(moved >= 5_000_000 && moved < 10_000_000, `seed ${seed}: moved by ${moved} ms`);
});

test('the same key with another request is refused while it runs and afterwards', async () => {
  const key = randomUUID();
  const [first, second] = apis();
  const requests = Array.from({ length: 8 }, (_, index) => ({
    method: 'POST',
    path: '/user',
    body: JSON.stringify(describeUser({ first_name: `Ana ${index}` })),
  }));
  const replies = await Promise.all(
    requests.map((request, index) => ask(index % 2 === 0 ? first : second, request, key)),
  );
  const statuses = replies.map(({ status }) => status).toSorted();
  assert.deepEqual(statuses, [200, ...Array.from({ length: 7 }, () => 422)]);
  for (const [index, request] of requests.entries()) {
    const again = await ask(second, request, key);
    assert.equal(again.status, replies[index]?.status);
  }
});
