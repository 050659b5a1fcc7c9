import { getCurrency } from '../../core/currency.ts';
import { JsonNumber } from '../../core/exact-json.ts';
import type { CallContext, Instruction } from '../contract/contract.ts';
import type { Reason } from '../contract/reasons.ts';
import type { ApiResult } from './api.ts';
import {
  quoteSchema,
  requirementFormsSchema,
  type Transfer,
  transferSchema,
  type WiseQuote,
} from './protocol.ts';
import { type Cost, isDearer, readCost, requestQuote } from './quotes.ts';
import { createRecipient, verifyRecipient } from './recipient-account.ts';
import { done, readRecipient, readStop, refuse, type Setup, type Step } from './setup.ts';
import { findUnfilledTransferField } from './transfer-details.ts';

/**
 * What comes before the money moves: a quote, the recipient account and the transfer. None of them pays
 * anything, so that each of these steps can be repeated, and each refusal is certain.
 */

/** What a transfer is made of, as the payment's record keeps it. */
export type Order = {
  readonly recipientId: string;
  readonly quoteId: string;
  /** Minor units of the source currency: what is converted, and the fee. */
  readonly netMinor: bigint;
  readonly feeMinor: bigint;
  /** Whether it is paid out over SWIFT. */
  readonly isSwift: boolean;
  /** Real time, milliseconds. */
  readonly fixedUntilMs: number;
};

export async function prepareOrder(
  setup: Setup,
  instruction: Instruction,
  context: CallContext,
): Promise<Step<Order>> {
  const { currency, amountMinor } = instruction;
  const { payer } = readRecipient(setup.host, instruction);
  const amount = { targetMinor: amountMinor };
  const quoted = await requestQuote(setup, { payer, currency, amount }, context);
  if (quoted.kind !== 'answered') return readStop(quoted, nameRefusal(quoted));
  const first = readQuote(setup, instruction, quoted.value);
  if (first.kind === 'stopped') return first;
  const quoteId = quoted.value.id;
  const created = await createRecipient(setup, { instruction, quoteId }, context);
  if (created.kind === 'stopped') return created;
  const recipientId = created.value;
  // The price depends on where the recipient is, and is final only now.
  const updated = await addRecipient(setup, { quoteId, recipientId }, context);
  if (updated.kind !== 'answered') return readStop(updated, 'payer_unavailable');
  const reading = readQuote(setup, instruction, updated.value);
  if (reading.kind === 'stopped') return reading;
  const verified = await verifyRecipient(setup, { recipientId, quoteId, currency }, context);
  if (verified.kind === 'stopped') return verified;
  return done({ recipientId, quoteId, ...describeCost(reading.value) });
}

function describeCost({ sourceMinor, feeMinor, fixedUntilMs, isSwift }: Cost) {
  return { netMinor: sourceMinor - feeMinor, feeMinor, fixedUntilMs, isSwift };
}

function nameRefusal(result: ApiResult<never>): Reason {
  const isAmount =
    result.kind === 'refused' && /amount|limit/i.test(`${result.code} ${result.path}`);
  return isAmount ? 'amount_refused' : 'payer_unavailable';
}

function addRecipient(
  { api, config }: Setup,
  { quoteId, recipientId }: { quoteId: string; recipientId: string },
  context: CallContext,
) {
  return api(
    {
      method: 'PATCH',
      path: `/v3/profiles/${config.profileId}/quotes/${quoteId}`,
      headers: { 'content-type': 'application/merge-patch+json' },
      body: { targetAccount: new JsonNumber(recipientId) },
    },
    quoteSchema,
    context,
  );
}

