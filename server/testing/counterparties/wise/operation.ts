import { type Books, type Pricing, type Transfer } from './books.ts';
import { type Form } from './forms.ts';
import { type Subscription } from './webhooks.ts';

/** What the operations of the simulated Wise share. */

export type Answer = {
  readonly status: number;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
};

export type Simulation = {
  readonly books: Books;
  readonly profileId: string;
  /** Of recipient accounts, by currency. */
  readonly forms: ReadonlyMap<string, Form>;
  readonly subscriptions: Map<string, Subscription>;
  pricing(): Pricing;
  limitMinor(): bigint;
  nowMs(): number;
  /** Changes a transfer's status and announces it. */
  move(transfer: Transfer, status: string): void;
};

export type Call = {
  readonly simulation: Simulation;
  readonly params: readonly string[];
  readonly query: URLSearchParams;
  readonly body: unknown;
};

export type Handler = (call: Call) => Answer;

export const ok = (body: unknown, status = 200): Answer => ({ status, body });

export const missing: Answer = {
  status: 404,
  body: { errors: [{ code: 'NOT_FOUND', message: 'Not found' }] },
};

export function refuse(status: number, code: string, path?: string): Answer {
  const error = { code, message: code, ...(path === undefined ? {} : { path, arguments: [path] }) };
  return { status, body: { timestamp: new Date().toISOString(), errors: [error] } };
}
