import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { formatToken } from '../server/src/core/ids.ts';
import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { formatRequest, runLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { createMeter } from './processor.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --tracing: what traces cost. Commits and balance reads over HTTP by services with
 * and without them, alternately in one run; the receiver of the traces runs in this process and reads
 * what it gets. Compared is the processor time of the service for each request, within each round: what
 * else runs on the machine is much the same for services that are measured within seconds. The
 * median of the rounds' ratios has an interval by resampling, without which a small ratio says little;
 * a second service without traces shows what ratio two equal ones have.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 40);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 0.5);
const connections = 64;
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 20_000) * seconds;
/** The share of the requests that are recorded, of each service. */
const shares = {
  off: undefined,
  control: undefined,
  '1 %': 0.01,
  '10 %': 0.1,
  '100 %': 1,
} as const;

type Share = keyof typeof shares;
const names = Object.keys(shares) as readonly Share[];
type Subject = { share: Share; service: Service };
type Work = 'commit' | 'balance';
type Measured = { share: Share; work: Work; round: number; perSecond: number; cpuUs: number };

export async function runTracing(): Promise<void> {
  const place = await openPlace();
  const receiver = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(200).end());
  });
  await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
  const { port } = receiver.address() as AddressInfo;
  const subjects: Subject[] = [];
  try {
    for (const share of names) subjects.push(await startSubject(place, share, port));
    const found: Measured[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      for (const work of ['commit', 'balance'] as const) {
        for (const subject of shuffle(subjects)) {
          const measured = await measure(subject, place, work);
          // The first round compiles code and fills caches.
          if (round > 0) found.push({ ...measured, round });
        }
      }
      process.stderr.write(`tracing: ${round}/${rounds}\n`);
    }
    const text = await report(place, found);
    process.stdout.write(text);
    writeSection('tracing', text);
  } finally {
    for (const { service } of subjects) await service.close();
    receiver.closeAllConnections();
    receiver.close();
    await place.close();
  }
}

/** No service always follows the same other one. */
function shuffle<Item>(items: readonly Item[]): readonly Item[] {
  return items
    .map((item) => ({ item, place: Math.random() }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}

async function startSubject(place: OpenPlace, name: Share, port: number): Promise<Subject> {
  const share = shares[name];
  const settings =
    share === undefined
      ? {}
      : {
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
          OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
          OTEL_TRACES_SAMPLER_ARG: String(share),
        };
  const database = `ours_traced_${names.indexOf(name)}`;
  return { share: name, service: await startService(place, { name: database, settings }) };
}

async function measure(
  subject: Subject,
  place: OpenPlace,
  work: Work,
): Promise<Omit<Measured, 'round'>> {
  const { service, share } = subject;
  const { fixture, port, processId } = service;
  const token = fixture.hot.apiKey;
  const read = formatRequest({ method: 'GET', path: `${version}/account/balance`, token });
  const payouts = work === 'commit' ? await fixture.makePayouts(reserved, fixture.hot) : [];
  const next = (): string | undefined => {
    if (work === 'balance') return read;
    const payout = payouts.pop();
    if (payout === undefined) return undefined;
    const { userId, payoutId } = payout;
    const path = `${version}/payout/${formatToken('user', userId)}/${formatToken('payout', payoutId)}`;
    return formatRequest({ method: 'PUT', path, token });
  };
  const stop = createMeter({ service: processId, database: place.processId }).start();
  const result = await runLoad({ port, connections, seconds, next });
  const processor = stop();
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  if (work === 'commit' && payouts.length === 0) throw new Error('raise BENCH_PAYOUTS');
  return {
    share,
    work,
    perSecond: result.perSecond,
    cpuUs: (processor?.serviceUs ?? 0) / result.count,
  };
}

async function report(place: OpenPlace, found: readonly Measured[]): Promise<string> {
  const rows = (['commit', 'balance'] as const).flatMap((work) => {
    const of = (share: Share) =>
      found.filter((one) => one.work === work && one.share === share).toSorted(byRound);
    const off = of('off');
    return names.map((share) => {
      const own = of(share);
      const perSecond = median(own.map((one) => one.perSecond)).toFixed(0);
      const cpuUs = median(own.map((one) => one.cpuUs)).toFixed(1);
      const ratios = own.map((one, index) => one.cpuUs / (off[index]?.cpuUs ?? Number.NaN));
      const [low, high] = resampleMedian(ratios);
      const ratio = share === 'off' ? '1' : formatRatio(median(ratios));
      const interval = share === 'off' ? '' : `${formatRatio(low)} to ${formatRatio(high)}`;
      return `| ${work} | ${share} | ${perSecond} | ${cpuUs} | ${ratio} | ${interval} |`;
    });
  });
  return `## Traces

${rounds} rounds of ${seconds} s for each service with ${connections} connections; the services alternate in one run, in
random order. \`control\` records nothing either. Processor time is the service's, in microseconds for each request. The ratio is the median of the
rounds' ratios to the service without traces; the interval has it with 95 %, by resampling the rounds.

${await place.describe()}. ${describeMachine()}.

| request | recorded | per second | µs | ratio | 95 % |
|---|---|---|---|---|---|
${rows.join('\n')}
`;
}

const byRound = (one: Measured, other: Measured): number => one.round - other.round;
const formatRatio = (ratio: number): string => ratio.toFixed(3);

const resamples = 2_000;

/** The 2.5th and 97.5th percentile of the medians of samples with replacement. */
function resampleMedian(values: readonly number[]): readonly [number, number] {
  const medians = Array.from({ length: resamples }, () =>
    median(values.map(() => values[Math.floor(Math.random() * values.length)] ?? Number.NaN)),
  ).toSorted((a, b) => a - b);
  return [medians[resamples * 0.025] ?? Number.NaN, medians[resamples * 0.975] ?? Number.NaN];
}
