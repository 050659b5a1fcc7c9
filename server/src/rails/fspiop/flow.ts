import { getCurrency } from '../../core/currency.ts';
import { formatAmount } from '../../core/money.ts';
import type { CallContext, RailHost } from '../contract/contract.ts';
import type { Settings } from './config.ts';
import {
  askAgain,
  findTermsFault,
  refuse,
  takePartyError,
  takeQuoteError,
  takeTransferError,
} from './decisions.ts';
import { isPassing } from './error-codes.ts';
import type { HubAnswer, HubClient } from './hub-client.ts';
import { nameQuote, type Payment } from './payment.ts';
import type { Held, Next, PaymentRecords } from './payment-records.ts';
import { formatLookup, formatQuote, formatTransfer, formatTransferQuery } from './requests.ts';

/**
 * The steps that call the hub. What the hub or a provider reads or writes (the header Date, expiry of
 * quotes and transfers) is the time of day; the rail's own pauses are of the environment's clock. Each one is written down before the call, on the revision that was
 * seen, so that of several who want to take it one does; an answer only adds to what is written.
 */

export type Parts = {
  readonly settings: Settings;
  readonly host: RailHost;
  readonly records: PaymentRecords;
  readonly client: HubClient;
};

/** Less than this before its quote runs out, a transfer is not begun. */
const beginMsMin = 3_000;
/** Silence is waited for up to this much longer each time. */
const againMsMax = 300_000;

/** When to ask again after the n-th call (from 1) of a state. */
export function planAgain(settings: Settings, calls: number, nowMs: number): number {
  return nowMs + Math.min(settings.againMs * 2 ** Math.min(calls - 1, 20), againMsMax);
}

export type Step = (held: Held, context: CallContext) => Promise<void>;

/** Does what is due for a payment in the state that it is in, if anything is. */
export function createStep(parts: Parts): Step {
  const steps: Partial<Record<Held['state'], Step>> = {
    lookup: (held, context) => askParty(parts, held, context),
    quote_due: (held, context) => beginQuote(parts, held, context),
    quote: (held, context) => repeatQuote(parts, held, context),
    transfer_due: (held, context) => beginTransfer(parts, held, context),
    transfer: (held, context) => pursueTransfer(parts, held, context),
  };
  return async (held, context) => {
    await steps[held.state]?.(held, context);
  };
}

/** Refusals that nobody hears of as a callback are told by the next pass. */
function untold({ payment }: Next): Next {
  return { state: 'refused_untold', payment };
}

/** Gives a payment up whose terms did not come in time; nothing of it can have been paid. */
function findTimeout({ settings }: Parts, payment: Payment, nowMs: number): Next | undefined {
  return nowMs - payment.startedAtMs < settings.termsMs
    ? undefined
    : untold(refuse(payment, 'payer_unavailable', 'no_terms'));
}

async function askParty(parts: Parts, held: Held, context: CallContext): Promise<void> {
  const { settings, host, records } = parts;
  const nowMs = host.nowMs();
  const { payment } = held;
  if (nowMs < payment.againAtMs) return;
  const calls = payment.calls + 1;
  const again: Next = {
    state: 'lookup',
    payment: { ...payment, calls, againAtMs: planAgain(settings, calls, nowMs) },
  };
  const next = findTimeout(parts, payment, nowMs) ?? again;
  if (!(await records.write(held, next)) || next !== again) return;
  await sendLookup(parts, payment, context);
}

/** Asks which provider has the wallet; what it answers at once is written down where it ends it. */
export async function sendLookup(
  { settings, host, records, client }: Parts,
  payment: Payment,
  context: CallContext,
): Promise<HubAnswer> {
  const answer = await client(
    await formatLookup(payment, settings, host.realNowMs()),
    context,
  );
  if (answer.kind === 'refused') {
    const { code } = answer;
    await records.change(payment.transferId, (held) => {
      // A refusal of the request itself is a matter of the setup and not of this payment.
      const next = /^3[01]/.test(code) ? undefined : takePartyError(held, code);
      return next && untold(next);
    });
  }
  return answer;
}

async function beginQuote(parts: Parts, held: Held, context: CallContext): Promise<void> {
  const { settings, host, records } = parts;
  const { payment } = held;
  const nowMs = host.nowMs();
  const timeout = findTimeout(parts, payment, nowMs);
  if (timeout !== undefined) {
    await records.write(held, timeout);
    return;
  }
  const quotes = payment.quotes + 1;
  const asked: Payment = {
    ...payment,
    quotes,
    quoteId: nameQuote(payment.reference, quotes),
    calls: 1,
    againAtMs: planAgain(settings, 1, nowMs),
  };
  const amount = formatAmount(BigInt(payment.amountMinor), getCurrency(payment.currency));
  const quoteRequest = await formatQuote({ ...asked, amount }, settings, host.realNowMs());
  const next: Next = { state: 'quote', payment: { ...asked, quoteRequest } };
  if (await records.write(held, next)) await sendQuote(parts, next.payment, context);
}

