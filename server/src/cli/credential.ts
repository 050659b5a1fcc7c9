import { z } from 'zod';
import {
  createApiKey,
  createClient,
  findKeyDays,
  listCredentials,
  revokeCredential,
} from '../accounts/accounts.ts';
import { ConfigError } from '../config.ts';
import { defaultScopes } from '../core/access.ts';
import type { Currency } from '../core/currency.ts';
import { AppError } from '../core/errors.ts';
import { parseAmount } from '../core/money.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import {
  type Budget,
  listAccountBudgets,
  listBudgets,
  openDefault,
  removeBudget,
  setBudget,
} from '../proposals/budgets.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import {
  account,
  addressList,
  credential,
  currency,
  flag,
  oneOf,
  option,
  scopeList,
} from './options.ts';

const budgetOptions = {
  currency: currency.optional(),
  perProposal: option(
    { value: 'amount', about: 'maximum debit of one proposal, fee included' },
    z.string(),
  ).optional(),
  perDay: option(
    { value: 'amount', about: 'maximum debit of confirmed proposals in a day (UTC)' },
    z.string(),
  ).optional(),
  open: option(
    { value: 'count', about: `proposals that may be open, up to 1000; default: ${openDefault}` },
    z.string().regex(/^(?:[1-9]\d{0,2}|1000)$/, 'must be a whole number from 1 to 1000'),
  ).optional(),
};
type BudgetValues = {
  currency?: Currency | undefined;
  perProposal?: string | undefined;
  perDay?: string | undefined;
  open?: string | undefined;
};

function checkBudget({ currency: code, ...limits }: BudgetValues): string | undefined {
  const { perProposal, perDay, open } = limits;
  const isLimited = [perProposal, perDay, open].some((limit) => limit !== undefined);
  if (isLimited && code === undefined) return '--currency is missing: of the budget';
  return undefined;
}

/** Undefined if none was given. @throws ConfigError. */
function readBudget({ currency: of, perProposal, perDay, open }: BudgetValues): Budget | undefined {
  if (of === undefined || (perProposal ?? perDay ?? open) === undefined) return undefined;
  const read = (name: string, given: string | undefined): bigint | undefined => {
    const parsed = given === undefined ? undefined : parseAmount(given, of);
    if (parsed === undefined || parsed.ok) return parsed?.minor;
    throw new ConfigError(`${name} must be an amount in ${of.code}`);
  };
  return {
    currency: of.code,
    perProposalMinor: read('--per-proposal', perProposal),
    perDayMinor: read('--per-day', perDay),
    openMax: Number(open ?? openDefault),
  };
}

function readDays(given = 'never'): number | undefined {
  return given === 'never' ? undefined : Number(given);
}

export const credentialCommands = [
  defineCommand({
    name: 'credential list',
    permission: 'read',
    about: 'list the credentials of an account',
    options: { account },
    run: async (context, values) => {
      const { system: session } = context.db;
      const accountId = await getAccountId(context, values.account);
      const budgets = await listAccountBudgets(session, accountId);
      return (await listCredentials(session, accountId)).map((row) => ({
        ...row,
        budgets: (budgets.get(row.id) ?? []).map(({ budget }) => budget),
      }));
    },
  }),
  defineCommand({
    name: 'credential create',
    approval: async (context, values) => {
      await getAccountId(context, values.account);
      return { policy: 'credential' };
    },
    permission: 'operate',
    about: 'create a credential; its secret is shown only once',
    resultNames: ['credential_id'],
    options: {
      account,
      kind: oneOf('kind', ['api_key', 'client']),
      scopes: scopeList.default([...defaultScopes]),
      addresses: addressList.default([]),
      expiresDays: option(
        {
          value: 'days|never',
          about: 'days until it expires; default: 365 for an API key in live, else never',
        },
        z.string().regex(/^(?:never|[1-9]\d{0,3})$/, 'must be never, or days from 1 to 9999'),
      ).optional(),
      ...budgetOptions,
    },
    check: (values) => checkBudget(values),
    run: async (context, { account: id, kind, scopes, addresses, expiresDays, ...given }) => {
      const { name: environmentName, db } = context;
      const accountId = await getAccountId(context, id);
      const made = {
        keys: context.keys,
        accountId,
        scopes,
        allowedAddresses: addresses,
        expiresDays:
          expiresDays === undefined && kind === 'api_key'
            ? findKeyDays(environmentName)
            : readDays(expiresDays),
      };
      const budget = readBudget(given);
      if (budget !== undefined && !scopes.includes('payouts:propose')) {
        throw new ConfigError('a budget is for a credential with the scope payouts:propose');
      }
      try {
        return await db.systemTransaction<object>(async (session) => {
          const created =
            kind === 'client'
              ? await createClient(session, made)
              : await createApiKey(session, { ...made, environmentName });
          const credentialId = created.credential_id;
          if (budget !== undefined) await setBudget(session, { accountId, credentialId }, budget);
          return created;
        });
      } catch (cause) {
        // A range with bits beyond its prefix, such as 10.0.0.1/8.
        if (findSqlState(cause) !== '22P02') throw cause;
        throw new ConfigError('--addresses must be ranges that begin at their address', { cause });
      }
    },
  }),
  defineCommand({
    name: 'credential budget',
    approval: async (context, values) => {
      await getAccountId(context, values.account);
      // Without a budget it only shows them.
      return values.currency === undefined ? undefined : { policy: 'limit' };
    },
    permission: 'operate',
    about: 'show what a credential may propose, or set it for a currency',
    options: { account, credential, ...budgetOptions, remove: flag('remove that of --currency') },
    check: (values) => checkBudget(values),
    snapshot: ({ db }, { account: accountId, credential: credentialId }) =>
      listBudgets(db.system, { accountId, credentialId }),
    run: async (context, { account: id, credential: credentialId, remove, ...given }) => {
      const { system: session } = context.db;
      const key = { accountId: await getAccountId(context, id), credentialId };
      const { currency: code } = given;
      const budget = readBudget(given);
      if (remove && code === undefined) throw new ConfigError('--remove needs --currency');
      if (code !== undefined && remove) await removeBudget(session, key, code.code);
      else if (budget !== undefined && !(await setBudget(session, key, budget))) {
        throw new ConfigError('credential not found, or without the scope payouts:propose');
      }
      return listBudgets(session, key);
    },
  }),
  defineCommand({
    name: 'credential revoke',
    permission: 'operate',
    about: 'revoke a credential; it takes effect within a second',
    options: { account, credential },
    run: async (context, { account: id, credential: credentialId }) => {
      const key = { accountId: await getAccountId(context, id), credentialId };
      if (await revokeCredential(context.db.system, key)) return { result: 'revoked' };
      throw new AppError('not_found', 'credential not found, or already revoked');
    },
  }),
];
