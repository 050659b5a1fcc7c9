import { findLoggedAdvice } from '../db/postgres/server-faults.ts';

/**
 * What is logged of an error: its kind and where it happened. Messages are left out, because a
 * database's message quotes values, which may be personal data.
 */
export type LoggedError = {
  name: string;
  code?: string;
  /** What an operator can do about it. */
  advice?: string;
  constraint?: string;
  at: string[];
  cause?: LoggedError;
};

const folders = 'OUTLAY_DATA, and the folders that other settings name';
/** By the system's code. */
const systemAdvice: ReadonlyMap<string, string> = new Map([
  ['ENOSPC', `a disk is full, or has no inodes left: look at ${folders}`],
  ['EDQUOT', `a disk quota is used up: look at ${folders}`],
  ['EROFS', `a disk is mounted read-only: look at ${folders}`],
  ['EMFILE', 'raise the limit of open files of the process (ulimit -n, LimitNOFILE)'],
]);

const framesMax = 8;
const causesMax = 3;

export function describeError(error: unknown, depth = 0): LoggedError {
  if (!(error instanceof Error)) return { name: typeof error, at: [] };
  const frames = (error.stack ?? '').split('\n').filter((line) => /^\s+at /.test(line));
  const logged: LoggedError = {
    name: error.name,
    at: frames.slice(0, framesMax).map((line) => line.trim()),
  };
  if ('code' in error && typeof error.code === 'string') {
    logged.code = error.code;
    const advice = findLoggedAdvice(error.code) ?? systemAdvice.get(error.code);
    if (advice !== undefined) logged.advice = advice;
  }
  if ('advice' in error && typeof error.advice === 'string') logged.advice = error.advice;
  if ('constraint' in error && typeof error.constraint === 'string') {
    logged.constraint = error.constraint;
  }
  if (error.cause !== undefined && depth < causesMax) {
    logged.cause = describeError(error.cause, depth + 1);
  }
  return logged;
}

/** Equal for errors that share a log line. */
export function nameError({ name, code = '', constraint = '', at, cause }: LoggedError): string {
  const inner = cause === undefined ? '' : nameError(cause);
  return [name, code, constraint, at[0] ?? '', inner].join(' ');
}
