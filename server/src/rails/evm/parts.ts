import type { PrivateKeyAccount } from 'viem/accounts';
import type { RailHost } from '../contract/contract.ts';
import { type Chain, createChain, type Head } from './chain.ts';
import type { EvmConfig, FeeLimits } from './config.ts';
import { type KeptPayment, type PaymentState, paymentCollection, readPayment } from './payment.ts';
import { RpcError } from './rpc.ts';

/** What a rail of this kind consists of while the process lives. */
export type EvmParts = {
  readonly config: EvmConfig;
  readonly limits: FeeLimits;
  readonly account: PrivateKeyAccount;
  readonly host: RailHost;
  /** Where the look through the waiting payments goes on, so that none is passed over for ever. */
  readonly memory: {
    waitingAfter: string;
    /** Whether this process has compared the memory with the chain. */
    isCompared: boolean;
  };
};

/** One look at the chain: all that is read about the account is read as of the block `head`. */
export type Pass = EvmParts & {
  readonly chain: Chain;
  readonly head: Head;
  /** How many transactions of the account are in the chain up to `head`. */
  readonly sent: number;
  /** Blocks up to this one are final; -1: none is known to be. */
  readonly finalNumber: number;
};

export function noFinality(endpoint: string): string {
  return `${endpoint} knows no finalized block: configure finalBlocks if the chain has none`;
}

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

/** The first endpoint that answers and speaks for the right chain serves the whole pass. */
export async function connectChain(
  { config, host }: EvmParts,
  signal: AbortSignal,
): Promise<Chain | undefined> {
  for (const chain of listChains({ config, host }, signal)) {
    try {
      const chainId = await chain.getChainId();
      if (chainId === config.chainId) return chain;
      host.log('error', `${chain.endpoint} speaks for another chain`, {
        chainId,
        expected: config.chainId,
      });
    } catch (error) {
      if (!(error instanceof RpcError)) throw error;
      host.log('warn', error.message, { kind: error.kind });
    }
  }
  return undefined;
}
