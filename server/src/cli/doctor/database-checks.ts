import { existsSync } from 'node:fs';
import type pg from 'pg';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { findRunningServer } from '../../db/embedded/embedded.ts';
import { readMigrations, unreleasedSchema } from '../../db/migrate.ts';
import { createOpener } from '../../db/postgres/connection.ts';
import { findServerFaults } from '../../db/postgres/server-check.ts';
import { inspectTenantRole } from '../../db/postgres/tenant-role.ts';
import { getExpiryMs, liveAgeLimits } from '../../fx/age-limits.ts';
import { explain, type Finding, fine, wrong } from './finding.ts';
import { inspectServer } from './server-checks.ts';
import type { EnvironmentRecord } from './source-checks.ts';

/** The database of an environment: whether it can be reached, is the right one, and is whole. */

export type DatabaseReport = {
  findings: Finding[];
  /** Where it is; undefined where there is nothing to connect to. */
  url: string | undefined;
  /** Whether it has been migrated, and can be read. */
  isUsable: boolean;
  environment: EnvironmentRecord | undefined;
  /** Host and port; undefined where it cannot be asked. */
  server: string | undefined;
  connectionsNeeded: number;
  connectionsFree: number;
};

type Place = { config: Config; name: EnvironmentName; realNowMs: () => number };

const nothing: Omit<DatabaseReport, 'findings'> = {
  url: undefined,
  isUsable: false,
  environment: undefined,
  server: undefined,
  connectionsNeeded: 0,
  connectionsFree: 0,
};

export async function checkDatabase(place: Place): Promise<DatabaseReport> {
  const { config, name } = place;
  const setting = name === 'live' ? 'OUTLAY_LIVE_DATABASE_URL' : 'DATABASE_URL';
  const given = config[setting];
  if (given !== undefined) return connect(place, { url: given, setting });
  const running = existsSync(config.OUTLAY_DATA)
    ? findRunningServer(config.OUTLAY_DATA)
    : undefined;
  if (running === undefined) {
    const findings = [fine(`${name}: the embedded PostgreSQL (it starts with the service)`)];
    return { ...nothing, findings };
  }
  return connect(place, { url: running.connectionUrl(`outlay_${name}`), setting });
}

async function connect(
  place: Place,
  { url, setting }: { url: string; setting: string },
): Promise<DatabaseReport> {
  const { name } = place;
  let client: pg.Client | undefined;
  try {
    // A certificate that the URL names is read here.
    ({ client } = await createOpener(url).open({}));
    const server = `${client.host}:${client.port}`;
    const inspected = await inspect(place, client);
    const pooling = (await findServerFaults(url)).filter(({ kind }) => kind === 'pooling');
    const findings = [
      fine(`${name}: the database can be reached`),
      ...pooling.map(({ text }) => wrong(`${name}: ${text}`)),
      ...inspected.findings,
    ];
    return { ...nothing, ...inspected, url, server, findings };
  } catch (error) {
    // The message names host and role at most; the URL, which may hold a password, stays out.
    const advice = adviseOn(error, setting);
    const text = `${name}: the database cannot be reached: ${explain(error)}; ${advice}`;
    return { ...nothing, findings: [wrong(text)] };
  } finally {
    await client?.end().catch(() => undefined);
  }
}

export function adviseOn(error: unknown, setting: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === '28P01' || code === '28000') return `correct role or password in ${setting}`;
  if (code === '3D000') return 'create the database, owned by the role of the service';
  if (code === '53300') return 'the server has no connection left: raise max_connections';
  if (/CERT|SIGNATURE|ALTNAME/.test(code)) {
    return `name the authority of the server's certificate in ${setting}: sslrootcert=PATH`;
  }
  if (code === 'ENOENT') return `correct the path in ${setting}`;
  return `correct host and port in ${setting}, or start the server`;
}

type Inspection = Pick<
  DatabaseReport,
  'findings' | 'isUsable' | 'environment' | 'connectionsFree' | 'connectionsNeeded'
>;

async function inspect(place: Place, client: pg.Client): Promise<Inspection> {
  const { name, config } = place;
  const server = await inspectServer({ name, config }, client);
  const migrated = await checkMigrations(name, client);
  if (!migrated.isMigrated) {
    const findings = [...server.findings, ...migrated.findings];
    return { ...server, findings, isUsable: false, environment: undefined };
  }
  const { rows } = await client.query<EnvironmentRecord>(
    'select name, master_key_id as "masterKeyId" from environment',
  );
  const [environment] = rows;
  const findings = [
    ...server.findings,
    ...migrated.findings,
    ...checkName(name, environment),
    ...(await checkTenantRole(name, client)),
    ...(await checkImports(place, client)),
  ];
  const isUsable = environment?.name === name && migrated.isWhole;
  return { ...server, findings, isUsable, environment };
}

