import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { parse } from 'csv-parse/sync';
import fc from 'fast-check';
import { createMoneyTest, type MoneyTest, type Owner } from '../../testing/setups/money.ts';
import { getCurrency } from '../core/currency.ts';
import { formatAmount } from '../core/money.ts';
import { findWallet, fundBalance } from '../ledger/ledger.ts';
import { readAccountReport } from '../rails/iso20022/camt.ts';
import { parseDocument } from '../rails/iso20022/xml.ts';
import { writeCamt053 } from './camt053.ts';
import { composeStatement } from './pdf.ts';
import { formatDay } from './period.ts';
import { writeCsv, writeJson } from './statement-view.ts';
import { readStatement, type Statement, type StatementWallet } from './statements.ts';

let money: MoneyTest;
before(async () => {
  money = await createMoneyTest();
});
after(() => money[Symbol.asyncDispose]());

const dayMs = 86_400_000;
const startOfDay = (ms: number): number => ms - (ms % dayMs);
const usd = getCurrency('USD');

/** One step in the life of an account; `index` chooses among its payouts. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('fund' as const), amount: fc.integer({ min: 0, max: 90_000 }) }),
  fc.record({
    kind: fc.constant('pay' as const),
    amount: fc.integer({ min: 1, max: 30_000 }),
    fee: fc.integer({ min: 0, max: 500 }),
  }),
  fc.record({
    kind: fc.constant('observe' as const),
    index: fc.nat(20),
    outcome: fc.constantFrom('paid', 'rejected', 'returned', 'hold'),
    part: fc.integer({ min: 1, max: 100 }),
  }),
  fc.record({ kind: fc.constant('clock' as const), hours: fc.integer({ min: 1, max: 60 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never;

type Life = Owner & { payouts: { id: string; destinationMinor: bigint }[] };

async function live(life: Life, one: Step): Promise<void> {
  if (one.kind === 'fund') {
    const amountMinor = BigInt(one.amount);
    await fundBalance(money.db.system, { ...life, currency: 'USD', amountMinor });
  } else if (one.kind === 'clock') {
    await money.advance(one.hours * 3_600_000);
  } else if (one.kind === 'pay') {
    const sourceMinor = BigInt(one.amount);
    const destinationMinor = sourceMinor * 18n;
    const quote = { sourceMinor, feeMinor: BigInt(one.fee), destinationMinor };
    const { id } = await money.quote(life, quote);
    const { result } = await money.commit(life, id);
    if (result === 'success') life.payouts.push({ id, destinationMinor });
  } else {
    const payout = life.payouts[one.index % Math.max(1, life.payouts.length)];
    if (payout === undefined) return;
    const amountMinor = (payout.destinationMinor * BigInt(one.part)) / 100n;
    const isPart = one.outcome === 'returned' && amountMinor > 0n;
    const changes = isPart ? { details: { amount: String(amountMinor) } } : {};
    await money.observe({ ...life, payoutId: payout.id }, one.outcome, changes);
  }
}

/** What all forms must agree on, amounts as decimal text with their sign. */
type Form = {
  opening: string;
  closing: string;
  entries: { reference: string; amount: string; balance: string | undefined }[];
};

async function collect(parts: AsyncIterable<string>): Promise<string> {
  let text = '';
  for await (const part of parts) text += part;
  return text;
}

const sign = (indicator: string, amount: string): string =>
  indicator === 'DBIT' ? `-${amount}` : amount;

function readJsonForm(text: string): Form {
  const body = JSON.parse(text, (_key, value: unknown, context?: { source?: string }) =>
    typeof value === 'number' ? (context?.source ?? String(value)) : value,
  ) as Record<string, string> & { entries: Record<string, string>[] };
  return {
    opening: body['opening_balance'] ?? '',
    closing: body['closing_balance'] ?? '',
    entries: body.entries.map((entry) => ({
      reference: entry['entry_reference'] ?? '',
      amount: sign(entry['credit_debit_indicator'] ?? '', entry['amount'] ?? ''),
      balance: entry['balance_after'],
    })),
  };
}

function readCsvForm(text: string): Form {
  const rows = parse<Record<string, string>>(text, { columns: true, record_delimiter: '\r\n' });
  const [first, last] = [rows.at(0), rows.at(-1)];
  assert.equal(first?.['type'], 'opening_balance');
  assert.equal(last?.['type'], 'closing_balance');
  return {
    opening: first?.['balance_after'] ?? '',
    closing: last?.['balance_after'] ?? '',
    entries: rows.slice(1, -1).map((row) => ({
      reference: row['entry_reference'] ?? '',
      amount: sign(row['credit_debit_indicator'] ?? '', row['amount'] ?? ''),
      balance: row['balance_after'],
    })),
  };
}

