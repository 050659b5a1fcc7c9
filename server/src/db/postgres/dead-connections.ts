import pg from 'pg';
import { type Connection, destroy, type Opener, openMsMax } from './connection.ts';

/**
 * Finds connections that died silently: after a failover, or when a NAT device drops its state, neither
 * side is notified, and a statement would wait for its whole deadline. A statement without an answer may
 * also be slow, so a new connection reads from pg_stat_activity which ones the server works on.
 */

export type DeadConnectionSearch = {
  /** Whether a statement waits that the server is not known to work on. */
  hasSilent(): boolean;
  stop(): void;
};

/** How long a connection may be silent. */
export type SilenceLimits = {
  /** Connections without an answer for so long are examined. */
  readonly silentMsMax: number;
  readonly searchEveryMs: number;
  /** An answer may be in transit for so long after the server has finished. */
  readonly transitMsMax: number;
  /** After so long idle a connection is tested before its use, and must answer within `testMsMax`. */
  readonly testAfterMs: number;
  readonly testMsMax: number;
  /** For opening one, and for a search to open one and to get its answer. */
  readonly openMsMax: number;
  readonly probeMsMax: number;
};

export const silenceLimits: SilenceLimits = {
  silentMsMax: 2_000,
  searchEveryMs: 500,
  transitMsMax: 1_000,
  testAfterMs: 2_000,
  testMsMax: 2_000,
  openMsMax,
  probeMsMax: 2_000,
};

export type SearchOptions = {
  opener: Opener;
  limits: SilenceLimits;
  /** Every open connection of this process. */
  list: () => Iterable<Connection>;
  /** Called once per search that found dead ones. */
  onDead: (error: Error) => void;
};

export function searchDeadConnections(options: SearchOptions): DeadConnectionSearch {
  const { silentMsMax, searchEveryMs } = options.limits;
  /** When the server was last known to work for a connection. */
  const workedAtMs = new WeakMap<Connection, number>();
  let isSearching = false;

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
      options,
      silent.map(({ connection }) => connection),
    );
    if (working === undefined) return;
    let dead = 0;
    for (const { connection, sinceMs } of silent) {
      if (working.has(connection)) workedAtMs.set(connection, performance.now());
      // An answer that arrived meanwhile proves the connection alive.
      else if (connection.unanswered > 0 && connection.silentSinceMs === sinceMs) {
        destroy(connection.client);
        dead += 1;
      }
    }
    if (dead > 0) options.onDead(new Error(`${dead} connections did not answer`));
  };
  const timer = setInterval(() => {
    if (isSearching) return;
    isSearching = true;
    void search().finally(() => {
      isSearching = false;
    });
  }, searchEveryMs);
  timer.unref();
  return {
    hasSilent: () => listSilent().length > 0,
    stop: () => clearInterval(timer),
  };
}

type BackendRow = { pid: number; started_at: string; is_working: boolean };

const findBackends = `
  select pid, extract(epoch from backend_start)::text as started_at,
    state = 'active' or clock_timestamp() - state_change < $2 * interval '1 millisecond'
      as is_working
  from pg_stat_activity where pid = any ($1::integer[])`;

/** Ends sessions of dead connections, which releases their locks. */
const endBackends = `
  select pg_terminate_backend(pid) from pg_stat_activity
  where (pid, extract(epoch from backend_start)::text)
    in (select * from unnest($1::integer[], $2::text[])) and state <> 'active'`;

/** The connections that the server works for; undefined if it cannot be determined. */
async function findWorking(
  { opener, limits }: SearchOptions,
  silent: readonly Connection[],
): Promise<Set<Connection> | undefined> {
  const { probeMsMax, transitMsMax } = limits;
  let probe: Connection;
  try {
    probe = await opener.open({ statementMsMax: probeMsMax }, probeMsMax);
  } catch (error) {
    // A refusal proves that the network works. No answer at all: every connection is dead.
    return error instanceof pg.DatabaseError ? undefined : new Set();
  }
  const known = silent.flatMap(({ backend }) => (backend === undefined ? [] : [backend]));
  const query = <Row extends pg.QueryResultRow>(text: string, values: unknown[]) =>
    probe.client.query<Row>({ text, values, query_timeout: probeMsMax } as pg.QueryConfig);
  try {
    const pids = known.map(({ processId }) => processId);
    const { rows } = await query<BackendRow>(findBackends, [pids, transitMsMax]);
    const working = new Set(
      silent.filter(
        ({ backend }) =>
          // Behind a pooler by transaction, nothing tells who works for it: its deadline decides.
          backend === undefined ||
          rows.some(
            (row) =>
              row.pid === backend.processId &&
              row.started_at === backend.startedAt &&
              row.is_working,
          ),
      ),
    );
    const rest = silent.flatMap((one) =>
      one.backend === undefined || working.has(one) ? [] : [one.backend],
    );
    if (rest.length > 0) {
      await query(endBackends, [
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
