import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { formatToken } from '../server/src/core/ids.ts';
import { median } from './drive.ts';
import { formatRequest, runLoad } from './load.ts';
import { describeMachine } from './machine.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { createMeter } from './processor.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --cells: commits of two cells, each with a PostgreSQL server and a service of its own,
 * beside those of one, alternately in one run. Each cell is confined to one core of this machine, which
 * stands for a machine of its own; the load generator runs on any. It shows what a second cell adds where
 * it has a processor of its own, and what a commit costs in it. It cannot show disks of their own.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 20);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 1);
const reserved = Number(process.env['BENCH_PAYOUTS'] ?? 10_000) * seconds;
/** To each cell that is under load. */
const connections = 32;

type Cell = { readonly place: OpenPlace; readonly service: Service };
type Measured = {
  readonly perSecond: number;
  readonly serviceUs: number;
  readonly databaseUs: number;
};
type Round = { readonly one: Measured; readonly two: Measured };

export async function runCells(): Promise<void> {
  const cells: Cell[] = [];
  try {
    for (const core of [0, 1]) cells.push(await openCell(core));
    const found: Round[] = [];
    for (let round = 0; round <= rounds; round += 1) {
      // The only one is now this and now that one, because cores differ in what else they do.
      const single = cells.slice(round % 2, (round % 2) + 1);
      const first = Math.random() < 0.5;
      const early = await measure(first ? single : cells);
      const late = await measure(first ? cells : single);
      // The first round compiles code and fills caches.
      if (round > 0) found.push(first ? { one: early, two: late } : { one: late, two: early });
      process.stderr.write(`cells: ${round}/${rounds}\n`);
    }
    const [cell] = cells;
    process.stdout.write(report(found, (await cell?.place.describe()) ?? ''));
  } finally {
    for (const { service, place } of cells) {
      await service.close();
      await place.close();
    }
  }
}

async function openCell(core: number): Promise<Cell> {
  const place = await openPlace();
  const service = await startService(place, { name: `ours_cell_${core}` });
  for (const id of [service.processId, ...listServer(place.processId)]) confine(id, core);
  return { place, service };
}

/** Processes that a server starts later inherit it. */
function confine(processId: number, core: number): void {
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', String(core), String(processId)]);
}

function listServer(postmaster: number): number[] {
  const children = readdirSync('/proc').filter((entry) => {
    try {
      const text = readFileSync(`/proc/${entry}/stat`, 'utf8');
      return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1]) === postmaster;
    } catch {
      return false;
    }
  });
  return [postmaster, ...children.map(Number)];
}

async function measure(cells: readonly Cell[]): Promise<Measured> {
  const requests = await Promise.all(
    cells.map(({ service }) => service.fixture.makePayouts(reserved, service.fixture.hot)),
  );
  const results = await Promise.all(
    cells.map(async ({ service, place }, index) => {
      const { fixture, port, processId } = service;
      const next = (): string | undefined => {
        const payout = requests[index]?.pop();
        if (payout === undefined) return undefined;
        const { userId, payoutId } = payout;
        const path = `${version}/payout/${formatToken('user', userId)}/${formatToken('payout', payoutId)}`;
        return formatRequest({ method: 'PUT', path, token: fixture.hot.apiKey });
      };
      const stop = createMeter({ service: processId, database: place.processId }).start();
      const result = await runLoad({ port, connections, seconds, next });
      const processor = stop();
      if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
      if (requests[index]?.length === 0) throw new Error('raise BENCH_PAYOUTS');
      return { ...result, ...processor };
    }),
  );
  const sum = (read: (one: (typeof results)[number]) => number): number =>
    results.reduce((total, one) => total + read(one), 0);
  const count = sum((one) => one.count);
  return {
    perSecond: sum((one) => one.perSecond),
    serviceUs: sum((one) => one.serviceUs ?? 0) / count,
    databaseUs: sum((one) => one.databaseUs ?? 0) / count,
  };
}

function report(found: readonly Round[], server: string): string {
  const row = (name: string, measured: readonly Measured[]): string => {
    const of = (read: (one: Measured) => number, digits: number): string =>
      median(measured.map(read)).toFixed(digits);
    const [perSecond, service, database] = [
      of((one) => one.perSecond, 0),
      of((one) => one.serviceUs, 1),
      of((one) => one.databaseUs, 1),
    ];
    return `| ${name} | ${perSecond} | ${service} | ${database} |`;
  };
  const ratios = found
    .map(({ one, two }) => two.perSecond / one.perSecond)
    .toSorted((a, b) => a - b);
  const at = (share: number): string =>
    (ratios[Math.floor((ratios.length - 1) * share)] ?? Number.NaN).toFixed(2);
  return `## Cells

${rounds} rounds of ${seconds} s, ${connections} connections to each cell under load, commits of one account. Each cell, with its
PostgreSQL server, is confined to one core. Processor time is in microseconds for each commit.

${server}, twice. ${describeMachine()}.

| cells | per second | service µs | database µs |
|---|---|---|---|
${row(
  'one',
  found.map(({ one }) => one),
)}
${row(
  'two',
  found.map(({ two }) => two),
)}

Two against one, commits per second: ${at(0.5)} (quartiles ${at(0.25)} and ${at(0.75)} of the rounds' ratios).
`;
}
