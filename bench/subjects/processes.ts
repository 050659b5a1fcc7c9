import { type Child, startChild } from '../child.ts';
import { payoutMinor } from '../fixture.ts';
import type { Measure, Place, Subject } from '../subject.ts';
import { type OurEnvironment, openOurEnvironment } from './environment.ts';

/** Processes that share one database and one hot balance, with the same load in all. */
export function createProcessSubjects(counts: readonly number[]): Subject[] {
  let opening: Promise<{ ours: OurEnvironment; children: Child[] }> | undefined;
  let committed = 0;
  const perSecond = { guess: 12_000 };
  const open = async (place: Place) => {
    const ours = await openOurEnvironment(place, 'ours_processes');
    const env = { DATABASE_URL: ours.url };
    const children = await Promise.all(
      Array.from({ length: Math.max(...counts) }, () =>
        startChild('subjects/commit-process.ts', { env }),
      ),
    );
    return { ours, children };
  };
  return counts.map(
    (count): Subject => ({
      name: count === 1 ? 'one process' : `${count} processes`,
      prepare: async (place) => {
        opening ??= open(place);
        await opening;
      },
      run: async (load) => {
        if (opening === undefined) throw new Error('not prepared');
        const { ours, children } = await opening;
        const wanted = Math.ceil(perSecond.guess * load.seconds * 1.4);
        const payouts = await ours.fixture.prepareWorkload(load.workload, wanted);
        const share = Math.ceil(wanted / count);
        const measures = (await Promise.all(
          children.slice(0, count).map((child, index) =>
            child.ask({
              payouts: payouts.slice(index * share, (index + 1) * share),
              load: { ...load, meter: undefined, inFlight: load.inFlight / count },
            }),
          ),
        )) as Measure[];
        const total = addMeasures(measures);
        perSecond.guess = Math.max(perSecond.guess, total.count / total.seconds);
        committed += total.count;
        await checkBalance(ours, committed);
        return total;
      },
      check: async () => (await opening)?.ours.fixture.check(),
      close: async () => {
        const parts = await opening;
        opening = undefined;
        await Promise.all(parts?.children.map((child) => child.stop()) ?? []);
        await parts?.ours.close();
      },
    }),
  );
}

function addMeasures(measures: readonly Measure[]): Measure {
  for (const measure of measures) {
    if ('error' in measure) throw new Error(`a process failed: ${String(measure.error)}`);
  }
  return {
    count: measures.reduce((sum, { count }) => sum + count, 0),
    seconds: Math.max(...measures.map(({ seconds }) => seconds)),
    p50Ms: Math.max(...measures.map(({ p50Ms }) => p50Ms)),
    p99Ms: Math.max(...measures.map(({ p99Ms }) => p99Ms)),
  };
}

/** The shared balance is exact to the cent after every run. */
async function checkBalance({ fixture }: OurEnvironment, committed: number): Promise<void> {
  const { fundedMinor, hot } = fixture;
  const left = await fixture.readWallet(hot.accountId);
  const expected = fundedMinor - BigInt(committed) * payoutMinor;
  if (left !== expected) throw new Error(`${left} is left of the balance instead of ${expected}`);
}
