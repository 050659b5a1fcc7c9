import { join, resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import type { z } from 'zod';
import { identitySettings } from './config-identity.ts';
import { findScreeningFault, screeningSettings } from './config-screening.ts';
import { telemetrySettings } from './config-telemetry.ts';
import {
  addressRanges,
  cellName,
  choice,
  databaseUrl,
  emailAddress,
  httpUrl,
  secretKey,
  setting,
  smtpServer,
  text,
  wholeNumber,
} from './config-values.ts';

/** What a process does: requests and background work, requests only, or background work only. */
export type Role = 'all' | 'serve' | 'work';

/** All settings. Environment variables are read here only; `.env.example` is generated from this. */

export const settings = {
  PORT: setting(
    wholeNumber({ min: 0, max: 65_535, otherwise: 8080 }),
    'Port; 0 picks a free one',
    '8080',
  ),
  HOST: setting(
    text.transform((value) => value ?? '127.0.0.1'),
    'Address to listen on',
    '127.0.0.1',
  ),
  OUTLAY_WORK_PORT: setting(
    wholeNumber({ min: 0, max: 65_535, otherwise: 8081 }),
    'Port of a process in the role work, for health and metrics; 0 picks a free one',
    '8081',
  ),
  OUTLAY_HEALTH_PORT: setting(
    wholeNumber({ min: 0, max: 65_535, otherwise: undefined }),
    'Port of a thread that answers health and metrics whatever the process does; none when empty, 0 picks a free one',
    '',
  ),
  OUTLAY_DATA: setting(
    text.transform((value) => resolve(value ?? join(import.meta.dirname, '../../.outlay'))),
    'Folder for the embedded database, keys and staging.json',
    '.outlay',
  ),
  OUTLAY_CHECKPOINTS: setting(
    text.transform((value) => (value === undefined ? undefined : resolve(value))),
    'Folder for the signed checkpoints of the chains, best on another disk; `checkpoints` in OUTLAY_DATA when empty',
    '/mnt/audit/outlay',
  ),
  OUTLAY_ERASURES: setting(
    text.transform((value) => (value === undefined ? undefined : resolve(value))),
    'Folder for the list of erased users, which a restore applies again: not in the backup of the database; `erasures` in OUTLAY_DATA when empty',
    '/mnt/audit/outlay-erasures',
  ),
  OUTLAY_CHECKPOINT_SECONDS: setting(
    wholeNumber({ min: 1, max: 86_400, otherwise: 60 }),
    'Seconds between two checkpoints',
    '60',
  ),
  OUTLAY_ENVIRONMENTS: setting(
    choice(['staging', 'live', 'staging,live'], 'staging'),
    'Which environments this process serves: staging, live or staging,live',
    'staging',
  ),
  OUTLAY_DEFAULT_ENVIRONMENT: setting(
    choice(['staging', 'live'], 'staging'),
    'Environment of requests whose Host begins with neither api nor staging-api',
    'staging',
  ),
  DATABASE_URL: setting(
    databaseUrl,
    'PostgreSQL 15 or newer for staging, one host or several; the embedded one when empty',
    'postgresql://outlay@localhost:5432/outlay_staging',
  ),
  OUTLAY_LIVE_DATABASE_URL: setting(
    databaseUrl,
    'The same for live',
    'postgresql://outlay@localhost:5432/outlay_live',
  ),
  OUTLAY_MASTER_KEY: setting(
    secretKey,
    'Staging: 32 bytes in Base64 that encrypt the keys of personal data, during a rotation the newest first and commas between; a file in OUTLAY_DATA when empty',
    '',
  ),
  OUTLAY_MASTER_KEY_COMMAND: setting(
    text,
    'Instead of OUTLAY_MASTER_KEY: a command that prints it, for a key management service or an HSM',
    '',
  ),
  OUTLAY_LIVE_MASTER_KEY: setting(secretKey, 'The same for live', ''),
  OUTLAY_LIVE_MASTER_KEY_COMMAND: setting(
    text,
    'The same for live',
    'aws kms decrypt --ciphertext-blob fileb:///etc/outlay/live.key.enc --query Plaintext --output text | base64 -d',
  ),
  OUTLAY_DATABASE_CONNECTIONS: setting(
    wholeNumber({ min: 2, max: 200, otherwise: 16 }),
    'Maximum of database connections of each of the two roles, per environment and process',
    '16',
  ),
  OUTLAY_DATABASE_DURABILITY: setting(
    choice(['checked', 'trusted'], 'checked'),
    'checked: live does not start on a server with fsync or full_page_writes off; trusted: it warns',
    'checked',
  ),
  OUTLAY_PUBLIC_URL: setting(
    httpUrl,
    'URL at which clients reach the default environment; the Host of each request when empty',
    'https://api.example.com',
  ),
  OUTLAY_CELL: setting(
    cellName,
    'Name of this installation among several that share the accounts (docs/guides/cells.md)',
    'eu1',
  ),
  OUTLAY_TRUST_PROXY: setting(
    addressRanges(),
    'Addresses or ranges of reverse proxies whose X-Forwarded-* are trusted, separated by commas',
    '10.0.0.0/8',
  ),
  OUTLAY_QUOTE_SECONDS: setting(
    wholeNumber({ min: 1, max: 86_400, otherwise: 900 }),
    'Seconds until a quote between national currencies expires',
    '900',
  ),
  OUTLAY_CRYPTO_QUOTE_SECONDS: setting(
    wholeNumber({ min: 1, max: 86_400, otherwise: 120 }),
    'Seconds until a quote with a cryptocurrency expires',
    '120',
  ),
  OUTLAY_SCHEDULE_DAYS: setting(
    wholeNumber({ min: 1, max: 20, otherwise: 3 }),
    'Business days for which a scheduled payout waits for funds after its time, until it is canceled',
    '3',
  ),
  OUTLAY_EVENT_MONTHS: setting(
    wholeNumber({ min: 1, max: 1200, otherwise: 24 }),
    'Whole months for which events are kept; older months are dropped',
    '24',
  ),
  OUTLAY_EVENT_READERS_MAX: setting(
    wholeNumber({ min: 1, max: 100_000, otherwise: 250 }),
    'Readers of one account that may wait for events or stream them at one process; more get 429',
    '250',
  ),
  OUTLAY_WEBHOOK_MONTHS: setting(
    wholeNumber({ min: 1, max: 1200, otherwise: 3 }),
    'Whole months for which the log of webhook deliveries is kept',
    '3',
  ),
  OUTLAY_WEBHOOK_SECONDS: setting(
    wholeNumber({ min: 1, max: 30, otherwise: 15 }),
    'Seconds in which a webhook endpoint must answer',
    '15',
  ),
  OUTLAY_WEBHOOK_CONCURRENCY: setting(
    wholeNumber({ min: 1, max: 1000, otherwise: 50 }),
    'Maximum of requests at once to one webhook endpoint',
    '50',
  ),
  OUTLAY_WEBHOOK_LOOPBACK: setting(
    choice(['refused', 'allowed'], 'refused'),
    'allowed: staging sends webhooks to loopback addresses too, also without TLS (docs/guides/webhooks.md)',
    'refused',
  ),
  OUTLAY_SMTP_URL: setting(
    smtpServer,
    'Staging: the mail server of notices to recipients; without one they get no e-mail (docs/guides/notices.md)',
    'smtp://user:password@mail.example.com:587',
  ),
  OUTLAY_LIVE_SMTP_URL: setting(smtpServer, 'The same for live', ''),
  OUTLAY_SMS_URL: setting(
    text,
    'Staging: where notices by SMS are posted, with the bearer token as its password; none when empty',
    'https://:token@sms.example.com/messages',
  ),
  OUTLAY_LIVE_SMS_URL: setting(text, 'The same for live', ''),
  OUTLAY_NOTICE_FROM: setting(
    emailAddress,
    'The address that notices by e-mail come from; required with a mail server',
    'no-reply@example.com',
  ),
  OUTLAY_NOTICE_TEMPLATES: setting(
    text,
    'A folder with your own templates of notices; the bundled ones stand in for missing files',
    'notices',
  ),
  ...identitySettings,
  OUTLAY_TRAVEL_RULE: setting(
    text,
    'Rules on the data of senders and recipients, a JSON file; none when empty (docs/guides/travel-rule.md)',
    'travel-rule.json',
  ),
  OUTLAY_TRAVEL_RULE_PROVIDER: setting(
    text,
    'Staging: where messages of the travel rule are passed on, with the bearer token as its password',
    'https://:token@travel-rule.example.com/messages',
  ),
  OUTLAY_LIVE_TRAVEL_RULE_PROVIDER: setting(text, 'The same for live', ''),
  OUTLAY_PAYEE_CHECK: setting(
    choice(['shown', 'refuse'], 'shown'),
    'refuse: quotes and commits are refused where the bank said that the account belongs to another name (docs/guides/payee-check.md)',
    'shown',
  ),
  OUTLAY_BATCH_ROWS_MAX: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 100_000 }),
    'Maximum of rows in one batch',
    '100000',
  ),
  OUTLAY_RATES_ECB: setting(
    text,
    "The European Central Bank's daily rates: a file or URL",
    'https://www.ecb.europa.eu/stats/eurofxref/eurofxref-daily.xml',
  ),
  OUTLAY_RATES_CRYPTO: setting(
    text,
    'Prices of cryptocurrencies: a file or URL (docs/rates.md)',
    '',
  ),
  OUTLAY_RATES_TABLE: setting(
    text,
    'Your own rates for currencies that the ECB does not quote: a file or URL (docs/rates.md)',
    '',
  ),
  OUTLAY_RAILS: setting(
    text,
    'Staging: the rails file, for rails beside the simulated network (docs/guides/rails.md)',
    'rails.json',
  ),
  OUTLAY_LIVE_RAILS: setting(text, 'Live: the rails file; without one, no country is served', ''),
  OUTLAY_OPERATOR_KEY: setting(
    text,
    'The key of the operator who runs a command; the file <environment>.operator in OUTLAY_DATA when empty (docs/guides/operators.md)',
    '',
  ),
  OUTLAY_VELOCITY_LIMITS: setting(
    text,
    'Limits on the amount and number of payouts: a file (docs/guides/screening.md)',
    'velocity.json',
  ),
  ...screeningSettings,
  OUTLAY_SANDBOX_CLOCK_DAYS: setting(
    wholeNumber({ min: 0, max: 36_600, otherwise: 400 }),
    'Staging: days by which clients may move the clock ahead of real time (docs/sandbox.md)',
    '400',
  ),
  OUTLAY_RATE_LIMIT_CREDENTIAL: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 1000 }),
    'Requests per second of one credential',
    '1000',
  ),
  OUTLAY_RATE_LIMIT_ADDRESS: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 5000 }),
    'Requests per second of one address',
    '5000',
  ),
  OUTLAY_RATE_LIMIT_EXPENSIVE: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 50 }),
    'Uploads per second of one credential, and token requests per second of one address',
    '50',
  ),
  OUTLAY_ANSWER_MS: setting(
    wholeNumber({ min: 10, max: 60_000, otherwise: 500 }),
    'Requests that would wait longer than about this many milliseconds get 503 (docs/operations.md)',
    '500',
  ),
  OUTLAY_IN_FLIGHT_MAX: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 10_000 }),
    'Maximum of open requests of one kind',
    '10000',
  ),
  OUTLAY_LOG_LEVEL: setting(
    choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'], 'info'),
    'trace, debug, info, warn, error or silent',
    'info',
  ),
  OUTLAY_LOG_EVERY: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 100 }),
    'One of this many successful reads is logged; writes, refused and failed requests always are',
    '100',
  ),
  OUTLAY_METRICS_TOKEN: setting(
    text,
    'Bearer token that /metrics requires; when empty, it answers OUTLAY_METRICS_ADDRESSES only',
    '',
  ),
  OUTLAY_METRICS_ADDRESSES: setting(
    addressRanges('127.0.0.0/8,::1'),
    'Addresses or ranges that read /metrics without a token where none is set, separated by commas',
    '127.0.0.0/8,::1,10.20.0.0/16',
  ),
  OUTLAY_CONNECTIONS_MAX: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 16_384 }),
    'Maximum of open connections of clients to one process; further ones are closed',
    '16384',
  ),
  OUTLAY_CONNECTIONS_ADDRESS: setting(
    wholeNumber({ min: 1, max: 1_000_000, otherwise: 4096 }),
    'Of these, maximum of one IPv4 address or IPv6 /64; OUTLAY_TRUST_PROXY is exempt',
    '4096',
  ),
  OUTLAY_SHUTDOWN_DELAY_SECONDS: setting(
    wholeNumber({ min: 0, max: 600, otherwise: 0 }),
    'Seconds for which requests are served after SIGTERM, while /health/ready answers 503',
    '10',
  ),
  OUTLAY_DRAIN_SECONDS: setting(
    wholeNumber({ min: 0, max: 600, otherwise: 20 }),
    'Seconds that open requests may take to end after that',
    '20',
  ),
  ...telemetrySettings,
} as const;

