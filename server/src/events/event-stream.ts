import { Readable } from 'node:stream';
import { type EventFeed, type Position, pageCount } from './event-feed.ts';
import type { EventPage } from './event-pages.ts';
import type { EventRow } from './events.ts';

/** Events as a stream of server-sent events (WHATWG HTML, 9.2). */

export type StreamOptions = {
  feed: EventFeed;
  from: Position;
  /** There are events after it already. */
  isBehind: boolean;
  /** Whether the reader wants the event. */
  matches(row: EventRow): boolean;
  /** One text for each event: its JSON. Shared by the readers that get the same rows. */
  render(rows: readonly EventRow[]): Promise<readonly string[]>;
  /**
   * The rows after a position, at most `pageCount`.
   *
   * @throws AppError events_dropped if events in between were deleted.
   */
  read(after: bigint): Promise<readonly EventRow[]>;
  /** All that the frames depend on besides the position: what the reader may read, and wants. */
  pageKey: string;
  /** Whether the credential may still read. */
  isAllowed(): Promise<boolean>;
};

/** How soon a stream notices that its credential was revoked or its reader has gone. */
const checkMs = 1_000;
const heartbeatMs = 15_000;
/** A reader that takes nothing for so long is cut off: it resumes with Last-Event-ID. */
const slowMsMax = 15_000;
const reconnectMs = 2_000;
/** Bytes that wait for a slow reader, besides one chunk and those of the socket. */
const waitingBytesMax = 64 * 1024;

/** Ends when the feed stops or the credential may no longer read; fails where events were deleted. */
export function openEventStream(options: StreamOptions): Readable {
  const frames = writeFrames(options, () => stream.destroyed);
  const stream: Readable = Readable.from(
    cutSlowReader(frames, () => stream.destroy()),
    { objectMode: false, highWaterMark: waitingBytesMax },
  );
  return stream;
}

/** A destroyed stream closes at the end or the next frame, so a reader that has gone is looked for. */
async function* writeFrames(
  options: StreamOptions,
  hasGone: () => boolean,
): AsyncGenerator<string | Buffer> {
  const { feed, from, isAllowed } = options;
  let { after } = from;
  let sentAfter = after;
  let sentMs = performance.now();
  let { isBehind } = options;
  yield `retry: ${reconnectMs}\n\n`;
  while (!feed.isStopping() && !hasGone() && (await isAllowed())) {
    if (isBehind) {
      const page = await readPage(options, after);
      // It may have been revoked since.
      if (page === undefined || !(await isAllowed())) return;
      ({ last: after, isComplete: isBehind } = page);
      if (page.frames.length === 0) continue;
      yield page.frames;
      sentAfter = after;
      sentMs = performance.now();
      continue;
    }
    const rows = await feed.next({ ...from, after }, checkMs);
    after = rows.at(-1)?.sequence ?? after;
    isBehind = rows.length === pageCount;
    const matching = rows.filter(options.matches);
    if (matching.length > 0) {
      if (!(await isAllowed())) return;
      yield await writeRows(options, rows, matching);
      sentAfter = matching.at(-1)?.sequence ?? sentAfter;
      sentMs = performance.now();
    } else if (performance.now() - sentMs >= heartbeatMs) {
      // An id alone dispatches no event, and the reader resumes after what does not match.
      yield after === sentAfter ? ': heartbeat\n\n' : `: heartbeat\nid: ${after}\n\n`;
      sentAfter = after;
      sentMs = performance.now();
    }
  }
}

function readPage(options: StreamOptions, after: bigint): Promise<EventPage | undefined> {
  const { feed, from, pageKey, matches, read } = options;
  const key = `${from.accountId} ${after} ${pageKey}`;
  return feed.pages.get(from.accountId, key, async () => {
    const rows = await read(after);
    const frames = await writeRows(options, rows, rows.filter(matches));
    return {
      frames: Buffer.from(frames),
      last: rows.at(-1)?.sequence ?? after,
      isComplete: rows.length === pageCount,
    };
  });
}

async function writeRows(
  { render }: StreamOptions,
  rows: readonly EventRow[],
  matching: readonly EventRow[],
): Promise<string> {
  // Readers of all events share what is rendered for the same rows.
  const texts = await render(matching.length === rows.length ? rows : matching);
  return matching.map((row, index) => formatFrame(row, texts[index] ?? '')).join('');
}

function formatFrame({ sequence, type }: EventRow, json: string): string {
  return `id: ${sequence}\nevent: ${type}\ndata: ${json}\n\n`;
}

/** The next chunk is asked for when there is room for it: until then a timer runs. */
async function* cutSlowReader(
  chunks: AsyncGenerator<string | Buffer>,
  cut: () => void,
): AsyncGenerator<string | Buffer> {
  for await (const chunk of chunks) {
    const timer = setTimeout(cut, slowMsMax);
    try {
      yield chunk;
    } finally {
      clearTimeout(timer);
    }
  }
}