/** Read by the rail's own reader of account reports, but for the balances. */
function readCamtForm(text: string): Form {
  const parsed = parseDocument(Buffer.from(text));
  assert.ok(parsed.ok && parsed.messageName === 'camt.053.001.08');
  const report = readAccountReport(parsed.content);
  assert.deepEqual(report?.faults, []);
  const [opening = '', closing = ''] = Array.from(
    text.matchAll(/<Cd>(?:OPBD|CLBD)<\/Cd>.*?<Amt Ccy="USD">([\d.]+)<\/Amt>/g),
    ([, amount]) => amount ?? '',
  );
  const references = Array.from(text.matchAll(/<NtryRef>(.*?)<\/NtryRef>/g), ([, name]) => name);
  const entries = (report?.entries ?? []).map(({ booked, direction }, index) => ({
    reference: references[index] ?? '',
    amount: formatAmount((direction === 'debit' ? -1n : 1n) * (booked?.amountMinor ?? 0n), usd),
    balance: undefined,
  }));
  return { opening, closing, entries };
}

/** The PDF has no entry references; its rows are in the order of the others. */
async function readPdfRows(statement: Statement) {
  const { rows } = await composeStatement(statement, 'staging');
  const shorten = (amount: string): string => amount.replaceAll(',', '').replace(/\.?0+$/, '');
  const plain = (amount: string): string =>
    amount.includes('.') ? shorten(amount) : amount.replaceAll(',', '');
  return rows.map(([, , , amount, balance]) => ({
    amount: plain(amount),
    balance: plain(balance),
  }));
}

const minor = (amount: string): bigint => {
  const [whole = '', fraction = ''] = amount.replace('-', '').split('.');
  const value = BigInt(whole + fraction.padEnd(2, '0'));
  return amount.startsWith('-') ? -value : value;
};

/** Asserts that every form adds up and that they agree; answers what they say, and their bytes. */
async function readForms(statement: Statement): Promise<{ form: Form; bytes: string[] }> {
  const bytes = [
    await collect(writeJson(statement)),
    await collect(writeCsv(statement)),
    await collect(writeCamt053(statement, 'staging')),
  ];
  const [json, csv, camt] = [
    readJsonForm(bytes[0] ?? ''),
    readCsvForm(bytes[1] ?? ''),
    readCamtForm(bytes[2] ?? ''),
  ];
  for (const { opening, closing, entries } of [json, csv, camt]) {
    const moved = entries.reduce((sum, { amount }) => sum + minor(amount), 0n);
    assert.equal(minor(opening) + moved, minor(closing));
  }
  assert.deepEqual(csv, json);
  const withoutBalances = json.entries.map((entry) => ({ ...entry, balance: undefined }));
  assert.deepEqual(camt, { ...json, entries: withoutBalances });
  const rows = json.entries.map(({ amount, balance }) => ({ amount, balance: balance ?? '' }));
  assert.deepEqual(await readPdfRows(statement), [
    { amount: '', balance: json.opening },
    ...rows,
    { amount: '', balance: json.closing },
  ]);
  return { form: json, bytes };
}

async function openWallet({ accountId }: Owner): Promise<StatementWallet> {
  const [row] = await money.rows<{ token: string }>(
    "select token from ledger_accounts where account_id = $1 and name = 'wallet'",
    [accountId],
  );
  assert.ok(row !== undefined);
  const wallet = await findWallet(money.db.tenant(accountId), { accountId, token: row.token });
  assert.ok(wallet !== undefined);
  return { accountId, ...wallet };
}

async function readDays(wallet: StatementWallet, firstMs: number, lastMs: number) {
  const days: { form: Form; bytes: string[] }[] = [];
  for (let ms = firstMs; ms <= lastMs; ms += dayMs) {
    const day = formatDay(new Date(ms));
    const session = money.db.tenant(wallet.accountId);
    const statement = await readStatement(session, wallet, { firstDay: day, lastDay: day });
    assert.ok(statement !== undefined);
    days.push(await readForms(statement));
  }
  return days;
}

test('for every life of payouts, opening + movements = closing in each form, and the forms agree', async () => {
  const lives = fc.array(step, { minLength: 5, maxLength: 30 });
  await fc.assert(
    fc.asyncProperty(lives, lives, async (steps, later) => {
      const life: Life = { ...(await money.createOwner({ USD: 50_000n })), payouts: [] };
      const firstMs = startOfDay(money.clock.nowMs());
      for (const one of steps) await live(life, one);
      await money.advance(dayMs);
      const wallet = await openWallet(life);
      const lastMs = startOfDay(money.clock.nowMs()) - dayMs;
      const days = await readDays(wallet, firstMs, lastMs);
      assert.equal(days[0]?.form.opening, '0');
      for (const [index, { form }] of days.entries()) {
        if (index > 0) assert.equal(form.opening, days[index - 1]?.form.closing);
      }
      // The range has the entries of its days, and leads to the balance.
      const period = {
        firstDay: formatDay(new Date(firstMs)),
        lastDay: formatDay(new Date(lastMs)),
      };
      const session = money.db.tenant(life.accountId);
      const range = await readStatement(session, wallet, period);
      assert.ok(range !== undefined);
      const { form } = await readForms(range);
      assert.deepEqual(
        form.entries,
        days.flatMap((day) => day.form.entries),
      );
      assert.equal(minor(form.closing), await money.balance(life.accountId, 'USD'));
      // Whatever happens afterwards changes no byte of them.
      for (const one of later) await live(life, one);
      const again = await readDays(wallet, firstMs, lastMs);
      assert.deepEqual(
        again.map(({ bytes }) => bytes),
        days.map(({ bytes }) => bytes),
      );
    }),
    { numRuns: 8 },
  );
  await money.assertSound();
});