type Settings = { [Name in keyof typeof settings]: z.output<(typeof settings)[Name]['schema']> };

export type Config = Readonly<Settings> & {
  /** Reads a variable that the rails file names as the place of a secret. */
  readonly readVariable: (name: string) => string | undefined;
};

/** An error that the operator can fix, such as invalid settings. Its message is one line. */
export class ConfigError extends Error {
  readonly exitCode: number = 1;
}

/** A valid command that cannot be carried out in the present state. */
export class RefusedCommand extends ConfigError {
  override readonly exitCode = 2;
}

/** Without the whitespace around values; an empty one counts as absent. @throws ConfigError that names every invalid setting. */
export function readConfig(variables: Readonly<Record<string, string | undefined>>): Config {
  const faults: string[] = [];
  const config: Record<string, unknown> = {};
  for (const [name, { schema }] of Object.entries(settings)) {
    const given = variables[name]?.trim();
    const result = schema.safeParse(given === '' ? undefined : given);
    if (result.success) config[name] = result.data;
    else faults.push(`${name} ${result.error.issues[0]?.message ?? 'is invalid'}`);
  }
  if (faults.length > 0) throw new ConfigError(faults.join('; '));
  const whole = config as Settings;
  const contradictions = listContradictions(whole);
  if (contradictions.length > 0) throw new ConfigError(contradictions.join('; '));
  return Object.freeze({ ...whole, readVariable: (name) => variables[name]?.trimEnd() });
}

