import { createConnection, type Socket } from 'node:net';

/**
 * A load generator that costs little beside what it measures: raw sockets, one request in flight on
 * each, answers read by their Content-Length.
 */

export type LoadResult = {
  count: number;
  seconds: number;
  perSecond: number;
  /** Milliseconds. */
  p50: number;
  p99: number;
  /** Answers with another status than 200. */
  failures: number;
};

export type Load = {
  port: number;
  connections: number;
  seconds: number;
  /** The next request's bytes; undefined ends the run early. */
  next: () => string | undefined;
  /** Sees each answer's body. */
  onAnswer?: (body: string) => void;
};

export async function runLoad(load: Load): Promise<LoadResult> {
  const latencies: number[] = [];
  let failures = 0;
  const startMs = performance.now();
  const endMs = startMs + load.seconds * 1000;
  const drive = async (): Promise<void> => {
    const connection = openConnection(load.port);
    try {
      while (performance.now() < endMs) {
        const request = load.next();
        if (request === undefined) return;
        const sentMs = performance.now();
        const { status, body } = await connection.ask(request);
        latencies.push(performance.now() - sentMs);
        if (status !== 200) failures += 1;
        load.onAnswer?.(body);
      }
    } finally {
      connection.close();
    }
  };
  await Promise.all(Array.from({ length: load.connections }, drive));
  const seconds = (performance.now() - startMs) / 1000;
  latencies.sort((a, b) => a - b);
  const at = (share: number): number =>
    latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? 0;
  const count = latencies.length;
  return { count, seconds, perSecond: count / seconds, p50: at(0.5), p99: at(0.99), failures };
}

export type Answer = { status: number; body: string };

/** Takes one request at a time. */
export type Connection = { ask(request: string): Promise<Answer>; close(): void };

export function openConnections(port: number, count: number): Connection[] {
  return Array.from({ length: count }, () => openConnection(port));
}

function openConnection(port: number): Connection {
  const socket = createConnection({ port, host: '127.0.0.1', noDelay: true });
  const answers = readAnswers(socket);
  return {
    ask: async (request) => {
      socket.write(request);
      const { value } = await answers.next();
      if (value === undefined) throw new Error('the server closed the connection');
      return value;
    },
    close: () => socket.destroy(),
  };
}

async function* readAnswers(socket: Socket): AsyncGenerator<Answer, undefined> {
  let text = '';
  for await (const chunk of socket) {
    text += (chunk as Buffer).toString('latin1');
    for (;;) {
      const headEnd = text.indexOf('\r\n\r\n');
      if (headEnd < 0) break;
      const length = Number(/content-length: (\d+)/i.exec(text.slice(0, headEnd))?.[1] ?? 0);
      const end = headEnd + 4 + length;
      if (text.length < end) break;
      const answer = { status: Number(text.slice(9, 12)), body: text.slice(headEnd + 4, end) };
      text = text.slice(end);
      yield answer;
    }
  }
}

export function formatRequest(request: {
  method: string;
  path: string;
  token: string;
  body?: unknown;
}): string {
  const body = request.body === undefined ? '' : JSON.stringify(request.body);
  const type = body === '' ? '' : 'content-type: application/json\r\n';
  return (
    `${request.method} ${request.path} HTTP/1.1\r\nhost: 127.0.0.1\r\n` +
    `authorization: Bearer ${request.token}\r\n${type}` +
    `content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
  );
}
