import { connect, createServer, type Socket } from 'node:net';

/** A TCP proxy in front of PostgreSQL that can lose packets silently. */

export type TestNetwork = {
  /** The database's address through this network. */
  readonly url: string;
  /** `host:port` of this network, for URLs with several hosts. */
  readonly address: string;
  /** Existing connections stay open but transfer nothing more. */
  loseConnections(): void;
  /** The same, and new connections are accepted but transfer nothing, until `recover`. */
  loseEverything(): void;
  recover(): void;
  /** How many connections were opened through it so far. */
  opened(): number;
  close(): Promise<void>;
};

/** In front of the database of `databaseUrl`, which may use a unix socket. */
export async function openTestNetwork(databaseUrl: string): Promise<TestNetwork> {
  const upstream = new URL(databaseUrl);
  const folder = upstream.searchParams.get('host');
  const sockets = new Set<Socket>();
  let present: { isLost: boolean }[] = [];
  let isDown = false;
  let opened = 0;
  const server = createServer((client) => {
    opened += 1;
    const path = { isLost: isDown };
    present.push(path);
    const database =
      folder === null
        ? connect(Number(upstream.port || 5432), upstream.hostname)
        : connect(`${folder}/.s.PGSQL.5432`);
    carry(client, database, path);
    carry(database, client, path);
    for (const socket of [client, database]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.once('close', () => sockets.delete(socket));
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const listening = server.address();
  if (typeof listening !== 'object' || listening === null) throw new Error('the proxy has no port');
  const address = `127.0.0.1:${listening.port}`;
  const loseConnections = (): void => {
    for (const path of present) path.isLost = true;
    present = [];
  };
  return {
    url: `postgresql://${upstream.username}:${upstream.password}@${address}${upstream.pathname}`,
    address,
    loseConnections,
    loseEverything: () => {
      isDown = true;
      loseConnections();
    },
    recover: () => {
      isDown = false;
    },
    opened: () => opened,
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function carry(from: Socket, to: Socket, path: { isLost: boolean }): void {
  from.on('data', (bytes) => {
    if (!path.isLost) to.write(bytes);
  });
  // A lost connection does not forward its end either.
  from.once('close', () => {
    if (!path.isLost) to.destroy();
  });
}
