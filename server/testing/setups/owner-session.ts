import {
  createOpener,
  createSession,
  type Opener,
  run,
  runPlain,
} from '../../src/db/postgres/connection.ts';
import { createConnectionPool } from '../../src/db/postgres/connection-pool.ts';
import { silenceLimits } from '../../src/db/postgres/dead-connections.ts';
import type { Session } from '../../src/db/postgres/pool.ts';

/** Statements as the owner of the database, who may do what the service may not. */
export function openOwner(url: string, opener: Opener = createOpener(url)) {
  const ignore = (): void => undefined;
  const pool = createConnectionPool({
    opener,
    connectionsMax: 4,
    statementMsMax: 30_000,
    onConnectionLost: ignore,
    onDead: ignore,
    limits: silenceLimits,
  });
  const session = createSession((statement, values) =>
    pool.use((connection) => run(connection, statement, values)),
  );
  return {
    session,
    /** Rolls back where the work throws. */
    transaction: <T>(work: (session: Session) => Promise<T>): Promise<T> =>
      pool.use(async (connection) => {
        await runPlain(connection, 'begin');
        // The service's connections end after ten seconds: less than what a test may wait for here.
        await runPlain(connection, 'set local idle_in_transaction_session_timeout = 0');
        try {
          const within = createSession((statement, values) => run(connection, statement, values));
          const result = await work(within);
          await runPlain(connection, 'commit');
          return result;
        } catch (error) {
          await runPlain(connection, 'rollback');
          throw error;
        }
      }),
    close: (): Promise<void> => pool.close(),
  };
}
