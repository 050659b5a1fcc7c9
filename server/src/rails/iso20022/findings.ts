import { createHash } from 'node:crypto';
import type { InboundProblem, RailHost, RailObservation } from '../contract/contract.ts';
import type { BankReferences } from './bank-references.ts';
import type { Money } from './camt.ts';
import type { Config } from './config.ts';
import type { Files } from './files.ts';
import type { Payment, PaymentBook } from './payments.ts';

/**
 * The result of a message of the bank. Every part that cannot be applied to a payment is a problem,
 * which becomes an exception; nothing is dropped.
 */
export type Findings = {
  readonly observations: RailObservation[];
  readonly problems: InboundProblem[];
};

export type StatementContext = {
  readonly host: Pick<RailHost, 'log' | 'nowMs' | 'store'>;
  readonly config: Config;
  readonly book: PaymentBook;
  readonly files: Pick<Files, 'find'>;
  readonly bankReferences: BankReferences;
};

/** A message, known by the hash of its bytes. */
export type MessageContext = StatementContext & { readonly message: string };

/** The same parts give the same id, so that a repeated problem opens no second exception. */
export function makeProblem(
  kind: InboundProblem['kind'],
  parts: {
    name: readonly (string | bigint | undefined)[];
    detail: string;
    money?: Money | undefined;
  },
): InboundProblem {
  const { name, detail, money } = parts;
  const text = name.map((part) => part?.toString() ?? '').join('\n');
  const hash = createHash('sha256').update(text).digest('hex').slice(0, 32);
  return { id: `${kind}:${hash}`, kind, detail, ...money };
}

export function moneyOf({ value: { order } }: Payment): Money {
  return { currency: order.currency, amountMinor: order.amountMinor };
}

/** What banks write where they have no reference. */
const noReference = new Set(['NOTPROVIDED', 'NONREF']);

/** Whether it has the characters that ids may have inside SEPA, and names a payment. */
export function isReference(text: string): boolean {
  return /^[A-Za-z0-9+?/:().,' -]{1,35}$/.test(text) && !noReference.has(text);
}

/**
 * Whether it has the form of a payout's reference: after a restore from backup the service may know it
 * although this rail does not.
 */
export function isPayoutReference(text: string): boolean {
  return /^[0-9a-fA-F]{32}$/.test(text);
}

/** The payment of the first reference that this rail knows. */
export async function findPayment(
  book: PaymentBook,
  references: readonly string[],
): Promise<Payment | undefined> {
  for (const reference of references.filter(isReference)) {
    const payment = await book.find(reference);
    if (payment !== undefined) return payment;
  }
  return undefined;
}

/** A time without an offset is UTC; one that cannot be read, or is in the future, is now. */
export function readInstant(text: string, nowMs: number): number {
  const hasOffset = /(?:Z|[+-]\d{2}:\d{2})$/.test(text) || !text.includes('T');
  const atMs = Date.parse(hasOffset ? text : `${text}Z`);
  return Number.isNaN(atMs) ? nowMs : Math.min(atMs, nowMs);
}
