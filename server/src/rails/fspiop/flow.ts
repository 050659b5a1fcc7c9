import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Settings } from './config.ts';
import {
  applyPartyError,
  applyQuoteError,
  applyTransferError,
  findTermsFault,
  refuse,
  requestNewQuote,
} from './decisions.ts';
import { isTransient } from './error-codes.ts';
import type { HubAnswer, HubClient } from './hub-client.ts';
import { nameQuote, type Payment, type PaymentUpdate, type StoredPayment } from './payment.ts';
import type { PaymentRecords } from './payment-records.ts';
import { formatLookup, formatQuote, formatTransfer, formatTransferQuery } from './requests.ts';

/**
 * The steps that call the hub. Each is recorded before its call, on the revision that was read, so
 * that only one process takes it. Times that the hub and the providers see (the header Date, the
 * expiration of quotes and transfers) are the time of day; the rail's own pauses follow the
 * environment's clock.
 */

export type Parts = {
  readonly settings: Settings;
  readonly host: RailHost;
  readonly records: PaymentRecords;
  readonly client: HubClient;
};

/** A transfer begins at least so long before its quote expires. */
const beginMsMin = 3_000;
/** The longest pause between repeated requests. */
const againMsMax = 300_000;

/** When to repeat the n-th request (from 1) of a state. */
export function planRetry(settings: Settings, calls: number, nowMs: number): number {
  return nowMs + Math.min(settings.againMs * 2 ** Math.min(calls - 1, 20), againMsMax);
}

export type Step = (stored: StoredPayment, context: CallContext) => Promise<void>;

/** Takes the step that is due in the payment's state, if any. */
export function createStep(parts: Parts): Step {
  const steps: Partial<Record<StoredPayment['state'], Step>> = {
    lookup: async (stored, context) => {
      if (await recordRepeat(parts, stored)) await sendLookup(parts, stored.value, context);
    },
    quote_due: (stored, context) => beginQuote(parts, stored, context),
    quote: async (stored, context) => {
      if (await recordRepeat(parts, stored)) await sendQuote(parts, stored.value, context);
    },
    transfer_due: (stored, context) => beginTransfer(parts, stored, context),
    transfer: (stored, context) => retryTransfer(parts, stored, context),
  };
  return async (stored, context) => {
    await steps[stored.state]?.(stored, context);
  };
}

/** The next pass notifies the service of refusals that no callback reports. */
function markUnreported({ value }: PaymentUpdate): PaymentUpdate {
  return { state: 'refused_untold', value };
}

/** Refuses a payment whose terms did not arrive in time; nothing of it can have been paid. */
function findTimeout(
  { settings }: Parts,
  payment: Payment,
  nowMs: number,
): PaymentUpdate | undefined {
  return nowMs - payment.startedAtMs < settings.termsMs
    ? undefined
    : markUnreported(refuse(payment, 'payer_unavailable', 'no_terms'));
}

/** Records that a request is repeated, or a timeout. @returns whether to repeat the request now. */
async function recordRepeat(parts: Parts, stored: StoredPayment): Promise<boolean> {
  const { settings, host, records } = parts;
  const { state, value: payment } = stored;
  const nowMs = host.nowMs();
  if (nowMs < payment.againAtMs) return false;
  const timeout = findTimeout(parts, payment, nowMs);
  const calls = payment.calls + 1;
  const againAtMs = planRetry(settings, calls, nowMs);
  const next = timeout ?? { state, value: { ...payment, calls, againAtMs } };
  return (await records.write(stored, next)) && timeout === undefined;
}

/** Asks which provider has the wallet; records an immediate refusal. */
export async function sendLookup(
  { settings, host, records, client }: Parts,
  payment: Payment,
  context: CallContext,
): Promise<HubAnswer> {
  const answer = await client(await formatLookup(payment, settings, host.realNowMs()), context);
  if (answer.kind === 'refused') {
    const { code } = answer;
    await records.update(payment.reference, (stored) => {
      if (stored === undefined) return undefined;
      // A refusal of the request itself comes from the setup and not from this payment.
      const next = /^3[01]/.test(code) ? undefined : applyPartyError(stored, code);
      return next && markUnreported(next);
    });
  }
  return answer;
}

