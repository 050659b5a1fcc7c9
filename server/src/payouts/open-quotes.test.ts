import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { type BatchTest, createBatchTest, names } from '../../testing/setups/batches.ts';
import type { Owner } from '../../testing/setups/money.ts';
import { quoteBatch } from '../batches/quote.ts';
import { AppError } from '../core/errors.ts';
import { storeRecords } from '../http/idempotency.ts';
import { createGroupCommit, createGroupQuote } from './group-commit.ts';
import { deleteEndedQuoteCounts, setOpenQuoteLimits, valueInUsd } from './open-quotes.ts';

let batches: BatchTest;
let money: BatchTest['money'];

before(async () => {
  batches = await createBatchTest();
  money = batches.money;
});
after(() => batches[Symbol.asyncDispose]());

async function createLimited(countMax: number, usdMax: number): Promise<Owner> {
  const owner = await batches.createOwner(10_000_000n);
  const { accountId } = owner;
  await setOpenQuoteLimits(money.db.system, { accountId, countMax, usdMax });
  return owner;
}

function isRefused(detail: RegExp, hasWait = true) {
  return (error: unknown): boolean => {
    assert.ok(error instanceof AppError && error.code === 'open_quotes_exceeded', String(error));
    assert.match(error.message, detail);
    const { retryAfterSeconds } = error.options;
    assert.equal(retryAfterSeconds !== undefined, hasWait);
    assert.ok((retryAfterSeconds ?? 1) >= 1 && (retryAfterSeconds ?? 1) <= 88_200);
    return true;
  };
}

async function readCounts({ accountId }: Owner) {
  const [row] = await money.rows<{ count: string; usd: string }>(
    `select coalesce(sum(quote_count), 0)::text as count, coalesce(sum(usd_amount), 0)::text as usd
     from open_quotes where account_id = $1`,
    [accountId],
  );
  return row;
}

test('an account has no more open quotes than its limit; committed ones make room', async () => {
  const owner = await createLimited(2, 1000);
  const first = await money.quote(owner);
  await money.quote(owner);
  await assert.rejects(money.quote(owner), isRefused(/may have at most 2 open quotes and has 2$/));
  assert.equal((await money.commit(owner, first.id)).result, 'success');
  assert.deepEqual(await readCounts(owner), { count: '1', usd: '10000' });
  // Again: the commit of a committed payout makes no further room.
  assert.equal((await money.commit(owner, first.id)).result, 'success');
  await money.quote(owner);
  await assert.rejects(money.quote(owner), isRefused(/has 2$/));
  const quotes = await money.rows('select from payout_quotes where account_id = $1', [
    owner.accountId,
  ]);
  assert.equal(quotes.length, 3);
  const events = await money.rows('select from events where account_id = $1', [owner.accountId]);
  assert.equal(events.filter(Boolean).length >= 4, true);
});

test('open quotes are limited by their value', async () => {
  const owner = await createLimited(100, 250);
  await money.quote(owner);
  await assert.rejects(
    money.quote(owner, { usdMinor: 15_001n }),
    isRefused(/worth at most 250 USD and has 100(?:\.00)? USD; this one is worth 150\.01 USD/),
  );
  await money.quote(owner, { usdMinor: 15_000n });
  await assert.rejects(
    money.quote(owner, { usdMinor: 25_001n }),
    isRefused(/this one is worth 250\.01 USD$/, false),
  );
});

test('expired quotes make room, and their counts are deleted', async () => {
  const owner = await createLimited(1, 1000);
  await money.quote(owner, { lockSeconds: 60 });
  await assert.rejects(money.quote(owner), isRefused(/has 1$/));
  await money.rows(
    `update open_quotes set ends_at = ends_at - interval '5 minutes' where account_id = $1`,
    [owner.accountId],
  );
  await money.quote(owner, { lockSeconds: 86_400 });
  assert.equal(await deleteEndedQuoteCounts(money.db.system), false);
  assert.deepEqual(await readCounts(owner), { count: '1', usd: '10000' });
  await assert.rejects(money.quote(owner), isRefused(/has 1$/));
});

test('concurrent quotes of several processes never exceed the limit', async () => {
  const [limited, other] = [await createLimited(10, 1000), await createLimited(1000, 100_000)];
  const groups = [money.db, money.connect(), money.connect()].map((db) =>
    createGroupQuote(db, storeRecords),
  );
  const results = await Promise.all(
    Array.from({ length: 120 }, async (_, index) => {
      const owner = index % 2 === 0 ? limited : other;
      const command = money.describeQuote(owner);
      const group = groups[index % groups.length];
      const row = await group?.inserts.submit({ command, keyed: undefined });
      return { owner, row };
    }),
  );
  const stored = (owner: Owner) =>
    results.filter((result) => result.owner === owner && result.row !== undefined);
  assert.equal(stored(limited).length, 10);
  assert.equal(stored(other).length, 60);
  assert.deepEqual(await readCounts(limited), { count: '10', usd: '100000' });
  const commits = createGroupCommit(money.db, money.keys);
  await Promise.all(
    stored(limited).map(({ owner, row }) =>
      commits.submit({ ...owner, payoutId: row?.id ?? '', requestKey: undefined }),
    ),
  );
  assert.deepEqual(await readCounts(limited), { count: '0', usd: '0' });
});

test('a quoted batch counts as one quote with the value of its rows', async () => {
  const owner = await createLimited(2, 450);
  const id = await batches.createQuoted(owner, batches.describe(owner, names(3, 'counted')));
  assert.equal((await batches.batchOf(id))['usd_amount'], 30_000n);
  // Quoting it again does not count it twice.
  await quoteBatch(batches.services, { accountId: owner.accountId, batchId: id });
  await money.quote(owner);
  await assert.rejects(money.quote(owner), isRefused(/may have at most 2 open quotes and has 2$/));
  const second = batches.describe(owner, names(1, 'beyond'));
  await assert.rejects(batches.createQuoted(owner, second), isRefused(/and has 2$/));
  await setOpenQuoteLimits(money.db.system, {
    accountId: owner.accountId,
    countMax: 10,
    usdMax: undefined,
  });
  await assert.rejects(batches.createQuoted(owner, second), isRefused(/this one is worth 100/));
});

test('the value of a quote is rounded up, and 0 without a price', () => {
  const rates = batches.services.rates();
  assert.equal(valueInUsd(rates, 'USD', 12_345n), 12_345n);
  assert.equal(valueInUsd(rates, 'MXN', 1n), 1n);
  assert.equal(valueInUsd(rates, 'MXN', 180_000n), 10_000n);
  assert.equal(valueInUsd(rates, 'KES', 180_000n), 0n);
});
