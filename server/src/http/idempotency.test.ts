import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { AppError } from '../core/errors.ts';
import { parseExactJson } from '../core/exact-json.ts';
import { keepPartitions } from '../db/partitions.ts';
import type { Database, Session } from '../db/postgres/pool.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { createRequestKey, type RunningKeys, readKey, runKeyed, type Work } from './idempotency.ts';
import type { Answer } from './problem.ts';

const daySeconds = 86_400;

let money: MoneyTest;
let processes: { db: Database; running: RunningKeys }[];
before(async () => {
  money = await createMoneyTest();
  processes = [money.db, money.connect()].map((db) => ({ db, running: new Set() }));
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

type Call = { key: string | undefined; work: Work; body?: string; method?: string; path?: string };

/** One request to one of the two processes. */
function run(owner: Owner, call: Call, process = processes[0]): Promise<Answer> {
  assert.ok(process !== undefined);
  const { key, work, body, method = 'POST', path = '/v0.1.4/thing' } = call;
  const request = { method, path, body: body === undefined ? undefined : parseExactJson(body) };
  return runKeyed(
    { db: process.db, keys: money.keys },
    {
      accountId: owner.accountId,
      requestKey:
        key === undefined
          ? undefined
          : createRequestKey(money.keys, { accountId: owner.accountId, key }, request),
    },
    { running: process.running, isOneEffect: false, isAcrossAccounts: false, work },
  );
}

/** An effect that can be counted: one cent. */
const fundCent =
  (owner: Owner, answer: string | null = '{"ok":true}'): Work =>
  async (session) => {
    await fundBalance(session, { ...owner, currency: 'USD', amountMinor: 1n });
    return answer;
  };

const centsOf = (owner: Owner): Promise<bigint> => money.balance(owner.accountId, 'USD');

function codeOf(error: unknown): string {
  return error instanceof AppError ? error.code : String(error);
}

const isReplay = (answer: Answer): boolean => answer.headers?.['idempotent-replayed'] === 'true';

test('the first answer is replayed, and its effect happens once', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  let count = 0;
  const work: Work = (session) => fundCent(owner, `{"count":${++count}}`)(session);
  const first = await run(owner, { key, work });
  const again = await run(owner, { key, work }, processes[1]);
  assert.deepEqual([first.body, isReplay(first)], ['{"count":1}', false]);
  assert.deepEqual([again.status, again.body, isReplay(again)], [200, '{"count":1}', true]);
  assert.equal(await centsOf(owner), 1n);
});

test('an empty answer is replayed as an empty answer', async () => {
  const owner = await money.createOwner();
  const call = { key: randomUUID(), work: fundCent(owner, null) };
  assert.equal((await run(owner, call)).body, null);
  const again = await run(owner, call);
  assert.deepEqual([again.body, isReplay(again)], [null, true]);
  assert.equal(await centsOf(owner), 1n);
});

test('concurrent requests with one key in two processes have one effect, and the others get its answer or idempotency_in_progress', async () => {
  for (let round = 0; round < 10; round += 1) {
    const owner = await money.createOwner();
    const key = randomUUID();
    const settled = await Promise.allSettled(
      Array.from({ length: 16 }, (_, index) =>
        run(owner, { key, work: fundCent(owner, `{"by":${index}}`) }, processes[index % 2]),
      ),
    );
    const bodies = new Set<unknown>();
    for (const one of settled) {
      if (one.status === 'fulfilled') bodies.add(one.value.body);
      else assert.equal(codeOf(one.reason), 'idempotency_in_progress');
    }
    assert.equal(bodies.size, 1);
    assert.equal(await centsOf(owner), 1n);
  }
});

test('an error stores nothing, and the key can be used again', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  const refuse: Work = async (session) => {
    await fundCent(owner)(session);
    throw new AppError('user_exists', 'after the effect');
  };
  await assert.rejects(
    run(owner, { key, work: refuse }),
    (error) => codeOf(error) === 'user_exists',
  );
  assert.equal(await centsOf(owner), 0n);
  assert.equal(isReplay(await run(owner, { key, work: fundCent(owner) })), false);
  assert.equal(await centsOf(owner), 1n);
});

