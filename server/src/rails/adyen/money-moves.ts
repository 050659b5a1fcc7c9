import { findCurrency } from '../../core/currency.ts';
import type { Charge, InboundProblem } from '../contract/contract.ts';
import { hasOtherScale } from './currencies.ts';
import type { Transfer, TransferEvent } from './wire.ts';

/**
 * What the events of a transfer moved on the balance account besides the payment: money that came back,
 * and fees. Only `balance` counts, since `received` and `reserved` are not money that moved.
 */

/** `type` of a transfer and `status` of an event by which Adyen takes a fee. */
const feeNames: ReadonlySet<string> = new Set(['fee', 'miscCost', 'paymentCost']);

/** Statuses in which a transfer that is a fee has left the balance account. */
const feeTakenStatuses: ReadonlySet<string> = new Set(['booked', 'captured', ...feeNames]);

/** A transfer of its own that takes a fee. It may carry the reference of the payment that it is for. */
export function isFeeTransfer({ type = '' }: Pick<Transfer, 'type'>): boolean {
  return feeNames.has(type);
}

/** Undefined while the fee has not been taken. */
export function readFeeTransfer(transfer: Transfer): Charge | undefined {
  if (!feeTakenStatuses.has(transfer.status)) return undefined;
  const { value, currency } = transfer.amount;
  return describeCharge({ id: transfer.id, currency, value: Math.abs(value) });
}

export function isAmount(
  { amount }: Transfer,
  expected: { readonly amountMinor: bigint; readonly currency: string },
): boolean {
  return BigInt(amount.value) === expected.amountMinor && amount.currency === expected.currency;
}

type Move = {
  readonly event: TransferEvent;
  /** Unique within the transfer, and the same in every answer, since events are only added. */
  readonly id: string;
  readonly currency: string;
  /** Minor units, signed, not 0. */
  readonly value: number;
};

function listMoves({ amount, events = [] }: Transfer): Move[] {
  return events.flatMap((event, position) =>
    (event.mutations ?? []).flatMap(({ currency = amount.currency, balance = 0 }, index) => {
      const name = event.id ?? String(position);
      const id = index === 0 ? name : `${name}.${index}`;
      return balance === 0 ? [] : [{ event, id, currency, value: balance }];
    }),
  );
}

const isFee = ({ event: { status = '' } }: Move): boolean => feeNames.has(status);

export type ReturnedPart = {
  /** Undefined where the event has none, so that messages cannot be compared by it. */
  readonly id: string | undefined;
  readonly amountMinor: bigint;
  /** Real time; undefined where the event has none. */
  readonly atMs: number | undefined;
};

/** What came back of the payment, part by part: a wallet can send back less than it got. */
export function listReturns(transfer: Transfer): ReturnedPart[] {
  const { currency } = transfer.amount;
  return listMoves(transfer)
    .filter((move) => move.value > 0 && move.currency === currency && !isFee(move))
    .map(({ id, value, event: { id: name, bookingDate } }) => ({
      id: name === undefined ? undefined : id,
      amountMinor: BigInt(value),
      atMs: bookingDate === undefined ? undefined : Date.parse(bookingDate),
    }));
}

/** What Adyen has taken for the payment beside its amount. */
export function listFees(transfer: Transfer): Charge[] {
  return listMoves(transfer).flatMap((move) => {
    if (!isFee(move) || move.value > 0) return [];
    return describeCharge({ ...move, value: -move.value }) ?? [];
  });
}

function describeCharge(fee: { id: string; currency: string; value: number }): Charge | undefined {
  const { id, currency, value } = fee;
  if (value <= 0 || !isReadable(currency)) return undefined;
  return { id, kind: 'partner', currency, amountMinor: BigInt(value) };
}

function isReadable(currency: string): boolean {
  return findCurrency(currency) !== undefined && !hasOtherScale(currency);
}

/** Money of a payment that no charge or return can stand for: a person must book it. */
export function listMoneyProblems(transfer: Transfer): InboundProblem[] {
  return listMoves(transfer).flatMap((move) => {
    const { id, currency, value } = move;
    const isBack = isFee(move) && value > 0;
    const isForeign = value > 0 && !isFee(move) && currency !== transfer.amount.currency;
    const isUnreadable = isFee(move) && !isReadable(currency);
    if (!isBack && !isForeign && !isUnreadable) return [];
    const what = isBack ? 'a fee came back' : isForeign ? 'another currency came back' : 'a fee';
    const detail = `transfer ${transfer.id}, event ${id}: ${what} in ${currency}`;
    const money = isReadable(currency) && { currency, amountMinor: BigInt(Math.abs(value)) };
    return [{ id: `money:${transfer.id}:${id}`, kind: 'not_understood', detail, ...money }];
  });
}
