/**
 * Keeps a log readable, and small, while the same thing goes wrong again and again: the first line
 * of a key is written at once, and after it one line per interval, with the number of occurrences.
 */
export type RepeatedLines = {
  /** `write` gets how many occurrences the line stands for; it is called now or at the interval's end. */
  occurred(key: string, write: (count: number) => void): void;
  /** Writes what was counted and not written yet. */
  close(): void;
};

type Entry = { count: number; write: (count: number) => void; timer: NodeJS.Timeout };

const repeatIntervalMs = 10_000;
/** Keys come from errors and routes; should they ever be many, the rest shares one line. */
const keysMax = 200;
const otherKey = 'other';

export function createRepeatedLines(intervalMs = repeatIntervalMs): RepeatedLines {
  const entries = new Map<string, Entry>();
  const endInterval = (key: string, entry: Entry): void => {
    if (entry.count === 0) {
      entries.delete(key);
      return;
    }
    const { count } = entry;
    entry.count = 0;
    entry.timer = schedule(key, entry);
    entry.write(count);
  };
  const schedule = (key: string, entry: Entry): NodeJS.Timeout =>
    setTimeout(() => endInterval(key, entry), intervalMs).unref();
  return {
    occurred: (given, write) => {
      const isNew = !entries.has(given) && entries.size >= keysMax;
      const key = isNew ? otherKey : given;
      const known = entries.get(key);
      if (known !== undefined) {
        known.count += 1;
        known.write = write;
        return;
      }
      const entry = { count: 0, write } as Entry;
      entry.timer = schedule(key, entry);
      entries.set(key, entry);
      write(1);
    },
    close: () => {
      for (const { count, write, timer } of entries.values()) {
        clearTimeout(timer);
        if (count > 0) write(count);
      }
      entries.clear();
    },
  };
}
