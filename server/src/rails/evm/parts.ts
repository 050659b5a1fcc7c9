import type { PrivateKeyAccount } from 'viem/accounts';
import type { RailHost } from '../contract/contract.ts';
import { logRpcFailure } from '../kit/json-rpc.ts';
import { type Chain, createChain, type Head } from './chain.ts';
import type { EvmConfig, FeeLimits } from './config.ts';
import type { Nonces } from './nonce-records.ts';
import type { EvmPayments } from './payment.ts';
import type { UnknownTransactions } from './unknown-transactions.ts';

/** What all modules of the rail work with. */
export type EvmParts = {
  readonly config: EvmConfig;
  readonly limits: FeeLimits;
  readonly account: PrivateKeyAccount;
  readonly host: RailHost;
  readonly payments: EvmPayments;
  readonly nonces: Nonces;
  readonly unknownTransactions: UnknownTransactions;
  /** Of this process. */
  readonly progress: {
    /** The last waiting payment examined, so that all get their turn. */
    waitingAfter: string;
    /** Whether the records were compared with the chain. */
    isCompared: boolean;
  };
};

/** The state of the chain for one pass; the account is read as of the block `head`. */
export type Pass = EvmParts & {
  readonly chain: Chain;
  readonly head: Head;
  /** Transactions of the account up to `head`. */
  readonly sent: number;
  /** The last final block; -1: none is known. */
  readonly finalNumber: number;
};

export function noFinality(endpoint: string): string {
  return `${endpoint} has no finalized block: configure finalBlocks if the chain has no finality`;
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

/** The first endpoint that answers for the right chain serves the whole pass. */
export async function connectChain(
  { config, host }: EvmParts,
  signal: AbortSignal,
): Promise<Chain | undefined> {
  for (const chain of listChains({ config, host }, signal)) {
    try {
      const chainId = await chain.getChainId();
      if (chainId === config.chainId) return chain;
      host.log('error', `${chain.endpoint} serves another chain`, {
        chainId,
        expected: config.chainId,
      });
    } catch (error) {
      logRpcFailure(host, error);
    }
  }
  return undefined;
}
