import { z } from 'zod';
import { findCurrency, getCurrency } from '../../../src/core/currency.ts';
import { getAmountMinor, parseAmount } from '../../../src/core/money.ts';
import { formatMinor } from './amounts.ts';
import { type Lifecycle, newPaypalId } from './lifecycle.ts';
import type { BookedBatch, BookedItem, PaypalBooks } from './paypal-books.ts';
import type { SimulatorOptions } from './simulator-options.ts';
import {
  showBatch,
  showCreated,
  showError,
  showItem,
  showReceived,
  showReturn,
  showTime,
  showTransaction,
} from './views.ts';
import type { WebhookSender } from './webhook-sender.ts';

/** What the simulated PayPal answers to requests with a token. */

export type PaypalState = {
  readonly books: PaypalBooks;
  readonly lifecycle: Lifecycle;
  readonly webhooks: WebhookSender;
  readonly webhookId: string;
  readonly webhookUrl: string;
  readonly nowMs: () => number;
  options: SimulatorOptions;
};

export type PaypalRequest = {
  readonly method: string;
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type Reply = {
  readonly status: number;
  readonly json: object;
  readonly headers?: Readonly<Record<string, string>>;
};

type Route = {
  readonly method: string;
  readonly path: RegExp;
  answer(state: PaypalState, request: PaypalRequest, id: string): Reply;
};

const routes: readonly Route[] = [
  { method: 'POST', path: /^\/v1\/payments\/payouts$/, answer: createBatch },
  { method: 'GET', path: /^\/v1\/payments\/payouts\/([^/]+)$/, answer: readBatch },
  { method: 'GET', path: /^\/v1\/payments\/payouts-item\/([^/]+)$/, answer: readItem },
  { method: 'POST', path: /^\/v1\/payments\/payouts-item\/([^/]+)\/cancel$/, answer: cancelItem },
  { method: 'GET', path: /^\/v1\/reporting\/transactions$/, answer: listTransactions },
  { method: 'GET', path: /^\/v1\/reporting\/balances$/, answer: listBalances },
  { method: 'GET', path: /^\/v1\/notifications\/webhooks\/([^/]+)$/, answer: readWebhook },
  { method: 'GET', path: /^\/v1\/notifications\/webhooks-events$/, answer: listEvents },
  {
    method: 'POST',
    path: /^\/v1\/notifications\/verify-webhook-signature$/,
    answer: ({ webhooks }, { body }) => ({
      status: 200,
      json: { verification_status: webhooks.verify(body) ? 'SUCCESS' : 'FAILURE' },
    }),
  },
];

const notFound: Reply = {
  status: 404,
  json: showError('RESOURCE_NOT_FOUND', 'The specified resource does not exist.'),
};

export function answerRequest(state: PaypalState, request: PaypalRequest): Reply {
  for (const route of routes) {
    const match = route.path.exec(request.url.pathname);
    if (match === null || route.method !== request.method) continue;
    return route.answer(state, request, match[1] ?? '');
  }
  return notFound;
}

const orderSchema = z.object({
  sender_batch_header: z.object({
    sender_batch_id: z.string().min(1).max(256),
    email_subject: z.string().max(255).default(''),
    recipient_type: z.string().optional(),
  }),
  items: z
    .array(
      z.object({
        recipient_type: z.enum(['EMAIL', 'PHONE', 'PAYPAL_ID']).optional(),
        amount: z.object({ currency: z.string(), value: z.string() }),
        receiver: z.string().min(1).max(127),
        sender_item_id: z.string().max(63).default(''),
      }),
    )
    .min(1)
    .max(15_000),
});
type Order = z.output<typeof orderSchema>;

const refuse = (status: number, name: string, details: readonly object[] = []): Reply => ({
  status,
  json: showError(name, `simulated: ${name}`, details),
});

function createBatch(state: PaypalState, { body }: PaypalRequest): Reply {
  const { books, nowMs, options } = state;
  const order = orderSchema.safeParse(readJson(body));
  if (!order.success) {
    const details = order.error.issues.map(({ path, message }) => ({
      field: path.join('.'),
      location: 'body',
      issue: message,
    }));
    return refuse(400, 'VALIDATION_ERROR', details);
  }
  const { sender_batch_header: header, items } = order.data;
  const known = [...books.batches.values()].find(
    ({ senderBatchId, createdAtMs }) =>
      senderBatchId === header.sender_batch_id && nowMs() - createdAtMs < options.keyMs,
  );
  if (known !== undefined) return refuseDuplicate(known);
  const faults = items.flatMap((item, index) => findItemFaults(item, { index, options }));
  if (faults.length > 0) return refuse(400, 'VALIDATION_ERROR', faults);
  const batch: BookedBatch = {
    id: newPaypalId(13),
    senderBatchId: header.sender_batch_id,
    emailSubject: header.email_subject,
    status: 'PENDING',
    createdAtMs: nowMs(),
    atMs: nowMs(),
    items: items.map((item) => bookItem(item, nowMs())),
  };
  books.putBatch(batch);
  return { status: 201, json: showCreated(batch) };
}

function bookItem(item: Order['items'][number], atMs: number): BookedItem {
  return {
    id: newPaypalId(13),
    transactionId: newPaypalId(17),
    recipientType: item.recipient_type ?? 'EMAIL',
    receiver: item.receiver,
    currency: item.amount.currency,
    value: item.amount.value,
    senderItemId: item.sender_item_id,
    status: 'PENDING',
    error: '',
    atMs,
  };
}

function refuseDuplicate({ id }: BookedBatch): Reply {
  const href = `https://api-m.sandbox.paypal.com/v1/payments/payouts/${id}`;
  const issue = 'Batch with given sender_batch_id already exists';
  const link = [{ href, rel: 'self', method: 'GET' }];
  return refuse(400, 'USER_BUSINESS_ERROR', [
    { field: 'SENDER_BATCH_ID', location: 'body', issue, link },
  ]);
}

const wholeCurrencies = new Set(['HUF', 'JPY', 'TWD']);
/** PayPal, Fees and transaction limits. */
const usdMax = 2_000_000n;

function findItemFaults(
  { recipient_type: type, receiver, amount }: Order['items'][number],
  { index, options }: { index: number; options: SimulatorOptions },
): object[] {
  const fault = (field: string, issue: string) => ({
    field: `items[${index}].${field}`,
    location: 'body',
    issue,
  });
  const faults: object[] = [];
  const isValid =
    type === 'EMAIL'
      ? /^[^@\s]+@[^@\s]+\.[^@\s]+$/.test(receiver)
      : type !== 'PHONE' || (/^\+?[0-9][0-9-]{5,18}$/.test(receiver) && !options.isSandbox);
  if (!isValid) faults.push(fault('receiver', 'Receiver is invalid or does not match with type'));
  const currency = findCurrency(amount.currency);
  if (currency === undefined || currency.isCrypto) {
    faults.push(fault('amount.currency', 'Currency is invalid'));
    return faults;
  }
  const parsed = parseAmount(amount.value, currency);
  const isWhole = !wholeCurrencies.has(currency.code) || /^\d+$/.test(amount.value);
  if (!parsed.ok || !isWhole) faults.push(fault('amount.value', 'Amount is invalid'));
  else if (currency.code === 'USD' && parsed.minor > usdMax) {
    faults.push(fault('amount.value', 'Amount exceeds the limit of an item'));
  }
  return faults;
}

function readBatch({ books }: PaypalState, { url }: PaypalRequest, id: string): Reply {
  const batch = books.batches.get(id);
  if (batch === undefined) return notFound;
  const number = Number(url.searchParams.get('page') ?? 1);
  const size = Number(url.searchParams.get('page_size') ?? 1000);
  return { status: 200, json: showBatch(batch, { number, size }) };
}

function findItem({ books }: PaypalState, id: string) {
  for (const batch of books.batches.values()) {
    const item = batch.items.find((one) => one.id === id);
    if (item !== undefined) return { batch, item };
  }
  return undefined;
}

function readItem(state: PaypalState, _request: PaypalRequest, id: string): Reply {
  const found = findItem(state, id);
  return found === undefined ? notFound : { status: 200, json: showItem(found.batch, found.item) };
}

function cancelItem(state: PaypalState, _request: PaypalRequest, id: string): Reply {
  const found = findItem(state, id);
  if (found === undefined) return notFound;
  const { batch, item } = found;
  if (item.status === 'RETURNED') return refuse(400, 'ITEM_ALREADY_CANCELLED');
  if (item.status !== 'UNCLAIMED') return refuse(400, 'ITEM_INCORRECT_STATUS');
  return { status: 200, json: showItem(batch, state.lifecycle.cancel(item)) };
}

const daysMax = 31;

function listTransactions(state: PaypalState, { url }: PaypalRequest): Reply {
  const { books, nowMs, options } = state;
  const from = Date.parse(url.searchParams.get('start_date') ?? '');
  const to = Date.parse(url.searchParams.get('end_date') ?? '');
  if (!(from <= to) || to - from > daysMax * 86_400_000) {
    const message = 'Request is not well-formed, syntactically incorrect, or violates schema.';
    return { status: 400, json: showError('INVALID_REQUEST', message) };
  }
  const number = Number(url.searchParams.get('page') ?? 1);
  const size = Number(url.searchParams.get('page_size') ?? 100);
  const shownUntilMs = nowMs() - options.reportLagMs;
  const untilMs = Math.min(to + 999, shownUntilMs);
  const isShown = (atMs: number): boolean => atMs >= from && atMs <= untilMs;
  const asked = url.searchParams.get('transaction_id');
  const type = url.searchParams.get('transaction_type');
  const found = [...books.batches.values()].flatMap((batch) =>
    batch.items
      .filter(({ transactionId }) => asked === null || transactionId === asked)
      .flatMap((item) => {
        if (type !== 'T0001')
          return isShown(item.atMs) ? showReturned(item, { type, options }) : [];
        return isShown(batch.createdAtMs) ? (showTransaction(batch, item) ?? []) : [];
      }),
  );
  if (type === 'T0001' && options.receivedItem !== '') {
    found.push(showReceived(options.receivedItem, from));
  }
  if (found.length > options.reportMax) {
    const message =
      'Result set size is greater than the maximum limit. Change the filter criteria and try again.';
    return { status: 400, json: showError('RESULTSET_TOO_LARGE', message) };
  }
  const page = found.slice((number - 1) * size, number * size);
  return {
    status: 200,
    json: {
      // The description allows no empty list.
      ...(page.length === 0 ? {} : { transaction_details: page }),
      account_number: 'SIMULATED1',
      start_date: showTime(from),
      end_date: showTime(to),
      last_refreshed_datetime: showTime(shownUntilMs),
      page: number,
      total_items: found.length,
      total_pages: Math.max(1, Math.ceil(found.length / size)),
    },
  };
}

function showReturned(
  item: BookedItem,
  { type, options }: { type: string | null; options: SimulatorOptions },
): object[] {
  const isReversal = item.status === 'REVERSED';
  if ((type === 'T1114') !== isReversal) return [];
  return [showReturn(item, options.hasBareReturns) ?? []].flat();
}

function listBalances({ lifecycle, nowMs, options }: PaypalState): Reply {
  const balances = [...lifecycle.readBalances()].map(([code, amountMinor]) => {
    const value = formatMinor(amountMinor, code);
    const money = { currency_code: code, value };
    return { currency: code, total_balance: money, available_balance: money };
  });
  const time = showTime(nowMs() - options.reportLagMs);
  return { status: 200, json: { balances, as_of_time: time, last_refresh_time: time } };
}

function readWebhook(state: PaypalState, _request: PaypalRequest, id: string): Reply {
  const { webhookId, webhookUrl } = state;
  if (id !== webhookId) return notFound;
  return { status: 200, json: { id, url: webhookUrl, event_types: [{ name: '*' }], links: [] } };
}

/** Newest first, with a link to the next page, as PayPal lists them. */
function listEvents({ books }: PaypalState, { url }: PaypalRequest): Reply {
  const { searchParams } = url;
  const from = Date.parse(searchParams.get('start_time') ?? '') || 0;
  const to = Date.parse(searchParams.get('end_time') ?? '') || Infinity;
  const size = Number(searchParams.get('page_size') ?? 10);
  const start = Number(searchParams.get('next_page_token') ?? 0);
  const found = books.events.filter(({ atMs }) => atMs >= from && atMs <= to + 999).toReversed();
  const page = found.slice(start, start + size);
  const next = new URLSearchParams(searchParams);
  next.set('next_page_token', String(start + size));
  const href = `https://api-m.sandbox.paypal.com${url.pathname}?${next.toString()}`;
  const hasNext = found.length > start + size;
  return {
    status: 200,
    json: {
      events: page.map(({ body }) => body),
      count: page.length,
      links: hasNext ? [{ href, rel: 'next', method: 'GET' }] : [],
    },
  };
}

function readJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** The amounts of all that was or may be paid under the reference, in minor units. */
export function listAmounts({ books }: PaypalState, reference: string): bigint[] {
  return [...books.batches.values()]
    .filter(({ status }) => status !== 'DENIED')
    .flatMap(({ items }) => items)
    .filter(({ senderItemId, status }) => senderItemId === reference && status !== 'FAILED')
    .map(({ value, currency }) => getAmountMinor(value, getCurrency(currency)));
}
