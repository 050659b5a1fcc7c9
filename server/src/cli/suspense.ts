import type { Currency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount, formatMinor } from '../core/money.ts';
import { bookBalance, isBooked } from '../ledger/bookings.ts';
import { findSuspense, listSuspense, type SuspenseRow } from '../ledger/ledger.ts';
import { readSignedAmount } from './account.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { account, currency, limit, payout, reason, reference, signedAmount } from './options.ts';
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
    options: { payout, currency, amount: signedAmount, reference, reason },
    // For the audit log.
    snapshot: async (context, values) => {
      const key = await getPayoutKey(context, values.payout);
      const found = await findSuspense(context.db.system, key);
      return { currency: found.currency, balance: formatMinor(found.amount, found.currency) };
    },
    approval: async (context, values) => {
      const booking = await readClearing(context, values);
      return (await isBooked(context.db, booking)) ? undefined : { policy: 'adjustment' };
    },
    run: async (context, values) => {
      const booking = await readClearing(context, values);
      const deciding = { by: context.operator.name, reason: values.reason };
      const { result, balanceMinor } = await bookBalance(context, booking, deciding);
      const balance = formatAmount(balanceMinor, values.currency);
      return { result, currency: booking.currency, balance };
    },
  }),
];

type Clearing = { payout: string; currency: Currency; amount: string; reference: string };

/** @throws AppError not_found, invalid_request. */
async function readClearing(context: CommandContext, values: Clearing) {
  const { code } = values.currency;
  const key = await getPayoutKey(context, values.payout);
  const found = await findSuspense(context.db.system, key);
  if (found.currency !== code) {
    const detail = `the payout is in ${found.currency}, not in ${code}`;
    throw new AppError('invalid_request', detail, {
      faults: [{ pointer: '/currency', code: 'invalid_value', detail }],
    });
  }
  const amountMinor = readSignedAmount(values.amount, values.currency);
  return {
    ...key,
    kind: 'suspense',
    reference: values.reference,
    currency: code,
    amountMinor,
  } as const;
}

function describeSuspense({ currency: code, amount, ...row }: SuspenseRow) {
  return {
    account: row.account_id,
    name: row.account_name,
    user_token: formatToken('user', row.user_id),
    payout_token: formatToken('payout', row.payout_id),
    currency: code,
    amount: formatMinor(amount, code),
    latest_at: row.latest_at,
  };
}
