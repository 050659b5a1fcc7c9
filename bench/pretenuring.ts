import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { measureHttp } from './http-load.ts';
import { formatRequest } from './load.ts';
import { describeMachine } from './machine.ts';
import { serverOptions } from './node-options.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { createMeter } from './processor.ts';
import { formatPath } from './subjects/http.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --pretenuring: what V8's pretenuring of allocation sites costs a service, and what
 * the size of its new space. Some processes of each kind, because V8 decides for each process anew;
 * commits of one account and reads of its balances over HTTP, alternately in one run.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 8);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 0.5);
/** Processes of each kind. */
const processes = Number(process.env['BENCH_PROCESSES'] ?? 4);
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 24_000) * seconds;
const connections = 64;

const kinds = {
  'as Node starts': ['--max-semi-space-size=16'],
  'no pretenuring': ['--no-allocation-site-pretenuring', '--max-semi-space-size=16'],
  'no pretenuring, new space at full size': serverOptions,
} as const;
type Kind = keyof typeof kinds;
const works = ['commit', 'balance'] as const;
type Work = (typeof works)[number];

type Subject = { kind: Kind; number: number; service: Service };
type Measured = { subject: Subject; work: Work; perSecond: number; cpuUs: number; majors: number };

export async function runPretenuring(): Promise<void> {
  const place = await openPlace();
  const subjects: Subject[] = [];
  try {
    for (let number = 1; number <= processes; number += 1) {
      for (const [index, kind] of (Object.keys(kinds) as Kind[]).entries()) {
        const name = `ours_pretenuring_${index}_${number}`;
        const service = await startService(place, { name, nodeOptions: kinds[kind] });
        subjects.push({ kind, number, service });
      }
    }
    const found: Measured[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      for (const work of works) {
        for (const subject of round % 2 === 0 ? subjects : subjects.toReversed()) {
          const measured = await measure(subject, place, work);
          // The first two rounds compile code and fill caches.
          if (round > 1) found.push(measured);
        }
      }
      process.stderr.write(`pretenuring: ${round}/${rounds}\n`);
    }
    const text = await report(place, found);
    process.stdout.write(text);
    writeSection('pretenuring', text);
  } finally {
    for (const { service } of subjects) await service.close();
    await place.close();
  }
}

async function measure(subject: Subject, place: OpenPlace, work: Work): Promise<Measured> {
  const { fixture, port, processId } = subject.service;
  const token = fixture.hot.apiKey;
  const read = formatRequest({ method: 'GET', path: `${version}/account/balance`, token });
  const payouts = work === 'commit' ? await fixture.makePayouts(reserved, fixture.hot) : [];
  const next = (): string => {
    if (work === 'balance') return read;
    const payout = payouts.pop();
    if (payout === undefined) throw new Error('raise BENCH_PAYOUTS');
    return formatRequest({ method: 'PUT', path: formatPath(payout), token });
  };
  const meter = createMeter({ service: processId, database: place.processId });
  const before = await countMajors(port);
  const load = { inFlight: connections, seconds, workload: 'hot', meter } as const;
  const { count, seconds: took, processor } = await measureHttp(port, load, next);
  const majors = (await countMajors(port)) - before;
  const perSecond = count / took;
  return { subject, work, perSecond, cpuUs: (processor?.serviceUs ?? 0) / count, majors };
}

/** Collections of the old space so far, from the service's own metrics. */
async function countMajors(port: number): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${port}/metrics`);
  const lines = (await response.text()).split('\n');
  const line = lines.find((one) =>
    /^outlay_nodejs_gc_duration_seconds_count\{.*kind="major"/.test(one),
  );
  return Number(line?.split(' ').at(-1) ?? 0);
}

async function report(place: OpenPlace, found: readonly Measured[]): Promise<string> {
  const rows = works.flatMap((work) =>
    (Object.keys(kinds) as Kind[]).map((kind) => {
      const own = found.filter((one) => one.work === work && one.subject.kind === kind);
      const perSecond = median(own.map((one) => one.perSecond)).toFixed(0);
      const cpuUs = median(own.map((one) => one.cpuUs)).toFixed(1);
      const ofEach = Map.groupBy(own, (one) => one.subject.number);
      const medians = [...ofEach.values()].map((ones) => median(ones.map((one) => one.cpuUs)));
      const each = medians.map((us) => us.toFixed(0)).join(', ');
      const majors = own.reduce((sum, one) => sum + one.majors, 0);
      return `| ${work} | ${kind} | ${perSecond} | ${cpuUs} | ${each} | ${majors} |`;
    }),
  );
  return `## Pretenuring

${processes} processes of each kind, ${rounds - 1} rounds of ${seconds} s with ${connections} connections, alternating in one run. Medians; processor time is the
service's, in microseconds for each request. Major: collections of the old space in all rounds.

${await place.describe()}. ${describeMachine()}.

| request | Node | per second | µs | µs of each process | major |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}
