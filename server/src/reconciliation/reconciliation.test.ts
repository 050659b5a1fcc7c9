import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { writeBareEntry, writeReport } from '../../testing/setups/account-report.ts';
import { stepBack } from '../../testing/setups/clock-step.ts';
import { runCommand } from '../../testing/setups/commands.ts';
import {
  type CommittedPayout,
  createFakeRail,
  createMoneyTest,
  type MoneyTest,
  type Owner,
} from '../../testing/setups/money.ts';
import { twoPersonsAbove } from '../../testing/setups/policy.ts';
import { newId } from '../core/ids.ts';
import { decidePayout } from '../exceptions/decisions.ts';
import { createStore } from '../rails/host/host.ts';
import {
  closePeriod,
  decideMatch,
  importBankFile,
  listOpen,
  type PeriodKey,
} from './reconciliation.ts';

let money: MoneyTest;
let owner: Owner;
/** Each test has a rail of its own. */
let rail: string;
let count = 0;

before(async () => {
  money = await createMoneyTest();
  owner = await money.createOwner({ USD: 100_000_000n });
});
beforeEach(() => {
  count += 1;
  rail = `bank_${count}`;
});
after(async () => {
  await money.assertSound();
  await money[Symbol.asyncDispose]();
});

const dayMs = 86_400_000;
const today = (): string => new Date(money.clock.nowMs()).toISOString().slice(0, 10);

/** Payouts of this many MXN cents each, paid through the rail today. */
async function settle(...amounts: bigint[]): Promise<CommittedPayout[]> {
  const payouts: CommittedPayout[] = [];
  for (const destinationMinor of amounts) {
    payouts.push(await money.quoteAndCommit(owner, { destinationMinor, rail }));
  }
  const dispatcher = money.createDispatcherOf([
    { ...createFakeRail(() => ({ outcome: 'paid' })), name: rail },
  ]);
  while ((await dispatcher.runDue()) > 0);
  return payouts;
}

type Line = { amount: string; reference?: string | undefined; bank?: string; day?: string };

const writeFile = (...lines: Line[]): Buffer =>
  Buffer.from(
    `booking_date,amount,currency,end_to_end_id,bank_reference\n${lines
      .map(({ amount, reference = '', bank = '', day = today() }) =>
        [day, amount, 'MXN', reference, bank].join(','),
      )
      .join('\n')}`,
  );

const importFile = (...lines: Line[]) =>
  importBankFile(money, { rail, bytes: writeFile(...lines), importedBy: 'Ana' });

/** By amount: entries of one day have no order among themselves. */
const readOpen = async () => {
  const { inBankOnly, inLedgerOnly } = await listOpen(money.db, { rail });
  const sortAmounts = (entries: readonly { amount: bigint }[]): bigint[] =>
    entries.map(({ amount }) => amount).toSorted((one, other) => Number(one - other));
  return { bank: sortAmounts(inBankOnly), ledger: sortAmounts(inLedgerOnly) };
};

const close = (changes: Partial<PeriodKey> = {}) => {
  const day = today();
  const period = { rail, currency: 'MXN', firstDay: day, lastDay: day, ...changes };
  return closePeriod(money, { ...period, closedBy: 'Ana' });
};

test('equal entries of bank and ledger are matched, and the rest is listed both ways', async () => {
  const [paid, missing] = await settle(10_000n, 20_000n);
  const report = await importFile(
    { amount: '-100', reference: paid?.reference },
    { amount: '-5', bank: 'FEE-1' },
  );
  assert.deepEqual(report, { isNew: true, newEntries: 2, knownEntries: 0, matched: 1 });
  assert.deepEqual(await readOpen(), { bank: [500n], ledger: [20_000n] });
  const { inLedgerOnly } = await listOpen(money.db, { rail, currency: 'MXN', firstDay: today() });
  assert.equal(inLedgerOnly[0]?.reference, missing?.reference);
  assert.deepEqual(await listOpen(money.db, { rail, lastDay: '2020-01-01' }), {
    inBankOnly: [],
    inLedgerOnly: [],
  });
});

test('importing a file again, or its entries in another file, changes nothing', async () => {
  const [payout] = await settle(10_000n);
  const lines = [{ amount: '-100', reference: payout?.reference }, { amount: '-7' }];
  await importFile(...lines);
  const again = await importFile(...lines);
  assert.deepEqual(again, { isNew: false, newEntries: 0, knownEntries: 0, matched: 0 });
  const longer = await importFile(...lines, { amount: '-8' });
  assert.deepEqual(longer, { isNew: true, newEntries: 1, knownEntries: 2, matched: 0 });
  assert.deepEqual(await readOpen(), { bank: [700n, 800n], ledger: [] });
});

