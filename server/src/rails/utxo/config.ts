import { z } from 'zod';
import { readDecimal } from '../../core/money.ts';
import { parseRate } from './fees.ts';
import { chainNames, findNetwork, networkNames } from './networks.ts';

/** What an operator configures of a rail of this kind; README.md beside this file explains it. */

const rate = z
  .string()
  .max(20)
  .transform((text, context) => {
    const parsed = parseRate(text);
    if (parsed !== undefined) return parsed;
    context.addIssue({
      code: 'custom',
      message: 'a rate is a positive decimal of minor units per vbyte, at most three decimals',
    });
    return z.NEVER;
  });

/** Amounts of coins as decimal text; all networks here have eight decimals. */
const coins = z
  .string()
  .max(30)
  .transform((text, context) => {
    const decimal = readDecimal(text);
    if (decimal !== undefined && decimal.digits > 0n && decimal.scale <= 8) {
      return decimal.digits * 10n ** BigInt(8 - decimal.scale);
    }
    context.addIssue({ code: 'custom', message: 'an amount of coins has at most eight decimals' });
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
    'the steps ascend in upTo, and the last one is null',
  );

const rpc = z.strictObject({
  /** Without a user and password of its own: no request can be made with it, and errors quote it. */
  url: z
    .url({ protocol: /^https?$/ })
    .max(300)
    .refine((text) => {
      const url = URL.parse(text);
      return url?.username === '' && url.password === '';
    }, 'user and password belong in credentials'),
  /** `user:password`; the node's cookie file holds exactly this. */
  credentials: z
    .string()
    .max(500)
    .transform((text) => text.trim())
    .pipe(z.string().regex(/^[^:]+:.+$/, 'user:password')),
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
    /** The node's watch-only wallet; it is made when there is none. */
    wallet: walletName,
    /** From when on the node looks for coins of the keys as it first learns them. */
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
    /** On a test chain: addresses of the main network are taken for the same scripts here. */
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
        /** Where the node has no estimate. */
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
    /** How deep a payment must be, by its amount, before it counts as paid. */
    confirmations: depthSteps.prefault([
      { upTo: '0.01', count: 2 },
      { upTo: '1', count: 3 },
      { upTo: null, count: 6 },
    ]),
    /** How deep a foreign transaction must be before what it displaced is paid anew. */
    conflictConfirmations: depth.default(12),
    /** How deep a payment is when it is not looked at any more. */
    finalConfirmations: depth.default(100),
    /** How long a payment waits for coins or for lower fees before it is refused. */
    waitMaxSeconds: z
      .int()
      .min(60)
      .max(30 * 86_400)
      .default(6 * 3600),
    pollSeconds: z.number().min(0.05).max(3600).default(10),
  })
  .refine(({ network, chain }) => findNetwork(network, chain) !== undefined, {
    path: ['chain'],
    message: 'the network has no such chain',
  })
  .refine(({ chain, mainAddresses }) => !(mainAddresses && chain === 'main'), {
    path: ['mainAddresses'],
    message: 'it is for test chains',
  })
  .refine(({ fees }) => fees.rateMin <= fees.rateMax, {
    path: ['fees', 'rateMax'],
    message: 'it is below rateMin',
  });

export type Config = z.infer<typeof configSchema>;

/** How many confirmations a payment of the amount needs. */
export function getDepthNeeded(steps: Config['confirmations'], amountMinor: bigint): number {
  const step = steps.find(({ upTo }) => upTo === null || amountMinor <= upTo);
  if (step === undefined) throw new Error('the table of confirmations has no last step');
  return step.count;
}
