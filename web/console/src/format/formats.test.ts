import assert from 'node:assert/strict';
import { test } from 'node:test';
import { findGaps, guessMapping, writeSheet } from '../pages/batch/columns.ts';
import { writePayoutFilters } from '../pages/payout-search.ts';
import { describeAmountFault, formatAmount, formatRate, formatTick, readAmount } from './amount.ts';
import { writeCsvLine } from './csv.ts';
import { decodeCsv, readCsv } from './csv-reader.ts';
import { formatLength, formatTimeSeconds } from './time.ts';
import { nameAttribute, nameOffer } from './words.ts';

test('amounts have the minor digits of their currency, and lose none of their own', () => {
  assert.equal(formatAmount('1839.9', 'MXN'), '1,839.90');
  assert.equal(formatAmount('1839', 'JPY'), '1,839');
  assert.equal(formatAmount('1.5', 'KWD'), '1.500');
  assert.equal(formatAmount('0.1', 'BTC'), '0.10000000');
  assert.equal(
    formatAmount('12345678901234567.123456789', 'USD'),
    '12,345,678,901,234,567.123456789',
  );
  assert.equal(formatAmount('-1.25', 'USD'), '-1.25');
  assert.equal(formatRate('0.0102904564315'), '0.010290456432');
});

test('an amount is read as a person writes it, and nothing else is', () => {
  assert.equal(readAmount(' 1,250.50 '), '1250.50');
  assert.equal(readAmount('007'), '7');
  assert.equal(readAmount('1,250,000'), '1250000');
  assert.equal(readAmount('1 250 000'), '1250000');
  assert.equal(readAmount("1'250'000.5"), '1250000.5');
  for (const text of ['', '0', '0.00', '-5', '1e3', 'ten', '1.2.3']) {
    assert.equal(readAmount(text), undefined, text);
  }
});

test('a decimal comma is refused with the remedy, and never multiplies an amount', () => {
  for (const text of [
    '10,50',
    '10,5',
    '1,250',
    '10,500',
    '1.250,00',
    '1,25.00',
    '1250,000',
    '12,34,567',
    '1,250 000',
  ]) {
    assert.equal(readAmount(text), undefined, text);
  }
  assert.match(describeAmountFault('10,50') ?? '', /decimals behind a point and no comma/);
  assert.match(describeAmountFault('ten') ?? '', /above zero/);
  assert.equal(describeAmountFault('1,250.50'), undefined);
});

test('times are UTC, and lengths have two units', () => {
  assert.equal(formatTimeSeconds('2026-11-22T18:04:02'), '22 Nov 2026, 18:04:02');
  assert.equal(formatTimeSeconds(''), '—');
  assert.equal(formatLength(90_061), '1 d 1 h');
  assert.equal(formatLength(59.6), '1 min');
  assert.equal(formatLength(0), '0 s');
});

test('a spreadsheet runs nothing of an export', () => {
  assert.equal(writeCsvLine(['=1+1', '-12.5', '@x', 'a"b,c']), `'=1+1,-12.5,'@x,"a""b,c"\r\n`);
});

test('files of spreadsheets are read: separators, quotes, line ends, empty lines', () => {
  assert.deepEqual(readCsv('\uFEFFa;b\r\n"1;2";"say ""hi"""\r\n\r\n3;\n'), [
    ['a', 'b'],
    ['1;2', 'say "hi"'],
    ['3', ''],
  ]);
  assert.throws(() => readCsv('a,b\n"open,1'), SyntaxError);
});

test('a file that cannot be shown as it is, is refused with its line', () => {
  // A decimal comma without quotes moves every cell behind it.
  assert.throws(() => readCsv('id,amount,currency\n1,10,50,MXN\n'), /Line 2 has 4 cells.* 3/);
  assert.throws(() => readCsv('a,b\n"x"y,1\n'), /behind a closing quote/);
  assert.deepEqual(readCsv('a,b\n1, "x,y" \n'), [
    ['a', 'b'],
    ['1', 'x,y'],
  ]);
  assert.deepEqual(readCsv('"a;b;c",d\n"1;2",3\n'), [
    ['a;b;c', 'd'],
    ['1;2', '3'],
  ]);
  assert.deepEqual(readCsv('a;b\n1\n;2'), [
    ['a', 'b'],
    ['1', ''],
    ['', '2'],
  ]);
});

