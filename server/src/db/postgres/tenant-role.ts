import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { readSchema } from '../schema.ts';
import { tenantRole } from './bound-query.ts';
import { createOpener } from './connection.ts';

/**
 * The roles in which the service works: `outlay_tenant` for one client, `outlay_service` for all. Roles
 * belong to the server and not to the database, so a database restored on another server lacks them and
 * their grants. The schema files list the grants of the one; `protect_tables` makes those of the other.
 */

const serviceRole = 'outlay_service';
const roles = [tenantRole, serviceRole];

/** A problem with a role, and the statements that solve it. */
export class TenantRoleError extends Error {}

export type TenantRoleState = {
  /** Whether both roles exist. */
  exists: boolean;
  /** Whether the connection's role may act as both. */
  isMember: boolean;
  /** Grants of this release that the database lacks, as statements. */
  missingGrants: string[];
};

type Grant = { statement: string; privilege: string; column: string; object: string };

const grantPattern =
  /^grant (?<privileges>[a-z, ]+?)(?: \((?<column>[a-z_]+)\))? on (?<function>function )?(?<object>[a-z_]+) to outlay_tenant;$/;

/** The grants of this release, one for each privilege. */
export async function readTenantGrants(): Promise<Grant[]> {
  const statements = (await readSchema()).match(/^grant [^;]* to outlay_tenant;$/gm) ?? [];
  return statements
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
    and not has_table_privilege('${serviceRole}', 'accounts', 'select') as "isLost"`;

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

export async function inspectTenantRole(client: pg.ClientBase): Promise<TenantRoleState> {
  const { rows } = await client.query<{ name: string; isMember: boolean }>(roleText, [roles]);
  const role = {
    exists: rows.length === roles.length,
    isMember: rows.length === roles.length && rows.every(({ isMember }) => isMember),
  };
  if (!role.exists) return { ...role, missingGrants: [] };
  const {
    rows: [service],
  } = await client.query<{ isLost: boolean }>(protectedText);
  const lost = service?.isLost === true ? ['select protect_tables();'] : [];
  const grants = await readTenantGrants();
  const missing = await client.query<{ statement: string }>(grantsText, [
    grants.map(({ statement }) => statement),
    grants.map(({ privilege }) => privilege),
    grants.map(({ column }) => column),
    grants.map(({ object }) => object),
  ]);
  const usage = await client.query<{ has: boolean }>(
    `select has_schema_privilege('${tenantRole}', 'public', 'usage') as has`,
  );
  const missingUsage = usage.rows[0]?.has === true ? [] : [usageStatement];
  const granted = missing.rows.map((row) => row.statement);
  return { ...role, missingGrants: [...missingUsage, ...granted, ...lost] };
}

const usageStatement = `grant usage on schema public to ${tenantRole};`;

/**
 * Creates the roles and their missing grants.
 *
 * @throws TenantRoleError with the statements for an administrator if the connection's role may not.
 */
export async function ensureTenantRole({ url }: { url: string }): Promise<void> {
  const { client } = await createOpener(url).open({});
  try {
    const state = await inspectTenantRole(client);
    if (!state.exists || !state.isMember) await createRoles(client);
    await repeatGrants(client);
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

async function createRoles(client: pg.ClientBase): Promise<void> {
  const { rows } = await client.query<{ name: string }>('select quote_ident(current_user) as name');
  const name = rows[0]?.name ?? 'current_user';
  const found = await client.query<{ name: string; isMember: boolean }>(roleText, [roles]);
  const statements = roles.flatMap((role) => {
    const known = found.rows.find((row) => row.name === role);
    const create = known === undefined ? [`create role ${role} nologin;`] : [];
    return known?.isMember === true ? [] : [...create, `grant ${role} to ${name};`];
  });
  try {
    for (const statement of statements) await client.query(statement);
  } catch (cause) {
    // Another process may have created them at the same time.
    const { exists, isMember } = await inspectTenantRole(client);
    if (exists && isMember) return;
    throw new TenantRoleError(
      `the roles ${roles.join(' and ')} are missing, or cannot be used by ${name}: run as an ` +
        `administrator: ${statements.join(' ')}`,
      { cause },
    );
  }
}
