import type pg from 'pg';
import { z } from 'zod';
import { bindAccount, queryBound, tenantRole } from './bound-query.ts';
import {
  checkGeneration,
  checkHeld,
  describeHold,
  explainUnheld,
  holdInSession,
  type IndexKeyHold,
  readGeneration,
  type TransactionHold,
} from './index-key-hold.ts';
import {
  acknowledgesEarly,
  describeSessionSettings,
  describeTransactionSettings,
  type Edition,
  type Pooling,
  type SettingOptions,
  type TransactionSettings,
  writesOtherDates,
} from './session-settings.ts';

/** The set-up of a new connection: its settings, and what the server reports about itself. */

/** A server that accepts no writes: a standby, or a primary that was stepped down. */
class ReadOnlyServer extends Error {
  readonly code = '25006';
  constructor() {
    super('the database server accepts no writes: it is a standby, or set to read only');
  }
}

export type SetupOptions = SettingOptions & {
  pooling: Pooling;
  /** Of all connections of one process. */
  timeoutMs: number;
  mustBeWritable: boolean;
  edition: Edition;
  /** Of a process that uses the index key. */
  indexKey?: IndexKeyHold | undefined;
};

export type Setup = {
  /**
   * The process that serves it, as `pg_stat_activity` names it; undefined behind a pooler by transaction,
   * where each transaction may have another one.
   */
  readonly backend: { processId: number; startedAt: string } | undefined;
  /** What each transaction of it begins with; undefined where the session keeps its settings. */
  readonly settings: TransactionSettings | undefined;
  /** What each transaction of it does too, where connections cannot hold the index key. */
  readonly hold?: TransactionHold;
};

/** @throws ReadOnlyServer where it has to be writable and is not. */
export function setUp(client: pg.Client, options: SetupOptions): Promise<Setup> {
  return options.pooling === 'session'
    ? setUpSession(client, options)
    : setUpPooled(client, options);
}

const readOnlyColumn = `pg_is_in_recovery() or current_setting('transaction_read_only') = 'on' as is_read_only`;

const sessionAnswer = z.object({
  rows: z.tuple([
    z.object({
      process_id: z.int(),
      started_at: z.string().nullable(),
      is_read_only: z.boolean(),
    }),
  ]),
});

async function setUpSession(client: pg.Client, options: SetupOptions): Promise<Setup> {
  const text = `${describeSessionSettings(options)};
    select pg_backend_pid() as process_id,
      (select extract(epoch from backend_start)::text from pg_stat_activity where pid = pg_backend_pid()) as started_at,
      ${readOnlyColumn}`;
  const query = { text, query_timeout: Math.ceil(options.timeoutMs) };
  // Of several statements the driver returns a list of results, which its types do not say.
  const results: unknown = await client.query(query);
  const last: unknown = Array.isArray(results) ? results.at(-1) : results;
  const [row] = sessionAnswer.parse(last).rows;
  if (row.is_read_only && options.mustBeWritable) throw new ReadOnlyServer();
  await takeRole(client, options);
  if (options.role === tenantRole || options.role === 'outlay_reader') {
    await client.query({ ...bindAccount, values: [''] });
  }
  const backend = { processId: row.process_id, startedAt: row.started_at ?? '' };
  return { backend, settings: undefined };
}

/** What the roles of the service may read, the role of the URL need not. */
async function takeRole(client: pg.Client, { role, indexKey }: SetupOptions): Promise<void> {
  if (role === undefined) return;
  if (indexKey === undefined) {
    await client.query(`set role ${role}`);
    return;
  }
  const answers: unknown = await client.query(`set role ${role}; ${holdInSession}`);
  checkHeld(indexKey, Array.isArray(answers) ? answers : []);
}

const pooledAnswer = z.object({
  rows: z.tuple([
    z.object({
      acknowledgesEarly: z.boolean(),
      writesOtherDates: z.boolean(),
      is_read_only: z.boolean(),
    }),
  ]),
});

/** Sets nothing that outlives a transaction: the server connection is lent to others in between. */
async function setUpPooled(client: pg.Client, options: SetupOptions): Promise<Setup> {
  const text = `select ${acknowledgesEarly} as "acknowledgesEarly",
    ${writesOtherDates} as "writesOtherDates", ${readOnlyColumn}`;
  const query = { text, query_timeout: Math.ceil(options.timeoutMs) };
  const [row] = pooledAnswer.parse(await client.query(query)).rows;
  if (row.is_read_only && options.mustBeWritable) throw new ReadOnlyServer();
  const settings = describeTransactionSettings(options, row);
  if (settings === undefined) return { backend: undefined, settings };
  await client.query({ ...settings.statement, values: [''] });
  if (options.role === undefined || options.indexKey === undefined) {
    return { backend: undefined, settings };
  }
  const hold = await prepareHold(client, options.indexKey, settings);
  return { backend: undefined, settings, hold };
}

async function prepareHold(
  client: pg.Client,
  indexKey: IndexKeyHold,
  { statement: preceding }: TransactionSettings,
): Promise<TransactionHold> {
  const binding = { preceding, accountId: '' };
  const found = await queryBound(client, binding, { text: readGeneration });
  const hold = describeHold(indexKey, checkGeneration(indexKey, found));
  try {
    await queryBound(client, binding, hold.statement);
  } catch (error) {
    throw explainUnheld(hold, error);
  }
  return hold;
}
