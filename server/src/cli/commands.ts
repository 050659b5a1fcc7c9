import { parseArgs } from 'node:util';
import { pino } from 'pino';
import { createApp } from '../app.ts';
import { type Config, ConfigError, describeConfig, readConfig } from '../config.ts';
import type { EnvironmentName } from '../core/access.ts';
import type { Environment } from '../environment/environment.ts';
import { verifyLedger } from '../ledger/ledger.ts';
import { accountCommands } from './account-commands.ts';
import { checkOptions, options, type Values } from './command-values.ts';
import { runDoctor } from './doctor/doctor.ts';
import { exceptionCommands } from './exception-commands.ts';
import { operatorCommands } from './operator-commands.ts';
import { reviewCommands } from './review-commands.ts';

/** The commands beside the service: `npm run outlay -- <command>`. */

const usage = `usage: outlay <command>

  all | serve | work        the service: both, only requests, only background work  [--recover]
  migrate                   bring the databases up to date and end
  doctor                    say what is wrong with this setup
  verify                    recompute every balance and prove that the ledger is sound
  rates import              import the configured exchange rates now  [--accept-jumps]
  exception list            what a person must decide, a page at a time  [--kind KIND] [--rail NAME]
                            [--account ID] [--payout TOKEN] [--from TIME] [--to TIME]
                            [--closed | --all] [--limit N] [--cursor CURSOR]
  exception close --exception ID --by NAME --reason TEXT
                            an inbound message that belongs to no payout was looked into
  exception close --kind unmatched|unreadable|not_understood --rail NAME --by NAME --reason TEXT
                            the same of all open ones  [--from TIME] [--to TIME]
  payout explain --payout TOKEN
  payout decide --payout TOKEN --action release|refund|retry|paid|not_paid|returned|write_off|dismiss
                --by NAME --reason TEXT
                            a payout of high value needs the same from a second person
  payout cancel --payout TOKEN   stop it at its rail, where that is still possible
  payout margin --payout TOKEN   what it earned and what its rail took
  recovery show             payments that rails listed after a restore, and what they belong to
  recovery release --by NAME --reason TEXT  [--accept-unlisted]
                            two persons let commits and sending begin again
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
  rail check                check the file of rails, and ask every counterpart; exit code 1 with faults
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

/** @throws ConfigError where the command or its options are wrong. */
export async function runCommand(
  command: string,
  words: readonly string[],
  realNowMs: () => number,
): Promise<void> {
  if (command === 'env-example') return print(describeConfig());
  if (command === 'help' || command === '--help') return print(usage);
  const { name, values } = readCommand(command, words);
  if (name === 'doctor') return runDoctor(process.env, { realNowMs, print });
  const config = readConfig(process.env);
  const run = commands[name];
  if (run === undefined) throw new Error('unreachable: readCommand refuses unknown commands');
  await withEnvironment({ config, values, realNowMs }, async (env) => {
    const answer = await run(env, values);
    if (typeof answer === 'string') print(`${answer}\n`);
    else printJson(answer);
  });
}

/**
 * The command that the words name, with its options.
 *
 * @throws ConfigError with every fault of them, before anything is opened.
 */
export function readCommand(
  command: string,
  words: readonly string[],
): { name: string; values: Values } {
  const { values, positionals } = parse(words);
  const name = [command, ...positionals].join(' ');
  if (name !== 'doctor' && commands[name] === undefined) {
    throw new ConfigError(`unknown command ${name}\n\n${usage}`);
  }
  checkOptions(name, values);
  return { name, values };
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
    toleratesFaults: true,
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

type Command = (env: Environment, values: Values) => Promise<unknown>;

/** Every command beside the service itself. A text is printed as it is, anything else as JSON. */
export const commands: Readonly<Record<string, Command>> = {
  ...accountCommands,
  ...exceptionCommands,
  ...operatorCommands,
  ...reviewCommands,
  migrate: async () => 'The databases are up to date.',
  verify: async (env) => {
    const proof = await verifyLedger(env.db);
    if (!proof.isSound) process.exitCode = 1;
    return proof;
  },
  'rates import': async (env, values) => {
    const acceptJumps = values['accept-jumps'] === true;
    const report = await env.importRates({ acceptJumps });
    if (!report.ok) process.exitCode = 1;
    return report;
  },
};

function print(text: string): void {
  process.stdout.write(text);
}

function printJson(value: unknown): void {
  print(
    `${JSON.stringify(value, (_key, member: unknown) => (typeof member === 'bigint' ? member.toString() : member), 2)}\n`,
  );
}
