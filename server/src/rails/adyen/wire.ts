import { z } from 'zod';
import { nameMember } from '../kit/answers.ts';

/**
 * The answers and webhooks of Adyen that the rail reads, by the descriptions TransferService-v4,
 * BalancePlatformTransferNotification-v4 and BalancePlatformReportNotification-v1. Members without a
 * meaning for the rail are not read. `id` and `reference` are optional in the descriptions and
 * required here, since a transfer without them cannot be recognized.
 */

/** An enumerated value; the description adds new ones without a new version. */
const word = z.string().regex(/^[A-Za-z0-9_]{1,80}$/);
const identifier = z.string().regex(/^[A-Za-z0-9_-]{1,80}$/);
const instant = z.iso.datetime({ offset: true, local: false }).max(40);

/** `value` is an int64 in minor units; one that a double cannot hold is not an answer. */
export const amountSchema = z.object({
  value: z.int(),
  currency: z.string().regex(/^[A-Z]{3}$/),
});

const trackingSchema = z.object({
  type: word,
  status: word.optional(),
  reason: word.optional(),
  estimatedArrivalTime: instant.optional(),
});
export type Tracking = z.output<typeof trackingSchema>;

/** What an event did to the balance account, signed; other registers than the balance are not read. */
const mutationSchema = z.object({
  currency: z
    .string()
    .regex(/^[A-Z]{3}$/)
    .optional(),
  balance: z.int().optional(),
});

const eventSchema = z.object({
  id: z.string().max(100).optional(),
  type: word.optional(),
  status: word.optional(),
  bookingDate: instant.optional(),
  updateDate: instant.optional(),
  trackingData: trackingSchema.optional(),
  mutations: z.array(mutationSchema).max(50).optional(),
});
export type TransferEvent = z.output<typeof eventSchema>;

/** `Transfer`, the answer to an order, and `TransferData`, of queries and webhooks. */
export const transferSchema = z.object({
  id: identifier,
  /** Up to 80 characters of anyone's making: not logged where it is not one of ours. */
  reference: z.string().max(200),
  amount: amountSchema,
  category: word,
  type: word.optional(),
  status: word,
  reason: word.optional(),
  direction: z.enum(['incoming', 'outgoing']).optional(),
  balanceAccount: z.object({ id: identifier.optional() }).optional(),
  categoryData: z.object({ type: word.optional(), priority: word.optional() }).optional(),
  createdAt: instant.optional(),
  creationDate: instant.optional(),
  updatedAt: instant.optional(),
  sequenceNumber: z.int().min(0).optional(),
  tracking: trackingSchema.optional(),
  events: z.array(eventSchema).max(500).optional(),
});
export type Transfer = z.output<typeof transferSchema>;

export const transferPageSchema = z.object({
  /** Read one by one, so that one that cannot be read does not hide the others. */
  data: z.array(z.unknown()).max(100).default([]),
  _links: z
    .object({ next: z.object({ href: z.string().max(4000).optional() }).optional() })
    .optional(),
});

/** `TransferServiceRestServiceError`. `detail` and the invalid values may be personal: not read. */
export const problemSchema = z.object({
  status: z.int(),
  errorCode: z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/),
  title: z.string(),
  type: z.string(),
  invalidFields: z
    .array(z.object({ name: z.string().max(200) }))
    .max(100)
    .optional(),
  routingDetails: z
    .array(z.object({ errorCode: word.optional() }))
    .max(20)
    .optional(),
});
export type Problem = z.output<typeof problemSchema>;

/** `ServiceError`: the form of a 401 to POST /transfers. */
export const serviceErrorSchema = z.object({
  status: z.int(),
  errorCode: z.string().regex(/^[A-Za-z0-9_.-]{1,40}$/),
  errorType: z.string().max(40),
});

/** GET /balanceAccounts/{id} of the Configuration API, version 2. */
export const balanceAccountSchema = z.object({
  id: identifier,
  status: word.optional(),
  balances: z
    .array(
      z.object({
        currency: z.string().regex(/^[A-Z]{3}$/),
        available: z.int(),
        balance: z.int(),
        reserved: z.int(),
        pending: z.int().optional(),
      }),
    )
    .max(200)
    .default([]),
});

const webhookHead = {
  environment: z.enum(['test', 'live']),
  timestamp: instant.optional(),
};

/** `TransferNotificationRequest`; `type` is optional in its description. */
export const transferWebhookSchema = z.object({
  ...webhookHead,
  type: z.enum(['balancePlatform.transfer.created', 'balancePlatform.transfer.updated']),
  data: transferSchema,
});

/** `ReportNotificationRequest`. */
export const reportWebhookSchema = z.object({
  ...webhookHead,
  type: z.literal('balancePlatform.report.created'),
  data: z.object({
    fileName: z.string().regex(/^[A-Za-z0-9_.-]{1,200}$/),
    reportType: word,
    downloadUrl: z.url().max(2000),
  }),
});
export type ReportNotice = z.output<typeof reportWebhookSchema>['data'];

/** Read first, to distinguish webhooks. */
export const webhookSchema = z.object({ ...webhookHead, type: z.string().max(100) });

/** Names the member without its value, which could be personal. */
export function describeFault(error: z.ZodError): string {
  return `${nameMember(error) || 'the body'} does not have the form that Adyen describes`;
}
