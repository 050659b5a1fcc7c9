import { write, writeSync } from 'node:fs';

/** Where log lines go. It may be full, slow or closed, which never stops the service. */
export type LogOutput = {
  write(line: string): void;
  /** Called when lines can be written again, with how many were lost and the code of the error. */
  onLost(listener: (count: number, code: string) => void): void;
  /** Writes what waits, before the process ends. */
  flush(): void;
};

/** Where nothing can be written, so many characters wait. Further lines are lost. */
const waitingMax = 4_000_000;
const writeAgainMs = 10;
/** A reader that is only slow gets the last lines within this time. */
const usualFlushMsMax = 1_000;
/** Nothing can ever be written again: the reader has ended, or there is no such output. */
const finalCodes: ReadonlySet<unknown> = new Set(['EPIPE', 'EBADF']);

let standard: LogOutput | undefined;

/** The standard output, one for the process. */
export function openStandardOutput(): LogOutput {
  if (standard === undefined) {
    // Reading `process.stdout` makes a pipe answer EAGAIN instead of blocking the write.
    standard = openLogOutput(process.stdout.fd);
    process.once('exit', standard.flush);
  }
  return standard;
}

/**
 * Writes lines to a file, pipe or terminal. The streams of Node and of pino raise an error, which ends the
 * service, where the disk is full; that of pino also repeats the write for ever when the process ends.
 */
export function openLogOutput(
  fd: number,
  limits: { readonly charactersMax?: number; readonly flushMsMax?: number } = {},
): LogOutput {
  const { charactersMax = waitingMax, flushMsMax = usualFlushMsMax } = limits;
  let waiting: string[] = [];
  let waitingLength = 0;
  /** What is being written, or is to be written again. */
  let bytes = Buffer.alloc(0);
  let state: 'idle' | 'writing' | 'pausing' | 'closed' = 'idle';
  let lost = 0;
  let code = '';
  let reportLost = (_count: number, _code: string): void => undefined;
  const takeWaiting = (): Buffer<ArrayBuffer> => {
    const taken = Buffer.from(waiting.join(''));
    waiting = [];
    waitingLength = 0;
    return taken;
  };
  const writeNext = (): void => {
    if (bytes.length === 0) bytes = takeWaiting();
    state = bytes.length === 0 ? 'idle' : 'writing';
    if (state === 'writing') write(fd, bytes, finishWrite);
  };
  const finishWrite = (error: NodeJS.ErrnoException | null, written: number): void => {
    if (error === null) {
      bytes = bytes.subarray(written);
      if (bytes.length === 0 && lost > 0) {
        reportLost(lost, code);
        lost = 0;
      }
      writeNext();
      return;
    }
    code = error.code ?? error.name;
    if (finalCodes.has(code)) {
      state = 'closed';
      takeWaiting();
      return;
    }
    state = 'pausing';
    setTimeout(writeNext, writeAgainMs).unref();
  };
  return {
    write: (line) => {
      if (state === 'closed') return;
      if (waitingLength + line.length > charactersMax) {
        lost += 1;
        return;
      }
      waiting.push(line);
      waitingLength += line.length;
      if (state === 'idle') writeNext();
    },
    onLost: (listener) => {
      reportLost = listener;
    },
    flush: () => {
      const rest = state === 'pausing' ? [bytes, takeWaiting()] : [takeWaiting()];
      if (state !== 'closed') writeWithin(fd, Buffer.concat(rest), flushMsMax);
    },
  };
}

function writeWithin(fd: number, given: Buffer, timeMs: number): void {
  const endMs = performance.now() + timeMs;
  for (let bytes = given; bytes.length > 0; ) {
    try {
      bytes = bytes.subarray(writeSync(fd, bytes));
    } catch (error) {
      const isFull = error instanceof Error && 'code' in error && error.code === 'EAGAIN';
      if (!isFull || performance.now() > endMs) return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    }
  }
}
