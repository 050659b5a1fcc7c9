import type { Composition } from './compose.ts';
import type { ChannelName } from './notices.sql.ts';

/** A way to reach recipients. */
export type Channel = {
  readonly name: ChannelName;
  /** For several notices, one after the other. */
  open(): Courier;
};

export type Courier = {
  /**
   * Sends one notice and never rejects. The same notice sent again is recognizable by its id: a retry
   * may follow a try whose outcome is unknown. `signal` cuts it short, with the outcome `delayed`.
   */
  send(notice: Notice, signal: AbortSignal): Promise<Outcome>;
  close(): void;
};

export type Notice = {
  readonly id: string;
  readonly recipientName: string;
  readonly email: string;
  /** Digits with the country code; "" if unknown. */
  readonly mobileNumber: string;
  readonly composition: Composition;
  /** `color` as #rrggbb or ""; `logo`: a PNG, or empty. */
  readonly brand: { readonly color: string; readonly logo: Buffer };
};

/** Reasons are in our words: what a server says may name the recipient. */
export type Outcome =
  | { readonly kind: 'sent' }
  /** The recipient cannot be reached this way. */
  | { readonly kind: 'skipped'; readonly reason: string }
  /** For good. */
  | { readonly kind: 'refused'; readonly reason: string }
  | {
      readonly kind: 'delayed';
      readonly reason: string;
      /** The cause is the server or the settings, so that other notices would fail too. */
      readonly isChannelDown: boolean;
      readonly retryAfterMs: number;
    };

/** For one notice, connection included. */
export const sendMsMax = 60_000;
