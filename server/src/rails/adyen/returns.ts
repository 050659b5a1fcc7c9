import { z } from 'zod';
import type { InboundProblem, RailHost } from '../contract/contract.ts';
import { minorUnits, openRecords } from '../kit/records.ts';
import type { ReturnedPart } from './money-moves.ts';
import type { Transfer } from './wire.ts';

/**
 * What came back of each transfer, by the transfer's ID. Messages about the same return differ: one has
 * the status without events, another lists the events, and an event may lack its ID. The record
 * remembers what was reported, so that a message adds only what no earlier one has shown. It holds
 * nothing personal, and so outlives the erasure of a recipient.
 */

const partSchema = z.object({ amountMinor: minorUnits, atMs: z.number() });

const returnsSchema = z.object({
  /** Amounts of the events that have an ID, by that ID. */
  events: z.record(z.string(), minorUnits),
  /** Reported in this order and under their positions. */
  reported: z.array(partSchema).max(1_000),
});
type Returns = z.output<typeof returnsSchema>;
type ReportedPart = z.output<typeof partSchema>;

const openReturns = ({ store }: Pick<RailHost, 'store'>) =>
  openRecords(store, { collection: 'returns', states: ['known'], value: returnsSchema });

export type ReturnBook = {
  /** Records a message about a transfer that came back; all parts that count so far. */
  add(transfer: Transfer, parts: readonly ReturnedPart[], atMs: number): Promise<ReportedPart[]>;
  /** For an operator, where more was reported than the events of the newest message show. */
  findExcess(transfer: Transfer, parts: readonly ReturnedPart[]): Promise<InboundProblem[]>;
};

const sum = (amounts: readonly bigint[]): bigint => amounts.reduce((total, one) => total + one, 0n);
const sumParts = (parts: readonly Pick<ReturnedPart, 'amountMinor'>[]): bigint =>
  sum(parts.map(({ amountMinor }) => amountMinor));

export function openReturnBook(host: Pick<RailHost, 'store'>): ReturnBook {
  const records = openReturns(host);
  return {
    add: async (transfer, parts, atMs) => {
      const { record } = await records.update(transfer.id, (seen) => {
        const known = seen?.value ?? { events: {}, reported: [] };
        const value = addMessage(known, { transfer, parts, atMs });
        return value && { state: 'known', value };
      });
      return record?.value.reported ?? [];
    },
    findExcess: async ({ id, amount }, parts) => {
      const record = await records.find(id);
      if (record === undefined || parts.length === 0) return [];
      const shown = sumParts(parts);
      const excessMinor = sumParts(record.value.reported) - shown;
      if (excessMinor <= 0n) return [];
      const detail =
        `transfer ${id}: ${excessMinor} minor units more counted as returned than its events show, ` +
        'because an earlier message had no events';
      const money = { currency: amount.currency, amountMinor: excessMinor };
      return [{ id: `returns:${id}:${excessMinor}`, kind: 'not_understood', detail, ...money }];
    },
  };
}

type Message = {
  readonly transfer: Pick<Transfer, 'amount'>;
  readonly parts: readonly ReturnedPart[];
  readonly atMs: number;
};

/** Undefined where the message adds nothing. */
function addMessage(known: Returns, { transfer, parts, atMs }: Message): Returns | undefined {
  const events = { ...known.events };
  for (const { id, amountMinor } of parts) if (id !== undefined) events[id] = amountMinor;
  const hasEvents = Object.keys(events).length > 0;
  // Without events a return is of the whole; but where events are known, a message that lacks them says
  // nothing about the amount.
  const claimedMinor =
    parts.length > 0 ? sumParts(parts) : hasEvents ? 0n : BigInt(transfer.amount.value);
  const byEvents = sum(Object.values(events));
  const totalMinor = byEvents > claimedMinor ? byEvents : claimedMinor;
  const newMinor = totalMinor - sumParts(known.reported);
  const isNewEvent = Object.keys(events).length > Object.keys(known.events).length;
  if (newMinor <= 0n) return isNewEvent ? { ...known, events } : undefined;
  return { events, reported: [...known.reported, { amountMinor: newMinor, atMs }] };
}
