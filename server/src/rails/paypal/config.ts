import { z } from 'zod';
import { findCurrency } from '../../core/currency.ts';
import { parseAmount } from '../../core/money.ts';
import type { ExclusiveResource } from '../contract/contract.ts';
import { providerAddress } from '../kit/provider-address.ts';

/** The configuration of one PayPal account. */

/** HTTP Basic separates name and secret by a colon (RFC 7617). */
const credential = z
  .string()
  .max(200)
  .regex(/^[!-9;-~]+$/, 'must be visible ASCII characters without a colon');

export const configSchema = z.strictObject({
  /** `https://api-m.sandbox.paypal.com` for the sandbox. */
  baseUrl: providerAddress.default('https://api-m.paypal.com'),
  clientId: credential.min(8),
  clientSecret: credential.min(16),
  /** Of the webhook whose address is this rail's callback address. */
  webhookId: z.string().regex(/^[a-zA-Z0-9]{1,50}$/, 'must be the id of a webhook of the app'),
  /** The subject and the text of the e-mail that PayPal sends to the recipient. */
  emailSubject: z.string().min(1).max(255),
  emailMessage: z.string().min(1).max(1000).optional(),
  /** The largest single payment by currency, decimal text; PayPal's own limit for USD by default. */
  itemMax: z
    .record(z.string(), z.string())
    .refine(
      (limits) =>
        Object.entries(limits).every(([code, text]) => {
          const currency = findCurrency(code);
          return currency !== undefined && parseAmount(text, currency).ok;
        }),
      { error: 'must be amounts by currency, such as {"USD": "20000"}' },
    )
    .default({ USD: '20000' }),
  /** Payments of one payer and currency in one batch; 1: each is ordered at once, by itself. */
  batchItemsMax: z.int().min(1).max(500).default(1),
  /** How long a batch that is not full waits for more payments, by the environment's clock. */
  batchWaitSeconds: z.number().min(0).max(3600).default(2),
  /** Time limit of one request. */
  timeoutSeconds: z.number().min(0.1).max(120).default(20),
  /** How old the last reading of PayPal's events or report may be without an exception. */
  reportsLateHours: z.int().min(36).max(720).default(72),
  /** How often PayPal's list of events is read, for lost webhooks. */
  eventsSeconds: z.int().min(1).max(86_400).default(300),
});
export type PaypalConfig = z.output<typeof configSchema>;

/** An app pays from the balance of one account. */
export const listExclusives = ({ clientId, webhookId }: PaypalConfig): ExclusiveResource[] => [
  { what: 'the app (by its client id)', value: clientId },
  { what: 'the webhook', value: webhookId },
];
