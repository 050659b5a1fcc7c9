import {
  type AnswerOf,
  type Client,
  NotFoundError,
  type PayoutAddress,
} from '../../sdk/src/index.ts';
import { Failure } from './failure.ts';
import type { Output } from './output.ts';

/** Finds what a person names by a token or by an identifier of their own. */

export type User = AnswerOf<'getUser'>;

/** By `user_token` or `internal_user_id`; undefined where the account has none. */
export async function findRecipient(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<User | undefined> {
  if (name.startsWith('usr_')) {
    return client.getUser({ user_token: name }, { signal }).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
  }
  for await (const user of client.listUsers({ internal_user_id: name }, { signal })) return user;
  return undefined;
}

/** @throws Failure where the account has none of this name. */
export async function getRecipient(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<User> {
  const user = await findRecipient(client, name, signal);
  if (user !== undefined) return user;
  throw new Failure(`There is no recipient ${name}`, {
    code: 'not_found',
    next: 'outlay recipient list',
  });
}

/**
 * By `payout_token` or `client_transfer_id`, of which a committed payout goes before its quotes.
 *
 * @throws Failure where the account has none of this name.
 */
export async function getPayoutAddress(
  client: Client,
  name: string,
  signal: AbortSignal,
): Promise<PayoutAddress> {
  const filter = name.startsWith('payout_') ? { payout_token: name } : { client_transfer_id: name };
  let found: PayoutAddress | undefined;
  for await (const { token: payout_token, user_token, status } of client.listHistory(filter, {
    signal,
  })) {
    if (status !== 'PENDING') return { user_token, payout_token };
    found ??= { user_token, payout_token };
  }
  if (found !== undefined) return found;
  throw new Failure(`There is no payout ${name}`, {
    code: 'not_found',
    next: 'outlay payout list',
  });
}

/** The first rows of a list of any length. */
export async function take<Row>(rows: AsyncIterable<Row>, count: number): Promise<Row[]> {
  const taken: Row[] = [];
  for await (const row of rows) {
    if (taken.length === count) break;
    taken.push(row);
  }
  return taken;
}

/** As `take`, for a person: where the list goes on, stderr says so. */
export async function takeListed<Row>(
  rows: AsyncIterable<Row>,
  count: number,
  output: Pick<Output, 'note'>,
): Promise<Row[]> {
  const taken = await take(rows, count + 1);
  if (taken.length <= count) return taken;
  output.note(`More follow: these are the first ${count}; --limit shows more.`);
  return taken.slice(0, count);
}
