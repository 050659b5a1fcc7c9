import { connect, createServer, type Server, type Socket } from 'node:net';

/**
 * Stands between a service and PostgreSQL, and does to chosen statements what networks do: loses
 * them, or loses their answers after they have taken effect, or keeps the answers back.
 */

export type Fault =
  /** The connection breaks before the statement reaches the database. */
  | 'statement lost'
  /** The database has done it, and committed it if it was by itself; then the connection breaks. */
  | 'answer lost'
  /** The answer waits until `release`, or until the proxy closes. */
  | 'answer late';

/** Which fault meets these bytes on their way to the database; undefined: none. */
export type Chooser = (sent: Buffer) => Fault | undefined;

export type DatabaseProxy = {
  /** The database's address through the proxy. */
  readonly url: string;
  /** From now on; undefined lets everything pass. */
  setFaults(choose: Chooser | undefined): void;
  /** How often each fault has happened. */
  readonly happened: Record<Fault, number>;
  /** Lets the answers go that were kept back. */
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

/** One connection: at most one statement's answer is on the way, so the fault is its. */
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

/** A path to a unix socket, or a host and a port: what the address of a database can name. */
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
