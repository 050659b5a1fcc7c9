import {
  createAccount,
  createApiKey,
  createClient,
  findAccount,
  listAccounts,
  listCredentials,
  revokeCredential,
  setAcceptBothTokens,
  setIdentityTwoPersons,
} from '../accounts/accounts.ts';
import { ConfigError } from '../config.ts';
import { defaultScopes, type Scope, scopes } from '../core/access.ts';
import { amountFaults } from '../core/amount-faults.ts';
import { getCurrency } from '../core/currency.ts';
import { formatAmount, parseAmount } from '../core/money.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import type { Environment } from '../environment/environment.ts';
import { fundBalance } from '../ledger/ledger.ts';
import { need, type Values } from './command-values.ts';

/** The commands about client accounts and their credentials. They answer JSON, or a sentence. */

type Command = (env: Environment, values: Values) => Promise<unknown>;

export const accountCommands: Readonly<Record<string, Command>> = {
  'account list': async (env) => listAccounts(env.db.system),
  'account create': async (env, values) => {
    const name = need(values, 'name');
    const environmentName = env.name;
    return env.db.systemTransaction((session) => createAccount(session, { name, environmentName }));
  },
  'account fund': async (env, values) => {
    const currency = getCurrency(need(values, 'currency'));
    const amount = parseAmount(need(values, 'amount'), currency);
    if (!amount.ok) throw new ConfigError(amountFaults('--amount', amount.fault, currency).detail);
    const accountId = await needAccount(env, values);
    const wallet = await env.db.systemTransaction((session) =>
      fundBalance(session, { accountId, currency: currency.code, amountMinor: amount.minor }),
    );
    return { ...wallet, balance: formatAmount(wallet.balance, currency) };
  },
  'account set': async (env, values) => {
    const accountId = await needAccount(env, values);
    const accepts = values['accept-both-tokens'];
    const needsTwo = values['identity-two-persons'];
    await env.db.systemTransaction(async (session) => {
      if (accepts !== undefined) {
        await setAcceptBothTokens(session, { accountId, isAccepted: accepts === 'true' });
      }
      if (needsTwo !== undefined) {
        await setIdentityTwoPersons(session, { accountId, isNeeded: needsTwo === 'true' });
      }
    });
    return 'Done.';
  },
  'credential list': async (env, values) =>
    listCredentials(env.db.system, await needAccount(env, values)),
  'credential create': async (env, values) => {
    const credential = {
      accountId: await needAccount(env, values),
      scopes: readScopes(values.scopes),
      allowedAddresses: values.addresses?.split(' ').filter(Boolean) ?? [],
    };
    const isClient = need(values, 'kind') === 'client';
    try {
      return await env.db.systemTransaction<object>((session) =>
        isClient
          ? createClient(session, credential)
          : createApiKey(session, { ...credential, environmentName: env.name }),
      );
    } catch (cause) {
      // A range whose address has bits outside of it, such as 10.0.0.1/8.
      if (findSqlState(cause) !== '22P02') throw cause;
      throw new ConfigError('--addresses must be ranges that begin at their address', { cause });
    }
  },
  'credential revoke': async (env, values) => {
    const accountId = await needAccount(env, values);
    const id = { accountId, credentialId: need(values, 'credential') };
    if (!(await revokeCredential(env.db.system, id))) {
      throw new ConfigError('credential not found, or already revoked');
    }
    return 'Revoked.';
  },
};

async function needAccount(env: Environment, values: Values): Promise<string> {
  const accountId = need(values, 'account');
  if ((await findAccount(env.db.system, accountId)) !== undefined) return accountId;
  throw new ConfigError(`account not found in ${env.name}: outlay account list shows them`);
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return defaultScopes;
  const asked = new Set(text.split(' ').filter(Boolean));
  return scopes.filter((scope) => asked.has(scope));
}
