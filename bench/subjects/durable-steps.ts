import { createDispatcher, dispatchTimes } from '../../server/src/dispatch/dispatch.ts';
import { createMeasurements } from '../../server/src/dispatch/standings.ts';
import type { Rail } from '../../server/src/rails/contract/contract.ts';
import { derivePaymentId, encodeReference } from '../../server/src/rails/contract/references.ts';
import { startLoop } from '../../server/src/work/loop.ts';
import { readRows } from '../../server/testing/setups/read-rows.ts';
import { drive } from '../drive.ts';
import type { ReadyPayout } from '../fixture.ts';
import type { LoadShape, Measure, Place, Subject } from '../subject.ts';
import { createReserve, type OurEnvironment, openOurEnvironment } from './environment.ts';
import { commitNow } from './in-process.ts';

/** Three durable steps: commit, send to a rail that pays at once, settle; each payout awaited. */
export function createDurableStepsSubject(): Subject {
  let ours: OurEnvironment | undefined;
  let reserve: ReturnType<typeof createReserve> | undefined;
  return {
    name: 'outlay, three steps',
    prepare: async (place: Place) => {
      ours = await openOurEnvironment(place, 'ours_steps');
      reserve = createReserve(ours.fixture, 3000);
    },
    run: async (load) => {
      if (ours === undefined || reserve === undefined) throw new Error('not prepared');
      const payouts = await reserve.take(load.workload, load.seconds);
      const measure = await runSteps(ours, payouts, load);
      reserve.noteRate(load.workload, measure.count / measure.seconds);
      return measure;
    },
    check: async () => ours?.fixture.check(),
    close: async () => ours?.close(),
  };
}

type Settling = { resolve: () => void; reject: (error: unknown) => void };

/** Ends early when all payouts are settled. */
export async function runSteps(
  { env }: OurEnvironment,
  payouts: ReadyPayout[],
  load: LoadShape,
): Promise<Measure> {
  const waiting = new Map<string, Settling>();
  const paid: string[] = [];
  const fail = (error: unknown): void => {
    for (const { reject } of waiting.values()) reject(error);
    waiting.clear();
  };
  const rail = createInstantRail((reference) => paid.push(reference));
  const measurements = createMeasurements(env.db.system);
  const dispatcher = createDispatcher({
    db: env.db,
    keys: env.keys,
    clock: env.clock,
    rails: new Map([[rail.name, rail]]),
    router: { catalog: () => env.catalog, rates: env.rates, measure: measurements.measure },
    measurements,
    rules: undefined,
    times: dispatchTimes.staging,
    onAnswer: () => undefined,
    onError: fail,
  });
  const loop = startLoop({
    idleMs: 250,
    run: async () => {
      const count = await dispatcher.runDue();
      // When a run has ended, what the rail paid in it is settled.
      for (const reference of paid.splice(0)) {
        waiting.get(reference)?.resolve();
        waiting.delete(reference);
      }
      return count > 0;
    },
    onError: fail,
  });
  const asked: string[] = [];
  const payOne = async (payout: ReadyPayout): Promise<void> => {
    asked.push(payout.payoutId);
    const settling = Promise.withResolvers<void>();
    const { accountId, clientTransferId } = payout;
    const paymentId = derivePaymentId({ accountId, clientTransferId, attempt: 1 });
    waiting.set(encodeReference('digits', paymentId), settling);
    await commitNow(env, payout);
    loop.wake();
    await settling.promise;
  };
  try {
    const measure = await drive(load, () => {
      const payout = payouts.pop();
      return payout === undefined ? undefined : payOne(payout);
    });
    const settled = await countSettled(env, asked);
    if (settled !== measure.count) throw new Error(`${settled} of ${measure.count} were settled`);
    return measure;
  } finally {
    await loop.stop();
  }
}

function createInstantRail(onPaid: (reference: string) => void): Rail {
  return {
    name: 'instant',
    kind: 'instant',
    pace: { concurrencyMax: 1000, perSecondMax: null },
    dailyLimits: {},
    reference: { lengthMax: 64, charset: /^[0-9a-z]+$/ },
    companies: [],
    payers: [],
    send: async ({ reference }) => {
      onPaid(reference);
      return { outcome: 'paid' };
    },
    query: async () => ({ outcome: 'unknown', reason: 'no_answer' }),
  };
}

async function countSettled({ db }: OurEnvironment['env'], ids: string[]): Promise<number> {
  const [row] = await readRows<{ count: number }>(
    db.system,
    {
      name: '',
      text: `
        select count(distinct payout_id)::integer as count from ledger_transfers
        where kind = 'complete' and payout_id = any ($1)`,
    },
    [ids],
  );
  return row?.count ?? 0;
}
