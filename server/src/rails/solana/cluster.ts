import type { Address, Base64EncodedWireTransaction } from '@solana/kit';
import { z } from 'zod';
import type { RailHost } from '../contract/contract.ts';
import { createRpc, logRpcFailure, type Rpc, RpcError } from '../kit/json-rpc.ts';
import { isRightCluster, type SolanaConfig } from './config.ts';

/** Typed JSON-RPC calls; every answer is validated. One `Cluster` talks to one endpoint. */

const whole = z.int().nonnegative();
const base58 = z.string().regex(/^[1-9A-HJ-NP-Za-km-z]{32,90}$/);
const failure = z.unknown().transform((error) => error !== null && error !== undefined);

function inContext<Schema extends z.ZodType>(value: Schema) {
  return z.object({ context: z.object({ slot: whole }), value });
}

const accountSchema = inContext(
  z
    .object({
      owner: base58,
      lamports: whole,
      data: z.tuple([z.base64(), z.literal('base64')]),
    })
    .nullable(),
);

const statusSchema = z
  .object({
    slot: whole,
    err: failure,
    confirmationStatus: z.enum(['processed', 'confirmed', 'finalized']).nullish(),
  })
  .nullable();
const statusesSchema = inContext(z.array(statusSchema));

const transactionSchema = z
  .object({
    slot: whole,
    blockTime: whole.nullish(),
    meta: z.object({
      err: failure,
      fee: whole,
      preBalances: z.array(whole).min(1),
      postBalances: z.array(whole).min(1),
    }),
    transaction: z.tuple([z.base64(), z.literal('base64')]),
  })
  .nullable();

const listedSchema = z.array(
  z.object({
    signature: base58,
    slot: whole,
    err: failure,
    memo: z.string().nullish(),
    blockTime: whole.nullish(),
  }),
);

export type Account = NonNullable<z.output<typeof accountSchema>['value']>;
export type SignatureStatus = z.output<typeof statusSchema>;
export type ListedSignature = z.output<typeof listedSchema>[number];

const finalized = { commitment: 'finalized' } as const;

/** Every function may throw an RpcError. All reads are of the finalized state. */
export type Cluster = ReturnType<typeof createCluster>;

/** How many signatures one call may list. */
const pageSize = 1000;

export function createCluster(
  { host, timeoutMs }: { readonly host: RailHost; readonly timeoutMs: number },
  {
    url,
    name,
    signal,
  }: { readonly url: string; readonly name: string; readonly signal: AbortSignal },
) {
  const rpc = createRpc({ url, name, fetch: host.fetch, timeoutMs, signal });
  return {
    endpoint: name,
    getGenesisHash: () => rpc.call('getGenesisHash', [], base58),
    getBlockHeight: () => rpc.call('getBlockHeight', [finalized], whole),
    getSlot: () => rpc.call('getSlot', [finalized], whole),
    getLatestBlockhash: async () => {
      const schema = inContext(z.object({ blockhash: base58, lastValidBlockHeight: whole }));
      return (await rpc.call('getLatestBlockhash', [finalized], schema)).value;
    },
    getBalance: async (account: Address) =>
      (await rpc.call('getBalance', [account, finalized], inContext(whole))).value,
    findAccount: async (account: Address) => {
      const params = [account, { ...finalized, encoding: 'base64' }];
      return (await rpc.call('getAccountInfo', params, accountSchema)).value ?? undefined;
    },
    getRent: (bytes: number) => rpc.call('getMinimumBalanceForRentExemption', [bytes], whole),
    ...createHistory(rpc, name),
    /** Whether it would fail; the bytes are not signed. */
    simulate: async (wire: Base64EncodedWireTransaction) => {
      const options = { commitment: 'confirmed', encoding: 'base64', sigVerify: false };
      const schema = inContext(z.object({ err: failure }));
      return (await rpc.call('simulateTransaction', [wire, options], schema)).value.err;
    },
    broadcast: (wire: string) =>
      rpc.call(
        'sendTransaction',
        // The rail repeats the bytes itself, for as long as they are valid.
        [wire, { encoding: 'base64', skipPreflight: true, maxRetries: 0 }],
        base58,
      ),
  };
}

type Listing = {
  readonly until?: string;
  readonly pagesMax?: number;
  readonly sinceSeconds?: number;
};

/** What has become of transactions. */
function createHistory(rpc: Rpc, name: string) {
  return {
    /** In the order of the signatures, with the slot up to which the node has looked. */
    getStatuses: async (signatures: readonly string[]) => {
      const params = [signatures, { searchTransactionHistory: true }];
      const { context, value } = await rpc.call('getSignatureStatuses', params, statusesSchema);
      if (value.length !== signatures.length) {
        throw new RpcError(`${name} answered for other signatures`, { kind: 'garbage' });
      }
      return { slot: context.slot, statuses: value };
    },
    findTransaction: async (signature: string) => {
      const options = { ...finalized, encoding: 'base64', maxSupportedTransactionVersion: 0 };
      return (
        (await rpc.call('getTransaction', [signature, options], transactionSchema)) ?? undefined
      );
    },
    /** The newest first, those after `until`, and at least those since `sinceSeconds`. */
    listSignatures: async (
      account: Address,
      { until, pagesMax = Number.POSITIVE_INFINITY, sinceSeconds = 0 }: Listing,
    ) => {
      const listed: ListedSignature[] = [];
      for (let pages = 1; ; pages += 1) {
        const before = listed.at(-1)?.signature;
        const page = await rpc.call(
          'getSignaturesForAddress',
          [
            account,
            {
              ...finalized,
              limit: pageSize,
              ...(until !== undefined && { until }),
              ...(before !== undefined && { before }),
            },
          ],
          listedSchema,
        );
        listed.push(...page);
        const isPast = (page.at(-1)?.blockTime ?? sinceSeconds) < sinceSeconds;
        if (page.length < pageSize || pages >= pagesMax || isPast) return listed;
      }
    },
  };
}

export function listClusters(
  { config, host }: { readonly config: SolanaConfig; readonly host: RailHost },
  signal: AbortSignal,
): Cluster[] {
  const timeoutMs = config.rpcTimeoutSeconds * 1000;
  return config.rpcUrls.map((url, index) =>
    createCluster({ host, timeoutMs }, { url, name: `endpoint ${index + 1}`, signal }),
  );
}

/** The first endpoint that answers for the right cluster serves a whole pass. @throws RpcError */
export async function connectCluster(
  parts: { readonly config: SolanaConfig; readonly host: RailHost },
  signal: AbortSignal,
): Promise<Cluster> {
  for (const cluster of listClusters(parts, signal)) {
    try {
      if (isRightCluster(parts.config, await cluster.getGenesisHash())) return cluster;
      parts.host.log('error', `${cluster.endpoint} serves another cluster`);
    } catch (error) {
      logRpcFailure(parts.host, error);
    }
  }
  throw new RpcError('no endpoint answers for the cluster', { kind: 'unreachable' });
}
