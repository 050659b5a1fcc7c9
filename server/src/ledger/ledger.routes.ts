import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError, readTogether } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { finishReading } from '../core/finish-reading.ts';
import { formatToken, isUuid } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import type { Database } from '../db/postgres/pool.ts';
import { cursorOf, pageQuery, readCursor, readRange, toPage } from '../http/paging.ts';
import { type Answer, jsonType } from '../http/problem.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { amountAnswer, createWriter, momentQuery } from '../http/schema.ts';
import {
  entryTypes,
  findLastJournalBefore,
  findWallet,
  lastLine,
  selectBalances,
  selectEntries,
  type WalletRow,
} from './ledger.sql.ts';

export const balanceAnswer = z
  .object({
    token: z.string().describe('The balance; `source_token` of a payout'),
    balance: amountAnswer.describe('Available amount, exact'),
    currency_code: z.string(),
  })
  .meta({ id: 'Balance' });

const entryAnswer = z
  .object({
    token: z.string().describe('The journal of this entry'),
    type: z.enum(entryTypes),
    amount: amountAnswer.describe('Positive when the balance increased'),
    balance_after: amountAnswer,
    currency_code: z.string(),
    counterpart: z.string().describe('The ledger account of the opposite posting'),
    payout_token: z.string().describe('"" when it belongs to no payout'),
    batch_token: z
      .string()
      .describe('The batch that the reserve is for; "" when it belongs to no batch'),
    created_on: z.string(),
  })
  .meta({ id: 'LedgerEntry' });

export function writeBalance(row: { token: string; currency: string; balance: bigint }) {
  return {
    token: row.token,
    balance: new JsonNumber(formatAmount(row.balance, getCurrency(row.currency))),
    currency_code: row.currency,
  };
}

const balancesAnswer = z.array(balanceAnswer);
const write = createWriter(balancesAnswer);

/** Requests that share a read share the text of the answer. */
const texts = new WeakMap<readonly WalletRow[], string>();

function writeBalances(rows: readonly WalletRow[]): string {
  const known = texts.get(rows);
  if (known !== undefined) return known;
  const text = write(rows.map(writeBalance));
  texts.set(rows, text);
  return text;
}

export type LedgerServices = BaseServices & {
  /** Reads an account's balances; concurrent requests share one statement. */
  readonly balances: { read(accountId: string): Promise<readonly WalletRow[]> };
};

/**
 * Concurrent requests for the balances of one account share a read. It begins after each of them has
 * arrived, so that a client reads its own writes; later requests wait for the next read.
 */
export function createBalances(db: Database): LedgerServices['balances'] {
  const waiting = new Map<string, Promise<WalletRow[]>>();
  const running = new Map<string, Promise<WalletRow[]>>();
  const readNext = async (accountId: string): Promise<WalletRow[]> => {
    await running.get(accountId)?.catch(() => undefined);
    await finishReading();
    waiting.delete(accountId);
    const reading = selectBalances(db.tenant(accountId), accountId);
    running.set(accountId, reading);
    try {
      return await reading;
    } finally {
      if (running.get(accountId) === reading) running.delete(accountId);
    }
  };
  return {
    read: (accountId) => {
      const joined = waiting.get(accountId);
      if (joined !== undefined) return joined;
      const next = readNext(accountId);
      waiting.set(accountId, next);
      return next;
    },
  };
}

export function ledgerRoutes(): Route<LedgerServices>[] {
  return [
    defineRoute({
      method: 'GET',
      path: '/account/balance',
      isVersioned: true,
      operationId: 'listBalances',
      tag: 'Account',
      summary: 'Read the balances',
      description:
        'One balance per currency of the account. Payouts debit them; the operator, or the sandbox, funds them.',
      access: 'balance:read',
      unknownParameters: 'ignored',
      response: balancesAnswer,
      handle: async ({ env, accountId }): Promise<Answer> => {
        const rows = await env.balances.read(accountId);
        return { status: 200, contentType: jsonType, body: writeBalances(rows) };
      },
    }),
    entriesRoute(),
  ];
}

function entriesRoute(): Route<LedgerServices> {
  return defineRoute({
    method: 'GET',
    path: '/account/balance/{balance_token}/entries',
    isVersioned: true,
    operationId: 'listBalanceEntries',
    tag: 'Account',
    summary: 'Read the statement of a balance',
    description:
      'Every posting to the balance, newest first: funding, commits, refunds and returns.',
    access: 'balance:read',
    params: z.object({ balance_token: z.string() }),
    query: z.object({
      ...pageQuery,
      type: z.enum(entryTypes).optional().describe('Only entries of this type'),
      from: momentQuery.describe('Posted then or later, UTC'),
      to: momentQuery.describe('Posted by then, the day or second included'),
    }),
    response: z.array(entryAnswer),
    refusals: [404],
    handle: async ({ env, accountId }, { params, query }) => {
      const session = env.db.tenant(accountId);
      const token = params.balance_token;
      const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
      if (wallet === undefined) throw new AppError('not_found', 'Balance not found');
      const { currency: code } = wallet;
      const [cursor, { from, until }] = readTogether(
        () => readCursor(query.cursor, ['uuid', 'integer']),
        () => readRange(query, ['from', 'to']),
      );
      const [journalId, line] = cursor ?? [];
      const find = (at: Date) => findLastJournalBefore(session, { accountId, currency: code }, at);
      // Journals are in the order of their ids, so that the end of a range is where a page begins.
      const before =
        journalId === undefined
          ? until && { journalId: await find(until), line: lastLine }
          : { journalId, line: Number(line) };
      const found = await selectEntries(session, {
        accountId,
        currency: code,
        before,
        type: query.type,
        count: query.number_of_records + 1,
      });
      const after = from === undefined ? '' : await find(from);
      const rows = found.filter((row) => row.journal_id > after);
      const currency = getCurrency(wallet.currency);
      return toPage(rows, query.number_of_records, {
        cursor: (row) => cursorOf([row.journal_id, String(row.line)]),
        write: (row) => ({
          token: row.journal_id,
          type: row.kind,
          amount: new JsonNumber(formatAmount(row.amount, currency)),
          balance_after: new JsonNumber(formatAmount(row.balance_after, currency)),
          currency_code: wallet.currency,
          counterpart: row.counterpart,
          payout_token: row.payout_id === null ? '' : formatToken('payout', row.payout_id),
          batch_token: row.batch_id === null ? '' : formatToken('batch', row.batch_id),
          created_on: formatSeconds(row.created_at),
        }),
      });
    },
  });
}
