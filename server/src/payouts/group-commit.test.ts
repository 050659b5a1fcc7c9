import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { readRows } from '../../testing/setups/read-rows.ts';
import { newId } from '../core/ids.ts';
import { createGroupCommit } from './group-commit.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const keyed = (key: string) => ({ key, fingerprint: Buffer.alloc(65, key) });

async function quoteMany(owner: Owner, count: number): Promise<string[]> {
  return Promise.all(Array.from({ length: count }, async () => (await money.quote(owner)).id));
}

/** An owner whose ledger accounts exist: the first commit of an account is never grouped. */
async function createReadyOwner(fundsMinor = 1_000_000_000n): Promise<Owner> {
  const owner = await money.createOwner({ USD: fundsMinor });
  await money.quoteAndCommit(owner);
  return owner;
}

async function statusOf(payoutId: string): Promise<string> {
  return (await money.payout(payoutId)).status;
}

/** Each transfer of a wallet stores the balance after it; the chain must be complete. */
async function assertChained(accountId: string): Promise<void> {
  const broken = await money.rows(
    `with side as (
       select currency, wallet_balance as after,
         wallet_balance + case when from_name = 'wallet' then amount else -amount end as before
       from ledger_transfers where account_id = $1 and wallet_balance is not null
     )
     select * from side s
     where s.before <> 0
       and not exists (select from side x where x.currency = s.currency and x.after = s.before)
     union all
     select currency, balance, null from ledger_accounts l
     where l.account_id = $1 and l.name = 'wallet' and l.balance <> 0
       and not exists (select from side x where x.currency = l.currency and x.after = l.balance)`,
    [accountId],
  );
  assert.deepEqual(broken, []);
}

test('a group commits valid payouts and leaves the others to single commits', async () => {
  const owner = await createReadyOwner();
  const [fine = '', other = '', ended = ''] = await quoteMany(owner, 3);
  await money.commit(owner, ended);
  const twin = await money.quote(owner, { clientTransferId: 'twin' });
  const sameTwin = await money.quote(owner, { clientTransferId: 'twin' });
  const verified = await money.quote(owner, { needsVerification: true });
  const expired = await money.quote(owner, { lockSeconds: 1 });
  const group = createGroupCommit(money.db, money.keys);
  await money.advance(2000);
  const ids = [fine, ended, twin.id, sameTwin.id, verified.id, expired.id, newId(), other];
  // The first runs alone at once; the others form one batch meanwhile.
  const bodies = await Promise.all(
    ids.map((payoutId) => group.submit({ ...owner, payoutId, requestKey: undefined })),
  );
  assert.deepEqual(
    bodies.map((body) => body !== undefined),
    [true, false, true, false, false, false, false, true],
  );
  assert.deepEqual(JSON.parse(bodies[0] ?? ''), {
    payout_token: `payout_${fine}`,
    status: 'success',
    pickup_code: '',
    errors: '',
  });
  assert.equal(await statusOf(sameTwin.id), 'PENDING');
  assert.equal(await statusOf(other), 'PROCESSING');
  await assertChained(owner.accountId);
  await money.assertSound();
});

test('concurrent commits of several accounts happen once each, with events numbered without gaps', async () => {
  const owners = await Promise.all(Array.from({ length: 4 }, () => createReadyOwner()));
  const group = createGroupCommit(money.db, money.keys);
  const commits = await Promise.all(
    owners.map(async (owner) => ({ owner, ids: await quoteMany(owner, 60) })),
  );
  const bodies = await Promise.all(
    commits.flatMap(({ owner, ids }) =>
      ids.map((payoutId) => group.submit({ ...owner, payoutId, requestKey: undefined })),
    ),
  );
  assert.ok(bodies.every((body) => body !== undefined));
  for (const { owner, ids } of commits) {
    const rows = await money.rows<{ first: bigint; last: bigint; count: bigint; events: bigint }>(
      `select min(sequence) as first, max(sequence) as last, count(*) as count,
         count(*) filter (where type = 'payout.processing' and subject_id = any ($2)) as events
       from events where account_id = $1`,
      [owner.accountId, ids],
    );
    const [row] = rows;
    assert.equal(row?.first, 1n);
    assert.equal(row?.last, row?.count);
    assert.equal(row?.events, 60n);
    await assertChained(owner.accountId);
  }
  await money.assertSound();
});

test('a group without sufficient funds is left to single commits, which use the funds fully', async () => {
  // The first commit took 101.00; the remaining funds cover exactly 20 quotes of 101.00.
  const owner = await createReadyOwner(10_100n * 21n);
  const ids = await quoteMany(owner, 40);
  const group = createGroupCommit(money.db, money.keys);
  const outcomes = await Promise.all(
    ids.map(async (payoutId) => {
      const body = await group.submit({ ...owner, payoutId, requestKey: undefined });
      return body === undefined ? (await money.commit(owner, payoutId)).result : 'success';
    }),
  );
  assert.equal(outcomes.filter((outcome) => outcome === 'success').length, 20);
  assert.equal(outcomes.filter((outcome) => outcome === 'insufficient_funds').length, 20);
  await assertChained(owner.accountId);
  await money.assertSound();
});

