import { setTimeout as sleep } from 'node:timers/promises';
import { formatToken } from '../server/src/core/ids.ts';
import { writeSection } from './document.ts';
import { median } from './drive.ts';
import { withSuperuser } from './fill.ts';
import { fixtureRail } from './fixture.ts';
import { describeMachine } from './machine.ts';
import { readPeakBytes } from './memory.ts';
import { serverOptions } from './node-options.ts';
import { createTpcBSubject } from './peers/tpcb.ts';
import { type OpenPlace, openPlace } from './place.ts';
import { type Service, startService, version } from './subjects/service.ts';

/**
 * npm run bench -- --batch: one file of payouts from its first byte to the last row committed, by a
 * service in a process of its own, alternately with TPC-B.
 */

const rows = Number(process.env['BENCH_ROWS'] ?? 100_000);
const rounds = Number(process.env['BENCH_ROUNDS'] ?? 3);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 5);
const waitMsMax = 600_000;
/** V8 lets a heap grow with the memory of the machine, whatever is needed. */
const heapMiB = 160;

type Took = { uploadMs: number; quoteMs: number; commitMs: number; totalMs: number };

export async function runBatch(): Promise<void> {
  const place = await openPlace();
  const tpcB = createTpcBSubject();
  let service: Service | undefined;
  try {
    await tpcB.prepare(place);
    const nodeOptions = [...serverOptions, `--max-old-space-size=${heapMiB}`];
    service = await startService(place, { name: 'ours_batch', role: 'all', nodeOptions });
    const destination = await service.prepareDestination();
    const took: Took[] = [];
    const ratios: number[] = [];
    for (let round = 0; round < rounds; round += 1) {
      await waitForDispatch(service);
      const measure = await tpcB.run({ seconds, inFlight: 16, workload: 'hot' });
      const one = await sendBatch(service, writeFile(service, destination, round));
      took.push(one);
      ratios.push(rows / (one.totalMs / 1000) / (measure.count / measure.seconds));
      process.stderr.write(`batch of ${rows}: ${JSON.stringify(one)}\n`);
    }
    const peak = readPeakBytes(service.processId);
    await checkCommits(service, rows * rounds);
    const text = await report(place, { took, ratios, peak });
    process.stdout.write(text);
    writeSection('batch', text);
  } finally {
    await service?.close();
    await place.close();
  }
}

function writeFile({ fixture }: Service, destination: string, round: number): string {
  const user = formatToken('user', fixture.hot.userId);
  const head =
    'client_transfer_id,user_token,destination_token,destination_currency_code,source_currency_code,source_amount';
  const lines = Array.from(
    { length: rows },
    (_, index) => `bench-${round}-${index},${user},${destination},MXN,USD,100.1`,
  );
  return [head, ...lines, ''].join('\n');
}

async function sendBatch(service: Service, file: string): Promise<Took> {
  const startMs = performance.now();
  const token = await upload(service, file);
  const uploadedMs = performance.now();
  const { hot } = service.fixture;
  const path = `${version}/batches/${token}`;
  await service.call(hot, { method: 'POST', path: `${path}/quote`, body: {} });
  const quotedMs = performance.now();
  const answer = await service.call(hot, { method: 'PUT', path, body: { mode: 'all' } });
  if (!answer.includes('success')) throw new Error(`the batch was not committed: ${answer}`);
  while (readStatus(await service.call(hot, { method: 'GET', path })) !== 'COMMITTED') {
    if (performance.now() - quotedMs > waitMsMax) throw new Error('the batch is never done');
    await sleep(50);
  }
  const endMs = performance.now();
  return {
    uploadMs: Math.round(uploadedMs - startMs),
    quoteMs: Math.round(quotedMs - uploadedMs),
    commitMs: Math.round(endMs - quotedMs),
    totalMs: Math.round(endMs - startMs),
  };
}

async function upload({ port, fixture }: Service, file: string): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}${version}/batches`, {
    method: 'POST',
    headers: { authorization: `Bearer ${fixture.hot.apiKey}`, 'content-type': 'text/csv' },
    body: file,
  });
  const text = await response.text();
  if (!response.ok) throw new Error(`the upload answered ${text}`);
  const made = JSON.parse(text) as { batch_token: string; invalid_count?: number };
  if ((made.invalid_count ?? 0) > 0) throw new Error(`faulty rows: ${text.slice(0, 500)}`);
  return made.batch_token;
}

/** The payouts of the batch before are on their way to the rail; each round has the machine alone. */
async function waitForDispatch({ url }: Service): Promise<void> {
  await withSuperuser(url, async (client) => {
    for (;;) {
      const { rows: due } = await client.query(
        'select 1 from payout_dispatches where due_at <= environment_now() and rail <> $1 limit 1',
        [fixtureRail],
      );
      if (due.length === 0) return;
      await sleep(200);
    }
  });
}

function readStatus(body: string): string {
  return (JSON.parse(body) as { status: string }).status;
}

async function checkCommits({ url, fixture }: Service, expected: number): Promise<void> {
  await fixture.check();
  await withSuperuser(url, async (client) => {
    const found = await client.query<{ count: number }>(`
      select count(distinct payout_id)::integer as count from ledger_transfers
      where kind = 'batch_commit'`);
    const count = found.rows[0]?.count ?? 0;
    if (count !== expected) throw new Error(`${count} of ${expected} rows are in the ledger`);
  });
}

async function report(
  place: OpenPlace,
  found: { took: readonly Took[]; ratios: readonly number[]; peak: number | undefined },
): Promise<string> {
  const { took, ratios, peak } = found;
  const at = (key: keyof Took): string => (median(took.map((one) => one[key])) / 1000).toFixed(2);
  const perSecond = rows / Number(at('totalMs'));
  const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`;
  const memory = peak === undefined ? 'not known' : `${Math.round(peak / 1e6)} MB`;
  return [
    `## A batch of ${rows.toLocaleString('en')} rows`,
    '',
    `${rounds} rounds, alternating with TPC-B (16 clients). Measured from the first byte of the CSV file to`,
    'the status COMMITTED. The service is one process with its background work, and the payouts of a',
    'round are sent to the rail before the next round begins; the ledger is',
    `verified at the end. Node has ${heapMiB} MiB for what lives long (\`--max-old-space-size\`).`,
    `${await place.describe()}. ${describeMachine()}.`,
    '',
    '| upload and check, s | quote, s | commit, s | whole, s | rows per second | to TPC-B (at least 6) | peak memory (below 400 MB) |',
    '|---|---|---|---|---|---|---|',
    `| ${at('uploadMs')} | ${at('quoteMs')} | ${at('commitMs')} | ${at('totalMs')} | ${perSecond.toFixed(0)} | ${median(ratios).toFixed(2)} (${spread}) | ${memory} |`,
    '',
  ].join('\n');
}
