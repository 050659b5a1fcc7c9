import { DBOS } from '@dbos-inc/dbos-sdk';
import type pg from 'pg';
import { driveWarm } from '../drive.ts';
import type { Subject } from '../subject.ts';
import {
  checkPlain,
  claimAndCommit,
  createPlainTables,
  insertPending,
  makePlainPayouts,
  openPool,
  racePlain,
  settle,
  transact,
} from './plain-ledger.ts';

/**
 * DBOS: a durable workflow of three steps, each recorded when it is done. The payout is the
 * workflow's identity, so that the engine itself refuses to run one twice.
 */
export function createDbosSubject(): Subject {
  let url = '';
  let ledgerUrl = '';
  let pool: pg.Pool | undefined;
  const getPool = (): pg.Pool => {
    if (pool === undefined) throw new Error('the engine is not running');
    return pool;
  };
  const workflow = DBOS.registerWorkflow(
    async (id: string): Promise<string> => {
      const isCommitted = await DBOS.runStep(
        () => transact(getPool(), (client) => claimAndCommit(client, id)),
        { name: 'commit' },
      );
      if (!isCommitted) return 'refused';
      const outcome = await DBOS.runStep(async () => 'paid', { name: 'send' });
      await DBOS.runStep(() => transact(getPool(), (client) => settle(client, id)), {
        name: 'settle',
      });
      return outcome;
    },
    { name: 'payout' },
  );
  const pay = async (id: string): Promise<string> => {
    const handle = await DBOS.startWorkflow(workflow, { workflowID: id })(id);
    return handle.getResult();
  };
  const whileRunning = async <T>(work: (ledger: pg.Pool) => Promise<T>): Promise<T> => {
    pool = openPool(ledgerUrl, 16);
    DBOS.setConfig({
      name: 'bench',
      applicationVersion: '1',
      systemDatabaseUrl: url,
      systemDatabasePoolSize: 32,
      logLevel: 'error',
    });
    await DBOS.launch();
    try {
      return await work(pool);
    } finally {
      await DBOS.shutdown();
      await pool.end();
      pool = undefined;
    }
  };
  return {
    name: 'DBOS',
    prepare: async (place) => {
      url = await place.database('peer_dbos');
      ledgerUrl = await place.database('peer_dbos_ledger');
      await createPlainTables(ledgerUrl);
    },
    run: (load) =>
      whileRunning(async (ledger) => {
        const payouts = makePlainPayouts(load.workload, 2000 * (load.seconds + 1));
        await insertPending(ledger, payouts);
        return driveWarm(load, () => {
          const payout = payouts.pop();
          return payout === undefined ? undefined : pay(payout.id);
        });
      }),
    races: () =>
      whileRunning((ledger) => racePlain(ledger, { submit: ({ id }) => pay(id), isPending: true })),
    check: () => whileRunning(checkPlain),
    close: async () => undefined,
  };
}