test('a file that several operators import at the same time is stored and matched once', async () => {
  const [first, second] = await settle(10_000n, 20_000n);
  const lines = [
    { amount: '-100', reference: first?.reference },
    { amount: '-200', reference: second?.reference },
  ];
  const reports = await Promise.all([
    ...Array.from({ length: 4 }, () => importFile(...lines)),
    // Other files with the same entries, in another order.
    importFile(...lines.toReversed()),
    importFile({ amount: '-5' }, ...lines),
  ]);
  const sum = (read: (report: (typeof reports)[number]) => number): number =>
    reports.reduce((total, report) => total + read(report), 0);
  assert.equal(
    sum(({ isNew }) => Number(isNew)),
    3,
  );
  assert.equal(
    sum(({ newEntries }) => newEntries),
    3,
  );
  assert.equal(
    sum(({ matched }) => matched),
    2,
  );
  assert.deepEqual(await readOpen(), { bank: [500n], ledger: [] });
});

test('an entry that came before its settlement is matched at the next import', async () => {
  const payout = await money.quoteAndCommit(owner, { destinationMinor: 10_000n, rail });
  await importFile({ amount: '-100', reference: payout.reference });
  assert.deepEqual(await readOpen(), { bank: [10_000n], ledger: [] });
  await settle();
  assert.equal((await importFile({ amount: '-1' })).matched, 1);
});

test('a debit and its return are matched by the bank reference of each', async () => {
  const payout = await money.quoteAndCommit(owner, { destinationMinor: 10_000n, rail });
  const paying = createFakeRail(() => ({ outcome: 'paid', providerReference: 'DEBIT-1' }));
  await money.createDispatcherOf([{ ...paying, name: rail }]).runDue();
  await money.observe(payout, 'returned', { details: { provider_reference: 'RETURN-1' } });
  await importFile({ amount: '-100', bank: 'DEBIT-1' }, { amount: '100', bank: 'RETURN-1' });
  assert.deepEqual(await readOpen(), { bank: [], ledger: [] });
});

test('a return of what was written off is matched by its own bank reference', async () => {
  const payout = await money.quoteAndCommit(owner, { destinationMinor: 10_000n, rail });
  const refusing = createFakeRail(() => ({
    outcome: 'rejected',
    reason: 'other',
    providerReference: 'DEBIT-1',
  }));
  const dispatcher = money.createDispatcherOf([{ ...refusing, name: rail }]);
  await dispatcher.runDue();
  const paid = await money.observe(payout, 'paid', { source: 'file' });
  assert.equal(paid, 'exception');
  const decision = {
    ...payout,
    action: 'write_off',
    decidedBy: 'Ana',
    reason: 'paid twice',
  } as const;
  const decided = await decidePayout(
    {
      db: money.db,
      keys: money.keys,
      dispatcher,
      rates: () => ({ find: () => ({ ok: false, reason: 'unknown', detail: '' }) }),
      readPolicy: twoPersonsAbove(1_000_000),
    },
    { ...decision, operatorId: newId() },
  );
  assert.equal(decided, 'done');
  const details = { provider_reference: 'RETURN-1' };
  await money.observe(payout, 'returned', { source: 'file', details });
  await importFile({ amount: '-100', bank: 'DEBIT-1' }, { amount: '100', bank: 'RETURN-1' });
  assert.deepEqual(await readOpen(), { bank: [], ledger: [] });
});

test('a return is matched with the credit of the bank', async () => {
  const [payout] = await settle(10_000n);
  assert.ok(payout !== undefined);
  await money.observe(payout, 'returned');
  const { matched } = await importFile(
    { amount: '-100', reference: payout.reference },
    { amount: '100', reference: payout.reference },
  );
  assert.equal(matched, 2);
  assert.deepEqual(await readOpen(), { bank: [], ledger: [] });
});

test('a batch that the bank books as one amount is matched by the file that Outlay sent', async () => {
  const payouts = await settle(10_000n, 20_000n, 30_000n);
  const references = payouts.map(({ reference }) => reference);
  const group = { id: 'OUT-1-1', currency: 'MXN', references: references.slice(0, 2) };
  const value = { name: 'OUT-1.xml', xml: '', groups: [group], deliveries: 1 };
  await createStore(rail, money.db, money.keys).write([
    { collection: 'files', key: 'OUT-1', revision: 0, next: { state: 'delivered', value } },
  ]);
  const batch = '<Btch><PmtInfId>OUT-1-1</PmtInfId><NbOfTxs>2</NbOfTxs></Btch>';
  const entry = `<NtryDtls>${batch}</NtryDtls>`;
  const booking = writeBareEntry({ amount: '300.00', currency: 'MXN', entry });
  const bytes = Buffer.from(writeReport(booking, { name: 'camt.053.001.08' }));
  const { matched } = await importBankFile(money, { rail, bytes, importedBy: 'Ana' });
  assert.equal(matched, 1);
  assert.deepEqual(await readOpen(), { bank: [], ledger: [30_000n] });
});

