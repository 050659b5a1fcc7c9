import type { InboundProblem, RailHost } from '../contract/contract.ts';
import { formatFixedAmount } from '../kit/amounts.ts';
import { openTransfers, type TransferRecord, type TransferValue } from './transfer-records.ts';

/**
 * What came back of a refunded transfer. The status says that money came back, and the event
 * `transfers#refund` how much:
 *
 * - docs.wise.com/api-reference/transfer/eventtransfersrefund: it comes with every change to
 *   `funds_refunded`, with `refund_amount` (fees included) and `refund_currency`. Events have no order.
 * - docs.wise.com/guides/product/send-money/refunds/testing-refunds: a transfer that was not paid over
 *   SWIFT comes back with its fee; over SWIFT, banks between may take a part of it.
 * - docs.wise.com/guides/product/send-money/refunds/net-settlement: the currency is the source's.
 *
 * What came back is the payment's amount first. What is left of it is the fee, which is a charge of ours.
 * Every channel reports a return by what the transfer's record says, so that they report the same.
 */

export type RefundSetup = { readonly host: RailHost; readonly sourceCurrency: string };

export type Refund = NonNullable<TransferValue['refund']>;

/** In the payment's currency; without an amount the whole. */
export type Returned = { readonly amountMinor?: bigint };

/** Records that the status is `funds_refunded`. */
export function noteStatus(
  { host }: RefundSetup,
  transferId: string,
): Promise<TransferRecord | undefined> {
  return change(host, transferId, ({ state, value }) => {
    const { refund, isAssumedWhole, awaitedSinceMs, terms } = value;
    if (refund !== undefined || isAssumedWhole === true || awaitedSinceMs !== undefined) {
      return undefined;
    }
    return terms?.isSwift === false
      ? { state, value: { ...value, isAssumedWhole: true } }
      : { state, value: { ...value, awaitedSinceMs: host.realNowMs() } };
  });
}

/** Records what came back; the first event counts. */
export function noteRefund(
  { host, sourceCurrency }: RefundSetup,
  transferId: string,
  refund: Refund,
): Promise<TransferRecord | undefined> {
  return change(host, transferId, ({ state, value }) => {
    if (value.refund !== undefined) return undefined;
    const next = { ...value, refund };
    const isClear = readReturn(next, sourceCurrency) !== undefined;
    return { state: isClear ? state : 'asked', value: next };
  });
}

async function change(
  { store }: RailHost,
  transferId: string,
  decide: (seen: TransferRecord) => Pick<TransferRecord, 'state' | 'value'> | undefined,
): Promise<TransferRecord | undefined> {
  const { record } = await openTransfers(store).update(transferId, (seen) => seen && decide(seen));
  return record;
}

/** Undefined where it cannot be told yet, or at all. */
export function readReturn(
  { terms, refund, isAssumedWhole }: TransferValue,
  sourceCurrency: string,
): Returned | undefined {
  if (isAssumedWhole === true) return {};
  if (refund === undefined || terms === undefined || refund.currency !== sourceCurrency) {
    return undefined;
  }
  if (refund.amountMinor >= terms.netMinor) return {};
  const amountMinor = (terms.amountMinor * refund.amountMinor) / terms.netMinor;
  return amountMinor === 0n ? undefined : { amountMinor };
}

/** Of a record whose return a person decides, no channel reports one any more. */
export function readReport(record: TransferRecord, sourceCurrency: string): Returned | undefined {
  return record.state === 'asked' ? undefined : readReturn(record.value, sourceCurrency);
}

type Money = { readonly currency: string; readonly amountMinor: bigint };

const sayMoney = ({ amountMinor, currency }: Money): string =>
  `${formatFixedAmount(amountMinor, currency)} ${currency}`;

/**
 * Money of a refund that a person books.
 *
 * @param isRefused the payment was refused or canceled here, so that the client has all of it back
 */
export function listRefundProblems(
  record: TransferRecord,
  { refund, isRefused }: { readonly refund: Refund; readonly isRefused: boolean },
  sourceCurrency: string,
): InboundProblem[] {
  const { key, state, value } = record;
  const describe = (what: string, detail: string, money: Money = refund): InboundProblem => ({
    id: `refund:${key}:${what}`,
    kind: 'not_understood',
    detail: `the refund of transfer ${key} of ${value.reference}: ${detail}`,
    ...(money.amountMinor > 0n ? money : {}),
  });
  const { terms, refund: first = refund } = value;
  if (first.amountMinor !== refund.amountMinor || first.currency !== refund.currency) {
    const what = `changed:${refund.amountMinor}${refund.currency}`;
    return [describe(what, `it was ${sayMoney(first)}, came again as ${sayMoney(refund)}`)];
  }
  if (terms === undefined || refund.currency !== sourceCurrency) {
    const detail = `what ${sayMoney(refund)} is of the payment is not known, so that no return was booked`;
    return [describe('amount', detail)];
  }
  const { netMinor, feeMinor } = terms;
  const inSource = (amountMinor: bigint) => ({ currency: sourceCurrency, amountMinor });
  if (refund.amountMinor > netMinor) {
    const excess = inSource(refund.amountMinor - netMinor);
    const fee = sayMoney(inSource(feeMinor));
    const detail = `${sayMoney(excess)} came back beside the amount; the fee was ${fee}`;
    return [describe('fee', detail, excess)];
  }
  if (refund.amountMinor === netMinor) return [];
  if (isRefused || value.isAssumedWhole === true) {
    const lost = inSource(netMinor - refund.amountMinor);
    const detail = `${sayMoney(lost)} less came back than the client got, who has the whole`;
    return [describe('short', detail, lost)];
  }
  const { amountMinor = 0n } = readReturn(value, sourceCurrency) ?? {};
  if (amountMinor === 0n) return [describe('amount', 'it is too small to be booked as a return')];
  if (state !== 'asked') return [];
  const part = { currency: terms.currency, amountMinor };
  const detail = `the amount came late, after a person was asked: ${sayMoney(part)} of the payment`;
  return [describe('late', detail, part)];
}
