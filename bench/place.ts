import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { startEmbedded } from '../server/src/db/embedded/embedded.ts';
import { createDatabaseIfAbsent } from '../server/src/db/postgres/create-database.ts';
import type { Place } from './subject.ts';

/** One PostgreSQL for a whole run, durable as in production, removed after it. */
export type OpenPlace = Place & {
  /** What the server says of itself: version, and the settings that durability rests on. */
  describe(): Promise<string>;
  /** The process that starts the server's others. */
  readonly processId: number;
  close(): Promise<void>;
};

export async function openPlace(): Promise<OpenPlace> {
  const folder = mkdtempSync(join(tmpdir(), 'outlay-bench-'));
  // Also when an uncaught error ends the run.
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const server = await startEmbedded({ dataDirectory: join(folder, 'data'), temporary: true });
  return {
    folder,
    database: (name) => createDatabaseIfAbsent(server, name),
    describe: async () => {
      const client = new pg.Client({ connectionString: server.connectionUrl('postgres') });
      await client.connect();
      try {
        const { rows } = await client.query<{ text: string }>(`
          select format('PostgreSQL %s, fsync %s, synchronous_commit %s, shared_buffers %s, max_wal_size %s',
            current_setting('server_version'), current_setting('fsync'),
            current_setting('synchronous_commit'), current_setting('shared_buffers'),
            current_setting('max_wal_size')) as text`);
        return rows[0]?.text ?? '';
      } finally {
        await client.end();
      }
    },
    processId: server.processId,
    close: async () => {
      await server.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
