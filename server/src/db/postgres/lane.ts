import pg from 'pg';
import {
  analyzeNewTables,
  answers,
  arePlansOld,
  backgroundMsMax,
  breaksConnection,
  type Connection,
  createSession,
  destroy,
  discardPlans,
  type Opener,
  retry,
  run,
  type Session,
} from './connection.ts';
import { testAfterMs, testMsMax } from './connection-pool.ts';

/**
 * One connection on which statements are sent without waiting for the answers to those before them.
 * Each is a transaction of its own, and the server runs them in their order. So the next batch is
 * there when one has been flushed, and two batches of one account never wait for each other's locks.
 */
export type Lane = Session & {
  list(): Iterable<Connection>;
  /** Closes the connection where nothing is under way on it. */
  distrust(): void;
  close(): Promise<void>;
};

export type LaneOptions = {
  opener: Opener;
  onConnectionLost: (error: Error) => void;
  /** Told that the connection was silently dead. */
  onDead: () => void;
};

export function createLane(options: LaneOptions): Lane {
  const holder = holdConnection(options);
  return {
    ...createSession((statement, values) =>
      retry(async () => {
        const connection = await holder.acquire();
        try {
          if (arePlansOld(connection)) {
            // In their places before the statement; whether they worked matters to nobody.
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

/** Opens the connection when it is needed, and another one when it was lost. */
function holdConnection({ opener, onConnectionLost, onDead }: LaneOptions) {
  let opened: Promise<Connection> | undefined;
  let present: Connection | undefined;
  /** The test of a connection that was idle; whoever comes meanwhile waits for it, too. */
  let testing: Promise<boolean> | undefined;
  const forget = (connection: Connection): void => {
    if (present !== connection) return;
    opened = undefined;
    present = undefined;
  };
  const open = async (): Promise<Connection> => {
    try {
      const connection = await opener.open({ statementMsMax: backgroundMsMax, isPipelined: true });
      present = connection;
      connection.client.on('error', (error) => {
        forget(connection);
        onConnectionLost(error);
      });
      connection.client.on('end', () => forget(connection));
      return connection;
    } catch (error) {
      // Whoever comes next tries again, also where the database answered and refused.
      opened = undefined;
      throw error;
    }
  };
  const test = async (connection: Connection): Promise<boolean> => {
    try {
      return await answers(connection, testMsMax);
    } finally {
      testing = undefined;
    }
  };
  return {
    /** What was idle for long is tested before anything is sent that must not be lost. */
    acquire: async (): Promise<Connection> => {
      for (;;) {
        opened ??= open();
        const connection = await opened;
        const idleMs = performance.now() - connection.silentSinceMs;
        const isTrusted = connection.unanswered > 0 || idleMs < testAfterMs;
        if (testing === undefined && isTrusted) return connection;
        testing ??= test(connection);
        if ((await testing) || present !== connection) continue;
        forget(connection);
        destroy(connection.client);
        onConnectionLost(new Error('an idle connection did not answer'));
        onDead();
      }
    },
    /** What was sent behind a statement that failed is still answered, where anything is. */
    replace: (connection: Connection): void => {
      forget(connection);
      connection.client.end().catch(() => undefined);
    },
    list: (): Connection[] => (present === undefined ? [] : [present]),
    close: async (): Promise<void> => {
      const connection = await opened?.catch(() => undefined);
      await connection?.client.end();
    },
  };
}

/** An error that the database did not answer, or after which it answers nothing more. */
function isLost(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || breaksConnection(error);
}
