import type { PrivateKeyAccount } from 'viem/accounts';
import type { RailHost } from '../contract.ts';
import { type Chain, createChain, type Head } from './chain.ts';
import type { EvmConfig, FeeLimits } from './config.ts';
import { type KeptPayment, type PaymentState, paymentCollection, readPayment } from './payment.ts';

/** What a rail of this kind consists of while the process lives. */
export type EvmParts = {
  readonly config: EvmConfig;
  readonly limits: FeeLimits;
  readonly account: PrivateKeyAccount;
  readonly host: RailHost;
  /** Where the look through the waiting payments goes on, so that none is passed over for ever. */
  readonly memory: { waitingAfter: string };
};

/** One look at the chain: all that is read about the account is read as of the block `head`. */
export type Pass = EvmParts & {
  readonly chain: Chain;
  readonly head: Head;
  /** How many transactions of the account are in the chain up to `head`. */
  readonly sent: number;
};

const pageSize = 200;

/** All payments in a state, in pages, since nobody knows how many there are. */
export async function* listPayments(
  { store }: Pick<RailHost, 'store'>,
  state: PaymentState,
): AsyncGenerator<KeptPayment> {
  let after = '';
  for (;;) {
    const records = await store.list(paymentCollection, { state, after, count: pageSize });
    for (const record of records) yield readPayment(record);
    const last = records.at(-1);
    if (last === undefined || records.length < pageSize) return;
    after = last.key;
  }
}

export function listChains(
  { config, host }: Pick<EvmParts, 'config' | 'host'>,
  signal: AbortSignal,
): Chain[] {
  return config.rpcUrls.map((url, index) =>
    createChain({
      url,
      name: `endpoint ${index + 1}`,
      fetch: host.fetch,
      timeoutMs: config.rpcTimeoutSeconds * 1000,
      signal,
    }),
  );
}
