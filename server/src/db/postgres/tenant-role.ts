import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { readSchema } from '../schema.ts';
import { tenantRole } from './bound-query.ts';
import { createOpener } from './connection.ts';

/**
 * The roles in which the service works: `outlay_tenant` for one client; for all `outlay_service`, or the
 * narrower one of a process with a single task. Roles belong to the server and not to the database, so a
 * database restored on another server lacks them and their grants. The schema files list the grants of
 * the one; `protect_tables` makes those of the others.
 */

/** What a process does. A process that serves and works, or a command that changes something, does everything. */
export type Task = 'serve' | 'work' | 'read' | 'all';

export type ServiceRole = 'outlay_service' | 'outlay_api' | 'outlay_worker' | 'outlay_reader';

/** The narrowest first. A login of the simplest set-up may only act as the last one. */
const rolesOfTask: Readonly<Record<Task, readonly ServiceRole[]>> = {
  serve: ['outlay_api', 'outlay_service'],
  work: ['outlay_worker', 'outlay_service'],
  read: ['outlay_reader', 'outlay_service'],
  all: ['outlay_service'],
};
const serviceRoles: readonly ServiceRole[] = ['outlay_service', 'outlay_api', 'outlay_worker'];
const roles = [tenantRole, ...serviceRoles, 'outlay_reader'];
/** What a login needs that does everything. */
const memberships = [tenantRole, 'outlay_service'];

/** A problem with a role, and the statements that solve it. */
export class TenantRoleError extends Error {}

export type TenantRoleState = {
  /** Whether the roles exist. */
  exists: boolean;
  /** For an administrator: creates the roles that are missing. */
  statements: string[];
  /** Whether the connection's role may act as a tenant and as one of the task's roles. */
  isMember: boolean;
  /** The narrowest role of the task that the connection's role may act as. */
  serviceRole: ServiceRole | undefined;
  /** Grants of this release that the database lacks, as statements. */
  missingGrants: string[];
};

type Grant = { statement: string; privilege: string; column: string; object: string };

const grantPattern =
  /^grant (?<privileges>[a-z, ]+?)(?: \((?<column>[a-z_]+)\))? on (?<function>function )?(?<object>[a-z_]+) to outlay_tenant;$/;

/** The grants of this release, one for each privilege. */
async function readTenantGrants(): Promise<Grant[]> {
  const lines = (await readSchema()).split('\n');
  return lines
    .filter((line) => line.startsWith('grant ') && line.endsWith(' to outlay_tenant;'))
    .filter((statement) => statement !== usageStatement)
    .flatMap((statement) => {
      const {
        privileges = '',
        column = '',
        object = '',
      } = grantPattern.exec(statement)?.groups ?? {};
      if (object === '') throw new Error(`a grant must be one line for one object: ${statement}`);
      const listed = privileges.split(', ');
      return listed.map((privilege) => ({ statement, privilege, column, object }));
    });
}

const roleText = `
  select r.rolname as name, s.rolsuper or pg_has_role(current_user, r.oid,
      case when current_setting('server_version_num')::integer >= 160000 then 'set'
        else 'member' end) as "isMember"
  from pg_roles r, pg_roles s
  where r.rolname = any ($1) and s.rolname = current_user`;

/** Whether a restore on another server has lost what \`protect_tables\` did. */
const protectedText = `
  select to_regproc('protect_tables') is not null
    and not (select bool_and(has_table_privilege(rolname, 'accounts', 'select'))
      from pg_roles where rolname = any ($1)) as "isLost"`;

/** Without objects that do not exist yet: migrations create and grant them. */
const grantsText = `
  select distinct statement
  from unnest($1::text[], $2::text[], $3::text[], $4::text[])
    as g (statement, privilege, col, object)
  where case
    when privilege = 'execute' then exists (
      select from pg_proc
      where proname = object and pronamespace = 'public'::regnamespace
        and not has_function_privilege('${tenantRole}', oid, 'execute'))
    when to_regclass('public.' || object) is null then false
    when col <> '' then not has_column_privilege('${tenantRole}', 'public.' || object, col, privilege)
    else not has_table_privilege('${tenantRole}', 'public.' || object, privilege)
  end
  order by statement`;

type RoleRow = { name: string; isMember: boolean };

function findServiceRole(
  rows: readonly RoleRow[],
  task: Task,
): Pick<TenantRoleState, 'isMember' | 'serviceRole'> {
  const mayBe = (name: string): boolean => rows.some((row) => row.name === name && row.isMember);
  const serviceRole = rolesOfTask[task].find(mayBe);
  // Reading needs no tenant: its statements for one account run as the reader too.
  const isMember =
    serviceRole === 'outlay_reader' || (mayBe(tenantRole) && serviceRole !== undefined);
  return { isMember, serviceRole };
}

