import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { cpus, tmpdir, totalmem } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { createApp } from '../server/src/app.ts';
import { readConfig } from '../server/src/config.ts';
import { createDatabaseIfAbsent } from '../server/src/db/create-database.ts';
import { findRunningServer } from '../server/src/db/embedded.ts';
import { verifyLedger } from '../server/src/ledger/ledger.ts';
import { formatRequest, type LoadResult, runLoad } from './load.ts';
import { prepareTpcB } from './tpcb.ts';

/**
 * npm run bench: this service beside PostgreSQL's TPC-B and beside bare node:http, alternately in
 * one run, as medians and ratios. Load generator, service and database share the machine.
 */

const rounds = Number(process.env['BENCH_ROUNDS'] ?? 5);
const seconds = Number(process.env['BENCH_SECONDS'] ?? 6);
const connections = Number(process.env['BENCH_CONNECTIONS'] ?? 64);
const version = '/v0.1.4';

type Sample = { perSecond: number; p50: number; p99: number };

const folder = mkdtempSync(join(tmpdir(), 'outlay-bench-'));
const config = readConfig({
  PORT: '0',
  OUTLAY_DATA: folder,
  OUTLAY_RATE_LIMIT_CREDENTIAL: '1000000',
  OUTLAY_RATE_LIMIT_ADDRESS: '1000000',
  OUTLAY_QUOTE_SECONDS: '86400',
});
const app = await createApp(config, { role: 'serve', log: pino({ level: 'silent' }) });
try {
  const { baseUrl } = await app.listen();
  await run(Number(new URL(baseUrl).port));
} finally {
  await app.close();
  rmSync(folder, { recursive: true, force: true });
}

async function run(port: number): Promise<void> {
  const staging = app.environments.staging;
  const server = findRunningServer(folder);
  if (staging === undefined || server === undefined) throw new Error('no staging environment');
  const { api_key: token } = JSON.parse(readFileSync(join(folder, 'staging.json'), 'utf8')) as {
    api_key: string;
  };
  const tpcB = await prepareTpcB(await createDatabaseIfAbsent(server, 'tpcb'));
  const subject = await prepareSubject(port, token);
  const bare = await startBareServer(subject.balanceBody);
  const samples = new Map<string, Sample[]>();
  const note = (name: string, { perSecond, p50, p99 }: Sample): void => {
    process.stderr.write(`${name.padEnd(28)} ${perSecond.toFixed(0).padStart(8)}/s\n`);
    samples.set(name, [...(samples.get(name) ?? []), { perSecond, p50, p99 }]);
  };
  for (let round = 0; round < rounds; round += 1) {
    note('TPC-B', { perSecond: await tpcB.run(seconds), p50: 0, p99: 0 });
    const tokens: string[] = [];
    note('create', await load({ port, next: () => subject.create, tokens }));
    note('commit', await load({ port, next: () => nextCommit(subject.user, tokens, token) }));
    note('bare node:http', await load({ port: bare.port, next: () => subject.balance }));
    note('balance', await load({ port, next: () => subject.balance }));
    note('cheapest', await load({ port, next: () => subject.cheapest }));
  }
  bare.close();
  const proof = await verifyLedger(staging.db);
  if (!proof.isSound) throw new Error('the ledger is not sound after the run');
  const text = report(samples, tpcB.by);
  process.stdout.write(text);
  writeFileSync(join(import.meta.dirname, '../docs/benchmarks.md'), text);
}

async function load(options: {
  port: number;
  next: () => string | undefined;
  tokens?: string[];
}): Promise<LoadResult> {
  const { port, next, tokens } = options;
  const result = await runLoad({
    port,
    connections,
    seconds,
    next,
    ...(tokens === undefined
      ? {}
      : {
          onAnswer: (body: string) =>
            tokens.push((JSON.parse(body) as { payout_token: string }).payout_token),
        }),
  });
  if (result.failures > 0) throw new Error(`${result.failures} requests failed`);
  return result;
}

function nextCommit(user: string, tokens: string[], token: string): string | undefined {
  const payout = tokens.pop();
  if (payout === undefined) return undefined;
  return formatRequest({ method: 'PUT', path: `${version}/payout/${user}/${payout}`, token });
}