/** What is wrong between settings that are right by themselves. */
function listContradictions(config: Settings): string[] {
  const { OUTLAY_ENVIRONMENTS: environments, OUTLAY_DEFAULT_ENVIRONMENT: standard } = config;
  const faults = [findScreeningFault(config) ?? '', ...listNoticeFaults(config)];
  if (!environments.split(',').includes(standard)) {
    faults.unshift(
      `OUTLAY_DEFAULT_ENVIRONMENT must be one of OUTLAY_ENVIRONMENTS: set it to ${environments}`,
    );
  }
  return faults.filter((fault) => fault !== '');
}

function listNoticeFaults(config: Settings): string[] {
  const { OUTLAY_NOTICE_FROM: from, OUTLAY_PUBLIC_URL: publicUrl } = config;
  return (['OUTLAY_', 'OUTLAY_LIVE_'] as const).flatMap((prefix) => {
    const [smtp, sms] = [config[`${prefix}SMTP_URL`], config[`${prefix}SMS_URL`]];
    const name = `${prefix}${smtp === undefined ? 'SMS' : 'SMTP'}_URL`;
    const faults: string[] = [];
    if (smtp !== undefined && from === undefined) {
      faults.push(`${name} requires OUTLAY_NOTICE_FROM`);
    }
    if ((smtp ?? sms) !== undefined && publicUrl === undefined) {
      faults.push(`${name} requires OUTLAY_PUBLIC_URL, to which notices link`);
    }
    return faults;
  });
}

/** The text of `.env.example`, whose lines a shell can read (`. ./.env`). */
export function describeConfig(): string {
  const lines = [
    '# Every setting of Outlay, with its default, or with an example where it says so. Generated: npm run generate',
    '',
  ];
  for (const [name, { schema, about, example }] of Object.entries(settings)) {
    const standard = schema.safeParse(undefined).data;
    const isDefault = example === '' || isDeepStrictEqual(schema.safeParse(example).data, standard);
    const value = /^[\w./:@,?=%~+-]*$/.test(example) ? example : `'${example}'`;
    lines.push(`# ${about}${isDefault ? '' : describeDefault(standard)}`, `# ${name}=${value}`, '');
  }
  return lines.join('\n');
}

function describeDefault(standard: unknown): string {
  const shown = [standard]
    .flat()
    .filter((value) => typeof value === 'string' || typeof value === 'number')
    .join(',');
  return shown === '' ? ' (example)' : ` (example; default: ${shown})`;
}