/** What the connection's role may do: one of a single task has that one, and none where nothing was granted. */
export async function listTasks(client: pg.ClientBase): Promise<Task[]> {
  const { rows } = await client.query<RoleRow>(roleText, [roles]);
  const tasks: readonly Task[] = ['all', 'serve', 'work', 'read'];
  return tasks.filter((task) => findServiceRole(rows, task).isMember);
}

export async function inspectTenantRole(
  client: pg.ClientBase,
  task: Task = 'all',
): Promise<TenantRoleState> {
  const { rows } = await client.query<RoleRow>(roleText, [roles]);
  const missing = roles.filter((name) => rows.every((row) => row.name !== name));
  const role = {
    exists: missing.length === 0,
    statements: missing.map((name) => `create role ${name} nologin;`),
    ...findServiceRole(rows, task),
  };
  if (!role.exists) return { ...role, missingGrants: [] };
  const {
    rows: [service],
  } = await client.query<{ isLost: boolean }>(protectedText, [serviceRoles]);
  const lost = service?.isLost === true ? ['select protect_tables();'] : [];
  const grants = await readTenantGrants();
  const ungranted = await client.query<{ statement: string }>(grantsText, [
    grants.map(({ statement }) => statement),
    grants.map(({ privilege }) => privilege),
    grants.map(({ column }) => column),
    grants.map(({ object }) => object),
  ]);
  const usage = await client.query<{ has: boolean }>(
    `select has_schema_privilege('${tenantRole}', 'public', 'usage') as has`,
  );
  const missingUsage = usage.rows[0]?.has === true ? [] : [usageStatement];
  const grantable = ungranted.rows.map((row) => row.statement);
  return { ...role, missingGrants: [...missingUsage, ...grantable, ...lost] };
}

const usageStatement = `grant usage on schema public to ${tenantRole};`;

/**
 * Creates the roles and their missing grants, and finds the role for the task.
 *
 * @throws TenantRoleError with the statements for an administrator if the connection's role may not.
 */
export async function ensureTenantRole({
  url,
  task = 'all',
}: {
  url: string;
  task?: Task;
}): Promise<ServiceRole> {
  const { client } = await createOpener(url).open({});
  try {
    const state = await inspectTenantRole(client, task);
    if (!state.exists || !state.isMember) await createRoles(client, task);
    await repeatGrants(client);
    const { serviceRole } = await inspectTenantRole(client, task);
    return serviceRole ?? 'outlay_service';
  } finally {
    await client.end();
  }
}

const grantTriesMax = 5;

/** Retries, because the server refuses grants that another process makes at the same time. */
async function repeatGrants(client: pg.ClientBase): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const { missingGrants } = await inspectTenantRole(client);
    try {
      for (const statement of missingGrants) await client.query(statement);
      return;
    } catch (error) {
      if (tries === grantTriesMax) throw error;
      await sleep(50 * tries);
    }
  }
}

async function createRoles(client: pg.ClientBase, task: Task): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_user) as name');
  const name = rows[0]?.name ?? 'current_user';
  const found = await client.query<RoleRow>(roleText, [roles]);
  const statements = roles.flatMap((role) => {
    const known = found.rows.find((row) => row.name === role);
    const create = known === undefined ? [`create role ${role} nologin;`] : [];
    const isNeeded = memberships.includes(role) && known?.isMember !== true;
    return [...create, ...(isNeeded ? [`grant ${role} to ${name};`] : [])];
  });
  try {
    for (const statement of statements) await client.query(statement);
  } catch (cause) {
    // Another process may have created them at the same time.
    const { exists, isMember } = await inspectTenantRole(client, task);
    if (exists && isMember) return;
    // To widen a login that is narrow on purpose would be bad advice.
    const narrow = exists && found.rows.find((row) => row.isMember && row.name !== tenantRole);
    if (narrow !== false && narrow !== undefined) {
      throw new TenantRoleError(
        `the login ${name} may act as ${narrow.name} only: use one that may act as ` +
          `${rolesOfTask[task].join(' or ')}, and as ${tenantRole}`,
        { cause },
      );
    }
    throw new TenantRoleError(
      `roles of the service are missing, or cannot be used by ${name}: run as an ` +
        `administrator: ${statements.join(' ')}`,
      { cause },
    );
  }
}
