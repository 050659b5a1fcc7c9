import type pg from 'pg';
import { type Db, PgBoss } from 'pg-boss';
import { driveWarm } from '../drive.ts';
import type { Subject } from '../subject.ts';
import { createAwaited } from './awaited.ts';
import {
  checkPlain,
  claimAndCommit,
  createPlainTables,
  insertPending,
  makePlainPayouts,
  openPool,
  type PlainPayout,
  racePlain,
  settle,
  transact,
} from './plain-ledger.ts';

type Work = { id: string };
type Engine = { pay: (payout: PlainPayout) => Promise<void>; pool: pg.Pool };

/**
 * pg-boss: three queues whose workers take up to fifty jobs at once and handle them in one
 * transaction with the jobs that follow. It cannot be asked for a job's result either: the last
 * worker tells the waiting caller in this process, after its transaction.
 */
export function createPgBossSubject(): Subject {
  let url = '';
  const withEngine = async <T>(work: (engine: Engine) => Promise<T>): Promise<T> => {
    const pool = openPool(url, 8);
    const boss = new PgBoss({
      connectionString: url,
      max: 20,
      useListenNotify: true,
      schedule: false,
    });
    const errors: unknown[] = [];
    boss.on('error', (error) => errors.push(error));
    await boss.start();
    const awaited = createAwaited();
    await startWorkers(boss, { pool, finish: awaited.finish });
    const pay = async ({ id }: PlainPayout): Promise<void> => {
      const done = awaited.wait(id);
      await boss.send('commit', { id });
      await done;
    };
    try {
      const result = await work({ pay, pool });
      if (errors.length > 0) throw new Error('pg-boss failed', { cause: errors[0] });
      return result;
    } finally {
      await boss.stop({ graceful: true });
      await pool.end();
    }
  };
  return {
    name: 'pg-boss',
    prepare: async (place) => {
      url = await place.database('peer_pg_boss');
      await createPlainTables(url);
    },
    run: (load) =>
      withEngine(async ({ pay, pool }) => {
        const payouts = makePlainPayouts(load.workload, 4000 * (load.seconds + 1));
        await insertPending(pool, payouts);
        return driveWarm(load, () => {
          const payout = payouts.pop();
          return payout === undefined ? undefined : pay(payout);
        });
      }),
    races: () => withEngine(({ pay, pool }) => racePlain(pool, { submit: pay, isPending: true })),
    check: () => withEngine(({ pool }) => checkPlain(pool)),
    close: async () => undefined,
  };
}

const workOptions = {
  batchSize: 50,
  localConcurrency: 2,
  pollingIntervalSeconds: 0.5,
  notifyPollingIntervalSeconds: 0.5,
  burstWhenBatchFull: true,
} as const;

async function startWorkers(
  boss: PgBoss,
  { pool, finish }: { pool: pg.Pool; finish: (id: string) => void },
): Promise<void> {
  for (const name of ['commit', 'send', 'settle']) await boss.createQueue(name, { notify: true });
  const follow = async (name: string, ids: string[], client: pg.PoolClient): Promise<void> => {
    const db: Db = { executeSql: (text, values) => client.query(text, values) };
    const jobs = ids.map((id) => ({ data: { id } }));
    if (jobs.length > 0) await boss.insert(name, jobs, { db });
  };
  await boss.work<Work>('commit', workOptions, async (jobs) => {
    const refused = await transact(pool, async (client) => {
      const committed: string[] = [];
      for (const { data } of jobs) {
        if (await claimAndCommit(client, data.id)) committed.push(data.id);
      }
      await follow('send', committed, client);
      return jobs.filter(({ data }) => !committed.includes(data.id));
    });
    for (const { data } of refused) finish(data.id);
  });
  await boss.work<Work>('send', workOptions, async (jobs) => {
    // The rail answers at once; its answers are the jobs that follow.
    const ids = jobs.map(({ data }) => data.id);
    await transact(pool, (client) => follow('settle', ids, client));
  });
  await boss.work<Work>('settle', workOptions, async (jobs) => {
    await transact(pool, async (client) => {
      for (const { data } of jobs) await settle(client, data.id);
    });
    for (const { data } of jobs) finish(data.id);
  });
}