/** The cost under the quote; refused where it is another payment or dearer than it was quoted. */
function readQuote(
  { config: { sourceCurrency } }: Setup,
  instruction: Instruction,
  quote: WiseQuote,
): Step<Cost> {
  const { currency, amountMinor, quoted } = instruction;
  const reading = readCost(quote, { sourceCurrency, currency, targetMinor: amountMinor });
  if (!reading.ok) return refuse(reading.reason, reading.code);
  const scales = {
    source: getCurrency(sourceCurrency).scale,
    target: getCurrency(currency).scale,
  };
  const isOtherSource = quoted !== undefined && quoted.sourceCurrency !== sourceCurrency;
  return isOtherSource || isDearer(reading.cost, instruction, scales)
    ? refuse('price_worse', 'quote.dearer', {
        currency: sourceCurrency,
        amountMinor: reading.cost.sourceMinor,
      })
    : done(reading.cost);
}

/**
 * Creates the transfer, or finds the one that was created under this reference before: Wise creates one
 * for each `customerTransactionId`, which is the reference.
 */
export async function createTransfer(
  setup: Setup,
  { instruction, order }: { readonly instruction: Instruction; readonly order: Order },
  context: CallContext,
): Promise<Step<Transfer>> {
  const described = await describeTransfer(setup, { instruction, order }, context);
  if (described.kind === 'stopped') return described;
  const { reference } = instruction;
  const body = writeTransfer({ reference, order, details: described.value });
  const created = await setup.api(
    { method: 'POST', path: '/v1/transfers', body },
    transferSchema,
    context,
  );
  return created.kind === 'answered' ? done(created.value) : readStop(created, 'payer_refused');
}

type Details = Readonly<Record<string, string>>;

/** The request for the transfer, by itself or within a batch group. */
export function writeTransfer({
  reference,
  order,
  details,
}: {
  readonly reference: string;
  readonly order: Pick<Order, 'recipientId' | 'quoteId'>;
  readonly details: Details;
}) {
  return {
    targetAccount: new JsonNumber(order.recipientId),
    quoteUuid: order.quoteId,
    customerTransactionId: reference,
    details,
  };
}

/** The details of the transfer, where they are all that Wise asks for. */
export async function describeTransfer(
  { api, host }: Setup,
  { instruction, order }: { readonly instruction: Instruction; readonly order: Order },
  context: CallContext,
): Promise<Step<Details>> {
  const { reference } = instruction;
  const details = readDetails(readRecipient(host, instruction).payer.options);
  const body = writeTransfer({ reference, order, details });
  const required = await api(
    { method: 'POST', path: '/v1/transfer-requirements', body },
    requirementFormsSchema,
    context,
  );
  if (required.kind !== 'answered') return readStop(required, 'payer_unavailable');
  const unfilled = findUnfilledTransferField(required.value, details);
  if (unfilled !== undefined) return refuse('payer_unavailable', `requirement:${unfilled}`);
  return done(details);
}

const detailPrefix = 'detail.';

/** Details that the operator gives for a payer, such as `detail.transferPurpose`. */
function readDetails(options: Readonly<Record<string, string>>): Readonly<Record<string, string>> {
  const entries = Object.entries(options).filter(([key]) => key.startsWith(detailPrefix));
  return Object.fromEntries(entries.map(([key, value]) => [key.slice(detailPrefix.length), value]));
}

/**
 * The order of a transfer that was made under another quote of this rail: fee and rate are those of
 * its own quote, which Wise shows for about two days.
 */
export async function adoptTransfer(
  setup: Setup,
  { instruction, transfer }: { readonly instruction: Instruction; readonly transfer: Transfer },
  context: CallContext,
): Promise<Step<Order>> {
  const { quoteUuid: quoteId, targetAccount: recipientId } = transfer;
  if (quoteId === undefined) return refuse('payer_unavailable', 'transfer.no_quote');
  const path = `/v3/profiles/${setup.config.profileId}/quotes/${quoteId}`;
  const answer = await setup.api({ method: 'GET', path }, quoteSchema, context);
  if (answer.kind !== 'answered') return readStop(answer, 'payer_unavailable');
  const reading = readQuote(setup, instruction, answer.value);
  if (reading.kind === 'stopped') return reading;
  return done({ recipientId, quoteId, ...describeCost(reading.value) });
}
