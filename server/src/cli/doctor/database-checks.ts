import { existsSync } from 'node:fs';
import type pg from 'pg';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { findRunningServer } from '../../db/embedded/embedded.ts';
import { selectKeys } from '../../db/environment-key-rows.ts';
import { readMigrations, unreleasedSchema } from '../../db/migrate.ts';
import { createOpener, createSession, type Session } from '../../db/postgres/connection.ts';
import { inspectServer as inspectPooling } from '../../db/postgres/server-check.ts';
import { findServerAdvice } from '../../db/postgres/server-faults.ts';
import type { Pooling } from '../../db/postgres/session-settings.ts';
import { inspectTenantRole, listTasks } from '../../db/postgres/tenant-role.ts';
import { column, defineQuery, many, maybeOne, one } from '../../db/rows.ts';
import { getExpiryMs, liveAgeLimits } from '../../fx/age-limits.ts';
import { checkClock } from './clock-check.ts';
import { type Finding, formatCause, passed, problem } from './finding.ts';
import { inspectServer } from './server-checks.ts';
import type { EnvironmentRecord } from './source-checks.ts';

/** The database of an environment: reachable, the right one, migrated, with all grants. */

export type DatabaseReport = {
  findings: Finding[];
  /** Undefined where there is nothing to connect to. */
  url: string | undefined;
  pooling: Pooling;
  isUsable: boolean;
  environment: EnvironmentRecord | undefined;
  /** Host and port; undefined where it cannot be reached. */
  server: string | undefined;
  connectionsNeeded: number;
  connectionsFree: number;
};

const readEnvironment = defineQuery({
  name: 'doctor_environment',
  columns: { name: column.text, indexKey: column.bytes, indexGeneration: column.integer },
  text: `
    select name, index_key as "indexKey", index_generation as "indexGeneration" from environment`,
});

const findTables = defineQuery({
  name: 'doctor_tables',
  columns: { exist: column.boolean },
  text: `
    select to_regclass('migrations') is not null
      and to_regclass('environment') is not null as exist`,
});

const readApplied = defineQuery({
  name: 'doctor_migrations',
  columns: { version: column.integer, hash: column.text, works_beside: column.integer },
  text: 'select version, hash, works_beside from migrations order by version',
});

const readRateAges = defineQuery({
  name: 'doctor_rates',
  columns: { source: column.text, as_of: column.instant },
  text: 'select source, max(as_of) as as_of from rates group by source order by source',
});

const readListAges = defineQuery({
  name: 'doctor_lists',
  columns: { list: column.text, checked_at: column.instant },
  text: 'select list, checked_at from screening_lists where checked_at is not null order by list',
});

type Place = { config: Config; name: EnvironmentName; realNowMs: () => number };

const nothing: Omit<DatabaseReport, 'findings'> = {
  url: undefined,
  pooling: 'session',
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
    const findings = [passed(`${name}: the embedded PostgreSQL, which starts with the service`)];
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
    // Reads the certificates that the URL names.
    ({ client } = await createOpener(url).open({}));
    const server = `${client.host}:${client.port}`;
    const inspected = await inspect(place, client);
    const { faults, pooling } = await inspectPooling(url);
    const pooled = `${name}: a pooler hands out the connections by transaction, which works here`;
    const findings = [
      passed(`${name}: the database can be reached`),
      ...(pooling === 'transaction' ? [passed(pooled)] : []),
      ...faults
        .filter(({ kind }) => kind === 'pooling')
        .map(({ text }) => problem(`${name}: ${text}`)),
      ...inspected.findings,
    ];
    return { ...nothing, ...inspected, url, pooling, server, findings };
  } catch (error) {
    // The message names host and role at most. The URL may hold a password.
    const advice = describeAdvice(error, setting);
    const text = `${name}: the database cannot be reached: ${formatCause(error)}; ${advice}`;
    return { ...nothing, findings: [problem(text)] };
  } finally {
    await client?.end().catch(() => undefined);
  }
}

export function describeAdvice(error: unknown, setting: string): string {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === '28P01' || code === '28000') return `correct role or password in ${setting}`;
  if (code === '3D000') return 'create the database, owned by the role of the service';
  const advice = findServerAdvice(code);
  if (advice !== undefined) return advice;
  if (/CERT|SIGNATURE|ALTNAME/.test(code)) {
    return `set the certificate of the server's authority in ${setting}: sslrootcert=PATH`;
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
  const session = createSession(({ text }, values = []) => client.query(text, [...values]));
  const tasks = await listTasks(client);
  const inspected = await inspectServer({ name, config, tasks }, session);
  const clock = await checkClock(place, session);
  const server = { ...inspected, findings: [...inspected.findings, clock] };
  const migrated = await checkMigrations({ name, isOwner: server.isOwner }, session);
  if (!migrated.isMigrated) {
    const findings = [...server.findings, ...migrated.findings];
    return { ...server, findings, isUsable: false, environment: undefined };
  }
  const named = await maybeOne(session, readEnvironment);
  const environment = named && { ...named, keyRows: await selectKeys(session) };
  const findings = [
    ...server.findings,
    ...migrated.findings,
    ...checkName(name, environment),
    ...(await checkTenantRole({ name, ...server, hasTask: tasks.length > 0 }, client)),
    ...(await checkImports(place, session)),
  ];
  const isUsable = environment?.name === name && migrated.isWhole;
  return { ...server, findings, isUsable, environment };
}

