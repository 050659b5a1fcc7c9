import { spawnSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * Runs where the decoder of images runs, tries what hostile code would, and answers how far it came.
 * A file of its own, since what a test writes beside the sources is seen by every test that reads them.
 */

type Aim = { readonly key: string; readonly port: number };

export type ProbeAnswer = {
  /** `done`, or the code of the error. */
  readonly read: string;
  readonly write: string;
  readonly start: string;
  readonly socket: string;
  readonly environment: readonly string[];
};

function attempt(work: () => unknown): string {
  try {
    work();
    return 'done';
  } catch (error) {
    return (error as { code: string }).code;
  }
}

process.on('disconnect', () => process.exit(0));
process.on('message', ({ key, port }: Aim) => {
  const answer: Omit<ProbeAnswer, 'socket'> = {
    read: attempt(() => readFileSync(key)),
    write: attempt(() => writeFileSync(join(tmpdir(), 'outlay-decoder-wrote'), 'x')),
    start: attempt(() => spawnSync('/bin/true')),
    environment: Object.keys(process.env).toSorted(),
  };
  const socket = connect(port, '127.0.0.1');
  socket.on('connect', () => process.send?.({ ...answer, socket: 'done' }));
  socket.on('error', (error: NodeJS.ErrnoException) =>
    process.send?.({ ...answer, socket: error.code }),
  );
});