test('a rail that nothing was paid through is refused', async () => {
  await assert.rejects(importFile({ amount: '-1' }), { code: 'not_found' });
});

test('a person links items of equal sums, and explains what has no counterpart', async () => {
  await settle(10_000n, 20_000n);
  await importFile({ amount: '-300', bank: 'SUM-1' }, { amount: '-5' });
  const { inBankOnly, inLedgerOnly } = await listOpen(money.db, { rail });
  const find = (amount: bigint): string =>
    inBankOnly.find((entry) => entry.amount === amount)?.id ?? '';
  const settlements = inLedgerOnly.map((item) => item.journal_id);
  const context = { db: money.db, keys: money.keys };
  const person = { rail, reason: 'the bank booked the run as one amount' };
  const link = (ids: readonly string[]) =>
    runCommand(context, 'reconciliation link', {
      ...person,
      entries: find(30_000n),
      settlements: ids.join(' '),
    });
  await assert.rejects(link(settlements.slice(1)), /sums of the bank and of the ledger differ/);
  await assert.rejects(link([newId()]), /unknown, named twice or matched already/);
  assert.deepEqual(await link(settlements), { result: 'done' });
  await assert.rejects(link(settlements), /matched already/);
  await runCommand(context, 'reconciliation explain', {
    ...person,
    reason: 'a charge for the account',
    entries: find(500n),
  });
  assert.deepEqual(await readOpen(), { bank: [], ledger: [] });
  const rows = await money.rows<{ kind: string; decided_by: string; reason: string }>(
    'select kind, decided_by, reason from reconciliation_matches where rail = $1 order by kind',
    [rail],
  );
  assert.deepEqual(rows, [
    { kind: 'explained', decided_by: 'test-owner', reason: 'a charge for the account' },
    { kind: 'linked', decided_by: 'test-owner', reason: 'the bank booked the run as one amount' },
  ]);
});

test('a period is closed only when nothing is open and the sums agree', async () => {
  const [first, second] = await settle(10_000n, 20_000n);
  const day = today();
  await importFile({ amount: '-100', reference: first?.reference }, { amount: '-5' });
  await assert.rejects(close(), { code: 'illegal_move', message: /has not ended/ });
  await money.advance(dayMs);
  const period = { firstDay: day, lastDay: day };
  await assert.rejects(close(period), {
    code: 'illegal_move',
    message: /1 bank entries and 1 settlements match nothing/,
  });
  // The bank books the second payment on the next day.
  await importFile({ amount: '-200', reference: second?.reference });
  const { inBankOnly } = await listOpen(money.db, { rail });
  await decideMatch(money.db, {
    rail,
    entryIds: inBankOnly.map(({ id }) => id),
    itemIds: [],
    decidedBy: 'Ana',
    reason: 'a charge for the account',
  });
  assert.deepEqual(await close(period), {
    bank_movement: 10_500n,
    ledger_movement: 30_000n,
    bank_explained: 500n,
    ledger_explained: 0n,
    carried: -20_000n,
  });
  await assert.rejects(close(period), /overlaps one that is closed/);
  await assert.rejects(importFile({ amount: '-9', day }), {
    code: 'illegal_move',
    message: /new entries in a period that is closed/,
  });
  const next = today();
  await money.advance(dayMs);
  const { bank_movement: bank, carried } = await close({ firstDay: next, lastDay: next });
  assert.deepEqual([bank, carried], [20_000n, 20_000n]);
});

test('matches, entries and closed periods cannot be changed', async () => {
  const states = ['23001'];
  for (const text of [
    'update reconciliation_matches set reason = reason',
    'delete from bank_entries',
    'update bank_entries set amount = 1',
    'update settlement_items set amount = 1',
    'delete from reconciliation_periods',
  ]) {
    await money.refuse(text, [], { states, what: text });
  }
});

test('a client sees nothing of the bank', async () => {
  for (const table of ['bank_entries', 'settlement_items', 'reconciliation_matches']) {
    await money.refuseTenant(
      owner.accountId,
      { text: `select from ${table}` },
      { states: ['42501'], what: table },
    );
  }
});

test('a settlement is found although the clock of the database was set back before it', async () => {
  await settle(10_000n);
  await importFile({ amount: '-1' });
  assert.deepEqual(await readOpen(), { bank: [100n], ledger: [10_000n] });
  await money.advance(dayMs);
  await stepBack(money, 1, () => settle(20_000n));
  await importFile({ amount: '-2' });
  assert.deepEqual(await readOpen(), { bank: [100n, 200n], ledger: [10_000n, 20_000n] });
});