test('an idempotency key is stored with its answer, and a known one commits nothing', async () => {
  const owner = await createReadyOwner();
  const [first = '', second = ''] = await quoteMany(owner, 2);
  const group = createGroupCommit(money.db, money.keys);
  const key = keyed(randomUUID());
  const body = await group.submit({ ...owner, payoutId: first, requestKey: key });
  const [record] = await money.rows<{ body: Buffer; fingerprint: Buffer }>(
    'select body, fingerprint from idempotency_records where account_id = $1 and key = $2',
    [owner.accountId, key.key],
  );
  assert.equal(record?.body.toString(), body);
  assert.ok(record?.fingerprint.equals(key.fingerprint));
  assert.equal(await group.submit({ ...owner, payoutId: second, requestKey: key }), undefined);
  assert.equal(await statusOf(second), 'PENDING');
  await money.assertSound();
});

test('the same idempotency key in two processes at once has one effect', async () => {
  const owner = await createReadyOwner();
  const groups = [money.connect(), money.connect()].map((db) => createGroupCommit(db, money.keys));
  for (let round = 0; round < 10; round += 1) {
    const [first = '', second = ''] = await quoteMany(owner, 2);
    const key = keyed(randomUUID());
    const bodies = await Promise.all(
      groups.map((group, index) =>
        group.submit({ ...owner, payoutId: index === 0 ? first : second, requestKey: key }),
      ),
    );
    assert.equal(bodies.filter((body) => body !== undefined).length, 1);
    const states = await Promise.all([statusOf(first), statusOf(second)]);
    assert.deepEqual(states.toSorted(), ['PENDING', 'PROCESSING']);
  }
  await money.assertSound();
});

test('a failed batch is run one by one, and only the invalid command fails', async () => {
  const owner = await createReadyOwner();
  const ids = await quoteMany(owner, 12);
  const group = createGroupCommit(money.db, money.keys);
  const results = await Promise.allSettled([
    ...ids
      .slice(0, 6)
      .map((payoutId) => group.submit({ ...owner, payoutId, requestKey: undefined })),
    group.submit({ ...owner, payoutId: 'no uuid at all', requestKey: undefined }),
    ...ids.slice(6).map((payoutId) => group.submit({ ...owner, payoutId, requestKey: undefined })),
  ]);
  assert.deepEqual(
    results.map(({ status }) => status),
    [
      ...Array.from({ length: 6 }, () => 'fulfilled'),
      'rejected',
      ...Array.from({ length: 6 }, () => 'fulfilled'),
    ],
  );
  for (const id of ids) assert.equal(await statusOf(id), 'PROCESSING');
  await money.assertSound();
});

test('two processes with batches of the same accounts neither deadlock nor commit twice', async () => {
  const owners = await Promise.all(Array.from({ length: 3 }, () => createReadyOwner()));
  const groups = [
    createGroupCommit(money.connect(), money.keys),
    createGroupCommit(money.connect(), money.keys),
  ];
  const ids = await Promise.all(owners.map((owner) => quoteMany(owner, 40)));
  const bodies = await Promise.all(
    groups.flatMap((group) =>
      owners.flatMap((owner, index) =>
        (ids[index] ?? []).map((payoutId) =>
          group.submit({ ...owner, payoutId, requestKey: undefined }),
        ),
      ),
    ),
  );
  assert.equal(bodies.filter((body) => body !== undefined).length, 120);
  await money.assertSound();
});

test('a locked account delays only its own commits', async () => {
  const [stuck, free] = await Promise.all([createReadyOwner(), createReadyOwner()]);
  const [stuckIds, freeIds] = await Promise.all([quoteMany(stuck, 5), quoteMany(free, 5)]);
  const group = createGroupCommit(money.db, money.keys);
  const commit = (owner: Owner, ids: readonly string[]) =>
    Promise.all(ids.map((payoutId) => group.submit({ ...owner, payoutId, requestKey: undefined })));
  let isFree = false;
  const [stuckBodies, freeBodies] = await money.db
    .systemTransaction(async (session) => {
      await readRows(
        session,
        { name: 'hold_account', text: 'select 1 from accounts where id = $1 for update' },
        [stuck.accountId],
      );
      const waiting = commit(stuck, stuckIds).then((bodies) => {
        assert.ok(isFree, 'it was committed while its account was locked');
        return bodies;
      });
      const done = await commit(free, freeIds);
      isFree = true;
      return [waiting, done] as const;
    })
    .then(async ([waiting, done]) => [await waiting, done] as const);
  assert.ok([...stuckBodies, ...freeBodies].every((body) => body !== undefined));
  for (const id of [...stuckIds, ...freeIds]) assert.equal(await statusOf(id), 'PROCESSING');
  await money.assertSound();
});

test("a balance's statement is a complete chain after concurrent commits", async () => {
  const owner = await createReadyOwner();
  const ids = await quoteMany(owner, 60);
  const other = money.connect();
  const group = createGroupCommit(money.db, money.keys);
  await Promise.all(
    ids.map((payoutId, index) =>
      index % 3 === 0
        ? money.commit(owner, payoutId, index % 2 === 0 ? money.db : other)
        : group.submit({ ...owner, payoutId, requestKey: undefined }),
    ),
  );
  const rows = await money.rows<{ amount: bigint; after: bigint }>(
    `select case when to_name = 'wallet' then amount else -amount end as amount,
       wallet_balance as after
     from ledger_transfers
     where account_id = $1 and currency = 'USD' and wallet_balance is not null
     order by journal_id, line`,
    [owner.accountId],
  );
  let balance = 0n;
  for (const { amount, after: stated } of rows) {
    balance += amount;
    assert.equal(stated, balance);
  }
});
