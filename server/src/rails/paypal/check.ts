import type { CallContext } from '../contract/contract.ts';
import { sayResult } from './api.ts';
import { webhookSchema } from './messages.ts';
import type { RailParts } from './parts.ts';
import { findMissingBalances } from './reports.ts';

/** Faults of the setup, for `outlay admin doctor`. */

const scopes: Readonly<Record<string, string>> = {
  'https://uri.paypal.com/payments/payouts': 'Payouts',
  'https://uri.paypal.com/services/reporting/search/read': 'Transaction search',
  'https://uri.paypal.com/services/applications/webhooks': 'webhooks',
};

/** Without these a payout's end would only be seen when it is queried. */
const eventTypes = [
  'PAYMENT.PAYOUTS-ITEM.SUCCEEDED',
  'PAYMENT.PAYOUTS-ITEM.FAILED',
  'PAYMENT.PAYOUTS-ITEM.UNCLAIMED',
  'PAYMENT.PAYOUTS-ITEM.RETURNED',
  'PAYMENT.PAYOUTS-ITEM.REFUNDED',
  'PAYMENT.PAYOUTS-ITEM.CANCELED',
  'PAYMENT.PAYOUTSBATCH.DENIED',
];

export async function check(parts: RailParts, context: CallContext): Promise<readonly string[]> {
  const granted = await parts.api.listScopes();
  if (granted === 'unreachable') {
    return [
      'PayPal issues no access token now: check baseUrl, the network and the certificate, or try again later',
    ];
  }
  if (granted === 'no_token') return ['PayPal refuses clientId and clientSecret'];
  const missing = Object.entries(scopes)
    .filter(([scope]) => !granted.includes(scope))
    .map(([, name]) => `the app at PayPal has no permission for ${name}`);
  if (missing.length > 0) return missing;
  return [
    ...(await checkWebhook(parts, context)),
    ...(await findMissingBalances(parts, context)).map(
      (code) =>
        `the PayPal account has no balance in ${code}: PayPal would convert from another one at its own rate`,
    ),
  ];
}

async function checkWebhook(
  { api, config, host }: RailParts,
  { signal }: CallContext,
): Promise<readonly string[]> {
  const path = `/v1/notifications/webhooks/${config.webhookId}`;
  const result = await api.call({ method: 'GET', path }, signal);
  const webhook =
    result.kind === 'answered' && result.status === 200
      ? webhookSchema.safeParse(result.json).data
      : undefined;
  const isUnknown = result.kind === 'answered' && (result.status === 400 || result.status === 404);
  if (isUnknown) return ['webhookId must be the id of a webhook of the app'];
  if (webhook === undefined) return [`the webhook cannot be read: ${sayResult(result)}`];
  const faults: string[] = [];
  if (webhook.url !== host.callbackUrl) {
    faults.push(`the webhook at PayPal must have the address ${host.callbackUrl}`);
  }
  const names = new Set(webhook.event_types.map(({ name }) => name));
  const lacking = names.has('*') ? [] : eventTypes.filter((name) => !names.has(name));
  if (lacking.length > 0) faults.push(`the webhook at PayPal must have ${lacking.join(', ')}`);
  return faults;
}
