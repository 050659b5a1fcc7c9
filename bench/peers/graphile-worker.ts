import { Logger, makeWorkerUtils, run, type TaskList, type WorkerUtils } from 'graphile-worker';
import type pg from 'pg';
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
} from './plain-ledger.ts';

const silent = new Logger(() => () => undefined);

/**
 * Graphile Worker: three jobs, each of which adds the next one in the transaction of its effect,
 * with the settings of its own performance page. The engine cannot be asked for a job's result: the
 * last task tells the waiting caller, in this process, after its transaction.
 */
export function createGraphileWorkerSubject(): Subject {
  let url = '';
  const withEngine = async <T>(
    work: (engine: { pay: (payout: PlainPayout) => Promise<void>; pool: pg.Pool }) => Promise<T>,
  ): Promise<T> => {
    const pool = openPool(url, 8);
    const awaited = createAwaited();
    const utils: WorkerUtils = await makeWorkerUtils({ pgPool: pool, logger: silent });
    await utils.migrate();
    const runner = await run({
      preset: {
        worker: {
          connectionString: url,
          maxPoolSize: 25,
          concurrentJobs: 24,
          localQueue: { size: 500 },
          completeJobBatchDelay: 0,
          failJobBatchDelay: 0,
          logger: silent,
        },
      },
      noHandleSignals: true,
      taskList: createTasks(awaited.finish),
    });
    const pay = async ({ id }: PlainPayout): Promise<void> => {
      const done = awaited.wait(id);
      await utils.addJob('commit', { id }, { jobKey: id });
      await done;
    };
    try {
      return await work({ pay, pool });
    } finally {
      await runner.stop();
      await utils.release();
      await pool.end();
    }
  };
  return {
    name: 'Graphile Worker',
    prepare: async (place) => {
      url = await place.database('peer_graphile_worker');
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

function createTasks(finish: (id: string) => void): TaskList {
  const readId = (payload: unknown): string => (payload as { id: string }).id;
  const addJob = (client: pg.PoolClient, task: string, id: string) =>
    client.query({
      name: 'add_job',
      text: 'select graphile_worker.add_job($1, json_build_object($2::text, $3::text))',
      values: [task, 'id', id],
    });
  return {
    commit: (payload, helpers) =>
      helpers.withPgClient(async (client) => {
        const id = readId(payload);
        const isCommitted = await inTransaction(client, async () => {
          if (!(await claimAndCommit(client, id))) return false;
          await addJob(client, 'send', id);
          return true;
        });
        if (!isCommitted) finish(id);
      }),
    send: (payload, helpers) =>
      helpers.withPgClient(async (client) => {
        // The rail answers at once; its answer is the job that follows.
        await addJob(client, 'settle', readId(payload));
      }),
    settle: (payload, helpers) =>
      helpers.withPgClient(async (client) => {
        await inTransaction(client, () => settle(client, readId(payload)));
        finish(readId(payload));
      }),
  };
}

async function inTransaction<T>(client: pg.PoolClient, work: () => Promise<T>): Promise<T> {
  await client.query('begin');
  try {
    const result = await work();
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  }
}
