import { bindAccount, tenantRole } from '../../src/db/postgres/bound-query.ts';
import {
  type Connection,
  createOpener,
  destroy,
  type Opener,
  type OpenOptions,
} from '../../src/db/postgres/connection.ts';

/**
 * Connections to a shared database that its tests hand on: each new one makes the server load its catalogs and
 * compile its functions again, which costs more than what a test does with it.
 */

export type KeptConnections = {
  readonly opener: Opener;
  /** The server's processes behind those that no test uses now. */
  listIdle(): number[];
  close(): void;
};

/** So many of each kind are kept. A test that uses more at once opens and ends the others. */
const keptMax = 4;

export function keepConnections(url: string): KeptConnections {
  const inner = createOpener(url);
  const idle = new Map<string, Connection[]>();
  const kinds = new WeakMap<Connection, string>();
  const forget = (connection: Connection): void => {
    const kept = idle.get(kinds.get(connection) ?? '') ?? [];
    const at = kept.indexOf(connection);
    if (at !== -1) kept.splice(at, 1);
  };
  const open = async (options: OpenOptions, withinMs?: number): Promise<Connection> => {
    const kind = JSON.stringify(Object.entries(options).toSorted());
    const kept = idle.get(kind)?.pop();
    if (kept !== undefined) {
      stopListening(kept);
      if (options.role === tenantRole) await kept.client.query({ ...bindAccount, values: [''] });
      kept.silentSinceMs = performance.now();
      return kept;
    }
    const connection = await inner.open(options, withinMs);
    kinds.set(connection, kind);
    return connection;
  };
  const end = async (connection: Connection): Promise<void> => {
    const kind = kinds.get(connection) ?? '';
    const others = idle.get(kind) ?? [];
    const { client, unanswered } = connection;
    if (others.length >= keptMax || unanswered > 0 || client.getTransactionStatus() !== 'I') {
      await client.end();
      return;
    }
    // The listeners are those of the pool that has ended.
    stopListening(connection);
    client.on('end', () => forget(connection));
    idle.set(kind, [...others, connection]);
  };
  const list = (): Connection[] => [...idle.values()].flat();
  return {
    opener: { health: inner.health, open, end },
    listIdle: () => list().flatMap(({ backend }) => backend?.processId ?? []),
    close: () => {
      for (const { client } of list()) destroy(client);
      idle.clear();
    },
  };
}

function stopListening({ client }: Connection): void {
  client.removeAllListeners('end');
  client.removeAllListeners('error');
  client.on('error', () => undefined);
}
