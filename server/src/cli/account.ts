import { createAccount, findAccount, listAccounts } from '../accounts/accounts.ts';
import { amountFaults } from '../core/amount-faults.ts';
import type { Currency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { formatToken } from '../core/ids.ts';
import { formatAmount, formatMinor, parseAmount } from '../core/money.ts';
import type { Session } from '../db/postgres/pool.ts';
import {
  type Booking,
  bookBalance,
  isBooked,
  listBookings,
  listDeposits,
} from '../ledger/bookings.ts';
import { findBalanceMinor } from '../ledger/ledger.ts';
import { defineCommand, type OptionFault, RowPage } from './command.ts';
import type { CommandContext, OperatorContext } from './context.ts';
import {
  account,
  accountIds,
  accountName,
  amount,
  currency,
  fundedCurrency,
  limit,
  longLimit,
  name,
  reason,
  reference,
  rowCursor,
  signedAmount,
} from './options.ts';

export const accountCommands = [
  defineCommand({
    name: 'account list',
    permission: 'read',
    about: 'list the accounts of clients, oldest first',
    options: {
      name: accountName.optional(),
      accounts: accountIds.optional(),
      limit: longLimit.optional(),
      cursor: rowCursor.optional(),
    },
    check: ({ name: begins, accounts }) =>
      begins !== undefined && accounts !== undefined
        ? '--name and --accounts exclude each other'
        : undefined,
    run: async ({ db }, { name: begins, accounts: ids, limit: count = 1000, cursor }) => {
      const page = await listAccounts(db.system, { name: begins, ids }, { cursor, count });
      return new RowPage(page.rows, page.next);
    },
  }),
  defineCommand({
    name: 'account create',
    permission: 'operate',
    about: 'create an account; its secrets are shown only once; in live two people are needed',
    resultNames: ['account', 'client_id'],
    options: { name },
    // It comes with credentials.
    approval: () => ({ policy: 'credential' }),
    run: ({ db, keys, name: environmentName }, values) =>
      db.systemTransaction((session) =>
        createAccount(session, { ...values, environmentName, keys }),
      ),
  }),
  defineCommand({
    name: 'account fund',
    permission: 'operate',
    about: 'record a deposit, once for each reference',
    options: { account, currency: fundedCurrency, amount, reference, reason },
    check: checkAmount,
    snapshot: findBalance,
    approval: async (context, values) => {
      const booking = await readBooking(context, 'fund', values);
      // A repeat moves nothing.
      if (await isBooked(context.db, booking)) return undefined;
      return describeFunding(context.db.system, context.operator.name, booking);
    },
    run: async (context, values, acting) => {
      const { operator } = context;
      const booking = await readBooking(context, 'fund', values);
      const check = async (session: Session) =>
        acting.requireSecond(session, await describeFunding(session, operator.name, booking));
      return book(context, 'fund', { ...values, check });
    },
  }),
  defineCommand({
    name: 'account adjust',
    permission: 'operate',
    about: 'correct a balance, once for each reference; needs two people',
    options: { account, currency, amount: signedAmount, reference, reason },
    check: checkAmount,
    snapshot: findBalance,
    approval: async (context, values) => {
      const booking = await readBooking(context, 'adjust', values);
      return (await isBooked(context.db, booking)) ? undefined : { policy: 'adjustment' };
    },
    run: (context, values) => book(context, 'adjust', values),
  }),
  defineCommand({
    name: 'account bookings',
    permission: 'read',
    about: 'list bookings of operators on the balances of an account, newest first',
    options: { account, limit: limit.optional(), cursor: rowCursor.optional() },
    run: async (context, { account: id, limit: count = 100, cursor }) => {
      const accountId = await getAccountId(context, id);
      const { rows, next } = await listBookings(context.db.system, accountId, { cursor, count });
      const described = rows.map(
        ({ amount: minor, balance_after: after, payout_id: cleared, ...row }) => {
          const format = (some: bigint) => formatMinor(some, row.currency);
          return {
            ...row,
            // Whose amount in suspense was cleared.
            payout_token: cleared === null ? '' : formatToken('payout', cleared),
            amount: format(minor),
            balance_after: format(after),
          };
        },
      );
      return new RowPage(described, next);
    },
  }),
];

/** For the audit log. */
async function findBalance(
  { db }: CommandContext,
  { account: accountId, currency: of }: { account: string; currency: Currency },
) {
  const minor = await findBalanceMinor(db.system, { accountId, currency: of.code });
  return { currency: of.code, balance: formatAmount(minor, of) };
}

type BookingValues = { account: string; currency: Currency; amount: string; reference: string };

/** @throws AppError not_found. */
async function readBooking(
  context: CommandContext,
  kind: 'fund' | 'adjust',
  { account: id, currency: of, amount: given, ...values }: BookingValues,
) {
  return {
    accountId: await getAccountId(context, id),
    kind,
    reference: values.reference,
    currency: of.code,
    amountMinor: readSignedAmount(given, of),
  };
}

/** @throws AppError invalid_request where the currency does not have the amount. */
export function readSignedAmount(given: string, of: Currency): bigint {
  const isTaken = given.startsWith('-');
  const parsed = parseAmount(isTaken ? given.slice(1) : given, of);
  if (parsed.ok) return isTaken ? -parsed.minor : parsed.minor;
  const fault = amountFaults('amount', parsed.fault, of);
  throw new AppError('invalid_request', fault.detail, {
    faults: [{ pointer: '/amount', ...fault }],
  });
}

/** What the operator recorded within a day counts too: a deposit in parts needs two people like a whole one. */
async function describeFunding(session: Session, by: string, booking: Booking) {
  const { currency: code, amountMinor: minor } = booking;
  const deposits = await listDeposits(session, { ...booking, by });
  const earlier = deposits.map(({ amount: earlierMinor, ...of }) => ({
    ...of,
    minor: earlierMinor,
  }));
  return { policy: 'funding', money: { currency: code, minor, earlier } } as const;
}

async function book(
  context: OperatorContext,
  kind: 'fund' | 'adjust',
  { check, ...values }: BookingValues & { reason: string; check?(session: Session): Promise<void> },
) {
  const booking = await readBooking(context, kind, values);
  const by = context.operator.name;
  const { result, balanceMinor } = await bookBalance(context, booking, {
    by,
    reason: values.reason,
    ...(check !== undefined && { check }),
  });
  const balance = formatAmount(balanceMinor, values.currency);
  return { result, currency: booking.currency, balance };
}

type Money = { amount: string; currency: Currency };

/** Whether the currency has the amount; its sign is not looked at. */
function checkAmount({ amount: given, currency: of }: Money): OptionFault | undefined {
  return findAmountFault('amount', given.replace(/^-/, ''), of);
}

/** The fault of an option with an amount that is written as a decimal number. */
export function findAmountFault(
  optionName: string,
  given: string,
  of: Currency,
): OptionFault | undefined {
  const parsed = parseAmount(given, of);
  if (parsed.ok) return undefined;
  return { name: optionName, text: amountFaults('', parsed.fault, of).detail.trim() };
}

/** @throws AppError not_found. */
export async function getAccountId({ db, name: environmentName }: CommandContext, id: string) {
  if ((await findAccount(db.system, id)) !== undefined) return id;
  throw new AppError(
    'not_found',
    `account not found in ${environmentName}: outlay admin account list lists accounts`,
  );
}