test('if the first of two processes rolls back, the second has its effect', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  const inside = Promise.withResolvers<void>();
  const mayEnd = Promise.withResolvers<void>();
  const failing: Work = async (session) => {
    await fundCent(owner)(session);
    inside.resolve();
    await mayEnd.promise;
    throw new Error('the process died');
  };
  const first = run(owner, { key, work: failing }).catch(String);
  await inside.promise;
  const second = run(owner, { key, work: fundCent(owner) }, processes[1]);
  mayEnd.resolve();
  const answer = await first;
  // If the second was faster, the first one replays its answer.
  if (typeof answer === 'string') assert.match(answer, /the process died/);
  else assert.equal(isReplay(answer), true);
  assert.equal(isReplay(await second), false);
  assert.equal(await centsOf(owner), 1n);
});

test('an error caused by the same request in another process is replaced by its answer', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  const inside = Promise.withResolvers<void>();
  const mayRefuse = Promise.withResolvers<void>();
  const refuseLate: Work = async () => {
    inside.resolve();
    await mayRefuse.promise;
    throw new AppError('user_exists', 'the twin made it');
  };
  const loser = run(owner, { key, work: refuseLate });
  await inside.promise;
  const winner = await run(owner, { key, work: fundCent(owner) }, processes[1]);
  mayRefuse.resolve();
  const answer = await loser;
  assert.deepEqual([answer.body, isReplay(answer)], [winner.body, true]);
  assert.equal(await centsOf(owner), 1n);
});

test('a key is bound to method, path and body, however the body is written', async () => {
  const owner = await money.createOwner();
  const key = randomUUID();
  const first = { key, work: fundCent(owner), body: '{"amount":12.50,"list":[1,{"a":"é"}]}' };
  await run(owner, first);
  for (const body of [
    '{"list":[1.0,{"a":"\\u00e9"}],"amount":125e-1}',
    ' { "amount" : 12.5 , "list" : [ 1 , { "a" : "é" } ] } ',
  ]) {
    assert.equal(isReplay(await run(owner, { ...first, body })), true, body);
  }
  for (const other of [
    { body: '{"amount":12.51,"list":[1,{"a":"é"}]}' },
    { body: '{"amount":"12.50","list":[1,{"a":"é"}]}' },
    { body: '{"amount":12.50,"list":[{"a":"é"},1]}' },
    { body: '{"amount":12.50,"list":[1,{"a":"é"}],"more":null}' },
    { method: 'PUT' },
    { path: '/v0.1.4/another' },
  ]) {
    for (const process of processes) {
      const call = { ...first, ...other };
      await assert.rejects(
        run(owner, call, process),
        (error) => codeOf(error) === 'idempotency_key_reused',
        JSON.stringify(other),
      );
    }
  }
  assert.equal(await centsOf(owner), 1n);
});

test('of two different concurrent requests with one key, one has its effect and the other is refused', async () => {
  for (let round = 0; round < 10; round += 1) {
    const owner = await money.createOwner();
    const key = randomUUID();
    const results = await Promise.allSettled(
      processes.map((process, index) =>
        run(owner, { key, work: fundCent(owner), body: `{"n":${index}}` }, process),
      ),
    );
    const codes = results.flatMap((one) => (one.status === 'rejected' ? [codeOf(one.reason)] : []));
    assert.deepEqual(codes, ['idempotency_key_reused']);
    assert.equal(await centsOf(owner), 1n);
  }
});

test('keys of different accounts are independent', async () => {
  const [one, other] = [await money.createOwner(), await money.createOwner()];
  const key = randomUUID();
  await run(one, { key, work: fundCent(one) });
  assert.equal(isReplay(await run(other, { key, work: fundCent(other), body: '{"x":1}' })), false);
  assert.deepEqual([await centsOf(one), await centsOf(other)], [1n, 1n]);
});

