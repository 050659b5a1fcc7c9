import type { Config } from '../../config.ts';
import type { EnvironmentName } from '../../core/access.ts';
import { laneCount, type Session } from '../../db/postgres/pool.ts';
import type { Task } from '../../db/postgres/tenant-role.ts';
import { column, defineQuery, one, type RowOf } from '../../db/rows.ts';
import { type Finding, passed, problem } from './finding.ts';

/** The PostgreSQL server: its version and settings, and the rights of the service's role. */

const versionMin = 150_000;

const columns = {
  version: column.integer,
  fsync: column.text,
  synchronous_commit: column.text,
  full_page_writes: column.text,
  server_encoding: column.text,
  is_standby: column.boolean,
  connections_free: column.integer,
  role: column.text,
  can_create_role: column.boolean,
  has_tenant_role: column.boolean,
  can_use_schema: column.boolean,
  foreign_tables: column.integer,
  is_new: column.boolean,
};
type ServerRow = RowOf<typeof columns>;

const readServer = defineQuery({
  name: 'doctor_server',
  columns,
  text: `
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
    quote_ident(current_user) as role,
    r.rolcreaterole or r.rolsuper as can_create_role,
    exists (select from pg_roles where rolname = 'outlay_tenant') as has_tenant_role,
    has_schema_privilege('public', 'create') as can_use_schema,
    (select count(*)::integer from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
        and not pg_has_role(current_user, c.relowner, 'usage')) as foreign_tables,
    to_regclass('migrations') is null as is_new
  from pg_roles r, pg_database d
  where r.rolname = current_user and d.datname = current_database()`,
});

export type ServerReport = {
  findings: Finding[];
  /** The service's role, quoted for SQL. */
  role: string;
  /** Whether it may migrate. */
  isOwner: boolean;
  connectionsFree: number;
  connectionsNeeded: number;
};

export async function inspectServer(
  { name, config, tasks = [] }: { name: EnvironmentName; config: Config; tasks?: readonly Task[] },
  session: Session,
): Promise<ServerReport> {
  const row = await one(session, readServer);
  const isOwner = row.foreign_tables === 0;
  const isNarrow = !isOwner && tasks.length > 0;
  const connectionsNeeded = 2 * config.OUTLAY_DATABASE_CONNECTIONS + laneCount;
  const findings = [
    ...listSettings(row),
    ...(isNarrow ? [describeTasks(row, tasks)] : listRights(row)),
    // A command that only reads needs few.
    ...(tasks.join() === 'read' ? [] : [checkConnections(row, connectionsNeeded)]),
  ].map(({ isFine, text }) => ({ isFine, text: `${name}: ${text}` }));
  const { role, connections_free: connectionsFree } = row;
  return { findings, role, isOwner, connectionsFree, connectionsNeeded };
}

function listSettings(row: ServerRow): Finding[] {
  const setting = (key: 'fsync' | 'full_page_writes'): Finding =>
    row[key] === 'on'
      ? passed(`${key} is on`)
      : problem(
          `${key} is off, so a power failure loses payouts: set it to on and restart the server`,
        );
  return [
    row.version >= versionMin
      ? passed(`PostgreSQL ${row.version}`)
      : problem(`PostgreSQL ${row.version} is too old: it must be 15 or newer`),
    row.is_standby
      ? problem('this server is a standby, which is read-only: use the address of the primary')
      : passed('this server is a primary'),
    setting('fsync'),
    row.synchronous_commit === 'off'
      ? problem('synchronous_commit is off, so a crash loses payouts: set it to on')
      : passed(`synchronous_commit is ${row.synchronous_commit}`),
    setting('full_page_writes'),
    row.server_encoding === 'UTF8'
      ? passed('the encoding is UTF8')
      : problem(`the encoding is ${row.server_encoding}: create the database with encoding UTF8`),
  ];
}

const taskNames: Readonly<Record<Task, string>> = {
  all: 'every task but migrate',
  serve: 'serve',
  work: 'work',
  read: 'commands that only read',
};

/** A login that owns nothing on purpose (docs/guides/deployment.md). */
function describeTasks({ role }: ServerRow, tasks: readonly Task[]): Finding {
  const named = tasks.includes('all') ? [taskNames.all] : tasks.map((task) => taskNames[task]);
  return passed(`${role} owns no table and is a login for ${named.join(' and ')}`);
}

function listRights(row: ServerRow): Finding[] {
  const { role } = row;
  const findings: Finding[] = [];
  if (row.is_new && !row.has_tenant_role && !row.can_create_role) {
    findings.push(
      problem(
        `${role} cannot create the role outlay_tenant: run as an administrator: create role outlay_tenant nologin; grant outlay_tenant to ${role}`,
      ),
    );
  }
  if (!row.can_use_schema) {
    findings.push(
      problem(
        `${role} cannot create tables: run as an administrator: grant create on schema public to ${role}`,
      ),
    );
  }
  if (row.foreign_tables > 0) {
    findings.push(
      problem(
        `${row.foreign_tables} tables belong to another role, so their rows are hidden: restore with the role ${role}, or reassign owned by their owner to ${role}`,
      ),
    );
  }
  return findings.length > 0 ? findings : [passed(`${role} has all rights that it needs`)];
}

function checkConnections({ connections_free: free }: ServerRow, needed: number): Finding {
  const text = `one process needs up to ${needed} connections and may use ${free}`;
  return needed <= free
    ? passed(text)
    : problem(`${text}: lower OUTLAY_DATABASE_CONNECTIONS or raise max_connections`);
}
