import { isAddress } from '@solana/kit';
import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { findNetwork, type Network } from '../../core/networks.ts';
import { readSecretKey } from './key.ts';

/** The `config` of a solana rail. Error messages never repeat a value. */

const lamportsMax = 100_000_000_000;

const tokenSchema = z.strictObject({
  currency: z
    .string()
    .max(5)
    .refine((code) => findCurrency(code)?.isCrypto === true, 'must be a supported token')
    .refine((code) => code !== 'SOL', 'must be a token; SOL is the coin of the chain'),
  mint: z.string().refine(isAddress, 'must be the address of a mint'),
  /** Compared with the mint's own before anything is signed. */
  decimals: z.int().min(0).max(18),
});

const feesSchema = z.strictObject({
  /** The most that one transaction may cost: signature, priority and the recipient's account. */
  transactionMaxLamports: z.int().min(5000).max(lamportsMax).default(3_000_000),
  /** The most that all transactions signed in a day (UTC) may cost. */
  dayMaxLamports: z.int().min(5000).max(lamportsMax).default(500_000_000),
  /** Offered to validators for each unit of computing, in millionths of a lamport. */
  priorityMicroLamports: z.int().min(0).max(10_000_000).default(10_000),
});

export const configSchema = z
  .strictObject({
    /** Tried in this order. A URL may contain an API key, so it is never logged. */
    rpcUrls: z
      .array(z.url({ protocol: /^https?$/ }).max(2000))
      .min(1)
      .max(5),
    /** `private`: a validator of your own, with `genesisHash`. */
    cluster: z.enum(['mainnet', 'devnet', 'testnet', 'private']),
    genesisHash: z
      .string()
      .regex(/^[1-9A-HJ-NP-Za-km-z]{32,44}$/, 'must be the hash of the first block in base58')
      .optional(),
    key: z.strictObject({
      /** As `solana-keygen` writes it (a JSON array of 64 numbers), or 64 bytes in base58. */
      secretKey: z
        .string()
        .max(1000)
        .refine((text) => readSecretKey(text) !== undefined, 'must be a secret key of 64 bytes'),
    }),
    tokens: z.array(tokenSchema).min(1).max(20),
    fees: feesSchema.prefault({}),
    /** Transactions signed and not yet final. */
    inFlightMax: z.int().min(1).max(200).default(50),
    pollSeconds: z.number().min(0.05).max(600).default(5),
    rpcTimeoutSeconds: z.number().min(0.1).max(120).default(10),
  })
  .superRefine(({ tokens, cluster, genesisHash }, context) => {
    for (const member of ['currency', 'mint'] as const) {
      if (new Set(tokens.map((token) => token[member])).size === tokens.length) continue;
      const message = `must not contain a ${member} twice`;
      context.addIssue({ code: 'custom', path: ['tokens'], message });
    }
    if ((cluster === 'private') !== (genesisHash !== undefined)) {
      const message = 'must be there for a private cluster, and for no other';
      context.addIssue({ code: 'custom', path: ['genesisHash'], message });
    }
  });

export type SolanaConfig = z.infer<typeof configSchema>;
export type Token = SolanaConfig['tokens'][number];

const names = { mainnet: 'solana', devnet: 'solana-devnet', testnet: 'solana-testnet' } as const;

export function nameNetwork({ cluster }: Pick<SolanaConfig, 'cluster'>): string {
  return cluster === 'private' ? 'solana-private' : names[cluster];
}

/** Whether the endpoint serves the configured cluster: CAIP-2 has the beginning of its hash. */
export function isRightCluster(config: SolanaConfig, genesisHash: string): boolean {
  if (config.genesisHash !== undefined) return genesisHash === config.genesisHash;
  const network: Network | undefined = findNetwork(nameNetwork(config));
  return network !== undefined && genesisHash.startsWith(network.caip2.replace('solana:', ''));
}
