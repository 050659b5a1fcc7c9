import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * A proxy between a service and PostgreSQL that injects network faults for chosen statements: it
 * loses them, loses their answers, or delays the answers.
 */

export type Fault =
  /** The connection breaks before the statement reaches the database. */
  | 'statement lost'
  /** The statement takes effect, then the connection breaks. */
  | 'answer lost'
  /** The answer waits until `release`, or until the proxy closes. */
  | 'answer late';

/** The fault for these bytes to the database, if any. */
export type Chooser = (sent: Buffer) => Fault | undefined;

export type DatabaseProxy = {
  /** The database's address through the proxy. */
  readonly url: string;
  /** Sets the faults from now on; undefined: none. */
  setFaults(choose: Chooser | undefined): void;
  /** How often each fault has occurred. */
  readonly happened: Record<Fault, number>;
  /** Delivers the delayed answers. */
  release(): void;
  close(): Promise<void>;
};

export async function startDatabaseProxy(databaseUrl: string): Promise<DatabaseProxy> {
  const happened: Record<Fault, number> = {
    'statement lost': 0,
    'answer lost': 0,
    'answer late': 0,
  };
  const kept = new Set<() => void>();
  const sockets = new Set<Socket>();
  let choose: Chooser | undefined;
  const server = createServer((client) => {
    const upstream = connect(findUpstream(databaseUrl));
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => {
        sockets.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    carry({ client, upstream, happened, kept, choose: (sent) => choose?.(sent) });
  });
  const port = await listen(server);
  return {
    url: replaceAddress(databaseUrl, port),
    setFaults: (next) => {
      choose = next;
    },
    happened,
    release: () => {
      for (const go of kept) go();
      kept.clear();
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/** On a connection at most one answer is pending, to which the fault applies. */
function carry(line: {
  client: Socket;
  upstream: Socket;
  happened: Record<Fault, number>;
  kept: Set<() => void>;
  choose: Chooser;
}): void {
  const { client, upstream, happened, kept } = line;
  let fault: Fault | undefined;
  const held: Buffer[] = [];
  client.on('data', (sent) => {
    fault ??= line.choose(sent);
    if (fault === 'statement lost') {
      happened[fault] += 1;
      client.destroy();
      return;
    }
    upstream.write(sent);
  });
  upstream.on('data', (answer) => {
    if (fault === undefined) {
      client.write(answer);
      return;
    }
    held.push(answer);
    if (!isOver(Buffer.concat(held))) return;
    happened[fault] += 1;
    if (fault === 'answer lost') {
      client.destroy();
      return;
    }
    kept.add(() => {
      fault = undefined;
      client.write(Buffer.concat(held.splice(0)));
    });
  });
}

/**
 * ReadyForQuery ends an answer (PostgreSQL's documentation, "Message Flow"). Outside of a
 * transaction, what was sent is committed by then.
 */
function isOver(answer: Buffer): boolean {
  return answer.length >= 6 && answer.subarray(-6, -1).equals(readyForQuery);
}

const readyForQuery = Buffer.from([0x5a, 0, 0, 0, 5]);

/** A path to a unix socket, or host and port. */
function findUpstream(databaseUrl: string): { path: string } | { host: string; port: number } {
  const url = new URL(databaseUrl);
  const port = url.searchParams.get('port') ?? (url.port === '' ? '5432' : url.port);
  const host = url.searchParams.get('host') ?? url.hostname;
  if (host.startsWith('/')) return { path: `${host}/.s.PGSQL.${port}` };
  return { host, port: Number(port) };
}

function replaceAddress(databaseUrl: string, port: number): string {
  const url = new URL(databaseUrl);
  url.searchParams.delete('host');
  url.searchParams.delete('port');
  url.hostname = '127.0.0.1';
  url.port = String(port);
  return url.href;
}

async function listen(server: Server): Promise<number> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (typeof address !== 'object' || address === null) throw new Error('no port');
  return address.port;
}
