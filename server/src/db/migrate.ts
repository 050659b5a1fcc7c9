import { createHash } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { createOpener } from './postgres/connection.ts';
import { readSchema } from './schema.ts';

/**
 * Forward-only migrations, each run once in a transaction of its own. The first one is the live schema
 * (`schema/*.sql`) until `npm run freeze` writes it to `migrations/0001_initial.sql`, before the second
 * is added. From then on a change is a new file `migrations/NNNN_name.sql` together with the change of
 * the schema files; a migration that has landed is never edited (its hash is stored and compared).
 */
export type Migration = {
  version: number;
  name: string;
  text: string;
  hash: string;
  /** The oldest schema whose processes keep working after this migration. */
  worksBeside: number;
};

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

const besidePattern = /^-- works beside schema (\d{4})$/m;

/** @throws when a later migration does not say beside which older schema it works. */
function describeMigration(file: string, text: string): Migration {
  const hash = createHash('sha256').update(text).digest('hex');
  const version = Number(file.slice(0, 4));
  const [line = ''] = text.split('\n', 1);
  const worksBeside =
    file === initialFile ? 1 : Number(besidePattern.exec(line)?.[1] ?? Number.NaN);
  if (!(worksBeside >= 1 && worksBeside <= version)) {
    throw new Error(
      `${file} must begin with "-- works beside schema NNNN": the oldest schema whose processes continue ` +
        'working after it; its own number if none does',
    );
  }
  return { version, name: file.slice(5, -4), text, hash, worksBeside };
}

/**
 * Writes the live schema as the first migration, so that later ones can change the schema files.
 * Databases that were made from the live files continue: the text is the same.
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
/** This program and the database do not fit. The message says which of them to replace. */
export class SchemaMismatch extends Error {}

export const unreleasedSchema =
  'the database was made from a version of the schema that was never released, and cannot be upgraded: ' +
  'use a new database (for the embedded one, stop the program and remove its data folder)';

/**
 * Brings the database of `url` up to date. Several processes may call it at once: the first one
 * works, the others wait at the lock of the migrations table and find nothing left to do.
 *
 * @returns the versions that ran here.
 * @throws SchemaMismatch when a migration that ran here was edited since, a migration of a newer
 *   release does not work beside this code, or the login may not run one that is missing.
 */
export async function migrate(options: {
  url: string;
  migrations?: Migration[];
  triesMax?: number;
}): Promise<number[]> {
  const migrations = options.migrations ?? (await readMigrations());
  const { client } = await createOpener(options.url).open({});
  try {
    const haveRun = await haveAllRun(client, migrations);
    if (!haveRun) {
      await requireOwner(client);
      await createMigrationsTable(client);
    }
    const ran: number[] = [];
    for (const migration of haveRun ? [] : migrations) {
      const { version, name, hash } = migration;
      const known = await runWithTries(client, migration, options.triesMax);
      if (known === undefined) ran.push(version);
      if (known === undefined || known === hash) continue;
      throw new SchemaMismatch(
        version === 1
          ? unreleasedSchema
          : `migration ${version} (${name}) was edited after it had run here`,
      );
    }
    const { rows } = await client.query<{ works_beside: number }>(
      'select max(works_beside) as works_beside from migrations',
    );
    const newest = migrations.at(-1)?.version ?? 0;
    if ((rows[0]?.works_beside ?? 0) > newest) {
      throw new SchemaMismatch('the database was migrated by a newer release: update the program');
    }
    return ran;
  } finally {
    await client.end();
  }
}

/** Whether every migration has run here, as it is; a login that owns nothing may ask it. */
async function haveAllRun(client: pg.Client, migrations: readonly Migration[]): Promise<boolean> {
  const { rows: found } = await client.query<{ exists: boolean }>(
    `select to_regclass('migrations') is not null as exists`,
  );
  if (found[0]?.exists !== true) return false;
  const { rows } = await client.query<{ hash: string }>(
    'select hash from migrations order by version',
  );
  return migrations.every(({ hash }, index) => rows[index]?.hash === hash);
}

/** @throws SchemaMismatch where the login may not change the schema. */
async function requireOwner(client: pg.Client): Promise<void> {
  const { rows } = await client.query<{ may: boolean }>(
    `select has_schema_privilege('public', 'create') as may`,
  );
  if (rows[0]?.may === true) return;
  throw new SchemaMismatch(
    'the database does not have the schema of this release, and this login may not change it: run ' +
      '`outlay admin migrate` with the login that owns the database first',
  );
}

async function createMigrationsTable(client: pg.Client): Promise<void> {
  try {
    await client.query(`
      create table if not exists migrations (
        version integer primary key,
        name text not null,
        hash text not null,
        works_beside integer not null,
        applied_at timestamptz not null default now()
      )`);
  } catch (error) {
    // Another process created it in the same instant.
    const state = error instanceof pg.DatabaseError ? error.code : undefined;
    if (state !== '23505' && state !== '42P07') throw error;
  }
}

/**
 * While a migration waits for a table, every request for that table waits behind it. So it gives up
 * soon, rolls back and is tried again: requests wait 2.5 seconds for a lock.
 */
const lockMsMax = 500;
const triesByDefault = 60;
const pauseMsMax = 3_000;
/** lock_not_available, deadlock_detected. */
const lockStates = new Set(['55P03', '40P01']);

async function runWithTries(
  client: pg.Client,
  migration: Migration,
  triesMax = triesByDefault,
): Promise<string | undefined> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await runOnce(client, migration);
    } catch (error) {
      const { version, name } = migration;
      const isLocked = error instanceof pg.DatabaseError && lockStates.has(error.code ?? '');
      const many = isLocked ? ` ${tries} times` : '';
      if (!isLocked || tries >= triesMax) {
        const text = `migration ${version} (${name}) failed${many}: ${String(error)}`;
        throw new Error(text, { cause: error });
      }
      await sleep(Math.min(pauseMsMax, 100 * 2 ** tries) * (0.5 + Math.random() / 2));
    }
  }
}

/** Runs a migration; where it has run before, it only returns the hash with which it ran. */
async function runOnce(client: pg.Client, migration: Migration): Promise<string | undefined> {
  const { version, name, text, hash, worksBeside } = migration;
  await client.query('begin');
  try {
    await client.query('lock table migrations in exclusive mode');
    const { rows } = await client.query<{ hash: string }>(
      'select hash from migrations where version = $1',
      [version],
    );
    const [ran] = rows;
    if (ran === undefined) {
      // Not for the lock above: another process may be migrating.
      if (version > 1) await client.query(`set local lock_timeout = ${lockMsMax}`);
      await client.query(text);
      await client.query(
        'insert into migrations (version, name, hash, works_beside) values ($1, $2, $3, $4)',
        [version, name, hash, worksBeside],
      );
    }
    await client.query('commit');
    return ran?.hash;
  } catch (error) {
    await client.query('rollback').catch(() => undefined);
    throw error;
  }
}
