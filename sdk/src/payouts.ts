import type { Client } from './client.ts';
import type { Decimal } from './decimal.ts';
import type { components } from './generated/api.ts';
import { sleep } from './platform.ts';

/** Following one payout: before it, until it can be paid, and after it, until it has ended. */

export type Payout = components['schemas']['Payout'];

export type PayoutAddress = { readonly user_token: string; readonly payout_token: string };

export type WaitOptions = {
  readonly signal?: AbortSignal;
  /** The first pause between two reads; it grows to 15 times as long while nothing changes. */
  readonly pollMs?: number;
};

/**
 * Yields the payout as it is, then after every change, until it is COMPLETED or CANCELLED. A payout
 * that is not committed stays PENDING: commit it, or stop the loop.
 */
export function watchPayout(
  client: Pick<Client, 'getPayout'>,
  address: PayoutAddress,
  options: WaitOptions = {},
): AsyncGenerator<Payout, void> {
  const { signal } = options;
  return watch(options, {
    read: () => client.getPayout({ ...address }, { signal }),
    describe: ({ status, status_reason, pickup_code }) =>
      [status, status_reason, pickup_code].join(),
    isLast: ({ status }) => status === 'COMPLETED' || status === 'CANCELLED',
  });
}

export type PayoutSubject = {
  readonly user_token: string;
  readonly destination_token: string;
  /** What the destination pays out. */
  readonly currency: string;
  /** What the recipient gets, in `currency`. */
  readonly amount?: Decimal | undefined;
  /** The currency of the balance that pays. */
  readonly source_currency?: string | undefined;
};

/** An obstacle to a payout. */
export type Obstacle = {
  readonly code: string;
  readonly detail: string;
  /** Who has to act: client, recipient, operator or payer. */
  readonly actor: string;
  readonly retryable: boolean;
  /** Details of the recipient that are missing or wrong. */
  readonly missing: readonly { readonly token: string; readonly label: string }[];
  /** Of insufficient funds. */
  readonly shortfall?: { readonly amount: Decimal; readonly currency_code: string };
};

export type Readiness = { readonly payable: boolean; readonly obstacles: readonly Obstacle[] };

/** Whether this recipient can be paid now, and all obstacles. */
export async function readReadiness(
  client: Pick<Client, 'request'>,
  { user_token, ...query }: PayoutSubject,
  signal?: AbortSignal,
): Promise<Readiness> {
  const path = `/user/${encodeURIComponent(user_token)}/readiness`;
  const answer = await client.request({ method: 'GET', path, query }, { signal });
  return answer.body as Readiness;
}

/**
 * Yields the obstacles to a payout, after every change, and ends with an answer that is
 * payable. Whatever the loop's body repairs shows in the next answer.
 */
export function watchReadiness(
  client: Pick<Client, 'request'>,
  subject: PayoutSubject,
  options: WaitOptions = {},
): AsyncGenerator<Readiness, void> {
  return watch(options, {
    read: () => readReadiness(client, subject, options.signal),
    // Links in an answer differ each time.
    describe: ({ payable, obstacles }) =>
      [
        payable,
        ...obstacles.flatMap(({ code, missing }) => [code, ...missing.map(({ token }) => token)]),
      ].join(),
    isLast: ({ payable }) => payable,
  });
}

/** The PDF of a payout. */
export async function downloadReceipt(
  client: Pick<Client, 'getPayout'>,
  address: PayoutAddress,
  signal?: AbortSignal,
): Promise<Uint8Array> {
  const answer: unknown = await client.getPayout(
    { ...address },
    { accept: 'application/pdf', signal },
  );
  return answer as Uint8Array;
}

type Watched<State> = {
  read(): Promise<State>;
  /** Equal for states that need no new answer. */
  describe(state: State): string;
  isLast(state: State): boolean;
};

const pauseGrowth = 1.5;
const pausesMax = 15;

async function* watch<State>(
  { signal, pollMs = 1_000 }: WaitOptions,
  { read, describe, isLast }: Watched<State>,
): AsyncGenerator<State, void> {
  let shown: string | undefined;
  let pauseMs = pollMs;
  for (;;) {
    const state = await read();
    const description = describe(state);
    if (description === shown) {
      await sleep(pauseMs, signal);
      pauseMs = Math.min(pauseMs * pauseGrowth, pollMs * pausesMax);
      continue;
    }
    shown = description;
    pauseMs = pollMs;
    yield state;
    if (isLast(state)) return;
  }
}
