import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { JsonNumber } from '../../../src/core/exact-json.ts';

/** The webhooks of the simulated Wise, signed, and delivered with faults. */

export type WebhookFaults = {
  /** Shares between 0 and 1 of notifications. */
  readonly lostShare?: number;
  readonly duplicateShare?: number;
  readonly forgedShare?: number;
  /** Newest first. */
  readonly isReversed?: boolean;
};

export const triggers = ['transfers#state-change', 'transfers#refund'] as const;

export type Subscription = {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly trigger: (typeof triggers)[number];
};

export type StateChange = {
  readonly transferId: string;
  readonly accountId: string;
  readonly profileId: string;
  readonly from: string | null;
  readonly to: string;
  readonly atMs: number;
  /** What came back with it. */
  readonly refund?: { readonly amount: JsonNumber; readonly currency: string };
};

export type SigningKeys = { readonly privateKey: KeyObject; readonly publicPem: string };

/** One for all simulators of a process, because a key takes long to generate. */
let keys: SigningKeys | undefined;

export function getSigningKeys(): SigningKeys {
  if (keys === undefined) {
    const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
    keys = { privateKey, publicPem: publicKey.export({ type: 'spki', format: 'pem' }) as string };
  }
  return keys;
}

export function signBody(body: string): string {
  return sign('RSA-SHA256', Buffer.from(body), getSigningKeys().privateKey).toString('base64');
}

export type Webhooks = {
  readonly pending: number;
  setFaults(faults: WebhookFaults): void;
  announce(change: StateChange, subscriptions: Iterable<Subscription>): void;
  /** Tries each notification once; one that is not acknowledged stays. */
  deliver(): Promise<void>;
};

type Notification = { readonly url: string; readonly body: string; attempts: number };

/** Wise tries 25 times within two weeks. */
const attemptsMax = 25;

export function openWebhooks(onWebhook: (body: string) => void): Webhooks {
  let faults: WebhookFaults = {};
  let queue: Notification[] = [];
  const happens = (share: number | undefined): boolean => Math.random() < (share ?? 0);
  return {
    get pending() {
      return queue.length;
    },
    setFaults: (next) => {
      faults = next;
    },
    announce: (change, subscriptions) => {
      for (const subscription of subscriptions) {
        const event = describeEvent(change, subscription);
        if (event === undefined || happens(faults.lostShare)) continue;
        const { url } = subscription;
        const body = JSON.stringify(event);
        onWebhook(body);
        queue.push({ url, body, attempts: 0 });
        if (happens(faults.duplicateShare)) queue.push({ url, body, attempts: 0 });
      }
    },
    deliver: async () => {
      const batch = faults.isReversed === true ? queue.toReversed() : queue;
      queue = [];
      for (const notification of batch) {
        notification.attempts += 1;
        if (happens(faults.forgedShare)) await post(notification, 'A'.repeat(344));
        const isTaken = await post(notification, signBody(notification.body));
        if (!isTaken && notification.attempts < attemptsMax) queue.push(notification);
      }
    },
  };
}

/** Undefined where the subscription is to another event. */
function describeEvent(change: StateChange, { id, trigger }: Subscription): object | undefined {
  const { transferId, accountId, profileId, from, to, atMs, refund } = change;
  const isRefund = trigger === 'transfers#refund';
  if (isRefund && refund === undefined) return undefined;
  return {
    data: {
      resource: {
        type: 'transfer',
        id: new JsonNumber(transferId),
        profile_id: new JsonNumber(profileId),
        account_id: new JsonNumber(accountId),
        ...(isRefund ? { refund_amount: refund?.amount, refund_currency: refund?.currency } : {}),
      },
      ...(isRefund ? {} : { current_state: to, previous_state: from }),
      occurred_at: new Date(atMs).toISOString(),
    },
    subscription_id: id,
    event_type: trigger,
    schema_version: '4.0.0',
    sent_at: new Date(atMs).toISOString(),
  };
}

/** Wise waits five seconds for an acknowledgement. */
const patienceMs = 5000;

async function post({ url, body }: Notification, signature: string): Promise<boolean> {
  try {
    const response = await fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-signature-sha256': signature,
        'x-delivery-id': randomUUID(),
      },
      body,
      signal: AbortSignal.timeout(patienceMs),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
