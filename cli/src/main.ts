#!/usr/bin/env node
import { setTimeout } from 'node:timers/promises';
import { exitCodes } from './failure.ts';
import { run } from './run.ts';

const { stdout: out, stderr: error, stdin: input, env: environment } = process;
// The reader of the output may close it early, as `head` does.
out.on('error', (broken: NodeJS.ErrnoException) => {
  if (broken.code === 'EPIPE') process.exit();
  error.write(
    `outlay: The output cannot be written: ${broken.message}. The command may have taken effect.\n`,
  );
  process.exit(exitCodes.unknown);
});
// A payment does not depend on the reader of its notes.
error.on('error', () => undefined);
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal });
const exitCode = await run(process.argv.slice(2), {
  terminal: { out, error, input, environment },
  nowMs: Date.now,
  sleep,
});
if (exitCode !== undefined) process.exitCode = exitCode;
