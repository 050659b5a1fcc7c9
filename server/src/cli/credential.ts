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
import { getAmountMinor } from '../core/money.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import {
  type Budget,
  listAccountBudgets,
  listBudgets,
  openDefault,
  removeBudget,
  setBudget,
} from '../proposals/budgets.ts';
import { findAmountFault, getAccountId } from './account.ts';
import { defineCommand, type OptionFault } from './command.ts';
import type { CommandContext } from './context.ts';
import {
  account,
  addressList,
  credential,
  currency,
  decimalText,
  flag,
  oneOf,
  option,
  scopeList,
} from './options.ts';

const budgetOptions = {
  currency: currency.optional(),
  perProposal: option(
    { value: 'amount', about: 'maximum debit of one proposal, fee included' },
    decimalText,
  ).optional(),
  perDay: option(
    { value: 'amount', about: 'maximum debit of confirmed proposals in a day (UTC)' },
    decimalText,
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

function checkBudget({ currency: of, ...limits }: BudgetValues): string | OptionFault | undefined {
  const { perProposal, perDay, open } = limits;
  const isLimited = [perProposal, perDay, open].some((limit) => limit !== undefined);
  if (isLimited && of === undefined) return '--currency is missing: of the budget';
  if (of === undefined) return undefined;
  if (!isLimited)
    return 'one of --per-proposal, --per-day and --open is missing: a budget has a limit';
  for (const [name, given] of Object.entries({ perProposal, perDay })) {
    const fault = given === undefined ? undefined : findAmountFault(name, given, of);
    if (fault !== undefined) return fault;
  }
  return undefined;
}

function checkChangedBudget({ remove, ...given }: BudgetValues & { remove: boolean }) {
  if (!remove) return checkBudget(given);
  const { currency: of, perProposal, perDay, open } = given;
  if (of === undefined) return '--remove needs --currency';
  const hasLimits = [perProposal, perDay, open].some((limit) => limit !== undefined);
  return hasLimits ? '--remove and limits exclude each other' : undefined;
}

/** @throws AppError not_found. */
export async function requireCredential(
  context: CommandContext,
  { account: id, credential: credentialId }: { account: string; credential: string },
): Promise<Awaited<ReturnType<typeof listCredentials>>[number]> {
  const accountId = await getAccountId(context, id);
  const known = await listCredentials(context.db.system, accountId);
  const found = known.find((row) => row.id === credentialId && row.revoked_at === null);
  if (found === undefined) {
    throw new AppError('not_found', 'credential not found, or already revoked');
  }
  return found;
}

/** Undefined if none was given. */
function readBudget({ currency: of, perProposal, perDay, open }: BudgetValues): Budget | undefined {
  if (of === undefined) return undefined;
  const read = (given: string | undefined): bigint | undefined =>
    given === undefined ? undefined : getAmountMinor(given, of);
  return {
    currency: of.code,
    perProposalMinor: read(perProposal),
    perDayMinor: read(perDay),
    openMax: Number(open ?? openDefault),
  };
}

const noProposals = () => new ConfigError('the credential must have the scope payouts:propose');

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
    resultNames: ['credential_id', 'scopes'],
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
    check: (values) =>
      values.currency !== undefined && !values.scopes.includes('payouts:propose')
        ? 'a budget is for a credential with the scope payouts:propose'
        : checkBudget(values),
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
      try {
        return await db.systemTransaction<object>(async (session) => {
          const created =
            kind === 'client'
              ? await createClient(session, made)
              : await createApiKey(session, { ...made, environmentName });
          const credentialId = created.credential_id;
          if (budget !== undefined) await setBudget(session, { accountId, credentialId }, budget);
          return { ...created, scopes };
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
      const { scopes } = await requireCredential(context, values);
      // Without a budget it only shows them.
      if (values.currency === undefined) return undefined;
      if (!values.remove && !scopes.includes('payouts:propose')) throw noProposals();
      return { policy: 'limit' };
    },
    permission: 'operate',
    about: 'show what a credential may propose, or set it for a currency',
    options: { account, credential, ...budgetOptions, remove: flag('remove that of --currency') },
    check: checkChangedBudget,
    snapshot: ({ db }, { account: accountId, credential: credentialId }) =>
      listBudgets(db.system, { accountId, credentialId }),
    run: async (context, { account: id, credential: credentialId, remove, ...given }) => {
      const { system: session } = context.db;
      const key = { accountId: await getAccountId(context, id), credentialId };
      const { currency: code } = given;
      if (code !== undefined && remove) {
        await removeBudget(session, key, code.code);
        return listBudgets(session, key);
      }
      const budget = readBudget(given);
      if (budget !== undefined && !(await setBudget(session, key, budget))) {
        throw noProposals();
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
