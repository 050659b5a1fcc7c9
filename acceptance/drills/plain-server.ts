import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import pg from 'pg';
import {
  endProgram,
  findPostmaster,
  killServer,
  makeFolder,
  runProgram,
  startProgram,
  waitFor,
} from './machine.ts';

/** One PostgreSQL server of Debian, on a unix socket, that is killed and started again. */

const binaries = '/usr/lib/postgresql/15/bin';

export type PlainServer = {
  readonly url: string;
  /** kill -9 of the server with all of its processes. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
};

export async function openPlainServer(folder: string): Promise<PlainServer> {
  const own = makeFolder(join(folder, 'postgresql'));
  const socket = makeFolder(join(own, 'socket'));
  const data = join(own, 'data');
  const log = join(folder, 'postgresql.log');
  const initdb = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C.UTF-8', '-k'];
  runProgram([`${binaries}/initdb`, '-D', data, '--no-sync', ...initdb]);
  let server: ChildProcess | undefined;
  const query = async (text: string): Promise<void> => {
    const client = new pg.Client({ host: socket, user: 'postgres', database: 'postgres' });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  };
  const start = async (): Promise<void> => {
    const settings = ['-c', 'listen_addresses=', '-c', `unix_socket_directories=${socket}`];
    server = startProgram([`${binaries}/postgres`, '-D', data, ...settings], log);
    await waitFor('PostgreSQL', () =>
      query('select 1').then(
        () => true,
        () => false,
      ),
    );
  };
  await start();
  await query('create role outlay login createrole');
  await query('create database outlay_staging owner outlay');
  return {
    url: `postgresql://outlay@localhost/outlay_staging?host=${encodeURIComponent(socket)}`,
    kill: async () => {
      const ended = new Promise((resolve) => server?.once('exit', resolve));
      killServer(findPostmaster(data) ?? Number.NaN);
      await ended;
    },
    start,
    close: async () => {
      if (server !== undefined) await endProgram(server, 'SIGINT');
    },
  };
}
