import { createPublicKey, type KeyObject } from 'node:crypto';
import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import type { ExclusiveResource } from '../contract/contract.ts';
import { providerAddress } from '../kit/provider-address.ts';
import { isSigningKey } from './approval.ts';

/** The operator's configuration of the rail (README.md). */

/** @throws Error where the text is not the PEM of a public RSA key of 2048 bits or more. */
export function readPublicKey(pem: string): KeyObject {
  const key = createPublicKey(pem);
  const { modulusLength = 0 } = key.asymmetricKeyDetails ?? {};
  if (key.asymmetricKeyType !== 'rsa' || modulusLength < 2048) throw new Error('not an RSA key');
  return key;
}

function isPublicKey(pem: string): boolean {
  // A private key would be accepted by createPublicKey, and must never be configured here.
  if (!/^\s*-----BEGIN (?:RSA )?PUBLIC KEY-----/.test(pem)) return false;
  try {
    readPublicKey(pem);
    return true;
  } catch {
    return false;
  }
}

const secret = z.string().min(8).max(4000);

/** A personal token, or the OAuth credentials of a user token, which is renewed with them. */
const credentialsSchema = z.union([
  z.strictObject({ token: secret }),
  z.strictObject({
    clientId: z.string().min(1).max(200),
    clientSecret: secret,
    refreshToken: secret,
  }),
]);

export const configSchema = z.strictObject({
  baseUrl: providerAddress.default('https://api.wise.com'),
  credentials: credentialsSchema,
  /** The profile whose balance pays. */
  profileId: z.string().regex(/^[1-9]\d{0,18}$/, 'must be the digits of a profile ID'),
  /** The currency of the balance that pays. */
  sourceCurrency: z.string().refine((code) => findCurrency(code)?.isCrypto === false, {
    error: 'must be an ISO 4217 code',
  }),
  /** Wise's public keys for webhooks, PEM; more than one while Wise changes its key. */
  webhookKeys: z
    .array(
      z.string().max(10_000).refine(isPublicKey, {
        error: 'must be the PEM of a public RSA key of at least 2048 bits',
      }),
    )
    .min(1)
    .max(4),
  /** The private key that approves fundings, where Wise asks for strong customer authentication. */
  signingKey: z
    .string()
    .max(10_000)
    .refine(isSigningKey, { error: 'must be the PEM of a private RSA key of at least 2048 bits' })
    .optional(),
  /** Time-out of a request. */
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
  /** How often refunds are listed, for lost webhooks. */
  pollSeconds: z.number().min(0.1).max(86_400).default(300),
  /** How long a funding request without an answer may be on its way before it is repeated. */
  fundingSeconds: z.number().min(0).max(3600).default(60),
  /**
   * Payments that are due at once are funded together, as batch groups of Wise: how long a payment
   * waits for others, and how many are in one group. Absent: each is funded by itself.
   */
  batchGroups: z
    .strictObject({
      waitSeconds: z.number().min(0).max(600).default(5),
      transfersMax: z.int().min(2).max(200).default(50),
    })
    .optional(),
  /** How long the account requirements of a route are kept before they are read again. */
  requirementsSeconds: z.number().min(1).max(86_400).default(3600),
  /** Amounts of the source currency for which prices are quoted, ascending. */
  priceAmounts: z
    .array(z.string().regex(/^[1-9]\d{0,8}$/))
    .min(1)
    .max(5)
    .default(['100', '1000', '10000'])
    .refine(
      (amounts) => amounts.every((amount, at) => Number(amounts[at - 1] ?? 0) < Number(amount)),
      {
        error: 'must ascend',
      },
    ),
});
export type WiseConfig = z.output<typeof configSchema>;

/** A profile has one balance in a currency, and one subscription of webhooks for each event. */
export const listExclusives = ({
  baseUrl,
  profileId,
  sourceCurrency,
}: WiseConfig): ExclusiveResource[] => [
  { what: 'the balance of the profile', value: `${baseUrl} ${profileId} ${sourceCurrency}` },
];
