import type { RailObservation } from './outcomes.ts';

/** What a counterparty delivered, stored verbatim and once before anything follows from it. */
export type InboundMessage = {
  /** Unique within the rail; another message with the same id is only counted. */
  readonly id: string;
  readonly channel: 'callback' | 'file' | 'poll';
  readonly raw: Uint8Array;
  readonly observations: readonly RailObservation[];
  /** Parts of the message that could not be turned into observations; none when absent. */
  readonly problems?: readonly InboundProblem[];
};

/**
 * A part of an inbound message that the rail cannot apply. It opens an exception for an operator, in
 * the transaction that stores the message.
 */
export type InboundProblem = {
  /** Unique within the rail; the same problem reported again opens nothing new. */
  readonly id: string;
  /**
   * `unreadable`: the bytes have no format that the rail reads. `not_understood`: they carry a status
   * or an entry that the rail does not know. `unmatched`: money or a status of a payment that cannot
   * be identified. `report_missing`: the counterparty has not delivered a report that it owes; the
   * message is then of the rail's own making.
   */
  readonly kind: 'unreadable' | 'not_understood' | 'unmatched' | 'report_missing';
  /** For an operator: file name, position, codes and references; never personal. */
  readonly detail: string;
  /** With `amountMinor`, where the part is about money. */
  readonly currency?: string;
  /** Minor units of `currency`, positive. */
  readonly amountMinor?: bigint;
};

export type CallbackMessage = {
  readonly method: string;
  /** After `/rails/<name>`, beginning with a slash, or "". */
  readonly path: string;
  readonly query: Readonly<Record<string, string>>;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Uint8Array;
};

/** `refused`: not proven to come from the counterparty (401). `malformed`: proven, but not understood (400). */
export type CallbackReading =
  | { readonly kind: 'refused'; readonly detail: string }
  | {
      readonly kind: 'malformed';
      readonly detail: string;
      /** What is stored of it nevertheless, with the problem that opens an exception. */
      readonly message?: InboundMessage;
    }
  | {
      readonly kind: 'accepted';
      readonly message: InboundMessage;
      /** The answer to the counterparty; 200 without a body when absent. */
      readonly answer?: {
        readonly status: number;
        readonly headers: Readonly<Record<string, string>>;
        readonly body: string;
      };
    };
