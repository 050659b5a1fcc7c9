import { z } from 'zod';
import { readScaled } from '../../core/money.ts';
import { parseRate } from './fees.ts';
import { chainNames, findNetwork, networkNames } from './networks.ts';
import { coinScale } from './node-rpc.ts';

/** The `config` of a utxo rail; see README.md. */

const rate = z
  .string()
  .max(20)
  .transform((text, context) => {
    const parsed = parseRate(text);
    if (parsed !== undefined) return parsed;
    context.addIssue({
      code: 'custom',
      message: 'must be a positive rate in minor units per vbyte with at most three decimals',
    });
    return z.NEVER;
  });

/** Amounts of coins as decimal text with up to eight decimals. */
const coins = z
  .string()
  .max(30)
  .transform((text, context) => {
    const minor = readScaled(text, coinScale);
    if (minor !== undefined && minor > 0n) return minor;
    context.addIssue({
      code: 'custom',
      message: 'must be a positive amount with at most eight decimals',
    });
    return z.NEVER;
  });

const depth = z.int().min(1).max(1000);

const depthSteps = z
  .array(z.strictObject({ upTo: coins.nullable(), count: depth }))
  .min(1)
  .max(20)
  .refine(
    (steps) =>
      steps.at(-1)?.upTo === null &&
      steps.slice(0, -1).every(({ upTo }, index) => {
        const before = steps[index - 1]?.upTo ?? 0n;
        return upTo !== null && upTo > before;
      }),
    'must ascend in upTo and end with null',
  );

const rpc = z.strictObject({
  /** Without user and password: fetch refuses such a URL, and errors quote it. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(300)
    .refine((text) => {
      const url = URL.parse(text);
      return url?.username === '' && url.password === '';
    }, 'must not contain user and password: use credentials'),
  /** `user:password`, as in the node's cookie file. */
  credentials: z
    .string()
    .max(500)
    .transform((text) => text.trim())
    .pipe(z.string().regex(/^[^:]+:.+$/, 'must be user:password')),
  timeoutSeconds: z.int().min(1).max(600).default(30),
});

const walletName = z.string().regex(/^[A-Za-z0-9._-]{1,60}$/);

const signing = z.discriminatedUnion('mode', [
  z.strictObject({
    mode: z.literal('own'),
    /** A seed in hexadecimal, an extended private key, or WIF keys with spaces between them. */
    secret: z
      .string()
      .max(20_000)
      .transform((text) => text.trim())
      .pipe(z.string().min(1)),
    kind: z.enum(['wpkh', 'tr']).default('wpkh'),
    path: z
      .string()
      .regex(/^m(?:\/\d{1,10}['h]?)*$/)
      .max(100)
      .transform((text) => text.replaceAll('h', "'"))
      .optional(),
    addressCount: z.int().min(1).max(1000).default(50),
    /** The node's watch-only wallet; created when it does not exist. */
    wallet: walletName,
    /** From when the node scans for coins of new keys. */
    watchFrom: z.union([z.literal('now'), z.iso.datetime()]).default('now'),
  }),
  z.strictObject({
    mode: z.literal('node'),
    wallet: walletName,
    changeKind: z.enum(['bech32', 'bech32m']).default('bech32'),
  }),
]);

export const configSchema = z
  .strictObject({
    network: z.enum(networkNames),
    chain: z.enum(chainNames).default('main'),
    rpc,
    keys: signing,
    /** Test chains only: main network addresses are read as the same scripts. */
    mainAddresses: z.boolean().default(false),
    batch: z
      .strictObject({
        waitSeconds: z.int().min(0).max(86_400).default(30),
        payoutsMax: z.int().min(1).max(500).default(100),
      })
      .prefault({}),
    fees: z
      .strictObject({
        targetBlocks: z.int().min(1).max(1008).default(6),
        rateMin: rate.prefault('1'),
        rateMax: rate.prefault('200'),
        /** When the node has no estimate. */
        rateFallback: rate.prefault('10'),
        shareMaxBasisPoints: z.int().min(1).max(10_000).default(1000),
        replaceAfterBlocks: z.int().min(1).max(1000).default(6),
      })
      .prefault({}),
    coins: z
      .strictObject({
        confirmationsMin: depth.default(2),
        inputsMax: z.int().min(1).max(600).default(200),
        consolidateBelowRate: rate.prefault('3'),
        consolidateInputs: z.int().min(0).max(200).default(10),
      })
      .prefault({}),
    /** Confirmations at which a payment counts as paid, by amount. */
    confirmations: depthSteps.prefault([
      { upTo: '0.01', count: 2 },
      { upTo: '1', count: 3 },
      { upTo: null, count: 6 },
    ]),
    /** Confirmations of a conflicting transaction before the displaced payments are paid again. */
    conflictConfirmations: depth.default(12),
    /** Confirmations at which a payment is no longer watched. */
    finalConfirmations: depth.default(100),
    /** How long a payment waits for coins or lower fees before it is rejected. */
    waitMaxSeconds: z
      .int()
      .min(60)
      .max(30 * 86_400)
      .default(6 * 3600),
    pollSeconds: z.number().min(0.05).max(3600).default(10),
  })
  .refine(({ network, chain }) => findNetwork(network, chain) !== undefined, {
    path: ['chain'],
    message: 'must be a chain of the network',
  })
  .refine(({ chain, mainAddresses }) => !(mainAddresses && chain === 'main'), {
    path: ['mainAddresses'],
    message: 'must be false on the main chain',
  })
  .refine(({ fees }) => fees.rateMin <= fees.rateMax, {
    path: ['fees', 'rateMax'],
    message: 'must not be below rateMin',
  });

export type Config = z.infer<typeof configSchema>;

/** Confirmations that a payment of the amount needs. */
export function getDepthNeeded(steps: Config['confirmations'], amountMinor: bigint): number {
  const step = steps.find(({ upTo }) => upTo === null || amountMinor <= upTo);
  if (step === undefined) throw new Error('confirmations must end with a step for any amount');
  return step.count;
}
