#!/usr/bin/env node
import { setTimeout } from 'node:timers/promises';
import { run } from './run.ts';

const { stdout: out, stderr: error, stdin: input, env: environment } = process;
// The reader of the output may close it early, as `head` does.
out.on('error', (broken: NodeJS.ErrnoException) => {
  if (broken.code !== 'EPIPE') throw broken;
  process.exit();
});
const sleep = (ms: number, signal: AbortSignal): Promise<void> =>
  setTimeout(ms, undefined, { signal });
const exitCode = await run(process.argv.slice(2), {
  terminal: { out, error, input, environment },
  nowMs: Date.now,
  sleep,
});
if (exitCode !== undefined) process.exitCode = exitCode;
