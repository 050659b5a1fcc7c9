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
 * else runs on the machine is much the same for services that are measured within two seconds. The
 * median of the rounds' ratios has an interval by resampling, without which a small ratio says little.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 60);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 0.4);
const connections = 64;
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 6_000) * seconds;
const shares = [undefined, 0.01, 0.1, 1] as const;

type Share = (typeof shares)[number];
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
    for (const share of shares) subjects.push(await startSubject(place, share, port));
    const found: Measured[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      for (const work of ['commit', 'balance'] as const) {
        // In another order each time, so that none always follows the same one.
        const turned = subjects.map((_, index) => subjects[(index + round) % subjects.length]);
        for (const subject of turned) {
          if (subject === undefined) continue;
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

async function startSubject(place: OpenPlace, share: Share, port: number): Promise<Subject> {
  const settings =
    share === undefined
      ? {}
      : {
          OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${port}`,
          OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
          OTEL_TRACES_SAMPLER_ARG: String(share),
        };
  const name = `ours_traced_${share === undefined ? 'off' : share * 100}`;
  return { share, service: await startService(place, { name, settings }) };
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
    const off = of(undefined);
    return shares.map((share) => {
      const own = of(share);
      const recorded = share === undefined ? 'off' : `${share * 100} %`;
      const perSecond = median(own.map((one) => one.perSecond)).toFixed(0);
      const cpuUs = median(own.map((one) => one.cpuUs)).toFixed(1);
      const ratios = own.map((one, index) => one.cpuUs / (off[index]?.cpuUs ?? Number.NaN));
      const [low, high] = resampleMedian(ratios);
      const ratio = share === undefined ? '1' : formatRatio(median(ratios));
      const interval = share === undefined ? '' : `${formatRatio(low)} to ${formatRatio(high)}`;
      return `| ${work} | ${recorded} | ${perSecond} | ${cpuUs} | ${ratio} | ${interval} |`;
    });
  });
  return `## Traces

${rounds} rounds of ${seconds} s for each service with ${connections} connections; the services alternate in one run, and
the order turns. Processor time is the service's, in microseconds for each request. The ratio is the median of the
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
