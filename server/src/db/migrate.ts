import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import pg from 'pg';
import { createOpener } from './postgres/connection.ts';
import { readSchema } from './schema.ts';

/**
 * Forward-only migrations, each run once in a transaction of its own. The first one is the live schema
 * (`schema/*.sql`) until `npm run freeze` writes it to `migrations/0001_initial.sql`, before the second
 * is added. From then on a change is a new file `migrations/NNNN_name.sql` together with the change of
 * the schema files; a migration that has landed is never edited (its hash is stored and compared).
 */
export type Migration = { version: number; name: string; text: string; hash: string };

const migrationsFolder = join(import.meta.dirname, 'migrations');

/** @throws when there are later migrations and the first one is not frozen. */
export async function readMigrations(folder = migrationsFolder): Promise<Migration[]> {
  const files = existsSync(folder) ? await readdir(folder) : [];
  const names = files.filter((name) => /^\d{4}_[a-z0-9_]+\.sql$/.test(name)).toSorted();
  if (names.length === 0) return [describeMigration(initialFile, await readSchema())];
  if (names[0] !== initialFile) {
    throw new Error(`${initialFile} must exist before ${names[0]}: run npm run freeze`);
  }
  return Promise.all(
    names.map(async (name) => describeMigration(name, await readFile(join(folder, name), 'utf8'))),
  );
}

const initialFile = '0001_initial.sql';

function describeMigration(file: string, text: string): Migration {
  const hash = createHash('sha256').update(text).digest('hex');
  return { version: Number(file.slice(0, 4)), name: file.slice(5, -4), text, hash };
}

/**
 * Writes the live schema as the first migration, so that later ones can change the schema files.
 * Databases that were made from the live files go on: the text is the same.
 *
 * @throws when it exists already.
 */
export async function freezeSchema(folder = migrationsFolder): Promise<string> {
  await mkdir(folder, { recursive: true });
  const path = join(folder, initialFile);
  await writeFile(path, await readSchema(), { flag: 'wx' });
  return path;
}

/** Why a database whose first migration differs from this program's cannot be used. */
export const unreleasedSchema =
  'the database was made from a version of the schema that was never released, and cannot be upgraded: ' +
  'use a new database (for the embedded one, stop the program and remove its data folder)';

/**
 * Brings the database of `url` up to date. Several processes may call it at once: the first one
 * works, the others wait at the lock of the migrations table and find nothing left to do.
 *
 * @throws when a migration that ran here was edited since, or the database is ahead of this code.
 */
export async function migrate(options: { url: string; migrations?: Migration[] }): Promise<void> {
  const migrations = options.migrations ?? (await readMigrations());
  const { client } = await createOpener(options.url).open({});
  try {
    if (await isUpToDate(client, migrations)) return;
    await requireOwner(client);
    await createMigrationsTable(client);
    for (const migration of migrations) {
      const { version, name, hash } = migration;
      if ((await runOnce(client, migration)) === hash) continue;
      throw new Error(
        version === 1
          ? unreleasedSchema
          : `migration ${version} (${name}) was edited after it had run here`,
      );
    }
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

/** Whether every migration has run here, and none else; a login that owns nothing may ask it. */
async function isUpToDate(client: pg.Client, migrations: readonly Migration[]): Promise<boolean> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    `select to_regclass('migrations') is not null as exists`,
  );
  if (found[0]?.exists !== true) return false;
  const { rows } = await client.query<{ hash: string }>(
    'select hash from migrations order by version',
  );
  const hashes = migrations.map(({ hash }) => hash);
  return rows.length === hashes.length && rows.every(({ hash }, index) => hash === hashes[index]);
}

/** @throws where the login may not change the schema. */
async function requireOwner(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `select has_schema_privilege('public', 'create') as may`,
  );
  if (rows[0]?.may === true) return;
  throw new Error(
    'the database has not the schema of this release, and this login may not change it: run ' +
      '`outlay admin migrate` with the DATABASE_URL of its owner first',
  );
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
    // Another process created it in the same instant.
    const state = error instanceof pg.DatabaseError ? error.code : undefined;
    if (state !== '23505' && state !== '42P07') throw error;
  }
}

/** Runs a migration that has not run here, and returns the hash with which it ran. */
async function runOnce(client: pg.Client, migration: Migration): Promise<string> {
  const { version, name, text, hash } = migration;
  await client.query('begin');
  try {
    await client.query('lock table migrations in exclusive mode');
    const { rows } = await client.query<{ hash: string }>(
      'select hash from migrations where version = $1',
      [version],
    );
    const [ran] = rows;
    if (ran === undefined) {
      await client.query(text);
      await client.query('insert into migrations (version, name, hash) values ($1, $2, $3)', [
        version,
        name,
        hash,
      ]);
    }
    await client.query('commit');
    return ran?.hash ?? hash;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw new Error(`migration ${version} (${name}) failed: ${String(error)}`, { cause: error });
  }
}
