import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { stepBack } from '../../testing/setups/clock-step.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { bookBalance } from '../ledger/bookings.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { readStatement } from '../statements/statements.ts';
import { exportJournal } from './journal.ts';
import { periodOf, reportMonth } from './month-report.ts';

let money: MoneyTest;
let folder: string;
let files = 0;
before(async () => {
  money = await createMoneyTest();
  folder = mkdtempSync(join(tmpdir(), 'outlay-journal-'));
});
after(async () => {
  await money[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true });
});

const readMonth = (): string => new Date(money.clock.nowMs()).toISOString().slice(0, 7);

async function write(month: string, accountId?: string) {
  files += 1;
  const path = join(folder, `${files}.csv`);
  const exported = await exportJournal(money.db, path, { month, accountId });
  assert.ok(exported !== undefined);
  const [head = [], ...lines] = readFileSync(path, 'utf8')
    .trimEnd()
    .split('\r\n')
    .map((line) => line.split(','));
  const rows = lines.map((cells) =>
    Object.fromEntries(head.map((name, index) => [name, cells[index] ?? ''])),
  );
  return { ...exported, rows, text: readFileSync(path, 'utf8') };
}

/** In billionths of a unit, which no currency goes beyond. */
const minorOf = (text: string): bigint => {
  const [whole = '', fraction = ''] = text.split('.');
  return BigInt(`${whole}${fraction.padEnd(9, '0')}`);
};

const advanceToNextMonth = async (): Promise<void> =>
  money.advance(periodOf(readMonth()).to.getTime() - money.clock.nowMs() + 1000);

/** A month with partial returns, an excess, charges and a payment after its refund. */
async function makeMonth(): Promise<Owner & { exceeded: CommittedPayout }> {
  const owner = await money.createOwner({ USD: 1_000_000n });
  const paid = await money.quoteAndCommit(owner, { destinationMinor: 180_007n });
  const refused = await money.quoteAndCommit(owner);
  const rail = createFakeRail(({ reference }) => ({
    ...(reference === paid.reference
      ? { outcome: 'paid' }
      : { outcome: 'rejected', reason: 'account_closed' }),
    charges: [{ id: 'gas', kind: 'network', currency: 'ETH', amountMinor: 21_001n }],
  }));
  await money.createDispatcher(rail).drain();
  for (const amount of ['1', '60003', '200000']) {
    await money.observe(paid, 'returned', { source: 'callback', details: { amount } });
  }
  await money.observe(refused, 'paid', { source: 'callback' });
  return { ...owner, exceeded: paid };
}

test('the journal of a month leads from its opening to its closing balances', async () => {
  await fundBalance(money.db.system, { ...(await makeMonth()), currency: 'KWD', amountMinor: 1n });
  await advanceToNextMonth();
  await makeMonth();
  const month = readMonth();
  assert.equal(
    await exportJournal(money.db, join(folder, 'open.csv'), { month, accountId: undefined }),
    undefined,
    'a month that has not ended has none',
  );
  await advanceToNextMonth();
  await makeMonth();

  const { rows, entries, totals } = await write(month);
  assert.equal(entries, rows.length);
  assert.equal(new Set(rows.map((row) => row['entry_reference'])).size, rows.length);
  const moved = new Map<string, bigint>();
  const add = (row: Record<string, string>, name: string | undefined, minor: bigint): void => {
    const key = [row['account_id'], row['currency_code'], name].join(' ');
    moved.set(key, (moved.get(key) ?? 0n) + minor);
  };
  for (const row of rows) {
    assert.equal(row['booking_time']?.slice(0, 7), month);
    add(row, row['debit_account'], -minorOf(row['amount'] ?? ''));
    add(row, row['credit_account'], minorOf(row['amount'] ?? ''));
  }
  const report = await reportMonth(money.db, {
    environment: 'staging',
    month,
    accountId: undefined,
  });
  assert.equal(report.has_ended, true);
  for (const line of report.ledger) {
    const key = [line.account_id, line.currency, line.ledger_account].join(' ');
    const expected = line.movement.startsWith('-')
      ? -minorOf(line.movement.slice(1))
      : minorOf(line.movement);
    assert.equal(moved.get(key) ?? 0n, expected, key);
    moved.delete(key);
  }
  assert.deepEqual([...moved.keys()], []);
  const ether = totals.find((total) => total.currency_code === 'ETH');
  assert.deepEqual(ether, { currency_code: 'ETH', entries: 2, amount: '0.000042002' });
  await money.assertSound();
});

