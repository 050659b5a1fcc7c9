import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { stepBack } from '../../testing/setups/clock-step.ts';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { bookBalance } from '../ledger/bookings.ts';
import { selectEntries } from '../ledger/ledger.sql.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { closeReceipts } from '../receipts/receipt.ts';
import { hasCamt053 } from './camt053.ts';
import { writeStatementPdf } from './pdf.ts';
import { formatDay, readPeriod } from './period.ts';
import { writeCsv } from './statement-view.ts';
import { readStatement, type StatementWallet } from './statements.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(async () => {
  closeReceipts();
  await money[Symbol.asyncDispose]();
});

const dayMs = 86_400_000;
const today = (): string => formatDay(new Date(money.clock.nowMs()));

async function getWallet({ accountId }: Owner, currency = 'USD'): Promise<StatementWallet> {
  const [row] = await money.rows<{ token: string }>(
    "select token from ledger_accounts where account_id = $1 and currency = $2 and name = 'wallet'",
    [accountId, currency],
  );
  assert.ok(row !== undefined);
  return { accountId, currency, token: row.token };
}

function read(wallet: StatementWallet, firstDay: string, lastDay = firstDay) {
  return readStatement(money.db.tenant(wallet.accountId), wallet, { firstDay, lastDay });
}

test('a day has no statement before it has ended', async () => {
  const wallet = await getWallet(await money.createOwner({ USD: 100n }));
  const day = today();
  assert.equal(await read(wallet, day), undefined);
  await money.advance(dayMs);
  assert.equal((await read(wallet, day))?.closingBalance, 100n);
});

test('a day before the balance was opened is empty', async () => {
  const wallet = await getWallet(await money.createOwner({ USD: 100n }));
  const statement = await read(wallet, '2020-02-29');
  assert.deepEqual(
    [statement?.openingBalance, statement?.credits, statement?.debits, statement?.closingBalance],
    [0n, 0n, 0n, 0n],
  );
});

test('a statement waits for a transaction that may still post into the day', async () => {
  const owner = await money.createOwner({ USD: 100n });
  const wallet = await getWallet(owner);
  const day = today();
  const { promise: posted, resolve: post } = Promise.withResolvers<void>();
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();
  const funding = money.db.systemTransaction(async (session) => {
    await fundBalance(session, { ...owner, currency: 'USD', amountMinor: 50n });
    post();
    await ended;
  });
  await posted;
  await money.advance(dayMs);
  const reading = read(wallet, day);
  const isWaiting = async (): Promise<boolean> => {
    const [row] = await money.rows<{ count: number }>(
      `select count(*)::integer as count from pg_stat_activity
       where datname = current_database() and wait_event_type = 'Lock'
         and query like '%close_period%'`,
    );
    return row?.count === 1;
  };
  while (!(await isWaiting()));
  end();
  await funding;
  assert.equal((await reading)?.closingBalance, 150n);
});

test('statements have every entry once and fit together, even where a clock went back', async () => {
  const owner = await money.createOwner();
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 0n });
  const wallet = await getWallet(owner);
  // Posted in this order, at these hours after the first midnight.
  for (const [index, hours] of [1, 25, 23, 2, 26, 49, 47, 50].entries()) {
    await money.rows(
      `insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
         wallet_balance, created_at)
       values ($1, journal_id(journal_time(), $2, gen_random_uuid()), 'fund', 'USD', 10, $3, $4)`,
      [
        owner.accountId,
        index,
        BigInt(10 * (index + 1)),
        new Date(Date.UTC(2020, 0, 1) + hours * 3_600_000),
      ],
    );
  }
  const days = await Promise.all(
    ['2020-01-01', '2020-01-02', '2020-01-03'].map((day) => read(wallet, day)),
  );
  assert.equal(days[0]?.openingBalance, 0n);
  assert.equal(days[1]?.openingBalance, days[0]?.closingBalance);
  assert.equal(days[2]?.openingBalance, days[1]?.closingBalance);
  assert.equal(days[2]?.closingBalance, 80n);
  assert.equal(
    days.reduce((sum, day) => sum + Number(day?.credits), 0),
    8,
  );
});

test('entries stay in the order of posting after a step back of the clock', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  await money.advance(dayMs);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n });
  const payout = await stepBack(money, 2, async () => {
    await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 2n });
    const committed = await money.quoteAndCommit(owner);
    await money.observe(committed, 'paid');
    const booking = {
      ...owner,
      kind: 'fund',
      reference: 'a',
      currency: 'USD',
      amountMinor: 3n,
    } as const;
    await bookBalance(money, booking, { by: 'ada', reason: 'a test' });
    return committed;
  });
  await money.observe(payout, 'returned');
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 4n });
  await money.advance(dayMs);
  const dayOf = (daysAgo: number): string =>
    formatDay(new Date(money.clock.nowMs() - daysAgo * dayMs));
  const statement = await read(await getWallet(owner), dayOf(3), dayOf(1));
  const kinds = (await Array.fromAsync(statement?.entries() ?? [])).flat().map(({ kind }) => kind);
  const listed = await selectEntries(money.db.tenant(owner.accountId), {
    accountId: owner.accountId,
    currency: 'USD',
    before: undefined,
    type: undefined,
    count: 100,
  });
  const posted = ['fund', 'fund', 'fund', 'commit', 'commit', 'fund', 'return', 'fund'];
  assert.deepEqual(kinds, posted);
  assert.deepEqual(listed.map(({ kind }) => kind).toReversed(), posted);
  for (const [index, { amount, balance_after: after }] of listed.entries()) {
    assert.equal(after - amount, listed[index + 1]?.balance_after ?? 0n);
  }
  await money.assertSound();
});

