import { randomBytes } from 'node:crypto';

/**
 * The settings of the service's statements. A direct connection is set up once. Behind a pooler that hands
 * out server connections by transaction, the next client would inherit what a transaction has set: so each
 * transaction carries its settings, and they end with it.
 */

/** How long a client keeps a server connection: always, or for one transaction. */
export type Pooling = 'session' | 'transaction';

type Setting = readonly [name: string, value: string];

/**
 * Every statement uses an index whatever its parameters are, so one generic plan suffices. Planning
 * costs several times as much as running most of them, and so do parallel workers, which a plan for an
 * unknown limit would use.
 */
const planning: readonly Setting[] = [
  ['plan_cache_mode', 'force_generic_plan'],
  ['jit', 'off'],
  ['enable_seqscan', 'off'],
  ['max_parallel_workers_per_gather', '0'],
];

/**
 * A statement waits for a row for five seconds at most. The timeout applies to each lock, and waiting
 * for a row takes two: the tuple lock of the queue, then the transaction that holds the row.
 */
const rowMsMax = 5_000;
const lockMsMax = rowMsMax / 2;

export type SettingOptions = {
  /**
   * How long a single statement may take at the server. Without it, as for migrations, nothing is
   * bounded and the planner decides freely.
   */
  readonly statementMsMax?: number;
  /** As whom the statements run; the role of the URL without it. */
  readonly role?: string;
};

function listBounds({ statementMsMax }: SettingOptions): readonly Setting[] {
  if (statementMsMax === undefined) return [];
  return [
    ...planning,
    ['lock_timeout', String(lockMsMax)],
    ['statement_timeout', String(statementMsMax)],
    ['idle_in_transaction_session_timeout', '10000'],
  ];
}

/** The TCP settings make the server detect a lost client and release its locks. */
const keepAlive: readonly Setting[] = [
  ['tcp_keepalives_idle', '10'],
  ['tcp_keepalives_interval', '5'],
  ['tcp_keepalives_count', '3'],
  ['tcp_user_timeout', '15000'],
];

/** The only form of times that the driver reads; of another one it makes NULL. */
const dates: Setting = ['datestyle', 'ISO'];

/**
 * For a whole session. Settings are sent as statements, because poolers reject them in the startup
 * packet. `synchronous_commit` is raised if the server would acknowledge commits before writing them.
 */
export function describeSessionSettings(options: SettingOptions): string {
  const settings = [...listBounds(options), ...keepAlive, dates];
  return `${settings.map(([name, value]) => `set ${name} = ${value};`).join(' ')}
    select set_config('synchronous_commit', 'on', false) where ${acknowledgesEarly}`;
}

/** Whether the server would acknowledge commits before they are written. */
export const acknowledgesEarly = `current_setting('synchronous_commit') in ('off', 'local', 'remote_write')`;

/** Whether the server writes times in a form that the driver does not read. */
export const writesOtherDates = `current_setting('datestyle') not like 'ISO%'`;

/** The settings of each transaction of a connection. */
export type TransactionSettings = {
  readonly edition: Edition;
  /**
   * Begins a transaction with them: as commands and not as a query, after which a transaction could not
   * choose its isolation.
   */
  readonly begin: string;
  /** Makes them for one statement, whose transaction it shares; the parameter is the account. */
  readonly statement: { readonly name: string; readonly text: string };
};

/** Undefined where nothing is set. */
export function describeTransactionSettings(
  options: SettingOptions & { readonly edition: Edition },
  server: { readonly acknowledgesEarly: boolean; readonly writesOtherDates: boolean },
): TransactionSettings | undefined {
  const { role, edition } = options;
  const settings: Setting[] = [
    ...(role === undefined ? [] : ([['role', role]] as const)),
    ...listBounds(options),
    ...(server.acknowledgesEarly ? ([['synchronous_commit', 'on']] as const) : []),
    ...(server.writesOtherDates ? [dates] : []),
  ];
  if (settings.length === 0) return undefined;
  const commands = settings.map(([name, value]) => `set local ${name} = ${value};`);
  const calls = settings.map(([name, value]) => `set_config('${name}', '${value}', true)`);
  return {
    edition,
    begin: `begin; ${commands.join(' ')}`,
    statement: {
      name: `settings_of_${role ?? 'login'}`,
      text: `select set_config('outlay.account', $1, true), ${calls.join(', ')}`,
    },
  };
}

/**
 * Marks the statements that a process prepares through a pooler. The pooler prepares a text once on each
 * server connection and keeps it for the next client; after a migration has changed what the
 * statement returns, the server refuses that one forever. Under another mark it is another text.
 */
export type Edition = { mark: string };

type Named = { readonly name?: string | undefined; readonly text: string };

export function markStatement<T extends Named>(query: T, { mark }: Edition): T {
  if (mark === '' || query.name === undefined || query.name === '') return query;
  return { ...query, name: `${query.name}_${mark}`, text: `${query.text}\n-- ${mark}` };
}

/** Gives statements a new mark, unless one that was sent at the same time has done so. */
export function renewEdition(edition: Edition, failed: string): void {
  if (edition.mark === failed) edition.mark = randomBytes(3).toString('hex');
}
