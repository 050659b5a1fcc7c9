import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { createFakeRail, createMoneyTest, type MoneyTest } from '../../testing/setups/money.ts';
import { bookBalance } from '../ledger/bookings.ts';
import { reportMonth, writeCsv } from './month-report.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
  month = new Date().toISOString().slice(0, 7);
});
after(() => money[Symbol.asyncDispose]());

// Not while the file is loaded: the tests may begin in another month.
let month: string;
const report = (accountId?: string, of = month) =>
  reportMonth(money.db, { environment: 'staging', month: of, accountId });

test('a month adds up to the ledger, by client, rail and corridor', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const other = await money.createOwner({ USD: 500_000n });
  const { accountId } = owner;
  await bookBalance(
    money,
    { accountId, kind: 'adjust', reference: 'a', currency: 'USD', amountMinor: -700n },
    { by: 'ada', reason: 'a typo' },
  );
  const paid = await money.quoteAndCommit(owner);
  const refused = await money.quoteAndCommit(owner);
  await money.quoteAndCommit(other);
  const rail = createFakeRail(({ reference }) =>
    reference === refused.reference
      ? { outcome: 'rejected', reason: 'account_closed' }
      : { outcome: 'paid' },
  );
  await money.createDispatcher(rail).drain();
  await money.observe(paid, 'returned');
  await money.assertSound();

  const all = await report();
  assert.equal(all.adds_up, true);
  assert.equal(all.has_ended, false);
  const balances = await money.rows<{
    account_id: string;
    currency: string;
    name: string;
    balance: bigint;
  }>('select account_id, currency, name, balance from ledger_accounts');
  for (const { account_id: id, currency, name, balance } of balances) {
    const shown = all.ledger.find(
      (row) => row.account_id === id && row.currency === currency && row.ledger_account === name,
    );
    assert.equal(minorOf(shown?.closing ?? '0'), balance, `${currency} ${name}`);
    assert.equal(shown?.closing, shown?.movement, 'nothing was there before');
  }

  const mine = await report(accountId);
  assert.deepEqual(
    mine.lines.map((line) => [line.kind, line.count, line.source_amount, line.country]),
    [
      ['adjust_debit', 1, '7', ''],
      ['commit', 2, '200', 'MEX'],
      ['complete', 1, '100', 'MEX'],
      ['fund', 1, '10000', ''],
      ['refund', 1, '100', 'MEX'],
      ['return', 1, '100', 'MEX'],
    ],
  );
  assert.deepEqual(
    mine.earned.find(({ currency }) => currency === 'USD')?.fees,
    '1',
    'the fee of the returned one stays, that of the refused one does not',
  );
  const csv = writeCsv(mine).trimEnd().split('\r\n');
  assert.equal(csv.length, 1 + mine.lines.length);
  assert.match(csv[0] ?? '', /^account_id,account_name,kind,rail,country/);
});

test('payouts that were all refunded leave no margin, whatever their rates were rounded to', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  for (const midRate of ['18.200031', '18.3000177', '18.199999']) {
    await money.quoteAndCommit(owner, { midRate });
  }
  const rail = createFakeRail(() => ({ outcome: 'rejected', reason: 'account_closed' }));
  await money.createDispatcher(rail).drain();
  const { earned, lines } = await report(owner.accountId);
  assert.deepEqual(
    lines.map(({ kind, fx_margin: margin }) => [kind, margin]),
    [
      ['commit', '70'],
      ['fund', ''],
      ['refund', '-70'],
    ],
  );
  assert.deepEqual(earned, [
    { currency: 'MXN', fees: '0', fx_margin: '0' },
    { currency: 'USD', fees: '0', fx_margin: '0' },
  ]);
});

test('a month without postings has only the balances that stay', async () => {
  const later = await report(undefined, '2099-01');
  assert.equal(later.adds_up, true);
  assert.deepEqual(later.lines, []);
  assert.ok(later.ledger.every(({ opening, closing }) => opening === closing));
  const before = await report(undefined, '2001-01');
  assert.deepEqual([before.has_ended, before.ledger], [true, []]);
});

function minorOf(text: string): bigint {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(2, '0')}`);
}
