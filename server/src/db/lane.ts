import pg from 'pg';
import {
  analyzeNewTables,
  arePlansOld,
  breaksConnection,
  type ConnectionOptions,
  describeConnection,
  discardPlans,
  planning,
  retry,
  run,
  type Session,
} from './connection.ts';

/**
 * One connection on which statements are sent without waiting for the answers to those before them.
 * Each is a transaction of its own, and the server runs them in their order. So the next batch is
 * there when one has been flushed, and two batches of one account never wait for each other's locks.
 */
export type Lane = Session & { close(): Promise<void> };

export function createLane(options: ConnectionOptions): Lane {
  let opened: Promise<pg.Client> | undefined;
  const open = (): Promise<pg.Client> => {
    const client = new pg.Client({ ...describeConnection(options.url), pipeline: true });
    const opening = client
      .connect()
      .then(() => client.query(planning))
      .then(() => client);
    client.on('error', (error) => {
      forget(opening);
      options.onConnectionLost?.(error);
    });
    // Whoever comes next tries again, also where the database answered and refused.
    opening.catch(() => {
      forget(opening);
      client.end().catch(() => undefined);
    });
    opened = opening;
    return opening;
  };
  const forget = (lost: Promise<pg.Client>): void => {
    if (opened === lost) opened = undefined;
  };
  return {
    rows: (statement, values) =>
      retry(async () => {
        const mine = opened ?? open();
        try {
          const client = await mine;
          if (arePlansOld(client)) {
            // In their places before the statement; whether they worked matters to nobody.
            run(client, analyzeNewTables).catch(() => undefined);
            client.query(discardPlans).catch(() => undefined);
          }
          return await run(client, statement, values);
        } catch (error) {
          if (isLost(error)) forget(mine);
          throw error;
        }
      }),
    close: async () => {
      const client = await opened?.catch(() => undefined);
      await client?.end();
    },
  };
}

/** An error that the database did not answer, or after which it answers nothing more. */
function isLost(error: unknown): boolean {
  return !(error instanceof pg.DatabaseError) || breaksConnection(error);
}