test('without a key every request has its effect', async () => {
  const owner = await money.createOwner();
  await Promise.all(
    Array.from({ length: 5 }, () => run(owner, { key: undefined, work: fundCent(owner) })),
  );
  assert.equal(await centsOf(owner), 5n);
});

test('stored answers are sealed', async () => {
  const owner = await money.createOwner();
  const secret = `Gómez ${randomUUID()}`;
  await run(owner, { key: randomUUID(), work: fundCent(owner, JSON.stringify({ secret })) });
  const [row] = await money.rows<{ body: Buffer }>(
    'select body from idempotency_records where account_id = $1',
    [owner.accountId],
  );
  assert.ok(row !== undefined && !row.body.includes(Buffer.from(secret)));
});

test('after thirty days a key can be used anew, and older months are dropped', async () => {
  const owner = await money.createOwner();
  const [key, forgotten] = [randomUUID(), randomUUID()];
  await run(owner, { key, work: fundCent(owner) });
  await run(owner, { key: forgotten, work: fundCent(owner) });
  await money.advance((30 * daySeconds - 60) * 1000);
  assert.equal(isReplay(await run(owner, { key, work: fundCent(owner) })), true);
  await keepPartitions(money.db.system, { eventMonths: 1, webhookMonths: 1 }, 0);
  assert.equal(isReplay(await run(owner, { key, work: fundCent(owner) })), true);
  await money.advance(120_000);
  const results = await Promise.allSettled(
    processes.map((process) => run(owner, { key, work: fundCent(owner) }, process)),
  );
  assert.ok(results.every(({ status }) => status === 'fulfilled'));
  assert.equal(await centsOf(owner), 3n);
  await money.advance(61 * daySeconds * 1000);
  await run(owner, { key: 'the only one', work: fundCent(owner) });
  await Promise.all(
    processes.map((process) =>
      keepPartitions(process.db.system, { eventMonths: 1, webhookMonths: 1 }, 0),
    ),
  );
  const left = await money.rows<{ key: string }>(
    'select key from idempotency_records where account_id = $1',
    [owner.accountId],
  );
  assert.deepEqual(left, [{ key: 'the only one' }]);
});

test('work that needs a second connection does not starve with more keys than connections', async () => {
  const owner = await money.createOwner();
  const nested = (session: Session) =>
    fundCent(owner)(session).then(async () => {
      await money.db.system.query({ name: '', text: 'select 1' });
      return '{}';
    });
  // There are twelve connections. On a busy machine an account's requests wait for longer than they may.
  const insist = async (): Promise<Answer> => {
    const call = { key: randomUUID(), work: nested };
    for (let tries = 1; ; tries += 1) {
      try {
        return await run(owner, call);
      } catch (error) {
        const isBusy = /Too many requests of this account/.test(String(error));
        if (!isBusy || tries === 20) throw error;
      }
    }
  };
  await Promise.all(Array.from({ length: 20 }, insist));
  assert.equal(await centsOf(owner), 20n);
});

test('a key is 1 to 255 visible ASCII characters', () => {
  assert.equal(readKey(undefined), undefined);
  for (const good of ['x', '!', '~', 'a'.repeat(255), '"quoted"', randomUUID()]) {
    assert.equal(readKey(good), good);
  }
  fc.assert(
    fc.property(fc.string({ unit: 'binary', maxLength: 300 }), (text) => {
      const isGood = /^[!-~]{1,255}$/.test(text);
      if (isGood) assert.equal(readKey(text), text);
      else
        assert.throws(
          () => readKey(text),
          (error) => codeOf(error) === 'invalid_request',
        );
    }),
  );
  for (const bad of ['', ' ', 'a b', 'é', 'a'.repeat(256), 'a\tb', 'x\n', ['a', 'b']]) {
    assert.throws(
      () => readKey(bad),
      (error) => codeOf(error) === 'invalid_request',
    );
  }
});
