import { spawn } from 'node:child_process';
import { openSync, readFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { waitFor } from './machine.ts';

/** The entry of deploy/cells as it is: Debian's HAProxy with its configuration and its map. */

const configFile = join(import.meta.dirname, '../../deploy/cells/haproxy.cfg');

export type Entry = {
  readonly port: number;
  /** One object for each request that has ended. */
  readLog(): { cell: string; status: number; method: string }[];
  close(): Promise<void>;
};

/** @param addresses Of the API of each cell. */
export async function startEntry(
  folder: string,
  { port, addresses }: { port: number; addresses: Readonly<Record<string, string>> },
): Promise<Entry> {
  const logFile = join(folder, 'entry.log');
  const log = openSync(logFile, 'a');
  const cells = Object.entries(addresses).map(([cell, address]) => [
    `CELL_${cell.toUpperCase()}`,
    address,
  ]);
  const child = spawn('haproxy', ['-db', '-f', configFile], {
    env: {
      PATH: '/usr/sbin:/usr/bin:/sbin:/bin',
      ENTRY_BIND: `127.0.0.1:${port}`,
      ...Object.fromEntries(cells),
    },
    stdio: ['ignore', log, log],
  });
  const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  await waitFor('HAProxy', () => child.exitCode === null && isListening(port));
  return {
    port,
    readLog: () =>
      readFileSync(logFile, 'utf8')
        .split('\n')
        .filter((line) => line.startsWith('{'))
        .map((line) => JSON.parse(line) as { cell: string; status: number; method: string }),
    close: async () => {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false));
    socket.once('connect', () => socket.destroy());
  });
}
