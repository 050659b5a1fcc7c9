import { createPrivateKey, createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import type { ExclusiveResource } from '../contract/contract.ts';
import { readMinor } from '../kit/amounts.ts';

/** The configuration of one hub. */

const fspIdSchema = z.string().min(1).max(32);
const pemSchema = z.string().min(1).max(20_000);
const decimalSchema = z.string().regex(/^\d{1,15}(\.\d{1,4})?$/, 'must be an amount such as 1.50');
const urlSchema = z
  .string()
  .max(500)
  .regex(
    /^https?:\/\/[^?#]+[^/?#]$/,
    'must be an http or https URL without a final slash, query or fragment',
  );

export const configSchema = z.strictObject({
  /** Base URL of the hub's API. */
  hubUrl: urlSchema,
  /** This participant's name in the scheme. */
  fspId: fspIdSchema,
  /** The hub's own name, such as `switch` or `Hub`. */
  hubFspId: fspIdSchema,
  /** PKCS #8 or PKCS #1, RSA: signs requests. */
  privateKey: pemSchema,
  /** Of the hub and each participant, by name in the scheme: SPKI or certificate, RSA. */
  publicKeys: z.record(fspIdSchema, pemSchema),
  /** Identifies the payer in a quote. */
  payer: z.strictObject({
    idType: z.enum(['BUSINESS', 'ALIAS', 'MSISDN', 'ACCOUNT_ID']),
    id: z.string().min(1).max(128),
  }),
  /** Additional HTTP headers, such as `authorization` for a gateway. */
  headers: z.record(z.string().regex(/^[a-z0-9-]{1,60}$/), z.string().max(8_000)).default({}),
  /** The highest fee of a payee's provider; zero without an entry. */
  feeMax: z
    .strictObject({
      fixed: z.record(z.string(), decimalSchema).default({}),
      basisPoints: z.int().min(0).max(10_000).default(0),
    })
    .default({ fixed: {}, basisPoints: 0 }),
  /** Words of the recipient's name that the name on the wallet must have. */
  nameCheck: z.enum(['off', 'last_name', 'full_name']).default('last_name'),
  /** How far the date of a callback may differ from this machine's clock. */
  callbackAgeMaxMs: z.int().min(1_000).max(86_400_000).default(300_000),
  /** `sent`: accepts a date outside the signature, which proves nothing. */
  callbackDate: z.enum(['signed', 'sent']).default('signed'),
  /** Time limit of one request. */
  callMs: z.int().min(100).max(60_000).default(10_000),
  /** Time limit of look-up and quote together; then the payment is refused. */
  termsMs: z.int().min(1_000).max(86_400_000).default(180_000),
  /** Until a transfer expires, at most. */
  transferMs: z.int().min(1_000).max(3_600_000).default(60_000),
  /** Pause before an unanswered request is repeated; doubled each time. */
  againMs: z.int().min(50).max(60_000).default(2_000),
});

export type FspiopConfig = z.output<typeof configSchema>;

/** A participant has one position at the hub, and one address for callbacks. */
export const listExclusives = ({ hubUrl, fspId }: FspiopConfig): ExclusiveResource[] => [
  { what: 'the participant at the hub', value: `${hubUrl} ${fspId}` },
];

export type Settings = Omit<FspiopConfig, 'privateKey' | 'publicKeys' | 'feeMax'> & {
  readonly privateKey: KeyObject;
  readonly publicKeys: ReadonlyMap<string, KeyObject>;
  /** The highest fee of a payee's provider for an amount, minor units. */
  feeMaxMinor(currency: string, amountMinor: bigint): bigint;
};

/** @throws Error that names the invalid member, never its content. */
export function readSettings(config: FspiopConfig): Settings {
  const fixed = new Map<string, bigint>();
  for (const [code, text] of Object.entries(config.feeMax.fixed)) {
    fixed.set(code, readFee(code, text));
  }
  if (config.publicKeys[config.hubFspId] === undefined) {
    throw new Error(`config: publicKeys must contain the key of the hub, ${config.hubFspId}`);
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
    throw new Error(`config: feeMax.fixed has an unknown currency, ${code}`);
  }
  const minor = readMinor(text, code);
  if (minor === undefined)
    throw new Error(`config: feeMax.fixed.${code} must not have more decimals than ${code}`);
  return minor;
}

function readKey(name: string, pem: string, read: (pem: string) => KeyObject): KeyObject {
  let key: KeyObject;
  try {
    key = read(pem);
  } catch {
    // Without a cause: the parser's message may quote the key.
    throw new Error(`config: ${name} must be a key in PEM format`);
  }
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  if (key.asymmetricKeyType !== 'rsa' || bits < 2048) {
    throw new Error(`config: ${name} must be an RSA key of at least 2048 bits`);
  }
  return key;
}
