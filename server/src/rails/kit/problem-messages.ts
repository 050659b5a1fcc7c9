import { createHash } from 'node:crypto';
import type {
  CallbackReading,
  InboundMessage,
  InboundProblem,
  RailHost,
} from '../contract/contract.ts';

/** Inbound messages of which nothing can be applied: stored, with one problem that opens an exception. */

type Source = Pick<InboundMessage, 'channel' | 'raw'>;

/** Named by its problem: the same problem again is only counted. */
export function createProblemMessage(
  problem: InboundProblem,
  { channel, raw }: Source,
): InboundMessage {
  return { id: problem.id, channel, raw, observations: [], problems: [problem] };
}

/** Stores a problem that the rail found by itself. */
export function reportProblem(
  host: Pick<RailHost, 'receive'>,
  problem: InboundProblem,
  raw: Uint8Array | string,
): Promise<'new' | 'known'> {
  return host.receive(createProblemMessage(problem, { channel: 'poll', raw: Buffer.from(raw) }));
}

/**
 * A proven message, or an entry of a list, that is not understood.
 *
 * @param name the counterparty's own of it; without one it is named by its bytes
 */
export function describeMisfit(
  problem: Omit<InboundProblem, 'id' | 'kind'> & { readonly name?: string | undefined },
  source: Source,
): InboundMessage {
  const { name = createHash('sha256').update(source.raw).digest('hex').slice(0, 32), ...rest } =
    problem;
  return createProblemMessage({ id: `misfit:${name}`, kind: 'not_understood', ...rest }, source);
}

/** The reading of a proven callback that is not understood. */
export function readMisfit(
  raw: Uint8Array,
  { what, detail }: { readonly what: 'a webhook' | 'an event'; readonly detail: string },
): CallbackReading {
  const message = describeMisfit({ detail: `${what}: ${detail}` }, { channel: 'callback', raw });
  return { kind: 'malformed', detail, message };
}
