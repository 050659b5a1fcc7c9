import { copyFile, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import type { CallbackMessage } from '../../src/rails/contract/contract.ts';

/**
 * Delivers what the counterparty sends: callbacks and files. Under a delivery policy they are
 * repeated, reordered or lost.
 */

export type DeliveryPolicy =
  | 'each'
  | 'twice'
  /** Held until `release`, which delivers the newest first. */
  | 'hold'
  /** Every second callback, beginning with the first, is accepted and lost. */
  | 'lose_every_other';

export type CallbackAnswer = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
};

export type CallbackHandler = (message: CallbackMessage) => Promise<CallbackAnswer>;

export type CallbackServer = {
  readonly callbackUrl: string;
  /** Genuine callbacks in order since the last `open`. */
  readonly seen: readonly CallbackMessage[];
  /** The number of deliveries, repetitions included. */
  readonly delivered: number;
  readonly held: number;
  open(take: CallbackHandler): void;
  setPolicy(policy: DeliveryPolicy): void;
  /** Delivers the held callbacks, the newest first. */
  release(): Promise<void>;
  close(): Promise<void>;
};

const bodyBytesMax = 1_000_000;
const unavailable: CallbackAnswer = { status: 503, headers: {}, body: '' };

export async function openCallbackServer(railName: string): Promise<CallbackServer> {
  const basePath = `/rails/${railName}`;
  const state = { policy: 'each' as DeliveryPolicy, delivered: 0, count: 0 };
  let seen: CallbackMessage[] = [];
  let held: CallbackMessage[] = [];
  let take: CallbackHandler = async () => unavailable;
  const deliver = (message: CallbackMessage): Promise<CallbackAnswer> => {
    state.delivered += 1;
    return take(message);
  };
  const receive = async (message: CallbackMessage): Promise<CallbackAnswer> => {
    seen.push(message);
    state.count += 1;
    const kept = { status: 200, headers: {}, body: '' };
    switch (state.policy) {
      case 'each':
        return deliver(message);
      case 'twice':
        await deliver(message);
        return deliver(message);
      case 'hold':
        held.push(message);
        return kept;
      case 'lose_every_other':
        return state.count % 2 === 1 ? kept : deliver(message);
    }
  };
  const server = await listen((request, response) => {
    void serve(request, response, { basePath, receive });
  });
  return {
    callbackUrl: `http://127.0.0.1:${server.port}${basePath}`,
    get seen() {
      return seen;
    },
    get delivered() {
      return state.delivered;
    },
    get held() {
      return held.length;
    },
    open: (next) => {
      take = next;
      seen = [];
      held = [];
      Object.assign(state, { policy: 'each', delivered: 0, count: 0 });
    },
    setPolicy: (policy) => {
      state.policy = policy;
    },
    release: async () => {
      const messages = held.toReversed();
      held = [];
      for (const message of messages) await deliver(message);
    },
    close: server.close,
  };
}

async function listen(
  take: (request: IncomingMessage, response: ServerResponse) => void,
): Promise<{ port: number; close: () => Promise<void> }> {
  const server = createServer(take);
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', resolve);
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the callbacks have no port');
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise<void>((resolve) => {
      server.close(() => {
        resolve();
      });
    });
  };
  return { port: bound.port, close };
}

async function serve(
  request: IncomingMessage,
  response: ServerResponse,
  callbackServer: { basePath: string; receive: CallbackHandler },
): Promise<void> {
  try {
    const message = await readCallback(request, callbackServer.basePath);
    const answer = message === undefined ? unavailable : await callbackServer.receive(message);
    // A process that was killed while handling the callback does not answer.
    if (answer.status === 0) return void response.destroy();
    response.writeHead(answer.status, answer.headers).end(answer.body);
  } catch {
    response.destroy();
  }
}

async function readCallback(
  request: IncomingMessage,
  basePath: string,
): Promise<CallbackMessage | undefined> {
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (!url.pathname.startsWith(basePath)) return undefined;
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of request) {
    chunks.push(chunk as Buffer);
    length += (chunk as Buffer).length;
    if (length > bodyBytesMax) throw new Error('a callback is too long');
  }
  const headers = Object.entries(request.headers).map(([name, value]) => [
    name,
    Array.isArray(value) ? value.join(', ') : (value ?? ''),
  ]);
  return {
    method: request.method ?? '',
    path: url.pathname.slice(basePath.length),
    query: Object.fromEntries(url.searchParams),
    headers: Object.fromEntries(headers) as Record<string, string>,
    body: Buffer.concat(chunks),
  };
}

export type FileCourier = {
  /** The original names of the delivered files. */
  readonly delivered: readonly string[];
  setPolicy(policy: DeliveryPolicy): void;
  /** Delivers complete files; under `hold` only the newest one, and only when asked to. */
  carry(mayRelease: boolean): Promise<void>;
  /** Delivers every file again, under other names. */
  repeat(): Promise<void>;
  /** The genuine files so far. */
  read(): Promise<Buffer[]>;
  /** Puts a file that is not genuine into the rail's folder. */
  drop(name: string, bytes: Uint8Array): Promise<void>;
};

/** Carries files from where the counterparty leaves them to where the rail looks for them. */
export function createFileCourier(files: {
  readonly from: string;
  readonly to: string;
  readonly kept: string;
}): FileCourier {
  let policy: DeliveryPolicy = 'each';
  const delivered: string[] = [];
  let copies = 0;
  const place = async (source: string, name: string): Promise<void> => {
    const hidden = join(files.to, `.${name}.tmp`);
    await copyFile(source, hidden);
    await rename(hidden, join(files.to, name));
  };
  const placeCopy = async (name: string): Promise<void> => {
    copies += 1;
    await place(join(files.kept, name), renameCopy(name, copies));
  };
  return {
    delivered,
    setPolicy: (next) => {
      policy = next;
    },
    carry: async (mayRelease) => {
      const names = (await readdir(files.from, { withFileTypes: true }))
        .filter((entry) => entry.isFile() && isComplete(entry.name))
        .map(({ name }) => name)
        .toSorted();
      const newest = mayRelease ? names.slice(-1) : [];
      for (const name of policy === 'hold' ? newest : names) {
        await copyFile(join(files.from, name), join(files.kept, name));
        delivered.push(name);
        await place(join(files.kept, name), name);
        if (policy === 'twice') await placeCopy(name);
        await rm(join(files.from, name));
      }
    },
    repeat: async () => {
      for (const name of new Set(delivered)) await placeCopy(name);
    },
    read: () =>
      Promise.all([...new Set(delivered)].map((name) => readFile(join(files.kept, name)))),
    drop: async (name, bytes) => {
      const hidden = join(files.to, `.${name}.tmp`);
      await writeFile(hidden, bytes);
      await rename(hidden, join(files.to, name));
    },
  };
}

function isComplete(name: string): boolean {
  return !name.startsWith('.') && !/\.(tmp|part)$/.test(name);
}

/** `answer.xml` becomes `answer-again1.xml`. */
export function renameCopy(name: string, number: number): string {
  const dot = name.lastIndexOf('.');
  const [stem, end] = dot <= 0 ? [name, ''] : [name.slice(0, dot), name.slice(dot)];
  return `${stem}-again${number}${end}`;
}
