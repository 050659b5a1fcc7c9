import { chmodSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import {
  createAccount,
  createApiKey,
  createClient,
  findAccountIdOfName,
} from '../accounts/accounts.ts';
import type { Config } from '../config.ts';
import { defaultScopes, type EnvironmentName, newestVersion } from '../core/access.ts';
import { getCurrency } from '../core/currency.ts';
import { getAmountMinor } from '../core/money.ts';
import { isSystemError } from '../db/embedded/error.ts';
import { lockEnvironment } from '../db/environment-record.ts';
import type { Session } from '../db/postgres/pool.ts';
import { fundBalance } from '../ledger/ledger.ts';
import type { Environment } from './environment.ts';
import { getBaseUrl, getPublicUrl } from './public-url.ts';

/** The Demo account of a new staging environment, and the file with its credentials. */

const demoName = 'Demo';
const fileName = 'staging.json';

/** More than all examples of the documentation need. */
const demoFunds = { USD: '1000000', EUR: '1000000', GBP: '1000000', BTC: '25', USDC: '1000000' };

const stagingFile = z.object({
  base_url: z.string(),
  version: z.string(),
  account: z.string(),
  client_id: z.string(),
  client_secret: z.string(),
  api_key: z.string(),
});
type StagingFile = z.output<typeof stagingFile>;

/** Writes `staging.json` (mode 0600) and returns its path; the first start creates the account. */
export async function prepareStagingFile(
  env: Environment,
  options: { dataDirectory: string; baseUrl: string },
): Promise<string> {
  const path = join(options.dataDirectory, fileName);
  const credentials = await findOrCreateCredentials(env, path);
  const file: StagingFile = {
    base_url: options.baseUrl,
    version: newestVersion,
    ...credentials,
  };
  const draft = `${path}.${process.pid}`;
  writeFileSync(draft, `${JSON.stringify(file, null, 2)}\n`, { mode: 0o600 });
  chmodSync(draft, 0o600);
  renameSync(draft, path);
  return path;
}

type Credentials = Omit<StagingFile, 'base_url' | 'version'>;

async function findOrCreateCredentials(env: Environment, path: string): Promise<Credentials> {
  const kept = readStagingFile(path);
  if (kept !== undefined && (await env.authenticator.authenticate(kept.api_key, '127.0.0.1'))) {
    const { account, client_id, client_secret, api_key } = kept;
    return { account, client_id, client_secret, api_key };
  }
  return env.db.systemTransaction(async (session) => {
    await lockEnvironment(session);
    const demo = await findAccountIdOfName(session, demoName);
    return demo === undefined ? createDemo(env, session) : renewCredentials(env, session, demo);
  });
}

async function createDemo(
  { keys }: Pick<Environment, 'keys'>,
  session: Session,
): Promise<Credentials> {
  const made = await createAccount(session, {
    name: demoName,
    environmentName: 'staging',
    keys,
  });
  for (const [currency, amount] of Object.entries(demoFunds)) {
    const amountMinor = getAmountMinor(amount, getCurrency(currency));
    await fundBalance(session, { accountId: made.account, currency, amountMinor });
  }
  return made;
}

/** The file was lost or belongs to another database. Secrets are not stored, so new ones are made. */
async function renewCredentials(
  { keys }: Pick<Environment, 'keys'>,
  session: Session,
  accountId: string,
): Promise<Credentials> {
  const credential = { keys, accountId, scopes: defaultScopes, allowedAddresses: [] };
  const client = await createClient(session, credential);
  const { api_key } = await createApiKey(session, { ...credential, environmentName: 'staging' });
  return { account: accountId, ...client, api_key };
}

/**
 * The address under which the service is reached. A command does not know the port of a service that runs
 * already, which has written it into the file of staging.
 */
export function findServiceUrl(
  config: Parameters<typeof getBaseUrl>[0] & Pick<Config, 'OUTLAY_DATA'>,
  name: EnvironmentName,
): string {
  if (name !== 'staging' || getPublicUrl(config, name) !== '') return getBaseUrl(config, name);
  try {
    const kept = readStagingFile(join(config.OUTLAY_DATA, fileName));
    return kept?.base_url ?? getBaseUrl(config, name);
  } catch (error) {
    // The file is the service's; another user may not read it.
    if (isSystemError(error, 'EACCES')) return getBaseUrl(config, name);
    throw error;
  }
}

function readStagingFile(path: string): StagingFile | undefined {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if (isSystemError(error, 'ENOENT')) return undefined;
    throw error;
  }
  try {
    return stagingFile.safeParse(JSON.parse(text)).data;
  } catch (error) {
    // Not JSON: the credentials are renewed.
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
