import type { KeyPairSigner } from '@solana/kit';
import type { RailHost } from '../contract/contract.ts';
import type { Counters } from '../kit/counters.ts';
import type { SolanaConfig } from './config.ts';
import type { openCursor, openUnknown, SolanaPayments } from './payment.ts';

/** What all modules of the rail work with. */
export type SolanaParts = {
  readonly config: SolanaConfig;
  readonly host: RailHost;
  readonly payer: KeyPairSigner;
  readonly payments: SolanaPayments;
  readonly unknown: ReturnType<typeof openUnknown>;
  readonly cursor: ReturnType<typeof openCursor>;
  /** Lamports that were signed for, by day (UTC). */
  readonly spent: Counters;
};
