import assert from 'node:assert/strict';
import { test } from 'node:test';
import { receiptOf } from '../../testing/setups/receipt.ts';
import { composeReceipt, type ReceiptRow } from './document.ts';

const textsOf = (rows: readonly ReceiptRow[]) =>
  Object.fromEntries(rows.map(({ label, value }) => [label.text, value.text]));

const canceled = {
  status: 'CANCELLED',
  completedOn: '',
  canceledOn: '2026-11-20T06:00:00Z',
  refundAmount: '1253.5',
};

test('a canceled payout shows its refund with the date, and no total debited', () => {
  const { title, headline, amounts, dates } = composeReceipt(receiptOf(canceled));
  assert.equal(title, 'Payout cancellation');
  assert.deepEqual(headline, { label: 'Refunded', number: '1,253.50', currency: 'USD' });
  const total = amounts.find(({ isTotal }) => isTotal);
  assert.equal(total?.label, 'Refunded on 2026-11-20');
  assert.equal(total?.number, '1,253.50');
  assert.equal(textsOf(dates)['Canceled and refunded'], '2026-11-20 06:00:00 UTC');
  assert.equal(JSON.stringify(amounts).includes('debited'), false);
});

test('a payment of which only a part came back shows that part, and the rest as not canceled', () => {
  const returned = { ...canceled, completedOn: '2026-11-19T14:05:02', refundAmount: '420.15' };
  const amountsOf = (returnedAmount: string) =>
    composeReceipt(receiptOf({ ...returned, returnedAmount })).amounts.map(
      ({ label, number }) => `${label} ${number}`,
    );
  assert.deepEqual(amountsOf('7791.74').slice(-2), [
    'Amount to recipient 23,181.25',
    'Of this, returned 7,791.74',
  ]);
  assert.deepEqual(amountsOf('23181.25').slice(-2), [
    'Refunded on 2026-11-20 420.15',
    'Amount to recipient, canceled 23,181.25',
  ]);
});

test('a payout that was canceled before it ran says that nothing was debited', () => {
  const { title, headline, amounts, dates } = composeReceipt(
    receiptOf({
      status: 'CANCELLED',
      canceledOn: '2026-11-20T06:00:00Z',
      totalDebited: '0',
      refundAmount: '',
    }),
  );
  assert.equal(title, 'Payout cancellation');
  assert.equal(headline.label, 'Amount to recipient');
  const total = amounts.find(({ isTotal }) => isTotal);
  assert.deepEqual([total?.label, total?.number], ['Total debited', '0.00']);
  assert.equal(textsOf(dates)['Canceled'], '2026-11-20 06:00:00 UTC');
});

test('only a payout that goes through is called a receipt', () => {
  const titleOf = (status: string) => composeReceipt(receiptOf({ status })).title;
  assert.equal(titleOf('COMPLETED'), 'Payout receipt');
  assert.equal(titleOf('PROCESSING'), 'Payout receipt');
  assert.equal(titleOf('PENDING'), 'Payout quote');
  assert.equal(titleOf('SCHEDULED'), 'Scheduled payout');
  assert.equal(titleOf('ERROR'), 'Payout status');
});

test('a refused payout shows no pickup code to use, no arrival, and nothing as sent', () => {
  const refused = receiptOf({ status: 'ERROR', completedOn: '', pickupCode: '48271935' });
  const { pickupCode, dates, amounts } = composeReceipt(refused);
  assert.equal(pickupCode, '');
  assert.equal(textsOf(dates)['Estimated availability'], undefined);
  assert.deepEqual(
    amounts.map(({ label }) => label),
    ['Amount', 'Fee', 'Total debited', 'Amount to recipient, not sent'],
  );
});

test('a quote says until when it is valid, and when that is over', () => {
  const quote = receiptOf({ status: 'PENDING', issuedOn: '2026-11-19T14:17:10Z' });
  const { status } = composeReceipt(quote);
  assert.deepEqual(
    [status.name, status.reason?.text],
    ['Not committed', 'Valid until 2026-11-19 14:17:11 UTC'],
  );
  const late = composeReceipt({ ...quote, issuedOn: '2026-11-19T14:17:11Z' });
  assert.equal(late.status.name, 'Expired');
});

test('the pickup code stands by itself until the money is collected or comes back', () => {
  const cash = receiptOf({ status: 'READY_FOR_PICKUP', pickupCode: '48271935' });
  assert.equal(composeReceipt(cash).pickupCode, '4827 1935');
  assert.equal(textsOf(composeReceipt(cash).delivery)['Pickup code'], undefined);
  const collected = composeReceipt({ ...cash, status: 'COMPLETED' });
  assert.equal(collected.pickupCode, '');
  assert.equal(textsOf(collected.delivery)['Pickup code'], '48271935');
});

test('a payout on a chain shows the chain and the transaction hash', () => {
  const paid = { network: 'bitcoin', railReference: 'ab12', transactionHash: 'ab12' };
  const { delivery, references } = composeReceipt(receiptOf(paid));
  assert.equal(textsOf(delivery)['Network'], 'Bitcoin');
  assert.equal(textsOf(references)['Transaction hash'], 'ab12');
  assert.equal(textsOf(references)["Payer's reference"], undefined);
  const other = composeReceipt(receiptOf({ railReference: 'E2E-1', network: '' }));
  assert.equal(textsOf(other.references)["Payer's reference"], 'E2E-1');
});
