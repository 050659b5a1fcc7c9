import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Api } from './service.ts';

/** A reader of server-sent events. */

export type Frame = { id: string; event: string; data: string };

export type Reader = {
  readonly response: IncomingMessage;
  /** What has arrived, comments left out. */
  readonly frames: readonly Frame[];
  /** Resolves when this many frames have arrived. @throws Error if the stream ends before. */
  waitFor(count: number): Promise<readonly Frame[]>;
  /** Resolves when the server has ended the stream. @throws Error if it was cut. */
  readonly ended: Promise<void>;
  close(): void;
};

/** @throws Error with the answer unless its status is 200. */
export async function openReader(
  api: Api,
  path: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<Reader> {
  const { hostname, port } = new URL(api.baseUrl);
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const request = httpRequest(
      {
        hostname,
        port,
        path: `/${api.version}${path}`,
        headers: {
          accept: 'text/event-stream',
          authorization: `Bearer ${api.token}`,
          ...headers,
        },
      },
      resolve,
    );
    request.once('error', reject);
    request.end();
  });
  if (response.statusCode !== 200) {
    const text = (await response.setEncoding('utf8').toArray()).join('');
    throw new Error(`${response.statusCode} ${text}`);
  }
  return readFrames(response);
}

function readFrames(response: IncomingMessage): Reader {
  const frames: Frame[] = [];
  const waiting = new Set<() => void>();
  let isOver = false;
  let unread = '';
  const wake = (): void => {
    for (const look of waiting) look();
  };
  response.setEncoding('utf8').on('data', (text: string) => {
    const parts = (unread + text).split('\n\n');
    unread = parts.pop() ?? '';
    frames.push(...parts.flatMap(readFrame));
    wake();
  });
  const ended = new Promise<void>((resolve, reject) => {
    response.once('end', resolve);
    response.once('error', reject);
  });
  ended.catch(() => undefined);
  response.once('close', () => {
    isOver = true;
    wake();
  });
  return {
    response,
    frames,
    ended,
    close: () => response.destroy(),
    waitFor: (count) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          if (frames.length < count && !isOver) return;
          waiting.delete(look);
          if (frames.length >= count) resolve(frames);
          else reject(new Error(`the stream ended after ${frames.length} events`));
        };
        waiting.add(look);
        look();
      }),
  };
}

function readFrame(text: string): Frame[] {
  const fields = new Map(
    text.split('\n').map((line) => {
      const at = line.indexOf(': ');
      return [line.slice(0, at), line.slice(at + 2)];
    }),
  );
  const [id, event, data] = ['id', 'event', 'data'].map((name) => fields.get(name));
  return id === undefined || event === undefined || data === undefined ? [] : [{ id, event, data }];
}
