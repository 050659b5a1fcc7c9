import { Readable } from 'node:stream';
import type { EventFeed, Position } from './event-feed.ts';
import type { EventRow } from './events.ts';

/** Events as a stream of server-sent events (WHATWG HTML, 9.2). */

export type StreamOptions = {
  feed: EventFeed;
  from: Position;
  /** Whether the reader wants the event. */
  matches(row: EventRow): boolean;
  /** One text for each event: its JSON. Shared by the readers that get the same rows. */
  render(rows: readonly EventRow[]): Promise<readonly string[]>;
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
): AsyncGenerator<string> {
  const { feed, from, matches, render, isAllowed } = options;
  let { after } = from;
  let sentAfter = after;
  let sentMs = performance.now();
  yield `retry: ${reconnectMs}\n\n`;
  while (!feed.isStopping() && !hasGone() && (await isAllowed())) {
    const rows = await feed.next({ ...from, after }, checkMs);
    after = rows.at(-1)?.sequence ?? after;
    const matching = rows.filter(matches);
    if (matching.length > 0) {
      // It may have been revoked since.
      if (!(await isAllowed())) return;
      // Readers of all events share what is rendered for the same rows.
      const texts = await render(matching.length === rows.length ? rows : matching);
      yield matching.map((row, index) => formatFrame(row, texts[index] ?? '')).join('');
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

function formatFrame({ sequence, type }: EventRow, json: string): string {
  return `id: ${sequence}\nevent: ${type}\ndata: ${json}\n\n`;
}

/** The next chunk is asked for when there is room for it: until then a timer runs. */
async function* cutSlowReader(
  chunks: AsyncGenerator<string>,
  cut: () => void,
): AsyncGenerator<string> {
  for await (const chunk of chunks) {
    const timer = setTimeout(cut, slowMsMax);
    try {
      yield chunk;
    } finally {
      clearTimeout(timer);
    }
  }
}
