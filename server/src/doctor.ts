import { accessSync, constants, existsSync, mkdirSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import type pg from 'pg';
import type { Config } from './config.ts';
import { createOpener } from './db/connection.ts';
import { readMigrations } from './db/migrate.ts';
import { findServerFaults } from './db/server-check.ts';

/** Explains what is wrong with a setup, without changing it. Exit code 1 when something is. */

type Finding = { isFine: boolean; text: string };

const versionMin = 150_000;
const freeBytesMin = 1024 ** 3;

export async function runDoctor(config: Config, print: (line: string) => void): Promise<void> {
  const findings = [checkNode(), ...checkDataFolder(config), ...(await checkDatabases(config))];
  for (const { isFine, text } of findings) print(`${isFine ? 'ok   ' : 'WRONG'} ${text}`);
  const wrong = findings.filter(({ isFine }) => !isFine).length;
  print(wrong === 0 ? 'Everything looks right.' : `${wrong} thing(s) to mend.`);
  if (wrong > 0) process.exitCode = 1;
}

function checkNode(): Finding {
  const major = Number(process.versions.node.split('.', 1)[0]);
  return { isFine: major >= 24, text: `Node ${process.versions.node} (24 or newer is needed)` };
}

function checkDataFolder(config: Config): Finding[] {
  const folder = config.OUTLAY_DATA;
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.W_OK);
  } catch (error) {
    return [{ isFine: false, text: `${folder} cannot be written: ${String(error)}` }];
  }
  const { bavail, bsize } = statfsSync(folder);
  const freeBytes = bavail * bsize;
  const findings: Finding[] = [
    { isFine: true, text: `${folder} can be written` },
    {
      isFine: freeBytes >= freeBytesMin,
      text: `${Math.round(freeBytes / 1024 ** 2)} MB are free there`,
    },
  ];
  for (const name of config.OUTLAY_ENVIRONMENTS.split(',')) {
    const file = join(folder, `${name}.key`);
    if (!existsSync(file)) continue;
    const isPrivate = (statSync(file).mode & 0o077) === 0;
    findings.push({ isFine: isPrivate, text: `${file} is readable by its owner only` });
  }
  return findings;
}

async function checkDatabases(config: Config): Promise<Finding[]> {
  const given = { staging: config.DATABASE_URL, live: config.OUTLAY_LIVE_DATABASE_URL };
  const findings: Finding[] = [];
  for (const name of config.OUTLAY_ENVIRONMENTS.split(',') as (keyof typeof given)[]) {
    const url = given[name];
    findings.push(
      ...(url === undefined
        ? [{ isFine: true, text: `${name}: the embedded PostgreSQL (it starts with the service)` }]
        : await checkDatabase(name, url)),
    );
  }
  return findings;
}

async function checkDatabase(name: string, url: string): Promise<Finding[]> {
  let client: pg.Client | undefined;
  try {
    ({ client } = await createOpener(url).open({}));
    return [
      { isFine: true, text: `${name}: the database can be reached` },
      ...(await inspectDatabase(name, client)),
      ...(await findServerFaults(url))
        .filter(({ kind }) => kind === 'pooling')
        .map(({ text }) => ({ isFine: false, text: `${name}: ${text}` })),
    ];
  } catch (error) {
    // The message names host and role at most; the URL, which may hold a password, stays out.
    const reason = error instanceof Error ? error.message : String(error);
    return [{ isFine: false, text: `${name}: the database cannot be reached: ${reason}` }];
  } finally {
    await client?.end().catch(() => undefined);
  }
}

async function inspectDatabase(name: string, client: pg.Client): Promise<Finding[]> {
  const { rows } = await client.query<Record<string, string>>(`
    select current_setting('server_version_num') as version, current_setting('fsync') as fsync,
      current_setting('synchronous_commit') as synchronous_commit,
      current_setting('full_page_writes') as full_page_writes,
      current_setting('server_encoding') as server_encoding,
      (select rolcreaterole or rolsuper from pg_roles where rolname = current_user)::text as can_create_role,
      (select rolsuper or pg_has_role(current_user, 'outlay_tenant',
          case when current_setting('server_version_num')::integer >= 160000 then 'set'
            else 'member' end)
        from pg_roles where rolname = current_user
          and exists (select from pg_roles where rolname = 'outlay_tenant'))::text
        as is_tenant,
      to_regclass('migrations') is not null as has_migrations`);
  const [row = {}] = rows;
  const setting = (key: string, wanted: string): Finding => ({
    isFine: row[key] === wanted,
    text: `${name}: ${key} is ${row[key]} (wanted: ${wanted})`,
  });
  const findings: Finding[] = [
    {
      isFine: Number(row['version']) >= versionMin,
      text: `${name}: PostgreSQL ${row['version']} (15 or newer is needed)`,
    },
    setting('fsync', 'on'),
    {
      isFine: row['synchronous_commit'] !== 'off',
      text: `${name}: synchronous_commit is ${row['synchronous_commit']} (off loses payouts)`,
    },
    setting('full_page_writes', 'on'),
    setting('server_encoding', 'UTF8'),
    {
      // Null where the role does not exist yet: then it has to be made.
      isFine: (row['is_tenant'] ?? row['can_create_role']) === 'true',
      text: `${name}: the role outlay_tenant can be used, or made`,
    },
  ];
  if (String(row['has_migrations']) !== 'true') {
    return [
      ...findings,
      { isFine: true, text: `${name}: empty, it is migrated at the first start` },
    ];
  }
  const applied = await client.query<{ version: number; hash: string }>(
    'select version, hash from migrations order by version',
  );
  const migrations = await readMigrations();
  const edited = applied.rows.filter(
    (ran) => migrations.find((one) => one.version === ran.version)?.hash !== ran.hash,
  );
  findings.push({
    isFine: edited.length === 0,
    text: `${name}: ${applied.rows.length} of ${migrations.length} migrations ran, ${edited.length} unlike this release's`,
  });
  return findings;
}