test('a statement stays as it was read although the clock goes back behind its end', async () => {
  const owner = await money.createOwner({ USD: 100n });
  const wallet = await getWallet(owner);
  const day = today();
  await money.advance(dayMs - (money.clock.nowMs() % dayMs) + 3_600_000);
  const next = today();
  assert.equal((await read(wallet, day))?.closingBalance, 100n);
  await stepBack(money, 2, () =>
    fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 7n }),
  );
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 8n });
  await money.advance(dayMs);
  const [first, second] = [await read(wallet, day), await read(wallet, next)];
  assert.deepEqual([first?.credits, first?.closingBalance], [1n, 100n]);
  assert.deepEqual([second?.openingBalance, second?.credits], [100n, 2n]);
  assert.equal(second?.closingBalance, 115n);
  const change = 'update statement_ends set last_id = gen_random_uuid()';
  await money.refuse(change, [], {
    states: ['23001'],
    what: 'the ends of statements are immutable',
  });
  const states = ['42501'];
  await money.refuseTenant(
    owner.accountId,
    { text: change },
    { states, what: 'permission denied' },
  );
});

test('a client_transfer_id that begins like a formula is text in the CSV', async () => {
  const owner = await money.createOwner({ USD: 100_000n });
  await money.quoteAndCommit(owner, { clientTransferId: '=1+1' });
  const day = today();
  await money.advance(dayMs);
  const statement = await read(await getWallet(owner), day);
  assert.ok(statement !== undefined);
  const text = (await Array.fromAsync(writeCsv(statement))).join('');
  assert.match(text, /,"'=1\+1",USD\r\n/);
});

test('the PDF has several pages and the same bytes again', async () => {
  const owner = await money.createOwner({ USD: 100_000_000n });
  for (let count = 0; count < 40; count += 1) {
    await money.quoteAndCommit(owner, { clientTransferId: `会社-${count}-${'x'.repeat(40)}` });
  }
  const day = today();
  await money.advance(dayMs);
  const wallet = await getWallet(owner);
  const statement = await read(wallet, day);
  assert.ok(statement !== undefined);
  const first = await writeStatementPdf(statement, 'staging');
  assert.match(Buffer.from(first).toString('latin1'), /^%PDF-.*\/Count [2-9]/s);
  await money.advance(dayMs);
  const again = await read(wallet, day);
  assert.ok(again !== undefined);
  assert.deepEqual(await writeStatementPdf(again, 'staging'), first);
});

test('camt.053 holds currencies of ISO 4217 only', () => {
  assert.equal(hasCamt053('KWD'), true);
  assert.equal(hasCamt053('BTC'), false);
  assert.equal(getCurrency('USDC').isCrypto && hasCamt053('USDC'), false);
});

test('a period is a day, a month or a range, and every fault is named', () => {
  assert.deepEqual(readPeriod({ date: '2026-02-28' }), {
    firstDay: '2026-02-28',
    lastDay: '2026-02-28',
  });
  assert.deepEqual(readPeriod({ month: '2028-02' }), {
    firstDay: '2028-02-01',
    lastDay: '2028-02-29',
  });
  assert.deepEqual(readPeriod({ from: '2026-01-01', to: '2027-01-01' }), {
    firstDay: '2026-01-01',
    lastDay: '2027-01-01',
  });
  const refused = [
    [{}, ['date']],
    [{ date: '2026-01-01', month: '2026-01' }, ['month']],
    [{ from: '2026-01-01' }, ['to']],
    [{ date: '2026-01-01', to: '2025-12-31' }, ['from', 'from']],
    [{ from: '2026-01-02', to: '2026-01-01' }, ['to']],
    [{ date: '0000-01-01' }, ['date']],
    [{ month: '1969-12' }, ['month']],
    [{ from: '2026-01-01', to: '2027-01-02' }, ['to']],
  ] as const;
  for (const [query, parameters] of refused) {
    assert.throws(
      () => readPeriod(query),
      (error: unknown) => {
        assert.ok(error instanceof AppError);
        const named = error.options.faults?.map(({ parameter }) => parameter);
        assert.deepEqual(named, parameters);
        return true;
      },
    );
  }
});
