import { parseArgs } from 'node:util';
import { pino } from 'pino';
import {
  createAccount,
  createApiKey,
  createClient,
  listAccounts,
  listCredentials,
  revokeCredential,
  setAcceptBothTokens,
  setIdentityTwoPersons,
} from './accounts/accounts.ts';
import { createApp } from './app.ts';
import { type Config, ConfigError, describeConfig, readConfig } from './config.ts';
import { defaultScopes, type EnvironmentName, type Scope, scopes } from './core/access.ts';
import { findCurrency } from './core/currency.ts';
import { isUuid } from './core/ids.ts';
import { formatAmount, parseAmount } from './core/money.ts';
import { runDoctor } from './doctor.ts';
import type { Environment } from './environment.ts';
import { fundBalance, verifyLedger } from './ledger/ledger.ts';
import { operatorCommands } from './operator-commands.ts';
import { reviewCommands } from './review-commands.ts';

/** The commands beside the service: `npm run outlay -- <command>`. */

const usage = `usage: outlay <command>

  all | serve | work        the service: both, only requests, only background work
  migrate                   bring the databases up to date and end
  doctor                    say what is wrong with this setup
  verify                    recompute every balance and prove that the ledger is sound
  rates import              import the configured exchange rates now  [--accept-jumps]
  exception list            what a person must decide  [--account ID] [--all]
  exception close --exception ID --by NAME --reason TEXT
                            an observation that belongs to no payout was looked into
  payout explain --payout TOKEN
  payout decide --payout TOKEN --action release|refund|retry|paid|not_paid|returned|write_off|dismiss
                --by NAME --reason TEXT
                            a payout of high value needs the same from a second person
  payout cancel --payout TOKEN   stop it at its rail, where that is still possible
  payout margin --payout TOKEN   what it earned and what its rail took
  screening import          read the configured sanctions lists now  [--accept-doubts]
  screening show --user TOKEN | --payout TOKEN
  screening decide --user TOKEN --decision cleared|confirmed --by NAME --reason TEXT
  screening decide --payout TOKEN --decision cleared|confirmed --by NAME --reason TEXT
                            a payout that was found on a list too late to be stopped
  identity list             verifications that wait for a decision  [--account ID]
  identity show --user TOKEN     sessions and the history of decisions
  identity export --user TOKEN --folder PATH   write the images for the reviewer
  identity decide --user TOKEN --decision approved|declined|resubmission_requested
                --by NAME --reason TEXT
  rail check                ask every configured rail whether its counterpart can be worked with
  secret seal --file PATH   print a secret file sealed with the environment's master key
  account list
  account create --name NAME
  account fund --account ID --currency CODE --amount AMOUNT
  account set --account ID [--accept-both-tokens true|false] [--identity-two-persons true|false]
  credential list --account ID
  credential create --account ID --kind api_key|client [--scopes "a b"] [--addresses "cidr cidr"]
  credential revoke --account ID --credential ID
  env-example               print .env.example

  --environment staging|live   which environment a command means (default: the configured one)
`;

const options = {
  environment: { type: 'string' },
  name: { type: 'string' },
  account: { type: 'string' },
  currency: { type: 'string' },
  amount: { type: 'string' },
  credential: { type: 'string' },
  kind: { type: 'string' },
  scopes: { type: 'string' },
  addresses: { type: 'string' },
  'accept-both-tokens': { type: 'string' },
  'identity-two-persons': { type: 'string' },
  'accept-jumps': { type: 'boolean' },
  all: { type: 'boolean' },
  'accept-doubts': { type: 'boolean' },
  decision: { type: 'string' },
  user: { type: 'string' },
  payout: { type: 'string' },
  exception: { type: 'string' },
  action: { type: 'string' },
  by: { type: 'string' },
  reason: { type: 'string' },
  file: { type: 'string' },
  folder: { type: 'string' },
} as const;

type Values = ReturnType<typeof parseArgs<{ options: typeof options }>>['values'];

/** @throws ConfigError where the command or its words are not known. */
export async function runCommand(
  command: string,
  words: readonly string[],
  realNowMs: () => number,
): Promise<void> {
  if (command === 'env-example') return print(describeConfig());
  if (command === 'help' || command === '--help') return print(usage);
  const { values, positionals } = parse(words);
  const name = [command, ...positionals].join(' ');
  const config = readConfig(process.env);
  if (name === 'doctor') return runDoctor(config, (line) => print(`${line}\n`));
  const operate = operatorCommands[name] ?? reviewCommands[name];
  const run = operate === undefined ? commands[name] : printAnswer(operate);
  if (run === undefined) throw new ConfigError(`unknown command ${name}\n\n${usage}`);
  await withEnvironment({ config, values, realNowMs }, (env) => run(env, values));
}

function printAnswer(operate: (typeof operatorCommands)[string]) {
  return async (env: Environment, values: Values): Promise<void> => {
    const answer = await operate(env, values);
    if (typeof answer === 'string') print(`${answer}\n`);
    else printJson(answer);
  };
}

