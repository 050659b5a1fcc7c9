import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { withSuperuser } from './fill.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { createMeter } from './processor.ts';
import { formatPath } from './subjects/http.ts';
import { type Service, startService } from './subjects/service.ts';

/**
 * npm run bench -- --chains: what the chains of hashes over journals and events cost. Commits of one
 * account over HTTP, by a service whose database has the two triggers and by one whose database has not,
 * alternately in one run.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 12);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 2);
const connections = [64, 256] as const;
/** Quotes that are ready for each measurement. */
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 20_000) * seconds;
const withoutChains = `
  drop trigger link_journals on ledger_journals;
  drop trigger link_events on events`;

type Subject = { isChained: boolean; service: Service };
type Measured = {
  isChained: boolean;
  inFlight: number;
  perSecond: number;
  databaseUs: number;
  allUs: number;
};

export async function runChains(): Promise<void> {
  const place = await openPlace();
  const subjects: Subject[] = [];
  try {
    for (const isChained of [true, false]) {
      const name = isChained ? 'ours_chained' : 'ours_not_chained';
      const service = await startService(place, { name });
      subjects.push({ isChained, service });
      if (!isChained) await withSuperuser(service.url, (client) => client.query(withoutChains));
    }
    const found: Measured[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      for (const inFlight of connections) {
        for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
          const measured = await measure(subject, place, inFlight);
          // The first round compiles code and fills caches.
          if (round > 0) found.push(measured);
        }
      }
      process.stderr.write(`chains: ${round}/${rounds}\n`);
    }
    const text = await report(place, found);
    process.stdout.write(text);
    writeSection('chains', text);
  } finally {
    for (const { service } of subjects) await service.close();
    await place.close();
  }
}

async function measure(
  { isChained, service }: Subject,
  place: OpenPlace,
  inFlight: number,
): Promise<Measured> {
  const { fixture, port, processId } = service;
  const token = fixture.hot.apiKey;
  const payouts = await fixture.makePayouts(reserved, fixture.hot);
  const meter = createMeter({ service: processId, database: place.processId });
  const load = { inFlight, seconds, workload: 'hot', meter } as const;
  const measured = await measureHttp(port, load, () => {
    const payout = payouts.pop();
    if (payout === undefined) throw new Error('raise BENCH_PAYOUTS');
    return formatRequest({ method: 'PUT', path: formatPath(payout), token });
  });
  const { count, processor } = measured;
  const databaseUs = (processor?.databaseUs ?? 0) / count;
  const allUs = databaseUs + (processor?.serviceUs ?? 0) / count;
  return { isChained, inFlight, perSecond: count / measured.seconds, databaseUs, allUs };
}

async function report(place: OpenPlace, found: readonly Measured[]): Promise<string> {
  const rows = connections.flatMap((inFlight) => {
    const of = (isChained: boolean, read: (one: Measured) => number): number =>
      median(
        found
          .filter((one) => one.inFlight === inFlight && one.isChained === isChained)
          .map((one) => read(one)),
      );
    const compare = (what: string, digits: number, read: (one: Measured) => number): string => {
      const [chained, bare] = [of(true, read), of(false, read)];
      const values = `${chained.toFixed(digits)} | ${bare.toFixed(digits)}`;
      return `| ${what} | ${inFlight} | ${values} | ${(chained / bare).toFixed(3)} |`;
    };
    return [
      compare('commits per second', 0, ({ perSecond }) => perSecond),
      compare('database, us of processor each', 1, ({ databaseUs }) => databaseUs),
      compare('service and database, us of processor each', 1, ({ allUs }) => allUs),
    ];
  });
  return `## Chains of hashes

Commits of one account over HTTP, with the chains over journals and events and without; ${rounds} rounds of ${seconds} s
each, alternating in one run. Medians.

${await place.describe()}. ${describeMachine()}.

| what | connections | chained | not | ratio |
|---|---|---|---|---|
${rows.join('\n')}
`;
}
