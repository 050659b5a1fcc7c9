import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { findCurrency, getCurrency } from '../../core/currency.ts';
import { readDecimal } from '../../core/money.ts';

/** What an operator says about one hub, and what the rail makes of it. */

const fspIdSchema = z.string().min(1).max(32);
const pemSchema = z.string().min(1).max(20_000);
const decimalSchema = z.string().regex(/^\d{1,15}(\.\d{1,4})?$/, 'an amount such as 1.50');
const urlSchema = z
  .string()
  .max(500)
  .regex(/^https?:\/\/[^?#]+[^/?#]$/, 'http or https, without a final slash, query or fragment');

export const configSchema = z.strictObject({
  /** Where the hub takes requests; the paths of the API follow. */
  hubUrl: urlSchema,
  /** Our name in the scheme. */
  fspId: fspIdSchema,
  /** The name under which the hub itself speaks, such as `switch` or `Hub`. */
  hubFspId: fspIdSchema,
  /** PKCS #8 or PKCS #1, RSA: signs what we send. */
  privateKey: pemSchema,
  /** By name in the scheme: the hub's and each participant's, SPKI or certificate, RSA. */
  publicKeys: z.record(fspIdSchema, pemSchema),
  /** How we are named as the payer in a quote. */
  payer: z.strictObject({
    idType: z.enum(['BUSINESS', 'ALIAS', 'MSISDN', 'ACCOUNT_ID']),
    id: z.string().min(1).max(128),
  }),
  /** What a hub's gateway wants besides, such as `authorization`. */
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,60}$/), z.string().max(8_000)).default({}),
  /** What a payee's provider may charge on top of the amount; none without an entry. */
  feeMax: z
    .strictObject({
      fixed: z.record(z.string(), decimalSchema).default({}),
      basisPoints: z.int().min(0).max(10_000).default(0),
    })
    .default({ fixed: {}, basisPoints: 0 }),
  /** Which words of the recipient's name the name on the wallet must have. */
  nameCheck: z.enum(['off', 'last_name', 'full_name']).default('last_name'),
  /** How far the date of a callback may be from this machine's clock, before or after. */
  callbackAgeMaxMs: z.int().min(1_000).max(86_400_000).default(300_000),
  /** `sent`: a date that is not part of the signature counts, too; it proves nothing. */
  callbackDate: z.enum(['signed', 'sent']).default('signed'),
  /** How long a call may take until it counts as unanswered. */
  callMs: z.int().min(100).max(60_000).default(10_000),
  /** How long look-up and quote may take together before the payment is given up. */
  termsMs: z.int().min(1_000).max(86_400_000).default(180_000),
  /** How long the hub has to carry out a transfer, at most. */
  transferMs: z.int().min(1_000).max(3_600_000).default(60_000),
  /** After which silence something is sent or asked again; doubled each time. */
  againMs: z.int().min(50).max(60_000).default(2_000),
});

export type FspiopConfig = z.output<typeof configSchema>;

export type Settings = Omit<FspiopConfig, 'privateKey' | 'publicKeys' | 'feeMax'> & {
  readonly privateKey: KeyObject;
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
  /** The most that a payee's provider may charge for an amount, in minor units. */
  feeMaxMinor(currency: string, amountMinor: bigint): bigint;
};

/** @throws Error which names the member that is wrong, never its content. */
export function readSettings(config: FspiopConfig): Settings {
  const fixed = new Map<string, bigint>();
  for (const [code, text] of Object.entries(config.feeMax.fixed)) {
    fixed.set(code, readFee(code, text));
  }
  if (config.publicKeys[config.hubFspId] === undefined) {
    throw new Error(`config: publicKeys has no key of the hub, ${config.hubFspId}`);
  }
  return {
    ...config,
    privateKey: readKey('privateKey', config.privateKey, createPrivateKey),
    publicKeys: new Map(
      Object.entries(config.publicKeys).map(([fspId, pem]) => [
        fspId,
        readKey(`publicKeys.${fspId}`, pem, createPublicKey),
      ]),
    ),
    feeMaxMinor: (currency, amountMinor) =>
      (fixed.get(currency) ?? 0n) + (amountMinor * BigInt(config.feeMax.basisPoints)) / 10_000n,
  };
}

function readFee(code: string, text: string): bigint {
  if (findCurrency(code) === undefined) {
    throw new Error(`config: feeMax.fixed names no known currency, ${code}`);
  }
  const minor = readMinor(text, code);
  if (minor === undefined) throw new Error(`config: feeMax.fixed.${code} is finer than ${code} is`);
  return minor;
}

/** Minor units of a decimal text; undefined where it is none, negative, or finer than the currency. */
export function readMinor(text: string, currency: string): bigint | undefined {
  const decimal = readDecimal(text);
  const { scale } = getCurrency(currency);
  if (decimal === undefined || decimal.digits < 0n || decimal.scale > scale) return undefined;
  return decimal.digits * 10n ** BigInt(scale - decimal.scale);
}

function readKey(name: string, pem: string, read: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read(pem);
  } catch {
    // The parser's own message may quote the text.
    throw new Error(`config: ${name} is no key in PEM`);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < 2048) {
    throw new Error(`config: ${name} is no RSA key of at least 2048 bits`);
  }
  return key;
}