function parse(words: readonly string[]) {
  try {
    return parseArgs({ args: [...words], options, allowPositionals: true });
  } catch (cause) {
    const message = cause instanceof Error ? cause.message : String(cause);
    throw new ConfigError(`${message}\n\n${usage}`, { cause });
  }
}

async function withEnvironment(
  { config, values, realNowMs }: { config: Config; values: Values; realNowMs: () => number },
  run: (env: Environment) => Promise<void>,
): Promise<void> {
  const app = await createApp(config, {
    role: 'work',
    realNowMs,
    isGuest: true,
    log: pino({ level: 'silent' }),
  });
  try {
    const name = values.environment ?? config.OUTLAY_DEFAULT_ENVIRONMENT;
    const env = app.environments[name as EnvironmentName];
    if (env === undefined) throw new ConfigError(`the environment ${name} is not configured`);
    await run(env);
  } finally {
    await app.close();
  }
}

const commands: Readonly<Record<string, (env: Environment, values: Values) => Promise<void>>> = {
  migrate: async () => print('The databases are up to date.\n'),
  verify: async (env) => {
    const proof = await verifyLedger(env.db);
    printJson(proof);
    if (!proof.isSound) process.exitCode = 1;
  },
  'rates import': async (env, values) => {
    const acceptJumps = values['accept-jumps'] === true;
    const report = await env.importRates({ acceptJumps });
    printJson(report);
    if (!report.ok) process.exitCode = 1;
  },
  'account list': async (env) => printJson(await listAccounts(env.db.system)),
  'account create': async (env, values) => {
    const name = need(values, 'name');
    const environmentName = env.name;
    printJson(
      await env.db.systemTransaction((session) =>
        createAccount(session, { name, environmentName }),
      ),
    );
  },
  'account fund': async (env, values) => {
    const currency = findCurrency(need(values, 'currency'));
    if (currency === undefined) throw new ConfigError('--currency is not known');
    const amount = parseAmount(need(values, 'amount'), currency);
    if (!amount.ok) throw new ConfigError(`--amount: ${amount.fault}`);
    const accountId = needUuid(values, 'account');
    const wallet = await env.db.systemTransaction((session) =>
      fundBalance(session, { accountId, currency: currency.code, amountMinor: amount.minor }),
    );
    printJson({ ...wallet, balance: formatAmount(wallet.balance, currency) });
  },
  'account set': async (env, values) => {
    const accountId = needUuid(values, 'account');
    const isAccepted = readTruth(values, 'accept-both-tokens');
    const isNeeded = readTruth(values, 'identity-two-persons');
    if (isAccepted === undefined && isNeeded === undefined) {
      throw new ConfigError('--accept-both-tokens or --identity-two-persons is missing');
    }
    const isFound = await env.db.systemTransaction(
      async (session) =>
        (isAccepted === undefined ||
          (await setAcceptBothTokens(session, { accountId, isAccepted }))) &&
        (isNeeded === undefined || (await setIdentityTwoPersons(session, { accountId, isNeeded }))),
    );
    if (!isFound) throw new ConfigError('no such account');
    print('Done.\n');
  },
  'credential list': async (env, values) =>
    printJson(await listCredentials(env.db.system, needUuid(values, 'account'))),
  'credential create': async (env, values) => {
    const credential = {
      accountId: needUuid(values, 'account'),
      scopes: readScopes(values.scopes),
      allowedAddresses: values.addresses?.split(' ').filter(Boolean) ?? [],
    };
    const isClient = need(values, 'kind') === 'client';
    printJson(
      await env.db.systemTransaction<object>((session) =>
        isClient
          ? createClient(session, credential)
          : createApiKey(session, { ...credential, environmentName: env.name }),
      ),
    );
  },
  'credential revoke': async (env, values) => {
    const id = {
      accountId: needUuid(values, 'account'),
      credentialId: needUuid(values, 'credential'),
    };
    if (!(await revokeCredential(env.db.system, id))) {
      throw new ConfigError('no such credential in force');
    }
    print('Revoked.\n');
  },
};

function need(values: Values, name: keyof Values): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '') throw new ConfigError(`--${name} is missing`);
  return value;
}

function needUuid(values: Values, name: keyof Values): string {
  const value = need(values, name);
  if (!isUuid(value)) throw new ConfigError(`--${name} is not an identifier`);
  return value;
}

function readTruth(values: Values, name: keyof Values): boolean | undefined {
  const value = values[name];
  if (value === undefined) return undefined;
  if (value !== 'true' && value !== 'false') {
    throw new ConfigError(`--${name} must be true or false`);
  }
  return value === 'true';
}

function readScopes(text: string | undefined): readonly Scope[] {
  if (text === undefined) return defaultScopes;
  const asked = text.split(' ').filter(Boolean);
  const unknown = asked.filter((scope) => !(scopes as readonly string[]).includes(scope));
  if (unknown.length > 0) throw new ConfigError(`unknown scope ${unknown.join(' ')}`);
  return asked as Scope[];
}

function print(text: string): void {
  process.stdout.write(text);
}

function printJson(value: unknown): void {
  print(
    `${JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? member.toString() : member), 2)}\n`,
  );
}
