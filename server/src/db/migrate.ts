import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { createOpener } from './postgres/connection.ts';

/**
 * Forward-only migrations: `migrations/NNNN_name.sql`, each run once in a transaction of its own
 * and never edited after it landed (its hash is kept and compared).
 */
export type Migration = { version: number; name: string; text: string; hash: string };

const folder = join(import.meta.dirname, 'migrations');

export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name));
  const migrations = await Promise.all(
    names.toSorted().map(async (name) => {
      const text = await readFile(join(folder, name), 'utf8');
      const hash = createHash('sha256').update(text).digest('hex');
      return { version: Number(name.slice(0, 4)), name: name.slice(5, -4), text, hash };
    }),
  );
  return migrations;
}

/**
 * Brings the database of `url` up to date. Several processes may call it at once: the first one
 * works, the others wait at the lock of the migrations table and find nothing left to do.
 *
 * @throws when a migration that ran here was edited since, or the database is ahead of this code.
 */
export async function migrate(options: { url: string }): Promise<void> {
  const { client } = await createOpener(options.url).open({});
  try {
    await createMigrationsTable(client);
    const migrations = await readMigrations();
    for (const migration of migrations) await runOnce(client, migration);
    const { rows } = await client.query<{ version: number }>(
      'select max(version) as version from migrations',
    );
    const newest = migrations.at(-1)?.version ?? 0;
    if ((rows[0]?.version ?? 0) > newest) {
      throw new Error('the database was migrated by a newer release: update the program');
    }
  } finally {
    await client.end();
  }
}

async function createMigrationsTable(client: pg.Client): Promise<void> {
  try {
    await client.query(`
      create table if not exists migrations (
        version integer primary key,
        name text not null,
        hash text not null,
        applied_at timestamptz not null default now()
      )`);
  } catch (error) {
    // Two processes may create it in the same instant; then it exists, which is what was wanted.
    const state = error instanceof pg.DatabaseError ? error.code : undefined;
    if (state !== '23505' && state !== '42P07') throw error;
  }
}

async function runOnce(client: pg.Client, migration: Migration): Promise<void> {
  await client.query('begin');
  try {
    await client.query('lock table migrations in exclusive mode');
    const { rows } = await client.query<{ hash: string }>(
      'select hash from migrations where version = $1',
      [migration.version],
    );
    const [ran] = rows;
    if (ran !== undefined && ran.hash !== migration.hash) {
      throw new Error(`migration ${migration.version} was edited after it ran here`);
    }
    if (ran === undefined) {
      await client.query(migration.text);
      await client.query('insert into migrations (version, name, hash) values ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.hash,
      ]);
    }
    await client.query('commit');
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw new Error(`migration ${migration.version} (${migration.name}) failed: ${String(error)}`, {
      cause: error,
    });
  }
}