async function beginQuote(
  parts: Parts,
  stored: StoredPayment,
  context: CallContext,
): Promise<void> {
  const { settings, host, records } = parts;
  const { value: payment } = stored;
  const nowMs = host.nowMs();
  const timeout = findTimeout(parts, payment, nowMs);
  if (timeout !== undefined) {
    await records.write(stored, timeout);
    return;
  }
  const quotes = payment.quotes + 1;
  const requested: Payment = {
    ...payment,
    quotes,
    quoteId: nameQuote(payment.reference, quotes),
    calls: 1,
    againAtMs: planRetry(settings, 1, nowMs),
  };
  const quoteRequest = await formatQuote(requested, settings, host.realNowMs());
  const next: PaymentUpdate = { state: 'quote', value: { ...requested, quoteRequest } };
  if (await records.write(stored, next)) await sendQuote(parts, next.value, context);
}

async function sendQuote(parts: Parts, payment: Payment, context: CallContext): Promise<void> {
  const { client, records } = parts;
  if (payment.quoteRequest === null) return;
  const answer = await client(payment.quoteRequest, context);
  if (answer.kind !== 'refused' || isTransient(answer.code)) return;
  await records.update(payment.reference, (stored) => {
    if (stored === undefined) return undefined;
    if (stored.value.quoteId !== payment.quoteId) return undefined;
    const next = applyQuoteError(stored, answer.code);
    return next && markUnreported(next);
  });
}

async function beginTransfer(
  parts: Parts,
  stored: StoredPayment,
  context: CallContext,
): Promise<void> {
  const { records } = parts;
  const next = await planTransfer(parts, stored.value);
  if (!(await records.write(stored, next))) return;
  if (next.state === 'transfer') await postTransfer(parts, next.value, context);
}

/** The one transfer of a payment. Nothing was sent before, so a refusal is safe here. */
async function planTransfer({ settings, host }: Parts, payment: Payment): Promise<PaymentUpdate> {
  const { terms } = payment;
  const realNowMs = host.realNowMs();
  if (terms === null) return markUnreported(refuse(payment, 'payer_error', 'no_terms'));
  const fault = findTermsFault(payment, terms, settings);
  if (fault !== undefined) return markUnreported(refuse(payment, fault.reason, fault.code));
  if (terms.expiresAtMs - realNowMs < beginMsMin) {
    const next = requestNewQuote(payment, 'quote_expired');
    return next.state === 'refused' ? markUnreported(next) : next;
  }
  const expiresAtMs = Math.min(realNowMs + settings.transferMs, terms.expiresAtMs);
  const begun = { ...payment, terms, expiresAtMs };
  return {
    state: 'transfer',
    value: {
      ...begun,
      transferRequest: await formatTransfer(begun, settings, realNowMs),
      quoteId: '',
      originatorName: '',
      posts: 1,
      calls: 1,
      againAtMs: planRetry(settings, 1, host.nowMs()),
    },
  };
}

/**
 * Sends a transfer again, unchanged, while the hub has not accepted it or reports that it does not
 * know it; queries it otherwise. A missing answer never ends a transfer.
 */
async function retryTransfer(
  parts: Parts,
  stored: StoredPayment,
  context: CallContext,
): Promise<void> {
  const { settings, host, records, client } = parts;
  const { value: payment } = stored;
  const nowMs = host.nowMs();
  if (nowMs < payment.againAtMs) return;
  const isPost =
    context.isStopped !== true &&
    (payment.isAbsent || (!payment.isTaken && host.realNowMs() < payment.expiresAtMs));
  const calls = payment.calls + 1;
  const requested: Payment = {
    ...payment,
    calls,
    posts: payment.posts + (isPost ? 1 : 0),
    asks: payment.asks + (isPost ? 0 : 1),
    isAbsent: false,
    againAtMs: planRetry(settings, calls, nowMs),
  };
  if (!(await records.write(stored, { state: 'transfer', value: requested }))) return;
  if (isPost) await postTransfer(parts, requested, context);
  else await client(await formatTransferQuery(requested, settings, host.realNowMs()), context);
}

async function postTransfer(parts: Parts, payment: Payment, context: CallContext): Promise<void> {
  const { host, records, client } = parts;
  if (payment.transferRequest === null) return;
  const answer = await client(payment.transferRequest, context);
  if (answer.kind === 'unclear') return;
  await records.update(payment.reference, (stored) => {
    if (stored === undefined) return undefined;
    if (answer.kind === 'refused') {
      const next = applyTransferError(stored, answer.code, {
        isAnswer: true,
        realNowMs: host.realNowMs(),
      });
      return next?.state === 'refused' ? markUnreported(next) : next;
    }
    if (stored.state !== 'transfer' || stored.value.isTaken) return undefined;
    return { state: 'transfer', value: { ...stored.value, isTaken: true } };
  });
}
