import pg from 'pg';
import { type Connection, destroy, type Opener } from './connection.ts';

/**
 * Finds connections that died silently: a fail-over or a NAT device that forgets tells neither side,
 * and a statement on such a connection would wait for its whole deadline. A statement without an
 * answer may also just be slow, so the server is asked on a new connection what it is working on.
 */

export type DeadConnectionSearch = {
  /** Whether a statement waits of which nobody knows whether the server works on it. */
  hasSilent(): boolean;
  stop(): void;
};

export type SearchOptions = {
  opener: Opener;
  /** Every open connection of this process. */
  list: () => Iterable<Connection>;
  /** Told once per search that found a dead one. */
  onDead: (error: Error) => void;
};

/** A connection without an answer for so long is looked at, so often. */
export const silentMsMax = 2_000;
const searchEveryMs = 500;
/** How long the new connection, and then its answer, may take. */
const askMsMax = 2_000;

export function searchDeadConnections(options: SearchOptions): DeadConnectionSearch {
  /** When the server was last known to work for a connection. */
  const workedAtMs = new WeakMap<Connection, number>();
  let isAsking = false;

  const listSilent = (): Connection[] => {
    const nowMs = performance.now();
    return [...options.list()].filter((connection) => {
      const sinceMs = Math.max(connection.silentSinceMs, workedAtMs.get(connection) ?? 0);
      return connection.unanswered > 0 && nowMs - sinceMs >= silentMsMax;
    });
  };
  const search = async (): Promise<void> => {
    const silent = listSilent().map((connection) => ({
      connection,
      sinceMs: connection.silentSinceMs,
    }));
    if (silent.length === 0) return;
    const working = await findWorking(
      options.opener,
      silent.map(({ connection }) => connection),
    );
    if (working === undefined) return;
    let dead = 0;
    for (const { connection, sinceMs } of silent) {
      if (working.has(connection)) workedAtMs.set(connection, performance.now());
      // An answer that came meanwhile acquits the connection.
      else if (connection.unanswered > 0 && connection.silentSinceMs === sinceMs) {
        destroy(connection.client);
        dead += 1;
      }
    }
    if (dead > 0) options.onDead(new Error(`${dead} connections did not answer`));
  };
  const timer = setInterval(() => {
    if (isAsking) return;
    isAsking = true;
    void search().finally(() => {
      isAsking = false;
    });
  }, searchEveryMs);
  timer.unref();
  return {
    hasSilent: () => listSilent().length > 0,
    stop: () => clearInterval(timer),
  };
}

type BackendRow = { pid: number; started_at: string; is_working: boolean };

/** An answer may be on its way for a moment after the server has finished. */
const findBackends = `
  select pid, extract(epoch from backend_start)::text as started_at,
    state = 'active' or clock_timestamp() - state_change < interval '1 second' as is_working
  from pg_stat_activity where pid = any ($1::integer[])`;

/** What nobody will ever finish holds its locks no longer. */
const endBackends = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where (pid, extract(epoch from backend_start)::text)
    in (select * from unnest($1::integer[], $2::text[])) and state <> 'active'`;

/** The connections for which the server works, or undefined where it cannot say. */
async function findWorking(
  opener: Opener,
  silent: readonly Connection[],
): Promise<Set<Connection> | undefined> {
  let probe: Connection;
  try {
    probe = await opener.open({ statementMsMax: askMsMax }, askMsMax);
  } catch (error) {
    // A server that refuses answers, so that the network is there. Without an answer nothing is.
    return error instanceof pg.DatabaseError ? undefined : new Set();
  }
  const ask = <Row extends pg.QueryResultRow>(text: string, values: unknown[]) =>
    probe.client.query<Row>({ text, values, query_timeout: askMsMax } as pg.QueryConfig);
  try {
    const pids = silent.map(({ backend }) => backend.processId);
    const { rows } = await ask<BackendRow>(findBackends, [pids]);
    const working = new Set(
      silent.filter(({ backend }) =>
        rows.some(
          (row) =>
            row.pid === backend.processId && row.started_at === backend.startedAt && row.is_working,
        ),
      ),
    );
    const rest = silent.filter((connection) => !working.has(connection)).map((one) => one.backend);
    if (rest.length > 0) {
      await ask(endBackends, [
        rest.map(({ processId }) => processId),
        rest.map(({ startedAt }) => startedAt),
      ]);
    }
    return working;
  } catch {
    return undefined;
  } finally {
    probe.client.end().catch(() => undefined);
  }
}
