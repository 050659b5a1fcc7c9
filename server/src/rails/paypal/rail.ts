import type { CallContext, RailCalls, RailHost, RailModule } from '../contract/contract.ts';
import { guardCall } from '../kit/guarded-calls.ts';
import { createApi } from './api.ts';
import { buildBatches } from './batch-building.ts';
import { openBatches } from './batch-records.ts';
import { sendBatches } from './batch-sending.ts';
import { cancel, query, send } from './calls.ts';
import { check } from './check.ts';
import { configSchema, listExclusives, type PaypalConfig } from './config.ts';
import { pollEvents } from './events.ts';
import { reportUnreadLists } from './missing-reports.ts';
import { checkPayer, checkRecipient, currencies } from './order.ts';
import type { RailParts } from './parts.ts';
import { openPayments } from './payments.ts';
import { reconcile } from './reconcile.ts';
import { findUnknownPayments, readFunds, recover } from './reports.ts';
import { openUnread, readUnread } from './unread.ts';
import { createCallbackReader } from './webhooks.ts';

/**
 * PayPal Payouts (README.md): a payment is a batch of one item, whose `sender_batch_id` is the
 * reference, or with `batchItemsMax` an item of a batch that a pass builds and sends. PayPal pays the
 * recipient of an e-mail address or a telephone number, and returns what is not claimed within 30 days.
 */
export const railModule: RailModule<PaypalConfig> = {
  kind: 'paypal',
  about: 'PayPal Payouts: to PayPal accounts by e-mail address or telephone number.',
  corridors: [{ countries: 'any', deliveryType: 'MOBILE_WALLET', currencies }],
  // Payouts: sender_item_id has at most 63 characters.
  reference: { lengthMax: 63, charset: /^[0-9A-Za-z-]+$/ },
  pace: { concurrencyMax: 8, perSecondMax: null },
  configSchema,
  listExclusives,
  checkPayer,
  create: async (config, host) => createPaypalRail(config, host),
};

function createPaypalRail(config: PaypalConfig, host: RailHost): RailCalls {
  const parts: RailParts = {
    config,
    host,
    api: createApi(config, host),
    payments: openPayments(host),
    batches: openBatches(host),
    payers: new Map(host.payers.map((payer) => [payer.key, payer])),
  };
  const unread = openUnread(host);
  return {
    send: guardCall(parts, send),
    query: guardCall(parts, query),
    cancel: guardCall(parts, cancel),
    checkRecipient: (draft) => checkRecipient(parts.payers.get(draft.payerKey), draft, config),
    readCallback: createCallbackReader(parts, unread),
    work: createPass(parts, unread),
    workIdleMs: config.eventsSeconds * 1000,
    readFunds: (context) => readFunds(parts, context),
    check: (context) => check(parts, context),
    recover: (sinceMs, context) => recover(parts, sinceMs, context),
    findUnknownPayments: (context) => findUnknownPayments(parts, context),
  };
}

/** Before a batch is read again whose answer was not readable. */
const readAgainMs = 30_000;
const readMoreMs = 100;
const reconcileAgainMs = 3_600_000;

/**
 * Builds and sends batches of several items, reads the list of events every `eventsSeconds`, what
 * events have named at once, and the report of transactions every day.
 */
function createPass(parts: RailParts, unread: ReturnType<typeof openUnread>) {
  const { host, config } = parts;
  const passEvents = createEventPass(parts, unread);
  let sendDueMs = -Infinity;
  /** When the next batch is to be built or sent; Infinity: when there is another payment. */
  const passBatches = async (context: CallContext): Promise<number> => {
    const buildDueMs = await buildBatches(parts, context);
    // A pass that something else asked for must not send what PayPal asked to wait for.
    if (host.nowMs() < sendDueMs) return Math.min(buildDueMs, sendDueMs);
    const { dueAtMs, isGeneral } = await sendBatches(parts, context);
    sendDueMs = isGeneral ? dueAtMs : -Infinity;
    return Math.min(buildDueMs, dueAtMs);
  };
  return async (context: CallContext): Promise<number | undefined> => {
    const batchDueMs = await passBatches(context);
    const eventDueMs = await passEvents(context);
    if (batchDueMs === Infinity) return eventDueMs;
    const idleMs = host.nowMs() + config.eventsSeconds * 1000;
    return Math.min(batchDueMs, eventDueMs ?? idleMs);
  };
}

function createEventPass(parts: RailParts, unread: ReturnType<typeof openUnread>) {
  const { host, config } = parts;
  let polledAtMs = -Infinity;
  let reconcileDueMs = -Infinity;
  const reconcileDaily = async (context: CallContext): Promise<void> => {
    if (host.realNowMs() < reconcileDueMs) return;
    // An app without the permission must not keep the rest from its work.
    reconcileDueMs = host.realNowMs() + reconcileAgainMs;
    reconcileDueMs = await reconcile(parts, context);
  };
  return async (context: CallContext): Promise<number | undefined> => {
    let hasMore = false;
    if (host.nowMs() - polledAtMs >= config.eventsSeconds * 1000) {
      hasMore = await pollEvents(parts, unread, context.signal);
      polledAtMs = hasMore ? -Infinity : host.nowMs();
    }
    const isDone = await readUnread(parts, unread, context);
    try {
      await reconcileDaily(context);
    } finally {
      if (!hasMore) await reportUnreadLists(parts);
    }
    if (hasMore) return host.nowMs() + readMoreMs;
    return isDone ? undefined : host.nowMs() + readAgainMs;
  };
}
