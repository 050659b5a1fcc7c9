import { z } from 'zod';
import { AppError } from '../core/errors.ts';
import { readUsdMinor } from '../destinations/pricing.ts';
import {
  type AccountLimit,
  findAccountLimit,
  isRaised,
  listAccountLimits,
  removeAccountLimit,
  setAccountLimit,
} from '../rules/account-limits.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import type { CommandContext } from './context.ts';
import { account, limitName, oneOf, option, reason } from './options.ts';

/** Limits of a client. A second person is needed to raise or remove one. */

/** A million million USD. */
const usdMinorMax = 10n ** 14n;

const bounds = {
  per: oneOf('what it limits', ['payout', 'account', 'corridor']),
  hours: option(
    { value: 'count', about: 'the window, up to 8784; default: 24' },
    z.string().refine((text) => /^[1-9]\d{0,3}$/.test(text) && Number(text) <= 8784, {
      error: 'must be a whole number of hours, up to 8784',
    }),
  ).optional(),
  count: option(
    { value: 'count', about: 'maximum number of payouts' },
    z.string().regex(/^\d{1,9}$/, 'must be a whole number'),
  ).optional(),
  usd: option(
    { value: 'amount', about: 'maximum in USD, at the rate of the check' },
    z.string().refine((text) => (readUsdMinor(text) ?? usdMinorMax + 1n) <= usdMinorMax, {
      error: 'must be an amount in USD, such as 5000.00, up to 1000000000000',
    }),
  ).optional(),
  corridor: option(
    { value: 'corridor', about: 'only of this corridor, such as "MEX BANK_DEPOSIT MXN"' },
    z.string().regex(/^[A-Z]{3} [A-Z_]+ [A-Z0-9]{3,5}$/, 'must be as in "MEX BANK_DEPOSIT MXN"'),
  ).optional(),
};

type Bounds = {
  name: string;
  per: AccountLimit['per'];
  hours?: string | undefined;
  count?: string | undefined;
  usd?: string | undefined;
  corridor?: string | undefined;
};

function readLimit({ name, per, hours = '24', count, usd, corridor }: Bounds): AccountLimit {
  return {
    name,
    per,
    seconds: BigInt(hours) * 3600n,
    count_max: count === undefined ? null : BigInt(count),
    usd_max: usd === undefined ? null : (readUsdMinor(usd) ?? 0n),
    corridor: corridor ?? null,
  };
}

const noLimit = () => new AppError('not_found', 'the account has no limit of this name');

/** For the audit log. */
async function findState(
  { db }: CommandContext,
  { account: accountId, name }: { account: string; name: string },
) {
  return (await findAccountLimit(db.system, { accountId, name })) ?? null;
}

export const limitCommands = [
  defineCommand({
    name: 'limit list',
    permission: 'read',
    about: 'list the limits of an account',
    options: { account },
    run: async (context, { account: id }) => {
      const rows = await listAccountLimits(context.db.system, await getAccountId(context, id));
      return rows.map(({ seconds, usd_max: cents, ...row }) => ({
        ...row,
        hours: Number(seconds) / 3600,
        usd_max: cents === null ? null : `${cents / 100n}.${String(cents % 100n).padStart(2, '0')}`,
      }));
    },
  }),
  defineCommand({
    name: 'limit set',
    permission: 'operate',
    about: 'set a limit of an account; two people are needed to raise one',
    options: { account, name: limitName, ...bounds, reason },
    check: ({ per, count, usd }) => {
      if (count === undefined && usd === undefined) return '--usd or --count is missing';
      if (per === 'payout' && count !== undefined) return '--per payout takes --usd alone';
      return undefined;
    },
    snapshot: findState,
    approval: async (context, { account: id, ...values }) => {
      const key = { accountId: await getAccountId(context, id), name: values.name };
      const before = await findAccountLimit(context.db.system, key);
      return isRaised(before, readLimit(values)) ? { policy: 'limit' } : undefined;
    },
    run: async ({ db, operator, ...context }, { account: id, reason: why, ...values }) => {
      const accountId = await getAccountId({ ...context, db, operator }, id);
      await setAccountLimit(db.system, accountId, { ...readLimit(values), by: operator.name, why });
      return { result: 'done', in_force: 'from the next check of a payout on' };
    },
  }),
  defineCommand({
    name: 'limit remove',
    permission: 'operate',
    about: 'remove a limit of an account; two people are needed',
    options: { account, name: limitName, reason },
    snapshot: findState,
    approval: async (context, { account: id, name }) => {
      const key = { accountId: await getAccountId(context, id), name };
      if ((await findAccountLimit(context.db.system, key)) === undefined) throw noLimit();
      return { policy: 'limit' };
    },
    run: async (context, { account: id, name }) => {
      const key = { accountId: await getAccountId(context, id), name };
      if (await removeAccountLimit(context.db.system, key)) return { result: 'done' };
      throw noLimit();
    },
  }),
];