async function checkMigrations(
  { name, isOwner }: { name: EnvironmentName; isOwner: boolean },
  session: Session,
) {
  if (!(await one(session, findTables)).exist) {
    const findings = [passed(`${name}: the database is empty; the first start migrates it`)];
    return { isMigrated: false, isWhole: false, findings };
  }
  const applied = await many(session, readApplied);
  const migrations = await readMigrations();
  const newest = migrations.at(-1)?.version ?? 0;
  const newer = applied.filter(({ works_beside: oldest }) => oldest > newest);
  const edited = applied.filter(
    (ran) =>
      ran.version <= newest &&
      migrations.find(({ version }) => version === ran.version)?.hash !== ran.hash,
  );
  if (edited.some(({ version }) => version === 1)) {
    // Its tables are not those that this program reads.
    const findings = [problem(`${name}: ${unreleasedSchema}`)];
    return { isMigrated: false, isWhole: false, findings };
  }
  const ran = `${name}: ${applied.length} of ${migrations.length} migrations applied`;
  const findings: Finding[] = [];
  if (newer.length > 0) {
    findings.push(
      problem(`${name}: a newer release has migrated the database: update the program`),
    );
  }
  if (edited.length > 0) {
    findings.push(problem(`${ran}, ${edited.length} of them by another release: use that release`));
  }
  const isWhole = applied.length >= migrations.length && findings.length === 0;
  if (findings.length === 0) {
    const mustWait = !isWhole && !isOwner;
    const advice = 'run outlay admin migrate with the login that owns the tables';
    findings.push(mustWait ? problem(`${ran}: ${advice}`) : passed(ran));
  }
  return { isMigrated: true, isWhole, findings };
}

function checkName(name: EnvironmentName, record: EnvironmentRecord | undefined): Finding[] {
  if (record === undefined || record.name === name) return [];
  const setting = name === 'live' ? 'OUTLAY_LIVE_DATABASE_URL' : 'DATABASE_URL';
  return [problem(`${name}: this is the database of ${record.name}: correct ${setting}`)];
}

async function checkTenantRole(
  {
    name,
    role,
    isOwner,
    hasTask,
  }: { name: EnvironmentName; role: string; isOwner: boolean; hasTask: boolean },
  client: pg.Client,
): Promise<Finding[]> {
  const { exists, statements, missingGrants } = await inspectTenantRole(client);
  if (!exists) {
    return [
      problem(
        `${name}: a role of the service is missing, as after a restore on another server: run as an administrator: ${statements.join(' ')} grant outlay_tenant, outlay_service to ${role}; then restart the service`,
      ),
    ];
  }
  if (!hasTask) {
    return [
      problem(
        `${name}: ${role} may not act as outlay_tenant and outlay_service: run as an administrator: grant outlay_tenant, outlay_service to ${role}`,
      ),
    ];
  }
  if (missingGrants.length > 0) {
    return [
      problem(
        `${name}: the role outlay_tenant lacks ${missingGrants.length} grants: ${isOwner ? 'restart the service, which grants them' : 'run outlay admin migrate with the login that owns the tables, which grants them'}`,
      ),
    ];
  }
  return [passed(`${name}: the role outlay_tenant has all its grants`)];
}

/** The age of imported rates and lists. */
async function checkImports(
  { config, name, realNowMs }: Place,
  session: Session,
): Promise<Finding[]> {
  const findings: Finding[] = [];
  if (name === 'live') {
    for (const { source, as_of: asOf } of await many(session, readRateAges)) {
      const limit = liveAgeLimits[source];
      const isStale = limit !== undefined && realNowMs() > getExpiryMs(asOf.getTime(), limit);
      const text = `live: the newest rates of ${source} are of ${asOf.toISOString()}`;
      findings.push(
        isStale
          ? problem(`${text}, which is too old: run outlay admin rates import`)
          : passed(text),
      );
    }
  }
  const daysMax = config.OUTLAY_SCREENING_DAYS_MAX;
  for (const { list, checked_at: checkedAt } of await many(session, readListAges)) {
    const isOld = realNowMs() - checkedAt.getTime() > daysMax * 86_400_000;
    const text = `${name}: the sanctions list ${list} was read at ${checkedAt.toISOString()}`;
    findings.push(
      isOld
        ? problem(`${text}, which is too old: run outlay admin screening import`)
        : passed(text),
    );
  }
  return findings;
}
