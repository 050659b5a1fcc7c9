import type pg from 'pg';
import { driveWarm } from '../drive.ts';
import type { Subject } from '../subject.ts';
import {
  checkPlain,
  createPlainTables,
  insertAndCommit,
  makePlainPayouts,
  openPool,
  type PlainPayout,
  racePlain,
  transact,
} from './plain-ledger.ts';

/** As many connections as the server's default limit of 100 leaves room for. */
const connectionsMax = 64;

/** The design of most services: one payout per transaction, the balance locked by its row. */
export function createClassicSubject(): Subject {
  let url = '';
  const withPool = async <T>(connections: number, work: (pool: pg.Pool) => Promise<T>) => {
    const pool = openPool(url, connections);
    try {
      return await work(pool);
    } finally {
      await pool.end();
    }
  };
  const pay = async (pool: pg.Pool, payout: PlainPayout): Promise<void> => {
    await transact(pool, async (client) => {
      if (!(await insertAndCommit(client, payout))) throw new Error('not covered');
    });
  };
  return {
    name: 'one payout per transaction',
    prepare: async (place) => {
      url = await place.database('peer_classic');
      await createPlainTables(url);
    },
    run: (load) =>
      withPool(Math.min(load.inFlight, connectionsMax), async (pool) => {
        const payouts = makePlainPayouts(load.workload, 10_000 * (load.seconds + 1));
        return driveWarm(load, () => {
          const payout = payouts.pop();
          return payout === undefined ? undefined : pay(pool, payout);
        });
      }),
    races: () =>
      withPool(connectionsMax, (pool) =>
        racePlain(pool, { submit: (payout) => pay(pool, payout), isPending: false }),
      ),
    check: () => withPool(1, checkPlain),
    close: async () => undefined,
  };
}