async function repeatQuote(parts: Parts, held: Held, context: CallContext): Promise<void> {
  const { settings, host, records } = parts;
  const { payment } = held;
  const nowMs = host.nowMs();
  if (nowMs < payment.againAtMs) return;
  const calls = payment.calls + 1;
  const again: Next = {
    state: 'quote',
    payment: { ...payment, calls, againAtMs: planAgain(settings, calls, nowMs) },
  };
  const next = findTimeout(parts, payment, nowMs) ?? again;
  if ((await records.write(held, next)) && next === again) {
    await sendQuote(parts, payment, context);
  }
}

async function sendQuote(parts: Parts, payment: Payment, context: CallContext): Promise<void> {
  const { client, records } = parts;
  if (payment.quoteRequest === null) return;
  const answer = await client(payment.quoteRequest, context);
  if (answer.kind !== 'refused' || isPassing(answer.code)) return;
  await records.change(payment.transferId, (held) => {
    if (held.payment.quoteId !== payment.quoteId) return undefined;
    const next = takeQuoteError(held, answer.code);
    return next && untold(next);
  });
}

async function beginTransfer(parts: Parts, held: Held, context: CallContext): Promise<void> {
  const { records } = parts;
  const next = await planTransfer(parts, held.payment);
  if (!(await records.write(held, next))) return;
  if (next.state === 'transfer') await postTransfer(parts, next.payment, context);
}

/** The one transfer of a payment. Nothing was sent before, so that everything else may end it. */
async function planTransfer({ settings, host }: Parts, payment: Payment): Promise<Next> {
  const { terms } = payment;
  const realNowMs = host.realNowMs();
  if (terms === null) return untold(refuse(payment, 'payer_error', 'no_terms'));
  const fault = findTermsFault(payment, terms, settings);
  if (fault !== undefined) return untold(refuse(payment, fault.reason, fault.code));
  if (terms.expiresAtMs - realNowMs < beginMsMin) {
    const next = askAgain(payment, 'quote_expired');
    return next.state === 'refused' ? untold(next) : next;
  }
  const expiresAtMs = Math.min(realNowMs + settings.transferMs, terms.expiresAtMs);
  const begun = { ...payment, terms, expiresAtMs };
  return {
    state: 'transfer',
    payment: {
      ...begun,
      transferRequest: await formatTransfer(begun, settings, realNowMs),
      quoteId: '',
      originatorName: '',
      posts: 1,
      calls: 1,
      againAtMs: planAgain(settings, 1, host.nowMs()),
    },
  };
}

/**
 * A transfer that the hub has not acknowledged, or says not to have, goes out again as it is: it is
 * the same one to the hub. Otherwise the hub is asked; silence never ends a transfer.
 */
async function pursueTransfer(parts: Parts, held: Held, context: CallContext): Promise<void> {
  const { settings, host, records, client } = parts;
  const { payment } = held;
  const nowMs = host.nowMs();
  if (nowMs < payment.againAtMs) return;
  const isPost = payment.isAbsent || (!payment.isTaken && host.realNowMs() < payment.expiresAtMs);
  const calls = payment.calls + 1;
  const asked: Payment = {
    ...payment,
    calls,
    posts: payment.posts + (isPost ? 1 : 0),
    asks: payment.asks + (isPost ? 0 : 1),
    isAbsent: false,
    againAtMs: planAgain(settings, calls, nowMs),
  };
  if (!(await records.write(held, { state: 'transfer', payment: asked }))) return;
  if (isPost) await postTransfer(parts, asked, context);
  else await client(await formatTransferQuery(asked, settings, host.realNowMs()), context);
}

async function postTransfer(parts: Parts, payment: Payment, context: CallContext): Promise<void> {
  const { host, records, client } = parts;
  if (payment.transferRequest === null) return;
  const answer = await client(payment.transferRequest, context);
  if (answer.kind === 'unclear') return;
  await records.change(payment.transferId, (held) => {
    if (answer.kind === 'refused') {
      const next = takeTransferError(held, answer.code, {
        isAnswer: true,
        realNowMs: host.realNowMs(),
      });
      return next?.state === 'refused' ? untold(next) : next;
    }
    if (held.state !== 'transfer' || held.payment.isTaken) return undefined;
    return { state: 'transfer', payment: { ...held.payment, isTaken: true } };
  });
}
