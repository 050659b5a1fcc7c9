import { z } from 'zod';
import type { CallbackMessage, CallbackReading } from '../contract/contract.ts';
import { parseJson } from '../kit/answers.ts';
import { readMisfit } from '../kit/problem-messages.ts';
import { readEventText, verificationSchema } from './messages.ts';
import type { RailParts } from './parts.ts';
import { findBatchId, isPayoutEvent, markUnread, type Unread } from './unread.ts';

/**
 * Webhooks. PayPal itself verifies the signature (`verify-webhook-signature`), so that no trust in
 * certificates has to be kept here; the event only says which batch to read.
 */

/** Headers of a transmission, with the limits of PayPal's description. */
const proofSchema = z.object({
  'paypal-auth-algo': z.string().regex(/^[a-zA-Z0-9]{1,100}$/),
  'paypal-cert-url': z.url().max(500),
  'paypal-transmission-id': z
    .string()
    .max(50)
    .regex(/^(?!\d+$)\w\S+$/),
  'paypal-transmission-sig': z
    .string()
    .max(500)
    .regex(/^(?!\d+$)\w\S+$/),
  'paypal-transmission-time': z.string().min(20).max(100),
});

/** Callers without a proof must not make this service flood PayPal. */
const verifyingMax = 16;

export function createCallbackReader(parts: RailParts, unread: Unread) {
  const { host } = parts;
  let verifying = 0;
  return async (message: CallbackMessage): Promise<CallbackReading> => {
    const refuse = (detail: string): CallbackReading => ({ kind: 'refused', detail });
    const { method, path, headers, body } = message;
    if (method !== 'POST' || path !== '') return refuse('a webhook must be a POST to the address');
    const proof = proofSchema.safeParse(headers).data;
    if (proof === undefined) return refuse("the headers must be those of PayPal's transmissions");
    const text = Buffer.from(body).toString('utf8');
    const json = parseJson(text);
    if (typeof json !== 'object' || json === null) return refuse('the body must be a JSON object');
    if (verifying >= verifyingMax) return refuse('too many webhooks are being verified');
    verifying += 1;
    try {
      const fault = await verify(parts, proof, text);
      if (fault !== undefined) return refuse(fault);
    } finally {
      verifying -= 1;
    }
    const event = readEventText(text);
    const batchId = event && findBatchId(event);
    if (event === undefined || (isPayoutEvent(event) && batchId === undefined)) {
      const detail = 'an event must have an id, a type and, of payouts, a payout_batch_id';
      return readMisfit(body, { what: 'a webhook', detail });
    }
    if (isPayoutEvent(event) && batchId !== undefined) {
      await markUnread(unread, batchId);
      host.wake();
    }
    const id = `event:${event.id}`;
    return {
      kind: 'accepted',
      message: { id, channel: 'callback', raw: body, observations: [] },
    };
  };
}

/** Undefined where PayPal says that the signature is its own. */
async function verify(
  { api, config }: RailParts,
  proof: z.output<typeof proofSchema>,
  text: string,
): Promise<string | undefined> {
  const about = JSON.stringify({
    auth_algo: proof['paypal-auth-algo'],
    cert_url: proof['paypal-cert-url'],
    transmission_id: proof['paypal-transmission-id'],
    transmission_sig: proof['paypal-transmission-sig'],
    transmission_time: proof['paypal-transmission-time'],
    webhook_id: config.webhookId,
  });
  // The event goes back as it came, because the signature is about its bytes.
  const body = `${about.slice(0, -1)},"webhook_event":${text}}`;
  const result = await api.call(
    { method: 'POST', path: '/v1/notifications/verify-webhook-signature', body },
    AbortSignal.timeout(config.timeoutSeconds * 1000),
  );
  if (result.kind !== 'answered' || result.status !== 200) {
    return 'the signature cannot be verified now';
  }
  const answer = verificationSchema.safeParse(result.json).data;
  return answer?.verification_status === 'SUCCESS'
    ? undefined
    : 'PayPal does not confirm the signature';
}