test('files are read as UTF-8 or UTF-16, and no letter is lost without a word', () => {
  const bytes = (...values: number[]) => new Uint8Array(values);
  assert.equal(decodeCsv(new TextEncoder().encode('\uFEFFnäme')), 'näme');
  assert.equal(decodeCsv(bytes(0xff, 0xfe, 0x61, 0, 0xe4, 0)), 'aä');
  assert.equal(decodeCsv(bytes(0xfe, 0xff, 0, 0x61)), 'a');
  assert.throws(() => decodeCsv(bytes(0x61, 0xe4, 0x62)), /Save it as CSV UTF-8/);
});

test('the file is sent as it was shown, regardless of quotes and line ends', () => {
  const mapping = ['client_transfer_id', '', 'metadata.note'];
  const shown = ['a;b', 'left out', ' "quoted"\r\nsecond, line '];
  const sent = writeSheet({ header: ['id', 'x', 'note'], rows: [shown] }, mapping);
  assert.deepEqual(readCsv(sent), [
    ['client_transfer_id', 'metadata.note'],
    ['a;b', ' "quoted"\r\nsecond, line '],
  ]);
  assert.deepEqual(
    findGaps(['source_amount', 'source_amount']).at(-1),
    'Only one column for: Amount to send',
  );
});

test('columns are guessed once each, gaps are named, and the sheet is written as mapped', () => {
  const header = ['Invoice', 'Employee ID', 'Amount', 'Currency', 'Method', 'Note', 'amount'];
  const mapping = guessMapping(header);
  assert.deepEqual(mapping, [
    'client_transfer_id',
    'internal_user_id',
    'source_amount',
    'destination_currency_code',
    'delivery_type',
    '',
    '',
  ]);
  assert.deepEqual(findGaps(mapping), []);
  assert.deepEqual(findGaps(['client_transfer_id', 'source_amount']), [
    'The recipient',
    'The currency to arrive',
    'The delivery or the payer',
  ]);
  const rows = [['a-1', 'e"1', '=5', 'MXN', 'BANK_DEPOSIT', 'left out', '']];
  assert.equal(
    writeSheet({ header, rows }, mapping).split('\r\n')[1],
    'a-1,"e""1",=5,MXN,BANK_DEPOSIT',
  );
});

test('a search text is a token, metadata, or an identifier', () => {
  assert.deepEqual(writePayoutFilters({ q: 'payout_1', status: 'HOLD' }), {
    status: 'HOLD',
    payout_token: 'payout_1',
  });
  assert.deepEqual(writePayoutFilters({ q: 'run=a=b' }), { metadata: { run: 'a=b' } });
  assert.deepEqual(writePayoutFilters({ q: 'invoice-1' }), { client_transfer_id: 'invoice-1' });
});

test('a card is named as what the service has of it, and an unusual form of account is named', () => {
  const card = { CardNumber: '****KG66', BillReferenceNumber: 'customer 42' };
  assert.equal(nameAttribute('CardNumber', card), 'Token of the card');
  assert.equal(nameAttribute('BillReferenceNumber', card), 'Reference of the cardholder');
  const bill = { BillReferenceNumber: 'INV-1' };
  assert.equal(nameAttribute('BillReferenceNumber', bill), 'Bill reference number');
  assert.equal(nameOffer('BANK_DEPOSIT', 'stored_card'), 'Bank deposit · Stored card');
  assert.equal(nameOffer('BANK_DEPOSIT', ''), 'Bank deposit');
});

test('the ticks of a chart fit its edge, however many payouts there are', () => {
  const ticks = [0, 2, 400, 1500, 40_000, 1_250_000, 300_000_000].map(formatTick);
  assert.deepEqual(ticks, ['0', '2', '400', '1.5K', '40K', '1.3M', '300M']);
});