/** One account, one recipient of litecoin in Mexico, one hot balance that never runs dry. */
async function prepareSubject(port: number, token: string) {
  const call = async (method: string, path: string, body?: unknown): Promise<string> => {
    const response = await fetch(`http://127.0.0.1:${port}${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`);
    return text;
  };
  for (let index = 0; index < 20; index += 1) {
    await call('POST', '/sandbox/fund', { currency_code: 'USD', amount: 9_000_000_000_000 });
  }
  const { user_token: user } = JSON.parse(
    await call('POST', `${version}/user`, {
      internal_user_id: 'bench',
      country: 'MEX',
      first_name: 'Bench',
      last_name: 'Mark',
      email: 'bench@example.org',
    }),
  ) as { user_token: string };
  const found = JSON.parse(await call('GET', `${version}/country/MEX/cheapest`)) as {
    companies: {
      services: { delivery_type: string; payers: { destination_token: string }[] }[];
    }[];
  };
  const destination = found.companies
    .flatMap((company) => company.services)
    .find((service) => service.delivery_type === 'BANK_DEPOSIT')?.payers[0]?.destination_token;
  const attributePath = `${version}/attribute/${user}/${destination}/MXN`;
  const [attribute] = JSON.parse(await call('GET', attributePath)) as { token: string }[];
  await call('POST', attributePath, {
    values: [{ token: attribute?.token, value: '002010077777777771' }],
  });
  const get = (path: string): string => formatRequest({ method: 'GET', path, token });
  return {
    user,
    balanceBody: await call('GET', `${version}/account/balance`),
    balance: get(`${version}/account/balance`),
    cheapest: get(`${version}/country/MEX/cheapest?amount=200`),
    create: formatRequest({
      method: 'POST',
      path: `${version}/payout/${user}`,
      token,
      body: {
        destination_token: destination,
        destination_currency_code: 'MXN',
        source_amount: 100.1,
      },
    }),
  };
}

/** The ceiling of the HTTP path: Node's own server answering the very bytes of the balance. */
async function startBareServer(body: string): Promise<{ port: number; close(): void }> {
  const server = createServer((_request, response) => {
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': Buffer.byteLength(body),
    });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

function median(values: readonly number[]): number {
  const sorted = [...values].toSorted((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
}

function report(samples: ReadonlyMap<string, readonly Sample[]>, by: string): string {
  const base: Record<string, string> = {
    create: 'TPC-B',
    commit: 'TPC-B',
    balance: 'bare node:http',
    cheapest: 'bare node:http',
  };
  const lines = [
    '# Benchmarks',
    '',
    `Written by \`npm run bench\`: ${rounds} rounds of ${seconds} s each, ${connections} connections,`,
    'all parts alternating in one run on one machine, which load generator, service and database',
    `share. TPC-B by ${by === 'pgbench' ? 'pgbench' : 'the same transaction in JavaScript'}, 16 clients, prepared. fsync on. Ratios are medians of the ratios of`,
    'each round; absolute figures say little about another machine.',
    '',
    '| what | per second | p50 ms | p99 ms | ratio (lowest to highest) | to |',
    '|---|---|---|---|---|---|',
  ];
  for (const [name, all] of samples) {
    const reference = base[name];
    const ratios = all.map(
      (sample, index) =>
        sample.perSecond / (samples.get(reference ?? '')?.[index]?.perSecond ?? Number.NaN),
    );
    const ratio =
      reference === undefined
        ? ' | '
        : `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}) | ${reference}`;
    const p = (key: 'p50' | 'p99'): string =>
      all[0]?.p50 === 0 ? '' : median(all.map((sample) => sample[key])).toFixed(1);
    const rate = median(all.map((sample) => sample.perSecond)).toFixed(0);
    lines.push(`| ${name} | ${rate} | ${p('p50')} | ${p('p99')} | ${ratio} |`);
  }
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
  lines.push(
    '',
    `Machine: ${cpus().length} x ${cpus()[0]?.model.trim()}, ${Math.round(totalmem() / 1024 ** 3)} GiB, Node ${process.versions.node}, commit ${commit}.`,
    '',
  );
  return lines.join('\n');
}
