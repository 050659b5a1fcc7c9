import { closeSync, fdatasync, openSync, readFileSync, truncateSync, write } from 'node:fs';
import { promisify } from 'node:util';

/**
 * An append-only file of JSON lines, from which a simulator restores its books after a kill. Entries of
 * the same moment share one sync.
 */
export type Journal<Entry> = {
  /** What the file held when it was opened. */
  readonly entries: readonly Entry[];
  /** The entry is on the disk when `flushed` returns. */
  append(entry: Entry): void;
  flushed(): Promise<void>;
  close(): Promise<void>;
};

const writeFile = promisify(write);
const syncFile = promisify(fdatasync);

export function openJournal<Entry>(path: string): Journal<Entry> {
  const file = openSync(path, 'a');
  const entries = readEntries<Entry>(path);
  let waiting = '';
  let writing = Promise.resolve();
  let isClosed = false;
  const flush = async (): Promise<void> => {
    if (waiting === '' || isClosed) return;
    const bytes = Buffer.from(waiting);
    waiting = '';
    for (let at = 0; at < bytes.length; ) {
      at += (await writeFile(file, bytes, at)).bytesWritten;
    }
    await syncFile(file);
  };
  const flushed = async (): Promise<void> => {
    writing = writing.then(flush);
    await writing;
  };
  return {
    entries,
    append: (entry) => {
      waiting += `${JSON.stringify(entry)}\n`;
    },
    flushed,
    close: async () => {
      await flushed();
      isClosed = true;
      closeSync(file);
    },
  };
}

/** An incomplete last line was cut off by a kill, before its answer left, and is removed. */
function readEntries<Entry>(path: string): Entry[] {
  const bytes = readFileSync(path);
  const end = bytes.lastIndexOf('\n') + 1;
  if (end < bytes.length) truncateSync(path, end);
  const lines = bytes.toString('utf8', 0, end).split('\n').slice(0, -1);
  return lines.map((line) => JSON.parse(line) as Entry);
}
