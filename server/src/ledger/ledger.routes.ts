import { z } from 'zod';
import { formatSeconds } from '../core/clock.ts';
import { getCurrency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { JsonNumber } from '../core/exact-json.ts';
import { formatToken, isUuid } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { createTenantBatcher, type TenantBatcher } from '../db/batcher.ts';
import type { Database } from '../db/pool.ts';
import { cursorOf, pageQuery, readCursor, toPage } from '../http/paging.ts';
import { type BaseServices, defineRoute, type Route } from '../http/route.ts';
import { amountAnswer } from '../http/schema.ts';
import { findWallet, selectBalances, selectEntries, type WalletRow } from './ledger.sql.ts';

export const balanceAnswer = z
  .object({
    token: z.string(),
    balance: amountAnswer.describe('What is available, exact, in the currency'),
    currency_code: z.string(),
  })
  .meta({ id: 'Balance' });

const entryAnswer = z
  .object({
    token: z.string().describe('The journal that this entry is part of'),
    type: z.enum(['fund', 'commit', 'complete', 'refund', 'return']),
    amount: amountAnswer.describe('Positive when the balance grew'),
    balance_after: amountAnswer,
    currency_code: z.string(),
    counterpart: z.string().describe('The ledger account on the other side'),
    payout_token: z.string().describe('"" when no payout caused it'),
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

export type LedgerServices = BaseServices & {
  /** The balances of an account, read once for all who wait for them. */
  readonly balances: TenantBatcher<undefined, WalletRow[]>;
};

export function createBalances(db: Database): LedgerServices['balances'] {
  return createTenantBatcher(async (accountId, readers) => {
    const rows = await selectBalances(db.tenant(accountId), accountId);
    return readers.map(() => rows);
  });
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
      access: 'balance:read',
      response: z.array(balanceAnswer),
      handle: async ({ env, accountId }) =>
        (await env.balances.submit(accountId, undefined)).map(writeBalance),
    }),
    defineRoute({
      method: 'GET',
      path: '/account/balance/{balance_token}/entries',
      isVersioned: true,
      operationId: 'listBalanceEntries',
      tag: 'Account',
      summary: 'Read the statement of a balance',
      access: 'balance:read',
      params: z.object({ balance_token: z.string() }),
      query: z.object({ ...pageQuery }),
      response: z.array(entryAnswer),
      refusals: [404],
      handle: async ({ env, accountId }, { params, query }) => {
        const session = env.db.tenant(accountId);
        const token = params.balance_token;
        const wallet = isUuid(token) ? await findWallet(session, { accountId, token }) : undefined;
        if (wallet === undefined) throw new AppError('not_found', 'no such balance');
        const [journalId, line] = readCursor(query.cursor, ['uuid', 'integer']) ?? [];
        const rows = await selectEntries(session, {
          accountId,
          currency: wallet.currency,
          before: journalId === undefined ? undefined : { journalId, line: Number(line) },
          count: query.number_of_records + 1,
        });
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
            created_on: formatSeconds(row.created_at),
          }),
        });
      },
    }),
  ];
}
