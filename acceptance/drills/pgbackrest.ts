import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readdirSync, renameSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import {
  endProgram,
  findPostmaster,
  give,
  killServer,
  makeFolder,
  runProgram,
  startProgram,
  waitFor,
} from './machine.ts';

/** A PostgreSQL server whose WAL pgBackRest archives, and which it restores to a moment. */

const binaries = '/usr/lib/postgresql/15/bin';
const stanza = 'outlay';

export type BackedUpServer = {
  readonly url: string;
  /** A full backup. Resolves with its size in the repository, compressed and encrypted. */
  backUp(): { repositoryBytes: number; databaseBytes: number };
  /** The server's clock, with microseconds. */
  readMoment(): Promise<string>;
  /** Of the segments that came since the backup and before, as stored. */
  measureArchive(): number;
  stop(): Promise<void>;
  /** Restores into an empty folder; the former one stays beside it. */
  restore(moment: string): void;
  /** Starts the restored server. Resolves when it has replayed up to the moment and takes writes. */
  startRestored(): Promise<void>;
  close(): Promise<void>;
};

type Info = { backup: { info: { size: number; repository: { delta: number } } }[] }[];

export async function openBackedUpServer(folder: string): Promise<BackedUpServer> {
  const own = makeFolder(join(folder, 'server'));
  const socket = makeFolder(join(own, 'socket'));
  const repository = makeFolder(join(own, 'repository'));
  const data = join(own, 'data');
  const configFile = join(own, 'pgbackrest.conf');
  writeFileSync(configFile, configure({ own, socket, repository, data }));
  give(configFile);
  const pgbackrest = (...words: string[]): string =>
    runProgram(['pgbackrest', `--config=${configFile}`, `--stanza=${stanza}`, ...words]);
  const archive = `pgbackrest --config=${configFile} --stanza=${stanza} archive-push %p`;
  const start = (): ChildProcess => {
    const settings = [
      'listen_addresses=',
      `unix_socket_directories=${socket}`,
      'archive_mode=on',
      `archive_command=${archive}`,
    ];
    const words = settings.flatMap((setting) => ['-c', setting]);
    return startProgram([`${binaries}/postgres`, '-D', data, ...words], join(folder, 'server.log'));
  };
  const query = (text: string) => queryAsAdministrator(socket, text);
  const initdb = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-k'];
  runProgram([`${binaries}/initdb`, '-D', data, ...initdb]);
  let server = start();
  await waitFor('PostgreSQL', () => canWrite(query));
  await query('create role outlay login createrole');
  await query('create database outlay_staging owner outlay');
  pgbackrest('stanza-create');
  return {
    url: `postgresql://outlay@localhost/outlay_staging?host=${encodeURIComponent(socket)}`,
    backUp: () => {
      pgbackrest('backup', '--type=full');
      const [{ backup } = { backup: [] }] = JSON.parse(pgbackrest('info', '--output=json')) as Info;
      const info = backup.at(-1)?.info;
      return {
        repositoryBytes: info?.repository.delta ?? 0,
        databaseBytes: info?.size ?? 0,
      };
    },
    readMoment: async () => {
      const [row] = await query('select clock_timestamp()::text as moment');
      return row?.['moment'] ?? '';
    },
    measureArchive: () => measureFolder(join(repository, 'archive')),
    // In order, so that the last segment is archived too.
    stop: () => endProgram(server, 'SIGINT'),
    restore: (moment) => {
      const target = ['--type=time', `--target=${moment}`, '--target-action=promote'];
      renameSync(data, `${data}.former`);
      makeFolder(data);
      pgbackrest('restore', ...target);
    },
    startRestored: async () => {
      server = start();
      await waitFor('the restored server', () => canWrite(query));
    },
    close: async () => {
      const postmaster = findPostmaster(data);
      if (postmaster !== undefined) killServer(postmaster);
      await endProgram(server, 'SIGKILL');
    },
  };
}

function configure(paths: {
  own: string;
  socket: string;
  repository: string;
  data: string;
}): string {
  const { own, socket, repository, data } = paths;
  return `[global]
repo1-path=${repository}
repo1-retention-full=2
repo1-cipher-type=aes-256-cbc
repo1-cipher-pass=${randomBytes(48).toString('base64')}
compress-type=zst
process-max=2
start-fast=y
log-path=${makeFolder(join(own, 'log'))}
lock-path=${makeFolder(join(own, 'lock'))}
log-level-console=warn
[${stanza}]
pg1-path=${data}
pg1-socket-path=${socket}
pg1-user=postgres
`;
}

async function queryAsAdministrator(
  socket: string,
  text: string,
): Promise<Record<string, string>[]> {
  const client = new pg.Client({ host: socket, user: 'postgres', database: 'postgres' });
  await client.connect();
  try {
    return (await client.query<Record<string, string>>(text)).rows;
  } finally {
    await client.end();
  }
}

async function canWrite(
  query: (text: string) => Promise<Record<string, string>[]>,
): Promise<boolean> {
  try {
    const [row] = await query('select pg_is_in_recovery()::text as is_standby');
    return row?.['is_standby'] === 'false';
  } catch {
    // It is starting.
    return false;
  }
}

function measureFolder(folder: string): number {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .reduce((sum, entry) => sum + statSync(join(entry.parentPath, entry.name)).size, 0);
}
