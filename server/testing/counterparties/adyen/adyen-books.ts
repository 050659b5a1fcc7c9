import { appendFileSync, existsSync, mkdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { SentOrder } from './order-checks.ts';

/**
 * The books of the simulated Adyen: transfers, stored answers of idempotency keys, and the webhooks
 * that were not accepted yet. With a folder they survive a kill: a line for each change, written
 * before the answer leaves.
 */

export type SimulatedTransfer = {
  readonly id: string;
  readonly reference: string;
  readonly order: SentOrder;
  readonly priority: string | undefined;
  readonly createdAtMs: number;
  updatedAtMs: number;
  status: string;
  reason: string;
  sequence: number;
  /** Steps of Adyen's own review that are left. */
  reviewSteps: number;
  approvals: number;
  tracking: Record<string, string> | undefined;
  events: Record<string, unknown>[];
  /** How often money went out to the counterparty. */
  paidCount: number;
  /** What came back of it, minor units. */
  returnedValue: number;
  /** Whether the fee for it was taken. */
  isCharged: boolean;
  /** It is itself the fee of another transfer, under the reference of that one. */
  readonly isFee: boolean;
};

export type StoredAnswer = {
  readonly key: string;
  readonly atMs: number;
  readonly status: number;
  readonly body: string;
};

export type PendingWebhook = { readonly number: number; readonly body: string; dueAtMs: number };

export type AdyenBooks = {
  readonly transfers: Map<string, SimulatedTransfer>;
  readonly answers: Map<string, StoredAnswer>;
  readonly webhooks: Map<number, PendingWebhook>;
  /** In the order of their creation, with those that are fees. */
  list(): SimulatedTransfer[];
  /** Without those that are fees. */
  listPayments(): SimulatedTransfer[];
  /** What is kept meanwhile is written at once: an order and its stored answer survive a kill together. */
  keepTogether<T>(run: () => T): T;
  keepTransfer(transfer: SimulatedTransfer): void;
  keepAnswer(answer: StoredAnswer): void;
  addWebhook(body: string, dueAtMs: number): PendingWebhook;
  removeWebhook(number: number): void;
};

type Line =
  | { readonly kind: 'transfer'; readonly transfer: SimulatedTransfer }
  | { readonly kind: 'answer'; readonly answer: StoredAnswer }
  | { readonly kind: 'webhook'; readonly webhook: PendingWebhook }
  | { readonly kind: 'accepted'; readonly number: number };

export function openAdyenBooks(folder: string | undefined): AdyenBooks {
  const transfers = new Map<string, SimulatedTransfer>();
  const answers = new Map<string, StoredAnswer>();
  const webhooks = new Map<number, PendingWebhook>();
  let webhookCount = 0;
  const apply = (line: Line): void => {
    switch (line.kind) {
      case 'transfer':
        transfers.set(line.transfer.id, line.transfer);
        break;
      case 'answer':
        answers.set(line.answer.key, line.answer);
        break;
      case 'webhook':
        webhooks.set(line.webhook.number, line.webhook);
        webhookCount = Math.max(webhookCount, line.webhook.number);
        break;
      case 'accepted':
        webhooks.delete(line.number);
        break;
    }
  };
  const file = folder === undefined ? undefined : join(folder, 'adyen-books.jsonl');
  if (file !== undefined) loadLines(file, apply);
  const append = (text: string): void => {
    if (file !== undefined && text !== '') appendFileSync(file, text);
  };
  let together: string[] | undefined;
  const keep = (line: Line): void => {
    apply(line);
    const text = `${JSON.stringify(line)}\n`;
    if (together === undefined) append(text);
    else together.push(text);
  };
  return {
    transfers,
    answers,
    webhooks,
    list: () => [...transfers.values()],
    listPayments: () => [...transfers.values()].filter(({ isFee }) => !isFee),
    keepTogether: (run) => {
      together = [];
      try {
        return run();
      } finally {
        append(together.join(''));
        together = undefined;
      }
    },
    keepTransfer: (transfer) => keep({ kind: 'transfer', transfer }),
    keepAnswer: (answer) => keep({ kind: 'answer', answer }),
    addWebhook: (body, dueAtMs) => {
      webhookCount += 1;
      const webhook = { number: webhookCount, body, dueAtMs };
      keep({ kind: 'webhook', webhook });
      return webhook;
    },
    removeWebhook: (number) => keep({ kind: 'accepted', number }),
  };
}

function loadLines(file: string, apply: (line: Line) => void): void {
  mkdirSync(join(file, '..'), { recursive: true });
  if (!existsSync(file)) return;
  const lines = readFileSync(file, 'utf8').split('\n');
  // The last one is empty, or was cut off by a kill before its answer left.
  const whole = lines.slice(0, -1);
  if (lines.at(-1) !== '') appendFileSync(file, '\n');
  for (const text of whole) {
    const line = parseLine(text);
    if (line !== undefined) apply(line);
  }
}

function parseLine(text: string): Line | undefined {
  try {
    return JSON.parse(text) as Line;
  } catch {
    return undefined;
  }
}
