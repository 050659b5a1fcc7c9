import { computeFee, formatMinor } from './amounts.ts';
import type { BookedBatch, BookedItem } from './paypal-books.ts';

/** Batches, items and errors as PayPal shows them. */

const origin = 'https://api-m.sandbox.paypal.com';

const link = (rel: string, path: string) => ({ href: origin + path, rel, method: 'GET' });

export function showBatchHeader(batch: BookedBatch): object {
  const { id, senderBatchId, emailSubject, status, createdAtMs, atMs } = batch;
  return {
    payout_batch_id: id,
    batch_status: status,
    time_created: showTime(createdAtMs),
    ...(status === 'SUCCESS' ? { time_completed: showTime(atMs) } : {}),
    sender_batch_header: { sender_batch_id: senderBatchId, email_subject: emailSubject },
    ...(status === 'SUCCESS' ? { funding_source: 'BALANCE' } : {}),
  };
}

export function showCreated(batch: BookedBatch): object {
  const { payout_batch_id, batch_status, sender_batch_header } = showBatchHeader(batch) as {
    payout_batch_id: string;
    batch_status: string;
    sender_batch_header: object;
  };
  return {
    batch_header: { payout_batch_id, batch_status, sender_batch_header },
    links: [link('self', `/v1/payments/payouts/${batch.id}`)],
  };
}

/** A batch that is not processed shows no items yet. */
export function showBatch(batch: BookedBatch, page: { number: number; size: number }): object {
  const isShown = batch.status !== 'PENDING';
  const from = (page.number - 1) * page.size;
  const items = isShown ? batch.items.slice(from, from + page.size) : [];
  return {
    batch_header: showBatchHeader(batch),
    items: items.map((item) => showItem(batch, item)),
    links: [link('self', `/v1/payments/payouts/${batch.id}`)],
  };
}

export function showItem(batch: BookedBatch, item: BookedItem): object {
  const { currency, status, error } = item;
  return {
    payout_item_id: item.id,
    ...(status === 'PENDING' || status === 'FAILED' ? {} : { transaction_id: item.transactionId }),
    transaction_status: status,
    payout_item_fee: {
      currency,
      value: formatMinor(status === 'PENDING' ? 0n : computeFee(item), currency),
    },
    payout_batch_id: batch.id,
    sender_batch_id: batch.senderBatchId,
    payout_item: {
      recipient_type: item.recipientType,
      amount: { currency, value: item.value },
      receiver: item.receiver,
      sender_item_id: item.senderItemId,
      recipient_wallet: 'PAYPAL',
    },
    time_processed: showTime(item.atMs),
    ...(error === '' ? {} : { errors: showError(error, `simulated: ${error}`) }),
    links: [link('item', `/v1/payments/payouts-item/${item.id}`)],
  };
}

export function showError(name: string, message: string, details: readonly object[] = []): object {
  return {
    name,
    message,
    debug_id: '5e1d5c0debu91',
    information_link: 'https://developer.paypal.com/docs/api/payments.payouts-batch/#errors',
    details,
    links: [],
  };
}

export function showTime(atMs: number): string {
  return `${new Date(atMs).toISOString().slice(0, 19)}Z`;
}

/** A transaction of the report; undefined where no money has moved. */
export function showTransaction(
  { createdAtMs }: BookedBatch,
  item: BookedItem,
): object | undefined {
  const { currency, value, status } = item;
  const code = {
    SUCCESS: 'S',
    UNCLAIMED: 'P',
    ONHOLD: 'P',
    BLOCKED: 'P',
    RETURNED: 'V',
    REFUNDED: 'V',
    REVERSED: 'V',
    PENDING: '',
    FAILED: '',
  }[status];
  if (code === '') return undefined;
  const fee = computeFee(item);
  return {
    transaction_info: {
      transaction_id: item.transactionId,
      transaction_event_code: 'T0001',
      transaction_initiation_date: showTime(createdAtMs),
      transaction_updated_date: showTime(item.atMs),
      transaction_amount: { currency_code: currency, value: `-${value}` },
      fee_amount: { currency_code: currency, value: `-${formatMinor(fee, currency)}` },
      transaction_status: code,
      custom_field: item.senderItemId,
    },
  };
}

/** The transaction by which a payout came back; undefined where it did not. */
export function showReturn(item: BookedItem, isBare: boolean): object | undefined {
  const { currency, value, status, transactionId, atMs } = item;
  if (status !== 'RETURNED' && status !== 'REFUNDED' && status !== 'REVERSED') return undefined;
  return {
    transaction_info: {
      transaction_id: `${transactionId}R`,
      paypal_reference_id: transactionId,
      paypal_reference_id_type: 'TXN',
      transaction_event_code: status === 'REVERSED' ? 'T1114' : 'T1115',
      transaction_initiation_date: showTime(atMs),
      transaction_updated_date: showTime(atMs),
      transaction_amount: { currency_code: currency, value },
      transaction_status: 'S',
      ...(isBare ? {} : { custom_field: item.senderItemId }),
    },
  };
}

/** A payout by somebody else, of which this account is the recipient: its amount is positive. */
export function showReceived(senderItemId: string, atMs: number): object {
  return {
    transaction_info: {
      transaction_id: 'RECEIVED000000001',
      transaction_event_code: 'T0001',
      transaction_initiation_date: showTime(atMs),
      transaction_updated_date: showTime(atMs),
      transaction_amount: { currency_code: 'USD', value: '1.00' },
      transaction_status: 'S',
      custom_field: senderItemId,
    },
  };
}
