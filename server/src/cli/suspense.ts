import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount } from '../core/money.ts';
import { listSuspense, type SuspenseRow } from '../ledger/ledger.ts';
import { bookingCommand } from './account.ts';
import { defineCommand } from './command.ts';
import { account, limit } from './options.ts';

/** Amounts that belong to no payout, until operators have found out whose they are. */
export const suspenseCommands = [
  defineCommand({
    name: 'suspense list',
    permission: 'read',
    about: 'list amounts that belong to no payout, by account and currency',
    options: { account: account.optional(), limit: limit.optional() },
    run: async ({ db }, { account: accountId, limit: count = 100 }) => {
      const rows = await listSuspense(db.system, { accountId, count });
      return {
        matching: rows[0]?.matching ?? 0,
        shown: rows.length,
        suspense: rows.map(describeSuspense),
      };
    },
  }),
  bookingCommand({
    name: 'suspense clear',
    about: 'bring suspense closer to zero, once for each reference; needs two people',
    kind: 'suspense',
  }),
];

function describeSuspense({ currency, balance, payout_ids: payouts, ...row }: SuspenseRow) {
  return {
    account: row.account_id,
    name: row.account_name,
    currency,
    balance: formatAmount(balance, getCurrency(currency)),
    payout_tokens: payouts.map((id) => formatToken('payout', id)),
  };
}
