import { formatScaled, readDecimal } from '../../core/money.ts';
import type { CallContext, RailAnswer, RailFunds, RecoveredPayment } from '../contract/contract.ts';
import { describeResult, readError, sayResult } from './api.ts';
import { enterBatch } from './batch-outcomes.ts';
import { readBatch } from './batches.ts';
import { findCursor, formatTime, listEvents } from './events.ts';
import {
  balancesSchema,
  isBatchKey,
  isReference,
  type PayoutBatch,
  type ReportedTransaction,
  readTime,
  transactionsSchema,
} from './messages.ts';
import { readMoney } from './order.ts';
import type { RailParts } from './parts.ts';
import { describePayment, keyMs, type PaymentRecord } from './payments.ts';
import { findBatchId } from './unread.ts';

/**
 * PayPal's report of transactions and balances. A payout is a transaction T0001 whose `custom_field` is
 * its `sender_item_id`; it appears within three hours. What comes back of one is a transaction of its own,
 * T1114 (a reversal) or T1115 (a refund): developer.paypal.com/payouts/settlement-transaction-details.
 */

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
export const reportLagMs = 3 * hourMs;
/** PayPal accepts 31 days in one request, and reports three years. */
const windowMs = 30 * dayMs;
/** PayPal lists events of 30 days. */
const eventsMs = 29 * dayMs;
const historyMs = 3 * 365 * dayMs;
const pageSize = 500;
const payoutCode = 'T0001';
export const returnCodes = ['T1114', 'T1115'] as const;
type Code = typeof payoutCode | (typeof returnCodes)[number];
const pagesMax = 1_000;

type Span = { readonly fromMs: number; readonly toMs: number };
type Asked = Span & { readonly code?: Code; readonly transactionId?: string };
type Reader = Pick<RailParts, 'api' | 'host'>;

/** Each once; see `readReport`. */
export async function listPayouts(
  reader: Reader,
  span: Span,
  context: CallContext,
): Promise<ReportedTransaction[]> {
  return (await readReport(reader, span, context)).found;
}

/** Until when PayPal has filled its report, real time; undefined: it does not say. */
type Refreshed = { atMs: number | undefined };

/**
 * Each transaction of the code once, payouts by default, although the report may show one as a record that
 * affects the balance and as one that does not.
 *
 * @throws Error with a sentence for the operator where the report cannot be read.
 */
export async function readReport(
  reader: Reader,
  { fromMs, toMs, ...asked }: Asked,
  { signal }: CallContext,
): Promise<{ readonly found: ReportedTransaction[]; readonly refreshed: Refreshed }> {
  const refreshed: Refreshed = { atMs: undefined };
  const found = new Map<string, ReportedTransaction>();
  let start = Math.max(fromMs, toMs - historyMs);
  do {
    const end = Math.min(start + windowMs, toMs);
    const span = { ...asked, fromMs: start, toMs: end, refreshed };
    for (const one of await readSpan(reader, span, signal)) {
      if (!found.has(one.transaction_id)) found.set(one.transaction_id, one);
    }
    start = end;
  } while (start < toMs);
  return { found: [...found.values()], refreshed };
}

/** In two halves where PayPal has more than it shows at once, which are 10,000. */
async function readSpan(
  reader: Reader,
  asked: Asked & { readonly refreshed: Refreshed },
  signal: AbortSignal,
): Promise<ReportedTransaction[]> {
  const { fromMs, toMs, refreshed, code = payoutCode } = asked;
  const found: ReportedTransaction[] = [];
  for (let page = 1, pages = 1; page <= pages; page += 1) {
    const answer = await readPage(reader, { ...asked, code, page }, signal);
    if (answer === 'too_large') {
      // The report counts seconds.
      const middleMs = Math.floor((fromMs + toMs) / 2000) * 1000;
      if (middleMs <= fromMs || middleMs >= toMs) {
        throw new Error(`PayPal's report has too many transactions of ${formatTime(fromMs)}`);
      }
      const earlier = await readSpan(reader, { ...asked, toMs: middleMs }, signal);
      const later = await readSpan(reader, { ...asked, fromMs: middleMs }, signal);
      return [...earlier, ...later];
    }
    const atMs = readTime(answer.last_refreshed_datetime);
    if (atMs !== undefined) refreshed.atMs = Math.min(atMs, refreshed.atMs ?? atMs);
    pages = Math.min(answer.total_pages, pagesMax);
    const shown = answer.transaction_details.map((one) => one.transaction_info);
    found.push(...shown.filter((one) => isOf(one, code)));
  }
  return found;
}

/**
 * Of a payout, what left is negative; the account may also receive payouts, with any text as their
 * reference.
 */
function isOf(
  { transaction_event_code: shown, transaction_amount: amount }: ReportedTransaction,
  code: Code,
): boolean {
  return (shown ?? code) === code && (code !== payoutCode || amount.value.startsWith('-'));
}

