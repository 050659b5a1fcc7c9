import assert from 'node:assert/strict';
import { test } from 'node:test';
import { writeBareEntry, writeBooking, writeReport } from '../../testing/setups/account-report.ts';
import { readBankFile } from './bank-file.ts';

const reference = '0123456789abcdef0123456789abcdef';
const dashed = '01234567-89ab-cdef-0123-456789abcdef';
const name = 'camt.053.001.08';
const statement = (entries: string): Buffer => Buffer.from(writeReport(entries, { name }));

const balance = (code: string, amount: string): string =>
  `<Bal><Tp><CdOrPrtry><Cd>${code}</Cd></CdOrPrtry></Tp><Amt Ccy="EUR">${amount}</Amt>
   <CdtDbtInd>CRDT</CdtDbtInd><Dt><Dt>2026-03-04</Dt></Dt></Bal>`;

test('a camt.053 gives its booked entries with our references in one form', () => {
  const { format, entries } = readBankFile(
    statement(
      writeBooking({ reference: dashed, number: 'B-1' }) +
        writeBooking({ reference: 'payroll', direction: 'CRDT', amount: '0.5' }) +
        writeBareEntry({ status: '<Cd>PDNG</Cd>' }),
    ),
  );
  assert.equal(format, 'camt.053');
  assert.deepEqual(
    entries.map(({ bookedOn, direction, currency, amountMinor, references, bankReference }) => [
      bookedOn,
      direction,
      currency,
      amountMinor,
      references,
      bankReference,
    ]),
    [
      ['2026-03-04', 'debit', 'EUR', 10_000n, [reference], 'B-1'],
      ['2026-03-04', 'credit', 'EUR', 50n, ['payroll'], ''],
    ],
  );
});

test('an entry has the same id in every file, and equal entries of a file are distinguished', () => {
  const twice = readBankFile(
    statement(writeBooking({ reference }) + writeBooking({ reference })),
  ).entries;
  const once = readBankFile(statement(writeBooking({ reference }))).entries;
  assert.equal(twice[0]?.id, once[0]?.id);
  assert.notEqual(twice[1]?.id, twice[0]?.id);
});

test('a statement whose entries do not lead from its opening to its closing balance is refused', () => {
  const balances = (closing: string): string =>
    balance('OPBD', '500.00') + balance('CLBD', closing);
  assert.equal(
    readBankFile(statement(balances('400.00') + writeBooking({ reference }))).entries.length,
    1,
  );
  assert.throws(() => readBankFile(statement(balances('399.99') + writeBooking({ reference }))), {
    code: 'invalid_request',
    message: /do not lead from the opening to the closing balance/,
  });
});

test('a batch is one entry: with the payments that it lists, or with its id and count', () => {
  const other = reference.replace('0', 'f');
  const list = [reference, other].map(
    (one) => `<TxDtls><Refs><EndToEndId>${one}</EndToEndId></Refs></TxDtls>`,
  );
  const listed = writeBareEntry({ entry: `<NtryDtls>${list.join('')}</NtryDtls>` });
  const named = writeBareEntry({
    entry: '<NtryDtls><Btch><PmtInfId>OUT-1</PmtInfId><NbOfTxs>7</NbOfTxs></Btch></NtryDtls>',
  });
  assert.deepEqual(
    readBankFile(statement(listed + named)).entries.map((entry) => [
      entry.references,
      entry.batchId,
      entry.batchCount,
    ]),
    [
      [[reference, other], '', 2],
      [[], 'OUT-1', 7],
    ],
  );
});

test('a CSV gives the same entries, with signs or with indicators, by commas or semicolons', () => {
  const signed = `booking_date,amount,currency,end_to_end_id\r\n2026-03-04,-100.00,EUR,${dashed}\r\n`;
  const indicated = `Currency;Amount;Credit_Debit_Indicator;Booking_Date;End_To_End_Id\nEUR;100;DBIT;2026-03-04;${reference}\n`;
  const [first, second] = [signed, indicated].map((text) => readBankFile(Buffer.from(text)));
  assert.equal(first?.format, 'csv');
  assert.deepEqual(second?.entries, first?.entries);
  assert.equal(first?.entries[0]?.direction, 'debit');
});

test('a file that cannot be read is refused with the place', () => {
  const head = 'booking_date,amount,currency,credit_debit_indicator\n';
  const refused: [file: string, detail: RegExp][] = [
    ['<a/>', /names no ISO 20022 message/],
    [writeReport(writeBooking({ reference })), /it is no camt\.053/],
    [writeReport(writeBooking({ reference, day: '' }), { name }), /entry 1\.1 has no booking date/],
    [`${head}2026-03-04,1,XXQ,\n`, /line 2: amount must be a decimal/],
    [`${head}2026-03-04,1.005,EUR,\n`, /line 2: amount must be a decimal/],
    [`${head}2026-03-04,-1,EUR,DBIT\n`, /line 2: amount must be a decimal/],
    [`${head}2026-02-30,1,EUR,\n`, /line 2: booking_date must be/],
    [`${head}2026-03-04,1,EUR,D\n`, /line 2: credit_debit_indicator must be/],
    ['amount,currency\n1,EUR\n', /first line has no column booking_date/],
    ['', /first line has no column booking_date, amount, currency/],
    ['\u00f7\u07fd', /first line has no column/],
    [`${head}0000-01-01,1,EUR,\n`, /booking_date must be/],
    [`${head}2026-03-04,"1,EUR,\n`, /is no CSV/],
  ];
  for (const [text, detail] of refused) {
    assert.throws(() => readBankFile(Buffer.from(text)), {
      code: 'invalid_request',
      message: detail,
    });
  }
});
