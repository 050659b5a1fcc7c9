import {
  createApiKey,
  createClient,
  listCredentials,
  revokeCredential,
} from '../accounts/accounts.ts';
import { ConfigError } from '../config.ts';
import { defaultScopes } from '../core/access.ts';
import { findSqlState } from '../db/postgres/pool.ts';
import { getAccountId } from './account.ts';
import { defineCommand } from './command.ts';
import { account, addressList, credential, oneOf, scopeList } from './options.ts';

export const credentialCommands = [
  defineCommand({
    name: 'credential list',
    about: 'list the credentials of an account',
    options: { account },
    run: async (context, values) =>
      listCredentials(context.db.system, await getAccountId(context, values.account)),
  }),
  defineCommand({
    name: 'credential create',
    about: 'create a credential; its secret is shown only once',
    options: {
      account,
      kind: oneOf('kind', ['api_key', 'client']),
      scopes: scopeList.default([...defaultScopes]),
      addresses: addressList.default([]),
    },
    run: async (context, { account: id, kind, scopes, addresses: allowedAddresses }) => {
      const { name: environmentName, db } = context;
      const made = { accountId: await getAccountId(context, id), scopes, allowedAddresses };
      try {
        return await db.systemTransaction<object>((session) =>
          kind === 'client'
            ? createClient(session, made)
            : createApiKey(session, { ...made, environmentName }),
        );
      } catch (cause) {
        // A range with bits beyond its prefix, such as 10.0.0.1/8.
        if (findSqlState(cause) !== '22P02') throw cause;
        throw new ConfigError('--addresses must be ranges that begin at their address', { cause });
      }
    },
  }),
  defineCommand({
    name: 'credential revoke',
    about: 'revoke a credential; it takes effect within a second',
    options: { account, credential },
    run: async (context, { account: id, credential: credentialId }) => {
      const key = { accountId: await getAccountId(context, id), credentialId };
      if (await revokeCredential(context.db.system, key)) return 'Revoked.';
      throw new ConfigError('credential not found, or already revoked');
    },
  }),
];
