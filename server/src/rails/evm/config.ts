import { type Hex, isAddress } from 'viem';
import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { parseDecimal } from './amounts.ts';

/** The `config` of an evm rail in the operator's file. Messages never repeat a value. */

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
    .refine((code) => findCurrency(code) !== undefined, 'must be a currency that Outlay knows')
    .refine((code) => code !== 'ETH', "is the chain's coin and not a token"),
  address: z
    .string()
    .refine((text) => isAddress(text, { strict: true }), 'must be an address with its checksum')
    .transform((text) => text),
  /** Compared with what the contract says before anything is signed. */
  decimals: z.int().min(0).max(36),
});

const confirmationStepSchema = z.strictObject({
  /** In the currency, decimal text; it holds up to and including this. null: any amount. */
  upTo: decimalText(weiScale).nullable(),
  blocks: z.int().min(1).max(10_000),
});

const feesSchema = z.strictObject({
  /** What is never exceeded for a unit of gas (EIP-1559 maxFeePerGas), gwei. */
  perGasMaxGwei: decimalText(gweiScale).default('200'),
  /** What is never exceeded for one payment, its replacements included, in ETH. */
  totalMax: decimalText(weiScale).default('0.05'),
  /** The tip that is offered at least, gwei. */
  priorityMinGwei: decimalText(gweiScale).default('0.1'),
  /** The tip that is offered at most at first, whatever a node suggests. */
  priorityMaxGwei: decimalText(gweiScale).default('20'),
  /** After so long without being mined, a transaction is offered again for more. */
  replaceAfterSeconds: z.int().min(1).max(86_400).default(180),
  /** A transfer that would need more gas is refused. */
  gasMax: z.int().min(21_000).max(10_000_000).default(300_000),
  /** The most that a payment's fee may be of its amount; null: no such bound, for test chains. */
  shareMaxBasisPoints: z.int().min(1).max(10_000).nullable().default(1000),
  /** What one unit of a token is worth in the chain's coin, so that fees compare with amounts. */
  nativePerUnit: z.record(z.string().max(5), decimalText(weiScale)).default({}),
  /** So long a payment waits for fees within its share, and then it is refused. */
  waitMaxSeconds: z
    .int()
    .min(60)
    .max(30 * 86_400)
    .default(6 * 3600),
});

export const configSchema = z
  .strictObject({
    /** Asked in this order; a URL may hold the provider's key, so it is never written anywhere. */
    rpcUrls: z
      .array(z.url({ protocol: /^https?$/ }).max(2000))
      .min(1)
      .max(5),
    chainId: z.int().min(1),
    key: keySchema,
    tokens: z.array(tokenSchema).max(50).default([]),
    /** By currency and amount, how deep a payment must lie to count as paid. */
    confirmations: z.record(z.string().max(5), z.array(confirmationStepSchema).min(1)).default({}),
    /** For currencies without steps; absent: a payment counts as paid when its block is final. */
    defaultBlocks: z.int().min(1).max(100_000).optional(),
    /**
     * How deep a block is final, for chains whose nodes know no `finalized` block. Absent: the
     * chain's own finality counts, whatever the depth is.
     */
    finalBlocks: z.int().min(1).max(100_000).optional(),
    fees: feesSchema.prefault({}),
    /** Transactions that are signed and not mined yet; nodes keep few of one sender. */
    inFlightMax: z.int().min(1).max(60).default(16),
    pollSeconds: z.number().min(0.05).max(600).default(12),
    rpcTimeoutSeconds: z.number().min(0.1).max(120).default(10),
  })
  .superRefine((config, context) => {
    const codes = config.tokens.map(({ currency }) => currency);
    if (new Set(codes).size < codes.length) {
      context.addIssue({ code: 'custom', path: ['tokens'], message: 'one currency stands twice' });
    }
    for (const message of findPriceFaults(config.fees, codes)) {
      context.addIssue({ code: 'custom', path: ['fees', 'nativePerUnit'], message });
    }
    for (const [currency, steps] of Object.entries(config.confirmations)) {
      if (currency !== 'ETH' && !codes.includes(currency)) {
        const message = 'is for a currency that is neither ETH nor a token of this rail';
        context.addIssue({ code: 'custom', path: ['confirmations', currency], message });
      } else if (!areAscending(steps)) {
        const message = 'must ascend in upTo and end with null';
        context.addIssue({ code: 'custom', path: ['confirmations', currency], message });
      }
    }
  });

export type EvmConfig = z.infer<typeof configSchema>;

/** Without the price of a token nothing bounds the fee of its payments by their amount. */
function findPriceFaults(
  { shareMaxBasisPoints, nativePerUnit }: z.infer<typeof feesSchema>,
  tokens: readonly string[],
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
    faults.push(`must say what one unit of ${missing.join(', ')} is worth in ETH, as ${example}`);
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

/** How deep a payment must lie to count as paid; undefined: its block must be final. */
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

/**
 * The limits for one payment: its fee is at most the configured share of its amount, which for a
 * token is valued at the configured price.
 */
export function findFeeLimits(config: EvmConfig, limits: FeeLimits, payment: Amount): FeeLimits {
  const { shareMaxBasisPoints, nativePerUnit } = config.fees;
  if (shareMaxBasisPoints === null) return limits;
  const { currency, amountMinor, scale } = payment;
  const price = currency === 'ETH' ? '1' : nativePerUnit[currency];
  // A token that was taken out of the configuration since it was signed.
  if (price === undefined) return limits;
  const worth = (amountMinor * parseDecimal(price, weiScale)) / 10n ** BigInt(scale);
  const share = (worth * BigInt(shareMaxBasisPoints)) / 10_000n;
  return share < limits.totalMax ? { ...limits, totalMax: share } : limits;
}
