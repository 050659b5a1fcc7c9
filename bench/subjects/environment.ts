import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { type App, createApp } from '../../server/src/app.ts';
import { readConfig } from '../../server/src/config.ts';
import type { Environment } from '../../server/src/environment/environment.ts';
import { createFixture, type Fixture, type ReadyPayout } from '../fixture.ts';
import type { Place, Workload } from '../subject.ts';

/** Our service inside this process, put together as it always is, on a database of its own. */
export type OurEnvironment = {
  url: string;
  masterKey: Buffer;
  env: Environment;
  fixture: Fixture;
  close(): Promise<void>;
};

/** The settings of every run: no limits on rates, and quotes that outlive the preparations. */
export function describeSettings(options: {
  url: string;
  folder: string;
  masterKey: Buffer;
}): Record<string, string> {
  return {
    PORT: '0',
    DATABASE_URL: options.url,
    OUTLAY_DATA: options.folder,
    OUTLAY_MASTER_KEY: options.masterKey.toString('base64'),
    OUTLAY_RATE_LIMIT_CREDENTIAL: '1000000',
    OUTLAY_RATE_LIMIT_ADDRESS: '1000000',
    OUTLAY_RATE_LIMIT_EXPENSIVE: '1000000',
    OUTLAY_QUOTE_SECONDS: '86400',
    OUTLAY_EVENT_READERS_MAX: '100000',
  };
}

export async function openOurEnvironment(place: Place, name: string): Promise<OurEnvironment> {
  const url = await place.database(name);
  const masterKey = randomBytes(32);
  const settings = describeSettings({ url, folder: join(place.folder, name), masterKey });
  const config = readConfig({ ...settings, OUTLAY_LOG_LEVEL: 'silent' });
  const app: App = await createApp(config, { role: 'serve', realNowMs: Date.now });
  const env = app.environments.staging;
  if (env === undefined) throw new Error('no staging environment');
  const fixture = await createFixture({ db: env.db, keys: env.keys });
  return { url, masterKey, env, fixture, close: () => app.close() };
}

/**
 * Payouts made before the clock starts. How many a run will take is guessed from the one before it;
 * what is left over goes into the next run.
 */
export function createReserve(fixture: Fixture, perSecondFirst: number) {
  const left = new Map<Workload, ReadyPayout[]>();
  const rates = new Map<Workload, number>();
  return {
    take: async (workload: Workload, seconds: number): Promise<ReadyPayout[]> => {
      const have = left.get(workload) ?? [];
      const wanted = Math.ceil((rates.get(workload) ?? perSecondFirst) * seconds * 1.3);
      const missing = Math.max(0, wanted - have.length);
      for (const payout of await fixture.prepareWorkload(workload, missing)) have.push(payout);
      left.set(workload, have);
      return have;
    },
    noteRate: (workload: Workload, perSecond: number): void => {
      rates.set(workload, Math.max(perSecond, rates.get(workload) ?? 0));
    },
  };
}