/** How long before its return a payout is looked for: that of unclaimed money comes after 30 days. */
const beforeReturnMs = 180 * dayMs;

/** The payout that is this transaction, back from `untilMs`. */
export async function findPayout(
  reader: Reader,
  { id, untilMs }: { readonly id: string; readonly untilMs: number },
  context: CallContext,
): Promise<ReportedTransaction | undefined> {
  for (let toMs = untilMs; toMs > untilMs - beforeReturnMs; toMs -= windowMs) {
    const span = { fromMs: toMs - windowMs, toMs, transactionId: id };
    const { found } = await readReport(reader, span, context);
    const payout = found.find(({ transaction_id: shown }) => shown === id);
    if (payout !== undefined) return payout;
  }
  return undefined;
}

async function readPage(
  { api, host }: Reader,
  { fromMs, toMs, page, code, transactionId }: Asked & { code: Code; page: number },
  signal: AbortSignal,
) {
  const query = new URLSearchParams({
    start_date: formatTime(fromMs),
    end_date: formatTime(toMs),
    transaction_type: code,
    ...(transactionId === undefined ? {} : { transaction_id: transactionId }),
    fields: 'transaction_info',
    balance_affecting_records_only: 'N',
    page_size: String(pageSize),
    page: String(page),
  });
  const path = `/v1/reporting/transactions?${query.toString()}`;
  const result = await api.call({ method: 'GET', path }, signal);
  const answer =
    result.kind === 'answered' && result.status === 200
      ? transactionsSchema.safeParse(result.json).data
      : undefined;
  if (answer !== undefined) return answer;
  if (readError(result)?.name === 'RESULTSET_TOO_LARGE') return 'too_large' as const;
  host.log('warn', "PayPal's report of transactions cannot be read", describeResult(result));
  throw new Error(
    "PayPal's report of transactions cannot be read: the app needs the permission Transaction search",
  );
}

/** P: on its way or not claimed yet; S: succeeded; V: reversed; D: denied. */
function readOutcome({ transaction_status: status }: ReportedTransaction) {
  if (status === 'S') return 'paid';
  if (status === 'V') return 'returned';
  return status === 'P' ? 'accepted' : 'unknown';
}

/** Without the sign. */
export function readAmount({
  transaction_amount: { currency_code: currency, value },
}: ReportedTransaction) {
  return readMoney({ currency, value: value.replace(/^-/, '') });
}

/**
 * The payouts since `sinceMs` (the environment's time). Each one without a record gets one: from the
 * batches of the last weeks, which the list of events names without delay, and else from the report.
 * What only the report shows is never ordered again, because the key of its batch is not known.
 */
export async function recover(
  parts: RailParts,
  sinceMs: number,
  context: CallContext,
): Promise<readonly RecoveredPayment[]> {
  const { host } = parts;
  const toMs = host.realNowMs();
  const fromMs = Math.min(toMs - (host.nowMs() - sinceMs), sinceMs);
  await recoverBatches(parts, { fromMs, toMs }, context);
  const payouts = await listPayouts(parts, { fromMs, toMs }, context);
  const recovered: RecoveredPayment[] = [];
  for (const payout of payouts) {
    const money = readAmount(payout);
    if (money === undefined) continue;
    const reference = payout.custom_field;
    const atMs = readTime(payout.transaction_initiation_date) ?? toMs;
    if (isReference(reference)) await enterRecovered(parts, { reference, atMs, ...money });
    recovered.push({
      reference: isReference(reference) ? reference : '',
      ...money,
      outcome: readOutcome(payout),
      providerReference: payout.transaction_id,
      atMs,
      detail: `transaction ${payout.transaction_id}`,
    });
  }
  return recovered;
}

/** Enters the batches that events name, and the payments in them. */
async function recoverBatches(
  parts: RailParts,
  { fromMs, toMs }: Span,
  context: CallContext,
): Promise<void> {
  const { payments } = parts;
  const span = { sinceMs: Math.max(fromMs, toMs - eventsMs), untilMs: toMs };
  const events = await listEvents(parts, span, context.signal);
  if (events === undefined) throw new Error("PayPal's list of events cannot be read");
  const batchIds = new Set(events.flatMap((event) => findBatchId(event) ?? []));
  for (const batchId of batchIds) {
    const reading = await readBatch(parts, batchId, context);
    if (reading.kind === 'missing') continue;
    if (reading.kind !== 'batch') throw new Error(`the batch ${batchId} cannot be read`);
    const { batch } = reading;
    const key = batch.batch_header.sender_batch_header.sender_batch_id;
    if (isBatchKey(key)) {
      if (isUnread(batch) && (await parts.batches.find(key)) === undefined) {
        throw new Error('PayPal still processes a batch: recover again in some minutes');
      }
      await enterBatch(parts, batch);
    }
    const [item] = batch.items;
    const money = item === undefined ? undefined : readMoney(item.payout_item.amount);
    if (!isReference(key) || money === undefined || (await payments.isKnown(key))) continue;
    const value = { ...describePayment({ ...money, payerKey: '' }), batchId };
    await payments.write({ key, revision: 0, reference: key }, { state: 'ordered', value });
  }
}

