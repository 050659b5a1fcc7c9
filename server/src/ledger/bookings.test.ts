import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { AppError } from '../core/errors.ts';
import type { Booking } from './bookings.sql.ts';
import { bookBalance } from './bookings.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
afterEach(() => money.assertSound());
after(() => money[Symbol.asyncDispose]());

const book = ({ accountId }: Owner, booking: Partial<Booking>) =>
  bookBalance(
    money,
    { accountId, kind: 'adjust', reference: 'r', currency: 'USD', amountMinor: 1n, ...booking },
    { by: 'ada', reason: 'a correction' },
  );
const isRefused = (text: RegExp) => (error: unknown) =>
  error instanceof AppError && error.code === 'illegal_move' && text.test(error.message);

test('a reference is booked once, also by many at the same time', async () => {
  const owner = await money.createOwner({ USD: 1000n });
  const results = await Promise.all(
    Array.from({ length: 8 }, () => book(owner, { amountMinor: 50n, reference: 'wire 1' })),
  );
  assert.deepEqual(results.map(({ result }) => result).toSorted(), [
    'booked',
    ...Array.from({ length: 7 }, () => 'booked_before'),
  ]);
  assert.ok(results.every(({ balanceMinor }) => balanceMinor === 1050n));
  assert.equal(await money.balance(owner.accountId, 'USD'), 1050n);
  await assert.rejects(
    book(owner, { amountMinor: 51n, reference: 'wire 1' }),
    isRefused(/another amount/),
  );
});

test('a correction cannot exceed the balance', async () => {
  const owner = await money.createOwner({ USD: 20_200n });
  await money.quoteAndCommit(owner);
  await assert.rejects(book(owner, { amountMinor: -10_101n }), isRefused(/less than the amount/));
  assert.equal((await book(owner, { amountMinor: -10_100n })).balanceMinor, 0n);
});

test('bookings are entries of the statement, and events', async () => {
  const owner = await money.createOwner({ USD: 1000n });
  await book(owner, { amountMinor: 250n, reference: 'a' });
  await book(owner, { amountMinor: -50n, reference: 'b' });
  await book(owner, { kind: 'fund', amountMinor: 5n, reference: 'c', currency: 'EUR' });
  const entries = await money.rows<{ kind: string; wallet_balance: bigint }>(
    `select kind, wallet_balance from ledger_journals
     where account_id = $1 and source_currency = 'USD' order by id`,
    [owner.accountId],
  );
  assert.deepEqual(entries, [
    { kind: 'fund', wallet_balance: 1000n },
    { kind: 'adjust_credit', wallet_balance: 1250n },
    { kind: 'adjust_debit', wallet_balance: 1200n },
  ]);
  const events = await money.rows<{ type: string }>(
    `select type from events where account_id = $1 and type like 'balance.%' order by sequence`,
    [owner.accountId],
  );
  assert.deepEqual(
    events.map(({ type }) => type.slice(8)),
    ['funded', 'adjusted', 'adjusted', 'funded'],
  );
});
