import { getCurrency } from '../core/currency.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount, formatMinor } from '../core/money.ts';
import { bookBalance, isBooked } from '../ledger/bookings.ts';
import { findSuspense, listSuspense, type SuspenseRow } from '../ledger/ledger.ts';
import { readSignedAmount } from './account.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { account, limit, payout, reason, reference, signedAmount } from './options.ts';
import { getPayoutKey } from './payout.ts';

/** What payouts left in suspense, until operators have found out whose it is. */
export const suspenseCommands = [
  defineCommand({
    name: 'suspense list',
    permission: 'read',
    about: 'list payouts with an amount in suspense, the latest first',
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
  defineCommand({
    name: 'suspense clear',
    argument: 'payout',
    permission: 'operate',
    about:
      'bring what a payout left in suspense closer to zero, once for each reference; needs two people',
    options: { payout, amount: signedAmount, reference, reason },
    // For the audit log.
    snapshot: async (context, values) => {
      const { currency, amount } = await findSuspense(
        context.db.system,
        await getPayoutKey(context, values.payout),
      );
      return { currency, balance: formatMinor(amount, currency) };
    },
    approval: async (context, values) => {
      const booking = await readClearing(context, values);
      return (await isBooked(context.db, booking)) ? undefined : { policy: 'adjustment' };
    },
    run: async (context, values) => {
      const booking = await readClearing(context, values);
      const deciding = { by: context.operator.name, reason: values.reason };
      const { result, balanceMinor } = await bookBalance(context, booking, deciding);
      const { currency } = booking;
      return { result, currency, balance: formatAmount(balanceMinor, getCurrency(currency)) };
    },
  }),
];

/** @throws AppError not_found, invalid_request. */
async function readClearing(
  context: CommandContext,
  values: { payout: string; amount: string; reference: string },
) {
  const key = await getPayoutKey(context, values.payout);
  const { currency } = await findSuspense(context.db.system, key);
  const amountMinor = readSignedAmount(values.amount, getCurrency(currency));
  return { ...key, kind: 'suspense', reference: values.reference, currency, amountMinor } as const;
}

function describeSuspense({ currency, amount, payout_id: payoutId, ...row }: SuspenseRow) {
  return {
    account: row.account_id,
    name: row.account_name,
    payout_token: formatToken('payout', payoutId),
    currency,
    amount: formatMinor(amount, currency),
    latest_at: row.latest_at,
  };
}
