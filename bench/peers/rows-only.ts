import { newId } from '../../server/src/core/ids.ts';
import { createOpener, createSession, run } from '../../server/src/db/postgres/connection.ts';
import { type Child, startChild } from '../child.ts';
import { drive } from '../drive.ts';
import { withSuperuser } from '../fill.ts';
import { measureHttp } from '../http-load.ts';
import { formatRequest } from '../load.ts';
import { serverOptions } from '../node-options.ts';
import type { Place, Subject } from '../subject.ts';
import { openOurEnvironment } from '../subjects/environment.ts';

/**
 * The limits of a commit: what the machine does if nothing is checked, locked, linked or added up. Commands
 * that wait are inserted together, and each is answered when its rows are durable.
 */

/** `rows`: state, journal, due row and event, with their indexes. `row`: one narrow row and its key. */
export type Model = 'rows' | 'row';

const statements: Record<Model, string> = {
  rows: 'select bench_insert_rows($1, $2)',
  row: 'select bench_insert_row($1, $2)',
};

/** Tables with the columns, checks and indexes of a commit's, without triggers, and one with two columns. */
export const createRowTables = `
  create table bench_states (like payout_states including all);
  create table bench_journals (like ledger_journals including all);
  create table bench_dispatches (like payout_dispatches including all);
  create table bench_events (like events including all);
  create table bench_row (account_id uuid, payout_id uuid, amount bigint not null, primary key (account_id, payout_id));
  grant select, insert on bench_states, bench_journals, bench_dispatches, bench_events, bench_row
    to outlay_service;
  create function bench_insert_rows(p_accounts uuid[], p_payouts uuid[]) returns void
    language plpgsql set plan_cache_mode = force_generic_plan set jit = off as $$
  declare
    v_now timestamptz := clock_timestamp();
    v_time text := journal_time();
    v_sequence bigint := (extract(epoch from v_now) * 1000000)::bigint * 1000;
  begin
    insert into bench_states (account_id, payout_id, status, client_transfer_id, committed_at, updated_at)
    select a, p, 'PROCESSING', p::text, v_now, v_now from unnest(p_accounts, p_payouts) r (a, p);
    insert into bench_journals (account_id, id, kind, payout_id, source_currency, source_amount, fee,
      destination_currency, destination_amount, rail, wallet_balance, created_at)
    select a, journal_id(v_time, o, p), 'commit', p, 'USD', 10000, 100, 'MXN', 180000, 'instant', 1, v_now
    from unnest(p_accounts, p_payouts) with ordinality r (a, p, o);
    insert into bench_dispatches (account_id, payout_id, rail, due_at)
    select a, p, 'instant', v_now from unnest(p_accounts, p_payouts) r (a, p);
    insert into bench_events (account_id, sequence, month, type, subject_id, created_at)
    select a, v_sequence + o, month_of(v_now), 'payout.processing', p, v_now
    from unnest(p_accounts, p_payouts) with ordinality r (a, p, o);
  end
  $$;
  create function bench_insert_row(p_accounts uuid[], p_payouts uuid[]) returns void
    language sql as $$
    insert into bench_row (account_id, payout_id, amount)
    select a, p, 10000 from unnest(p_accounts, p_payouts) r (a, p);
  $$;
  grant execute on function bench_insert_rows, bench_insert_row to outlay_service`;

export type Inserter = { insert(): Promise<void>; close(): Promise<void> };

const groupMax = 500;

/** Inserts for one account over one connection, what waits together. */
export async function openInserter(url: string, model: Model): Promise<Inserter> {
  const connection = await createOpener(url).open({
    statementMsMax: 60_000,
    isPipelined: true,
    role: 'outlay_service',
  });
  const session = createSession((statement, values) => run(connection, statement, values));
  const statement = { name: `bench_${model}`, text: statements[model] };
  const accountId = newId();
  let waiting: PromiseWithResolvers<void>[] = [];
  let isRunning = false;
  const insertAll = async (): Promise<void> => {
    while (waiting.length > 0) {
      const group = waiting.slice(0, groupMax);
      waiting = waiting.slice(groupMax);
      await session.query(statement, [group.map(() => accountId), group.map(() => newId())]);
      for (const { resolve } of group) resolve();
    }
    isRunning = false;
  };
  return {
    insert: async () => {
      const one = Promise.withResolvers<void>();
      waiting.push(one);
      if (!isRunning) {
        isRunning = true;
        // With those that arrive in the same turn of the event loop.
        setImmediate(() => void insertAll());
      }
      return one.promise;
    },
    close: () => connection.client.end(),
  };
}

const names: Record<Model, string> = { rows: 'the four rows of a commit', row: 'one narrow row' };

async function prepareDatabase(place: Place, name: string): Promise<string> {
  const ours = await openOurEnvironment(place, name);
  await withSuperuser(ours.url, (client) => client.query(createRowTables));
  await ours.close();
  return ours.url;
}

export function createRowsInProcess(model: Model): Subject {
  let inserter: Inserter | undefined;
  return {
    name: `limit in process: ${names[model]}`,
    prepare: async (place) => {
      inserter = await openInserter(await prepareDatabase(place, `limit_${model}`), model);
    },
    run: (load) => drive(load, () => inserter?.insert()),
    close: async () => inserter?.close(),
  };
}

export function createRowsOverHttp(model: Model): Subject {
  let child: Child | undefined;
  const request = formatRequest({
    method: 'PUT',
    path: `/v0.1.4/payout/${newId()}`,
    token: newId(),
  });
  return {
    name: `limit over HTTP: ${names[model]}`,
    prepare: async (place) => {
      const url = await prepareDatabase(place, `limit_http_${model}`);
      child = await startChild('peers/rows-only-process.ts', {
        env: { BENCH_URL: url, BENCH_MODEL: model },
        execArgv: serverOptions,
      });
    },
    processId: () => child?.processId,
    run: (load) => measureHttp(Number(child?.ready['port']), load, () => request),
    close: async () => child?.stop(),
  };
}