/** What is in it shows only when PayPal has processed it. */
function isUnread({ batch_header: { batch_status: status }, items }: PayoutBatch): boolean {
  return items.length === 0 && status !== 'DENIED' && status !== 'CANCELED';
}

async function enterRecovered(
  { payments }: RailParts,
  payment: { reference: string; atMs: number; currency: string; amountMinor: bigint },
): Promise<void> {
  const { reference, atMs, ...money } = payment;
  if (await payments.isKnown(reference)) return;
  const first = describePayment({ ...money, payerKey: '' });
  await payments.write(
    { key: reference, revision: 0, reference },
    { state: 'reported', value: { ...first, attempts: 1, firstSentAtMs: atMs } },
  );
}

/** A sentence where events or the report show payouts of ours without a record. */
export async function findUnknownPayments(
  parts: RailParts,
  context: CallContext,
): Promise<string | undefined> {
  const { host, payments, batches } = parts;
  const toMs = host.realNowMs();
  const readMs = await findCursor(host);
  const fromMs = readMs === undefined ? toMs - windowMs : readMs - reportLagMs - hourMs;
  const payouts = await listPayouts(parts, { fromMs, toMs }, context);
  const span = { sinceMs: Math.max(fromMs, toMs - windowMs), untilMs: toMs };
  const events = (await listEvents(parts, span, context.signal)) ?? [];
  const references = new Set([
    ...payouts.map(({ custom_field: reference }) => reference),
    ...events.map(
      ({ resource }) =>
        resource.sender_batch_id ??
        resource.batch_header?.sender_batch_header?.sender_batch_id ??
        '',
    ),
  ]);
  let unknown = 0;
  for (const reference of references) {
    if (isReference(reference) && !(await payments.isKnown(reference))) unknown += 1;
    if (isBatchKey(reference) && (await batches.find(reference)) === undefined) unknown += 1;
  }
  return unknown === 0
    ? undefined
    : `PayPal shows ${unknown} payouts that this database has no record of`;
}

/**
 * An order whose key PayPal may have forgotten, or is not known, is not repeated: the report shows what
 * became of it.
 */
export async function findReported(
  parts: RailParts,
  { key: reference, state, value }: PaymentRecord,
  context: CallContext,
): Promise<RailAnswer> {
  const about = state === 'reported' ? {} : ({ code: 'KEY_EXPIRED' } as const);
  const fromMs = value.firstSentAtMs - dayMs;
  const toMs = Math.min(parts.host.realNowMs(), value.firstSentAtMs + keyMs + dayMs);
  const payouts = await listPayouts(parts, { fromMs, toMs }, context);
  const found = payouts.find(({ custom_field: field }) => field === reference);
  const money = found && readAmount(found);
  const isSame = money?.amountMinor === value.amountMinor && money.currency === value.currency;
  const outcome = found !== undefined && isSame ? readOutcome(found) : 'unknown';
  if (outcome === 'unknown') return { ...about, outcome, reason: 'no_answer' };
  const providerReference = found?.transaction_id ?? '';
  return outcome === 'returned'
    ? { ...about, outcome, reason: 'sent_back', providerReference }
    : { ...about, outcome, providerReference };
}

/** @throws Error with a sentence for the operator where PayPal does not say. */
export async function readFunds(
  { api, host }: Reader,
  { signal }: CallContext,
): Promise<readonly RailFunds[]> {
  const result = await api.call({ method: 'GET', path: '/v1/reporting/balances' }, signal);
  const answer =
    result.kind === 'answered' && result.status === 200
      ? balancesSchema.safeParse(result.json).data
      : undefined;
  if (answer === undefined) {
    host.log('warn', "PayPal's balances cannot be read", describeResult(result));
    const isForbidden = result.kind === 'answered' && result.status === 403;
    const cause = isForbidden
      ? 'the app needs the permission Transaction search'
      : sayResult(result);
    throw new Error(`PayPal's balances cannot be read: ${cause}`);
  }
  const asOfMs = readTime(answer.last_refresh_time);
  return answer.balances.flatMap(({ currency, total_balance, available_balance }) => {
    const decimal = readDecimal((available_balance ?? total_balance).value);
    if (decimal === undefined) return [];
    const amount = formatScaled(decimal.digits, decimal.scale);
    return [{ currency, amount, ...(asOfMs === undefined ? {} : { asOfMs }) }];
  });
}

/** Currencies of payers without a balance: PayPal would convert from another one at its own rate. */
export async function findMissingBalances(
  parts: RailParts,
  context: CallContext,
): Promise<readonly string[]> {
  const funds = await readFunds(parts, context);
  const wanted = new Set([...parts.payers.values()].flatMap(({ currencies }) => currencies));
  return [...wanted].filter((code) => !funds.some(({ currency }) => currency === code));
}
