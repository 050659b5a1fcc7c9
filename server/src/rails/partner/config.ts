import { z } from 'zod';
import type { ExclusiveResource } from '../contract/contract.ts';
import { providerAddress } from '../kit/provider-address.ts';
import { batchOrdersMax } from './batch-protocol.ts';
import { capabilities } from './capability-protocol.ts';
import { lightLevelSchema } from './light-authentication.ts';
import { isCheckable, neededCapability, requirementSchema } from './required-fields.ts';
import { signingKeySchema, verifyingKeySchema } from './signatures.ts';

/** The operator's configuration of a partner (README.md). */

/** How orders are put into batches, with the capability `batches`. */
export const batchSettingsSchema = z.strictObject({
  /** 1: an order that is due by itself leaves as a batch as well. */
  ordersMin: z.int().min(1).max(2).default(2),
  /** As the partner announces them (`batch_limits`), or less. */
  ordersMax: z.int().min(2).max(batchOrdersMax).default(100),
  bytesMax: z.int().min(10_000).max(4_000_000).default(1_000_000),
  /** Requests of payments at the same time, of one process: orders, queries, cancellations. */
  requestsMax: z.int().min(1).max(100).default(16),
});

const fields = z.strictObject({
  baseUrl: providerAddress,
  /** Of the signed level, with `partnerKeys`. */
  signingKey: signingKeySchema.optional(),
  /** More than one while the partner changes its key. */
  partnerKeys: z.array(verifyingKeySchema).min(1).max(8).optional(),
  /** Instead of the keys: a partner that does not sign its answers. */
  light: lightLevelSchema.optional(),
  /** Time-out of a request. */
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
  /** How long an order is valid; the partner books none that is older. */
  orderSeconds: z.int().min(1).max(600).default(60),
  /** How often the partner's list of events is read, for lost callbacks. */
  eventsSeconds: z.int().min(1).max(86_400).default(60),
  /** How long the partner may take from checking the validity of an order to having booked it. */
  bookingSeconds: z.int().min(0).max(600).default(30),
  /** Optional parts of the protocol that the partner has and the operator wants to use. */
  capabilities: z.array(z.enum(capabilities)).max(capabilities.length).default([]),
  /** What the partner needs to know of a payment, beyond what each order has. */
  requiredFields: z.array(requirementSchema.strict()).max(1000).default([]),
  /** The partner's own codes of purposes, by the values of the attribute RemittanceReason. */
  purposeCodes: z.record(z.string().max(40), z.string().min(1).max(100)).default({}),
  /** Of the capability `batches`. */
  batches: batchSettingsSchema.optional(),
});

export const configSchema = fields.superRefine((config, context) => {
  const { signingKey, partnerKeys, light, baseUrl } = config;
  const refuse = (path: string, message: string): void =>
    context.addIssue({ code: 'custom', path: [path], message });
  for (const field of config.requiredFields.flatMap((one) => one.fields)) {
    const capability = neededCapability(field);
    if (!isCheckable(field))
      refuse('requiredFields', `${field} is not a field that can be required`);
    else if (capability !== undefined && !config.capabilities.includes(capability)) {
      refuse('requiredFields', `${field} requires the capability ${capability}`);
    }
  }
  if (config.batches !== undefined && !config.capabilities.includes('batches')) {
    refuse('batches', 'requires the capability batches');
  }
  if (light === undefined) {
    if (signingKey === undefined) refuse('signingKey', 'is required, unless there is light');
    if (partnerKeys === undefined) refuse('partnerKeys', 'is required, unless there is light');
    return;
  }
  if (signingKey !== undefined) refuse('signingKey', 'must be absent where there is light');
  if (partnerKeys !== undefined) refuse('partnerKeys', 'must be absent where there is light');
  if (light.authentication.kind === 'tls' && !baseUrl.startsWith('https:')) {
    refuse('baseUrl', 'must be an https address, for the client certificate');
  }
});
export type PartnerConfig = z.output<typeof configSchema>;

/** The partner knows us by what we authenticate with: a balance, and an address for callbacks. */
export function listExclusives({ signingKey, light }: PartnerConfig): ExclusiveResource[] {
  const what = 'what the partner knows us by';
  const found = [
    ...(signingKey === undefined ? [] : [signingKey.key]),
    ...(light?.authentication.kind === 'hmac' ? [light.authentication.key.key] : []),
    ...(light?.authentication.kind === 'tls' ? [light.authentication.certificate] : []),
  ];
  return found.map((value) => ({ what, value: value.trim() }));
}