test('it has the references of the statement, and the same bytes whenever it is written', async () => {
  const { accountId, exceeded } = await makeMonth();
  for (const [reference, amountMinor] of Object.entries({ 'wire 4711': 5n, 'case 12': -5n })) {
    const kind = amountMinor > 0n ? 'fund' : 'adjust';
    const booking = { accountId, kind, reference, currency: 'USD', amountMinor } as const;
    await bookBalance(money, booking, { by: 'ada', reason: 'a test' });
  }
  await bookBalance(
    money,
    { ...exceeded, kind: 'suspense', reference: 'repaid', currency: 'MXN', amountMinor: -5n },
    { by: 'ada', reason: 'a test' },
  );
  const month = readMonth();
  await advanceToNextMonth();
  const { rows, text } = await write(month, accountId);
  assert.deepEqual(
    rows.flatMap((row) =>
      row['booking_reference'] ? [[row['type'], row['booking_reference']]] : [],
    ),
    [
      ['suspense_debit', 'repaid'],
      ['fund', 'wire 4711'],
      ['adjust_debit', 'case 12'],
    ],
  );
  const days = periodOf(month);
  const statement = await readStatement(
    money.db.tenant(accountId),
    { accountId, currency: 'USD', token: accountId },
    {
      firstDay: days.from.toISOString().slice(0, 10),
      lastDay: new Date(days.to.getTime() - 1).toISOString().slice(0, 10),
    },
  );
  const stated: string[] = [];
  for await (const part of statement?.entries() ?? []) {
    stated.push(...part.map(({ reference }) => reference));
  }
  const ofWallet = rows.filter(
    (row) => row['debit_account'] === 'wallet' || row['credit_account'] === 'wallet',
  );
  assert.deepEqual(
    ofWallet.map((row) => row['entry_reference']),
    stated,
  );
  await fundBalance(money.db.system, { accountId, currency: 'USD', amountMinor: 5n });
  assert.equal((await write(month, accountId)).text, text);
  await money.assertSound();
});

test('a month that was closed stays as it was although the clock goes back behind its end', async () => {
  const { accountId } = await money.createOwner({ USD: 100n });
  const month = readMonth();
  await advanceToNextMonth();
  const next = readMonth();
  const { text } = await write(month, accountId);
  await stepBack(money, 2, () =>
    fundBalance(money.db.system, { accountId, currency: 'USD', amountMinor: 700n }),
  );
  const read = async (of: string): Promise<unknown> => {
    const report = await reportMonth(money.db, { environment: 'staging', month: of, accountId });
    assert.equal(report.adds_up, true);
    const wallet = report.ledger.find((line) => line.ledger_account === 'wallet');
    return [wallet?.opening, wallet?.movement, wallet?.closing, report.lines[0]?.count];
  };
  assert.deepEqual(await read(month), ['0', '1', '1', 1]);
  assert.deepEqual(await read(next), ['1', '7', '8', 1]);
  assert.equal((await write(month, accountId)).text, text);
});

test('a journal that begins on one page and ends on the next is whole', async () => {
  const owner = await money.createOwner({ USD: 1_000_000n });
  await money.rows(
    `insert into ledger_journals (account_id, id, kind, source_currency, source_amount,
       wallet_balance, created_at)
     select $1, journal_id(t.time, n, gen_random_uuid()), 'fund', 'USD', 1, 1000000 + n,
       environment_now()
     from next_journal_time($1) t (time), generate_series(1, 997) n`,
    [owner.accountId],
  );
  await money.quoteAndCommit(owner);
  await fundBalance(money.db.system, { ...owner, currency: 'USD', amountMinor: 1n });
  const month = readMonth();
  await advanceToNextMonth();
  const { rows, entries } = await write(month, owner.accountId);
  assert.equal(entries, 1002);
  assert.deepEqual(
    rows.slice(-5).map((row) => [row['type'], row['debit_account'], row['credit_account']]),
    [
      ['fund', 'external', 'wallet'],
      ['commit', 'wallet', 'fx'],
      ['commit', 'wallet', 'fees'],
      ['commit', 'fx', 'in_transit:fake'],
      ['fund', 'external', 'wallet'],
    ],
  );
  assert.equal(new Set(rows.map((row) => row['entry_reference'])).size, entries);
});
