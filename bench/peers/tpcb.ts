import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import type { Subject } from '../subject.ts';

const execute = promisify(execFile);

const clients = 16;
const scale = 16;

/**
 * The measure of the machine: PostgreSQL's own TPC-B-like transaction (pgbench, scale 16, sixteen
 * clients, prepared statements) on the same server in the same run. Where there is no pgbench, the
 * same transaction in JavaScript.
 */
export function createTpcBSubject(): Subject {
  const pgbench = findPgbench();
  let url = '';
  return {
    name: pgbench === undefined ? 'TPC-B (in JavaScript)' : 'TPC-B (pgbench)',
    prepare: async (place) => {
      url = await place.database('tpcb');
      if (pgbench === undefined) await createTables(url);
      else await execute(pgbench, ['-i', '-q', '-s', String(scale), url]);
    },
    run: async (load) => {
      const seconds = Math.ceil(load.seconds);
      const stop = load.meter?.start();
      const perSecond =
        pgbench === undefined
          ? await runInJavaScript(url, seconds)
          : await runPgbench(pgbench, { url, seconds });
      return {
        count: Math.round(perSecond * seconds),
        seconds,
        p50Ms: 0,
        p99Ms: 0,
        processor: stop?.(),
      };
    },
    close: async () => undefined,
  };
}

async function runPgbench(
  pgbench: string,
  { url, seconds }: { url: string; seconds: number },
): Promise<number> {
  const shape = ['-n', '-c', String(clients), '-j', '2', '-M', 'prepared', '-T', String(seconds)];
  const { stdout } = await execute(pgbench, [...shape, url]);
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1]);
}

function findPgbench(): string | undefined {
  const folders = (process.env['PATH'] ?? '').split(':');
  const debian = '/usr/lib/postgresql';
  if (existsSync(debian)) {
    for (const version of readdirSync(debian)) folders.push(join(debian, version, 'bin'));
  }
  return folders.map((folder) => join(folder, 'pgbench')).find((file) => existsSync(file));
}

async function createTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(`
      create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
      create table pgbench_tellers (tid int primary key, bid int, tbalance int, filler char(84));
      create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
      create table pgbench_history (tid int, bid int, aid int, delta int, mtime timestamp);
      insert into pgbench_branches select b, 0, '' from generate_series(1, ${scale}) b;
      insert into pgbench_tellers select t, (t - 1) / 10 + 1, 0, ''
        from generate_series(1, ${scale * 10}) t;
      insert into pgbench_accounts select a, (a - 1) / 100000 + 1, 0, ''
        from generate_series(1, ${scale * 100_000}) a;
      vacuum analyze pgbench_accounts`);
  } finally {
    await client.end();
  }
}

async function runInJavaScript(url: string, seconds: number): Promise<number> {
  const endMs = performance.now() + seconds * 1000;
  let count = 0;
  const pick = (most: number): number => 1 + Math.floor(Math.random() * most);
  const drive = async (): Promise<void> => {
    const client = new pg.Client({ connectionString: url });
    await client.connect();
    try {
      while (performance.now() < endMs) {
        const [aid, tid, bid] = [pick(scale * 100_000), pick(scale * 10), pick(scale)];
        const delta = pick(10_000) - 5000;
        const query = (name: string, text: string, values: number[]) =>
          client.query({ name, text, values });
        await client.query('begin');
        await query('a', 'update pgbench_accounts set abalance = abalance + $1 where aid = $2', [
          delta,
          aid,
        ]);
        await query('s', 'select abalance from pgbench_accounts where aid = $1', [aid]);
        await query('t', 'update pgbench_tellers set tbalance = tbalance + $1 where tid = $2', [
          delta,
          tid,
        ]);
        await query('b', 'update pgbench_branches set bbalance = bbalance + $1 where bid = $2', [
          delta,
          bid,
        ]);
        await query('h', 'insert into pgbench_history values ($1, $2, $3, $4, now())', [
          tid,
          bid,
          aid,
          delta,
        ]);
        await client.query('commit');
        count += 1;
      }
    } finally {
      await client.end();
    }
  };
  await Promise.all(Array.from({ length: clients }, drive));
  return count / seconds;
}
