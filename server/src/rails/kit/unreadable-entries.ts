import type { InboundProblem, RailHost } from '../contract/contract.ts';
import { describeMisfit } from './problem-messages.ts';

export type UnreadableEntry = {
  /** The counterparty's own name of it; absent: the entry is named by its content. */
  readonly name?: string | undefined;
  readonly raw: Uint8Array;
  /** For an operator; never personal. */
  readonly detail: string;
  readonly money?: Required<Pick<InboundProblem, 'currency' | 'amountMinor'>> | undefined;
};

/**
 * Stores an entry of a list that cannot be read or applied, and opens an exception about it. A list shows
 * the same entry in every pass: it counts once.
 */
export async function reportUnreadable(
  host: Pick<RailHost, 'receive' | 'log'>,
  { name, raw, detail, money }: UnreadableEntry,
): Promise<void> {
  const message = describeMisfit({ name, detail, ...money }, { channel: 'poll', raw });
  if ((await host.receive(message)) === 'new') {
    host.log('error', 'an entry of a list cannot be applied', { problem: message.id });
  }
}
