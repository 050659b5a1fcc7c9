import pg from 'pg';
import {
  analyzeNewTables,
  answers,
  arePlansOld,
  backgroundMsMax,
  type Connection,
  createSession,
  destroy,
  discardPlans,
  type Opener,
  run,
  type Session,
} from './connection.ts';
import type { SilenceLimits } from './dead-connections.ts';
import { breaksConnection, retry } from './errors.ts';

/**
 * One connection that pipelines statements. Each is a transaction of its own, and the server runs them
 * in order: the next batch has arrived when one is flushed, and two batches of an account never wait for
 * each other's locks.
 */
export type Lane = Session & {
  list(): Iterable<Connection>;
  /** Closes the connection if no statement is in progress on it. */
  distrust(): void;
  close(): Promise<void>;
};

export type LaneOptions = {
  opener: Opener;
  onConnectionLost: (error: Error) => void;
  onDead: () => void;
  limits: SilenceLimits;
};

export function createLane(options: LaneOptions): Lane {
  const holder = holdConnection(options);
  return {
    ...createSession((statement, values) =>
      retry(async () => {
        const connection = await holder.acquire();
        try {
          if (arePlansOld(connection)) {
            // Pipelined before the statement; their failures are ignored.
            run(connection, analyzeNewTables).catch(() => undefined);
            run(connection, discardPlans).catch(() => undefined);
          }
          return await run(connection, statement, values);
        } catch (error) {
          if (isLost(error)) holder.replace(connection);
          throw error;
        }
      }),
    ),
    list: holder.list,
    distrust: () => {
      for (const connection of holder.list()) {
        if (connection.unanswered > 0) continue;
        holder.replace(connection);
        destroy(connection.client);
      }
    },
    close: holder.close,
  };
}

/** Opens the connection on demand, and again after it was lost. */
function holdConnection({ opener, onConnectionLost, onDead, limits }: LaneOptions) {
  let opened: Promise<Connection> | undefined;
  let present: Connection | undefined;
  /** The test of an idle connection; concurrent callers share it. */
  let testing: Promise<boolean> | undefined;
  const forget = (connection: Connection): void => {
    if (present !== connection) return;
    opened = undefined;
    present = undefined;
  };
  const open = async (): Promise<Connection> => {
    try {
      const options = {
        statementMsMax: backgroundMsMax,
        isPipelined: true,
        role: 'outlay_service',
      };
      const connection = await opener.open(options, limits.openMsMax);
      present = connection;
      connection.client.on('error', (error) => {
        forget(connection);
        onConnectionLost(error);
      });
      connection.client.on('end', () => forget(connection));
      return connection;
    } catch (error) {
      // The next caller tries again.
      opened = undefined;
      throw error;
    }
  };
  const test = async (connection: Connection): Promise<boolean> => {
    try {
      return await answers(connection, limits.testMsMax);
    } finally {
      testing = undefined;
    }
  };
  return {
    /** An idle connection is tested before a statement that must not be lost is sent. */
    acquire: async (): Promise<Connection> => {
      for (;;) {
        opened ??= open();
        const connection = await opened;
        const idleMs = performance.now() - connection.silentSinceMs;
        const isTrusted = connection.unanswered > 0 || idleMs < limits.testAfterMs;
        if (testing === undefined && isTrusted) return connection;
        testing ??= test(connection);
        if ((await testing) || present !== connection) continue;
        forget(connection);
        destroy(connection.client);
        onConnectionLost(new Error('an idle connection did not answer'));
        onDead();
      }
    },
    /** Statements sent after the failed one may still be answered. */
    replace: (connection: Connection): void => {
      forget(connection);
      connection.client.end().catch(() => undefined);
    },
    list: (): Connection[] => (present === undefined ? [] : [present]),
    close: async (): Promise<void> => {
      const connection = await opened?.catch(() => undefined);
      if (connection !== undefined) await opener.end(connection);
    },
  };
}

/** Whether the error came from the connection, or ends it. */
function isLost(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || breaksConnection(error);
}
