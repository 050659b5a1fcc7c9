import { createHmac, randomBytes } from 'node:crypto';
import type { AdyenBooks, PendingWebhook, SimulatedTransfer } from './adyen-books.ts';
import type { SimulatorOptions } from './simulator-options.ts';
import { describeIncoming, describeTransferData } from './transfer-lifecycle.ts';

/** Webhooks, signed over their bytes, and repeated until they are accepted with 2xx. */

export type WebhookSender = {
  announceTransfer(transfer: SimulatedTransfer, isNew: boolean): void;
  announceReport(report: { fileName: string; reportType: string; downloadUrl: string }): void;
  /** Sends what is due. */
  deliver(): Promise<void>;
};

export type WebhookSenderOptions = {
  readonly books: AdyenBooks;
  /** Undefined: nothing is sent. */
  readonly url: () => string | undefined;
  /** Hexadecimal. */
  readonly key: string;
  readonly options: () => SimulatorOptions;
  readonly nowMs: () => number;
  readonly fetch: typeof fetch;
};

const happens = (share: number): boolean => share > 0 && Math.random() < share;

export function createWebhookSender(setup: WebhookSenderOptions): WebhookSender {
  const { books, options, nowMs } = setup;
  const busy = new Set<number>();
  const add = (type: string, data: unknown): void => {
    const { reorderShare, reorderMs } = options();
    const delayMs = happens(reorderShare) ? reorderMs : 0;
    const timestamp = new Date(nowMs()).toISOString();
    books.addWebhook(
      JSON.stringify({ data, environment: 'test', timestamp, type }),
      nowMs() + delayMs,
    );
  };
  const deliverOne = async (webhook: PendingWebhook): Promise<void> => {
    const { lostShare, duplicateShare, forgedShare, retryMs } = options();
    if (happens(forgedShare)) await post(setup, webhook.body, randomBytes(32).toString('hex'));
    if (happens(lostShare) || (await post(setup, webhook.body, setup.key))) {
      if (happens(duplicateShare)) await post(setup, webhook.body, setup.key);
      books.removeWebhook(webhook.number);
    } else {
      webhook.dueAtMs = nowMs() + retryMs;
    }
  };
  return {
    announceTransfer: (transfer, isNew) => {
      const type = `balancePlatform.transfer.${isNew ? 'created' : 'updated'}`;
      add(type, describeTransferData(transfer));
      // Both balance accounts belong to the platform, which hears of each.
      const { order, isFee } = transfer;
      if (order.category === 'internal' && !isFee) add(type, describeIncoming(transfer));
    },
    announceReport: (report) => add('balancePlatform.report.created', report),
    deliver: async () => {
      if (setup.url() === undefined) return;
      for (const webhook of books.webhooks.values()) {
        if (webhook.dueAtMs > nowMs() || busy.has(webhook.number)) continue;
        busy.add(webhook.number);
        try {
          await deliverOne(webhook);
        } finally {
          busy.delete(webhook.number);
        }
      }
    },
  };
}

async function post(setup: WebhookSenderOptions, body: string, key: string): Promise<boolean> {
  const url = setup.url();
  if (url === undefined) return false;
  const signature = createHmac('sha256', Buffer.from(key, 'hex')).update(body).digest('base64');
  try {
    const response = await setup.fetch(url, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        HmacSignature: signature,
        Protocol: 'HmacSHA256',
      },
      body,
      signal: AbortSignal.timeout(10_000),
    });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
