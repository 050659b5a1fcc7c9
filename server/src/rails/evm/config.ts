import { type Hex, isAddress } from 'viem';
import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { getEvmNetwork, type Network } from '../../core/networks.ts';
import { parseDecimal } from './amounts.ts';

/** The `config` of an evm rail. Error messages never repeat a value. */

const gweiScale = 9;
const weiScale = 18;

function decimalText(scale: number) {
  const pattern = new RegExp(`^\\d{1,12}(?:\\.\\d{1,${scale}})?$`);
  return z.string().max(40).regex(pattern, `must be digits with at most ${scale} decimals`);
}

const privateKeySchema = z
  .string()
  .trim()
  .regex(/^(?:0x)?[0-9a-fA-F]{64}$/, 'must be 64 hexadecimal digits')
  .transform((text): Hex => `0x${text.replace(/^0x/, '')}`);

const keySchema = z.union([
  z.strictObject({ privateKey: privateKeySchema }),
  z.strictObject({
    /** The text of a version 3 key file, as geth and clef write it. */
    keystore: z.string().min(1).max(10_000),
    password: z.string().max(1000),
  }),
]);

const tokenSchema = z.strictObject({
  currency: z
    .string()
    .max(5)
    .refine((code) => findCurrency(code)?.isCrypto === true, 'must be a supported token'),
  address: z
    .string()
    .refine((text) => isAddress(text, { strict: true }), 'must be an address with its checksum')
    .transform((text) => text),
  /** Compared with the contract's own `decimals()` before anything is signed. */
  decimals: z.int().min(0).max(36),
});

const confirmationStepSchema = z.strictObject({
  /** The largest amount for which the step holds, in the currency; null: any amount. */
  upTo: decimalText(weiScale).nullable(),
  blocks: z.int().min(1).max(10_000),
});

const feesSchema = z.strictObject({
  /** Upper limit of maxFeePerGas (EIP-1559), gwei. */
  perGasMaxGwei: decimalText(gweiScale).default('200'),
  /** Upper limit of the fee of one payment, its replacements included, ETH. */
  totalMax: decimalText(weiScale).default('0.05'),
  /** The lowest tip (maxPriorityFeePerGas) that is offered, gwei. */
  priorityMinGwei: decimalText(gweiScale).default('0.1'),
  /** The highest tip of a first offer, gwei. */
  priorityMaxGwei: decimalText(gweiScale).default('20'),
  /** A transaction that is not mined for so long is replaced with a higher fee. */
  replaceAfterSeconds: z.int().min(1).max(86_400).default(180),
  /** Transfers that need more gas are refused. */
  gasMax: z.int().min(21_000).max(10_000_000).default(300_000),
  /** Upper limit of the fee as a share of the amount; null: no limit, for test chains. */
  shareMaxBasisPoints: z.int().min(1).max(10_000).nullable().default(1000),
  /** The price of one unit of a token in ETH, to compare fees with amounts. */
  nativePerUnit: z.record(z.string().max(5), decimalText(weiScale)).default({}),
  /** A payment that waits so long for a fee within its share is refused. */
  waitMaxSeconds: z
    .int()
    .min(60)
    .max(30 * 86_400)
    .default(6 * 3600),
});

export const configSchema = z
  .strictObject({
    /** Tried in this order. A URL may contain an API key, so it is never logged. */
    rpcUrls: z
      .array(z.url({ protocol: /^https?$/ }).max(2000))
      .min(1)
      .max(5),
    chainId: z.int().min(1),
    /** The coin of the chain, for chains that the registry of networks does not list; ETH if absent. */
    coin: z.enum(['ETH', 'POL', 'BNB']).optional(),
    key: keySchema,
    tokens: z.array(tokenSchema).max(50).default([]),
    /** By currency and amount: the confirmations at which a payment counts as paid. */
    confirmations: z.record(z.string().max(5), z.array(confirmationStepSchema).min(1)).default({}),
    /** For currencies without steps. Absent: a payment counts as paid when its block is final. */
    defaultBlocks: z.int().min(1).max(100_000).optional(),
    /**
     * The depth at which a block is final, for chains whose nodes know no `finalized` block. Absent:
     * the chain's own finality counts.
     */
    finalBlocks: z.int().min(1).max(100_000).optional(),
    fees: feesSchema.prefault({}),
    /** Transactions signed and not yet mined; nodes keep only a few of one sender. */
    inFlightMax: z.int().min(1).max(60).default(16),
    pollSeconds: z.number().min(0.05).max(600).default(12),
    rpcTimeoutSeconds: z.number().min(0.1).max(120).default(10),
  })
  .superRefine((config, context) => {
    const codes = config.tokens.map(({ currency }) => currency);
    const coin = getCoin(config);
    if (config.coin !== undefined && config.coin !== coin) {
      const message = `must be ${coin} or absent: that is the coin of chain ${config.chainId}`;
      context.addIssue({ code: 'custom', path: ['coin'], message });
    }
    for (const [index, code] of codes.entries()) {
      if (code !== coin) continue;
      const message = `must be a token; ${coin} is the coin of the chain`;
      context.addIssue({ code: 'custom', path: ['tokens', index, 'currency'], message });
    }
    if (new Set(codes).size < codes.length) {
      context.addIssue({
        code: 'custom',
        path: ['tokens'],
        message: 'must not contain a currency twice',
      });
    }
    for (const message of findPriceFaults(config.fees, { tokens: codes, coin })) {
      context.addIssue({ code: 'custom', path: ['fees', 'nativePerUnit'], message });
    }
    for (const [currency, steps] of Object.entries(config.confirmations)) {
      if (currency !== coin && !codes.includes(currency)) {
        const message = `must be for ${coin} or a token of this rail`;
        context.addIssue({ code: 'custom', path: ['confirmations', currency], message });
      } else if (!areAscending(steps)) {
        const message = 'must ascend in upTo and end with null';
        context.addIssue({ code: 'custom', path: ['confirmations', currency], message });
      }
    }
  });

