import { createConnection, type Socket } from 'node:net';
import { quantile } from './drive.ts';

/**
 * Load in an open loop: requests come at a rate that does not care whether the service keeps up, as
 * those of many independent clients do. Latency counts from the moment at which a request was due,
 * also where it first had to wait for a connection.
 */

export type Request = { bytes: string; onAnswer?: (status: number, body: string) => void };

export type OpenLoad = {
  port: number;
  perSecond: number;
  seconds: number;
  /** Open before the load begins; each carries one request at a time. */
  connections: number;
  next: () => Request | undefined;
};

export type OpenResult = {
  seconds: number;
  sent: number;
  accepted: number;
  shed: number;
  /** Other statuses, and connections that broke. */
  failed: number;
  /** Milliseconds of the accepted ones, and of the shed ones. */
  p50: number;
  p99: number;
  highest: number;
  shedP99: number;
  /** Of the accepted ones, from the moment at which they were really sent. */
  sentP50: number;
  sentP99: number;
};

type Due = { dueMs: number; sentMs?: number; request: Request };
type Answered = Due & { status: number; body: string };

export async function runOpenLoad(load: OpenLoad): Promise<OpenResult> {
  const accepted: number[] = [];
  const fromSent: number[] = [];
  const shed: number[] = [];
  const waiting: Due[] = [];
  let failed = 0;
  let sent = 0;
  const take = (): Due | undefined => waiting.shift();
  const idle: Connection[] = [];
  const all = await openAll(
    load,
    (connection, { dueMs, sentMs = dueMs, request, status, body }) => {
      const nowMs = performance.now();
      if (status === 200) {
        accepted.push(nowMs - dueMs);
        fromSent.push(nowMs - sentMs);
      } else if (status === 503) shed.push(nowMs - dueMs);
      else failed += 1;
      request.onAnswer?.(status, body);
      // A connection that broke is not replaced: the others have what it would have carried.
      const next = status === broken ? undefined : take();
      if (next !== undefined) connection.send(next);
      else if (status !== broken) idle.push(connection);
    },
  );
  idle.push(...all);
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1000;
  run: for (let nowMs = startMs; nowMs < endMs; nowMs = performance.now()) {
    for (; startMs + (sent * 1000) / load.perSecond <= nowMs; sent += 1) {
      const request = load.next();
      // Nothing is left to ask for: the run ends early.
      if (request === undefined) break run;
      const due = { dueMs: startMs + (sent * 1000) / load.perSecond, request };
      const connection = idle.pop();
      if (connection === undefined) waiting.push(due);
      else connection.send(due);
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  while (accepted.length + shed.length + failed < sent) {
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  const seconds = (performance.now() - startMs) / 1000;
  for (const connection of all) connection.close();
  accepted.sort((a, b) => a - b);
  shed.sort((a, b) => a - b);
  fromSent.sort((a, b) => a - b);
  return {
    seconds,
    sent,
    accepted: accepted.length,
    shed: shed.length,
    failed,
    p50: quantile(accepted, 0.5),
    p99: quantile(accepted, 0.99),
    highest: quantile(accepted, 1),
    shedP99: quantile(shed, 0.99),
    sentP50: quantile(fromSent, 0.5),
    sentP99: quantile(fromSent, 0.99),
  };
}

/** What takes the place of a status where the connection broke. */
const broken = 0;

async function openAll(
  load: Pick<OpenLoad, 'port' | 'connections'>,
  onAnswer: (connection: Connection, answered: Answered) => void,
): Promise<Connection[]> {
  const all: Connection[] = [];
  while (all.length < load.connections) {
    const some = Array.from({ length: 100 }, () => {
      const connection: Connection = connect(load.port, (answered) =>
        onAnswer(connection, answered),
      );
      return connection;
    });
    await Promise.all(some.map(({ opened }) => opened));
    all.push(...some);
  }
  return all;
}

/** The same in a closed loop: every connection asks again as soon as it is answered. Answers per second. */
export async function runClosedLoad(load: {
  port: number;
  connections: number;
  seconds: number;
  next: () => Request | undefined;
}): Promise<number> {
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1000;
  let answered = 0;
  const drive = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const step = (): void => {
        const request = performance.now() < endMs ? load.next() : undefined;
        if (request !== undefined) {
          connection.send({ dueMs: 0, request });
          return;
        }
        connection.close();
        resolve();
      };
      const connection = connect(load.port, ({ request, status, body }) => {
        if (status === 200) answered += 1;
        if (status === broken) reject(new Error('the service closed a connection'));
        request.onAnswer?.(status, body);
        step();
      });
      step();
    });
  await Promise.all(Array.from({ length: load.connections }, drive));
  return (answered * 1000) / (performance.now() - startMs);
}

type Connection = { readonly opened: Promise<void>; send(due: Due): void; close(): void };

function connect(port: number, onAnswer: (answered: Answered) => void): Connection {
  let due: Due | undefined;
  let text = '';
  const settle = (status: number, body: string): void => {
    const answered = due;
    due = undefined;
    text = '';
    if (answered !== undefined) onAnswer({ ...answered, status, body });
  };
  const socket: Socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
  socket.setEncoding('latin1');
  socket.on('data', (chunk) => {
    text += String(chunk);
    const headEnd = text.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(text)?.[1] ?? 0);
    if (text.length < headEnd + 4 + length) return;
    settle(Number(text.slice(9, 12)), text.slice(headEnd + 4));
  });
  socket.on('error', () => undefined);
  socket.on('close', () => settle(broken, ''));
  return {
    opened: new Promise((resolve, reject) => {
      socket.once('connect', resolve);
      socket.once('error', reject);
    }),
    send: (given) => {
      due = { ...given, sentMs: performance.now() };
      if (socket.destroyed) settle(broken, '');
      else socket.write(given.request.bytes, 'latin1');
    },
    close: () => {
      due = undefined;
      socket.destroy();
    },
  };
}
