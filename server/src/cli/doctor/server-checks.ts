import type pg from 'pg';
import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { laneCount } from '../../db/postgres/pool.ts';
import { type Finding, fine, wrong } from './finding.ts';

/** The PostgreSQL server: its version and settings, and what the role of the service may do there. */

const versionMin = 150_000;

type ServerRow = {
  version: number;
  fsync: string;
  synchronous_commit: string;
  full_page_writes: string;
  server_encoding: string;
  is_standby: boolean;
  connections_free: number;
  role: string;
  database: string;
  can_create_role: boolean;
  has_tenant_role: boolean;
  can_create: boolean;
  can_use_schema: boolean;
  has_trigrams: boolean;
  offers_trigrams: boolean;
  foreign_tables: number;
  is_new: boolean;
};

const serverText = `
  select current_setting('server_version_num')::integer as version,
    current_setting('fsync') as fsync,
    current_setting('synchronous_commit') as synchronous_commit,
    current_setting('full_page_writes') as full_page_writes,
    current_setting('server_encoding') as server_encoding,
    pg_is_in_recovery() as is_standby,
    least(
      current_setting('max_connections')::integer
        - current_setting('superuser_reserved_connections')::integer
        - coalesce(current_setting('reserved_connections', true), '0')::integer,
      nullif(r.rolconnlimit, -1), nullif(d.datconnlimit, -1)) as connections_free,
    quote_ident(current_user) as role, quote_ident(current_database()) as database,
    r.rolcreaterole or r.rolsuper as can_create_role,
    exists (select from pg_roles where rolname = 'outlay_tenant') as has_tenant_role,
    has_database_privilege(current_database(), 'create') as can_create,
    has_schema_privilege('public', 'create') as can_use_schema,
    exists (select from pg_extension where extname = 'pg_trgm') as has_trigrams,
    exists (select from pg_available_extensions where name = 'pg_trgm') as offers_trigrams,
    (select count(*)::integer from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
        and not pg_has_role(current_user, c.relowner, 'usage')) as foreign_tables,
    to_regclass('migrations') is null as is_new
  from pg_roles r, pg_database d
  where r.rolname = current_user and d.datname = current_database()`;

export type ServerReport = {
  findings: Finding[];
  connectionsFree: number;
  connectionsNeeded: number;
};

export async function inspectServer(
  { name, config }: { name: EnvironmentName; config: Config },
  client: pg.Client,
): Promise<ServerReport> {
  const { rows } = await client.query<ServerRow>(serverText);
  const [row] = rows;
  if (row === undefined) throw new Error('the server does not know its own role');
  const connectionsNeeded = 2 * config.OUTLAY_DATABASE_CONNECTIONS + laneCount;
  const findings = [
    ...listSettings(row),
    ...listRights(row),
    checkConnections(row, connectionsNeeded),
  ].map(({ isFine, text }) => ({ isFine, text: `${name}: ${text}` }));
  return { findings, connectionsFree: row.connections_free, connectionsNeeded };
}

function listSettings(row: ServerRow): Finding[] {
  const setting = (key: 'fsync' | 'full_page_writes'): Finding =>
    row[key] === 'on'
      ? fine(`${key} is on`)
      : wrong(
          `${key} is off, so that a power cut loses payouts: set it to on and restart the server`,
        );
  return [
    row.version >= versionMin
      ? fine(`PostgreSQL ${row.version}`)
      : wrong(`PostgreSQL ${row.version} is too old: 15 or newer is needed`),
    row.is_standby
      ? wrong('this server is a standby, which cannot be written: use the address of the primary')
      : fine('this server is a primary'),
    setting('fsync'),
    row.synchronous_commit === 'off'
      ? wrong('synchronous_commit is off, so that a crash loses payouts: set it to on')
      : fine(`synchronous_commit is ${row.synchronous_commit}`),
    setting('full_page_writes'),
    row.server_encoding === 'UTF8'
      ? fine('the encoding is UTF8')
      : wrong(`the encoding is ${row.server_encoding}: create the database with encoding UTF8`),
  ];
}

function listRights(row: ServerRow): Finding[] {
  const { role, database } = row;
  const findings: Finding[] = [];
  if (row.is_new && !row.has_tenant_role && !row.can_create_role) {
    findings.push(
      wrong(
        `${role} cannot create the role outlay_tenant: run as an administrator: create role outlay_tenant nologin; grant outlay_tenant to ${role}`,
      ),
    );
  }
  if (!row.can_use_schema) {
    findings.push(
      wrong(
        `${role} cannot create tables: run as an administrator: grant create on schema public to ${role}`,
      ),
    );
  }
  if (!row.has_trigrams && !row.offers_trigrams) {
    findings.push(
      wrong('the extension pg_trgm is missing: install the contrib modules of PostgreSQL'),
    );
  } else if (!row.has_trigrams && !row.can_create) {
    findings.push(
      wrong(
        `${role} cannot create the extension pg_trgm: run as an administrator: grant create on database ${database} to ${role}`,
      ),
    );
  }
  if (row.foreign_tables > 0) {
    findings.push(
      wrong(
        `${row.foreign_tables} tables belong to another role, so that their rows stay hidden: restore with the role ${role}, or reassign owned by their owner to ${role}`,
      ),
    );
  }
  return findings.length > 0 ? findings : [fine(`${role} has the rights that it needs`)];
}

function checkConnections({ connections_free: free }: ServerRow, needed: number): Finding {
  const text = `one process needs up to ${needed} connections, and the server has ${free} for it`;
  return needed <= free
    ? fine(text)
    : wrong(`${text}: lower OUTLAY_DATABASE_CONNECTIONS or raise max_connections`);
}