export type EvmConfig = z.infer<typeof configSchema>;

/** The chain, by its id. */
export function getNetwork({ chainId, coin }: Pick<EvmConfig, 'chainId' | 'coin'>): Network {
  return getEvmNetwork(chainId, coin);
}

/** The currency of the chain's own coin, in which its fees are paid. */
export function getCoin(config: Pick<EvmConfig, 'chainId' | 'coin'>): string {
  return getNetwork(config).coin;
}

/** A fee can be bounded by the amount of a token only with the token's price. */
function findPriceFaults(
  { shareMaxBasisPoints, nativePerUnit }: z.infer<typeof feesSchema>,
  { tokens, coin }: { readonly tokens: readonly string[]; readonly coin: string },
): string[] {
  const faults: string[] = [];
  for (const [currency, price] of Object.entries(nativePerUnit)) {
    if (!tokens.includes(currency)) faults.push(`${currency} is not a token of this rail`);
    else if (parseDecimal(price, weiScale) === 0n) faults.push(`${currency} must be above zero`);
  }
  if (shareMaxBasisPoints === null) return faults;
  const missing = tokens.filter((currency) => nativePerUnit[currency] === undefined);
  if (missing.length > 0) {
    const example = `{ "${missing[0]}": "0.0003" }`;
    faults.push(
      `must say what one unit of ${missing.join(', ')} is worth in ${coin}, as ${example}`,
    );
  }
  return faults;
}
type ConfirmationStep = z.infer<typeof confirmationStepSchema>;

function areAscending(steps: readonly ConfirmationStep[]): boolean {
  const bounds = steps.map(({ upTo }) => (upTo === null ? null : parseDecimal(upTo, weiScale)));
  return bounds.every((bound, index) => {
    if (index === bounds.length - 1) return bound === null;
    const next = bounds[index + 1];
    return bound !== null && (next === null || next === undefined || bound < next);
  });
}

type Amount = {
  readonly currency: string;
  readonly amountMinor: bigint;
  readonly scale: number;
};

/** The confirmations at which a payment counts as paid; undefined: its block must be final. */
export function findConfirmations(config: EvmConfig, payment: Amount): number | undefined {
  const amount = payment.amountMinor * 10n ** BigInt(weiScale - payment.scale);
  const step = config.confirmations[payment.currency]?.find(
    ({ upTo }) => upTo === null || amount <= parseDecimal(upTo, weiScale),
  );
  return step?.blocks ?? config.defaultBlocks;
}

export type FeeLimits = {
  /** All in wei. */
  readonly perGasMax: bigint;
  readonly totalMax: bigint;
  readonly priorityMin: bigint;
  readonly priorityMax: bigint;
  readonly gasMax: bigint;
};

export function readFeeLimits({ fees }: EvmConfig): FeeLimits {
  return {
    perGasMax: parseDecimal(fees.perGasMaxGwei, gweiScale),
    totalMax: parseDecimal(fees.totalMax, weiScale),
    priorityMin: parseDecimal(fees.priorityMinGwei, gweiScale),
    priorityMax: parseDecimal(fees.priorityMaxGwei, gweiScale),
    gasMax: BigInt(fees.gasMax),
  };
}

/** The limits for one payment, with the configured share of its amount as the highest total fee. */
export function findFeeLimits(config: EvmConfig, limits: FeeLimits, payment: Amount): FeeLimits {
  const { shareMaxBasisPoints, nativePerUnit } = config.fees;
  if (shareMaxBasisPoints === null) return limits;
  const { currency, amountMinor, scale } = payment;
  const price = currency === getCoin(config) ? '1' : nativePerUnit[currency];
  // The token was removed from the configuration after the payment was signed.
  if (price === undefined) return limits;
  const worth = (amountMinor * parseDecimal(price, weiScale)) / 10n ** BigInt(scale);
  const share = (worth * BigInt(shareMaxBasisPoints)) / 10_000n;
  return share < limits.totalMax ? { ...limits, totalMax: share } : limits;
}