async function checkMigrations(name: EnvironmentName, client: pg.Client) {
  const { rows } = await client.query<{ is_there: boolean }>(
    `select to_regclass('migrations') is not null and to_regclass('environment') is not null as is_there`,
  );
  if (rows[0]?.is_there !== true) {
    const findings = [fine(`${name}: empty, it is migrated at the first start`)];
    return { isMigrated: false, isWhole: false, findings };
  }
  const applied = await client.query<{ version: number; hash: string }>(
    'select version, hash from migrations order by version',
  );
  const migrations = await readMigrations();
  const newest = migrations.at(-1)?.version ?? 0;
  const newer = applied.rows.filter(({ version }) => version > newest);
  const edited = applied.rows.filter(
    (ran) =>
      ran.version <= newest &&
      migrations.find((one) => one.version === ran.version)?.hash !== ran.hash,
  );
  if (edited.some(({ version }) => version === 1)) {
    const findings = [wrong(`${name}: ${unreleasedSchema}`)];
    return { isMigrated: true, isWhole: false, findings };
  }
  const ran = `${name}: ${applied.rows.length} of ${migrations.length} migrations ran`;
  const findings: Finding[] = [];
  if (newer.length > 0) {
    findings.push(wrong(`${name}: a newer release has migrated the database: update the program`));
  }
  if (edited.length > 0) {
    findings.push(
      wrong(`${ran}, ${edited.length} of them unlike this release's: use its own release`),
    );
  }
  if (findings.length === 0) findings.push(fine(ran));
  const isWhole = applied.rows.length === migrations.length && findings[0]?.isFine === true;
  return { isMigrated: true, isWhole, findings };
}

function checkName(name: EnvironmentName, record: EnvironmentRecord | undefined): Finding[] {
  if (record === undefined || record.name === name) return [];
  const setting = name === 'live' ? 'OUTLAY_LIVE_DATABASE_URL' : 'DATABASE_URL';
  return [wrong(`${name}: this is the database of ${record.name}: correct ${setting}`)];
}

async function checkTenantRole(name: EnvironmentName, client: pg.Client): Promise<Finding[]> {
  const { exists, isMember, missingGrants } = await inspectTenantRole(client);
  const { rows } = await client.query<{ role: string }>('select quote_ident(current_user) as role');
  const role = rows[0]?.role ?? '';
  if (!exists) {
    return [
      wrong(
        `${name}: the role outlay_tenant is missing, as after a restore on another server: run as an administrator: create role outlay_tenant nologin; grant outlay_tenant to ${role}; then start the service again`,
      ),
    ];
  }
  if (!isMember) {
    return [
      wrong(
        `${name}: ${role} may not act as outlay_tenant: run as an administrator: grant outlay_tenant to ${role}`,
      ),
    ];
  }
  if (missingGrants.length > 0) {
    return [
      wrong(
        `${name}: the role outlay_tenant lacks ${missingGrants.length} grants: start the service again, which repeats them`,
      ),
    ];
  }
  return [fine(`${name}: the role outlay_tenant and its grants are there`)];
}

/** What the database has of rates and lists, and how old it is. */
async function checkImports(
  { config, name, realNowMs }: Place,
  client: pg.Client,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (name === 'live') {
    const { rows } = await client.query<{ source: string; as_of: Date }>(
      'select source, max(as_of) as as_of from rates group by source order by source',
    );
    for (const { source, as_of: asOf } of rows) {
      const limit = liveAgeLimits[source];
      const isStale = limit !== undefined && realNowMs() > getExpiryMs(asOf.getTime(), limit);
      const text = `live: the newest rates of ${source} are of ${asOf.toISOString()}`;
      findings.push(isStale ? wrong(`${text}, which is too old: outlay rates import`) : fine(text));
    }
  }
  const { rows } = await client.query<{ list: string; checked_at: Date }>(
    'select list, checked_at from screening_lists where checked_at is not null order by list',
  );
  const daysMax = config.OUTLAY_SCREENING_DAYS_MAX;
  for (const { list, checked_at: checkedAt } of rows) {
    const isOld = realNowMs() - checkedAt.getTime() > daysMax * 86_400_000;
    const text = `${name}: the sanctions list ${list} was read at ${checkedAt.toISOString()}`;
    findings.push(isOld ? wrong(`${text}, which is too old: outlay screening import`) : fine(text));
  }
  return findings;
}
