import pg from 'pg';

/**
 * Everything that statements of a schema can change in a database, one line for each object, so that
 * two databases can be compared and their differences named.
 */
export async function readCatalog(client: Pick<pg.Client, 'query'>): Promise<string[]> {
  const lines: string[] = [];
  for (const statement of statements) {
    const { rows } = await client.query<{ line: string }>(statement);
    lines.push(...rows.map(({ line }) => line));
  }
  const tables = await client.query<{ name: string }>(`
    select relname as name from pg_class
    where relnamespace = 'public'::regnamespace and relkind in ('r', 'p') and not relispartition
      and relname <> 'migrations'`);
  if (tables.rows.length > 0) {
    // One statement, because there are more than a hundred tables.
    const statement = tables.rows.map(
      ({ name }) =>
        `select ${pg.escapeLiteral(`row of ${name}: `)} || to_jsonb(t)::text as line
         from ${pg.escapeIdentifier(name)} t`,
    );
    const { rows } = await client.query<{ line: string }>(statement.join(' union all '));
    lines.push(...rows.map(({ line }) => line));
  }
  return lines.toSorted();
}

/** Names each object that only one of two catalogs has in this form. */
export function compareCatalogs(migrated: readonly string[], read: readonly string[]): string[] {
  const onlyIn = (lines: readonly string[], others: readonly string[]): string[] => {
    const known = new Set(others);
    return lines.filter((line) => !known.has(line));
  };
  return [
    ...onlyIn(migrated, read).map((line) => `only in the migrations: ${line}`),
    ...onlyIn(read, migrated).map((line) => `only in the schema files: ${line}`),
  ];
}

const relations = `pg_class c
  join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public' and c.relname <> 'migrations'`;

const relationLines = `
  select concat_ws(' ', 'relation', c.relname, c.relkind, c.relpersistence, c.relreplident,
    'row security', c.relrowsecurity, c.relforcerowsecurity,
    c.reloptions::text, (select t.reloptions::text from pg_class t where t.oid = c.reltoastrelid),
    pg_get_partkeydef(c.oid), pg_get_expr(c.relpartbound, c.oid)) as line
  from ${relations} where c.relkind <> 'i'`;

const columnLines = `
  select concat_ws(' ', 'column', c.relname || '.' || a.attname,
    row_number() over (partition by c.oid order by a.attnum),
    format_type(a.atttypid, a.atttypmod), case when a.attnotnull then 'not null' end,
    pg_get_expr(d.adbin, d.adrelid), nullif(a.attidentity::text, ''),
    nullif(a.attgenerated::text, ''), 'storage', a.attstorage, nullif(a.attcompression::text, ''),
    nullif(a.attstattarget, -1), a.attoptions::text,
    nullif(a.attcollation, 0)::regcollation::text) as line
  from ${relations}
  join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
  left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
  where c.relkind not in ('i', 'I')`;

const constraintLines = `
  select concat_ws(' ', 'constraint', conrelid::regclass, conname, pg_get_constraintdef(k.oid),
    case when not convalidated then 'not valid' end) as line
  from ${relations} join pg_constraint k on k.conrelid = c.oid`;

const indexLines = `
  select concat_ws(' ', 'index', pg_get_indexdef(i.indexrelid),
    case when not indisvalid then 'invalid' end, case when indisclustered then 'clustered' end) as line
  from ${relations} join pg_index i on i.indrelid = c.oid`;

const triggerLines = `
  select concat_ws(' ', 'trigger', pg_get_triggerdef(t.oid), t.tgenabled) as line
  from ${relations} join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal`;

const policyLines = `
  select concat_ws(' ', 'policy', c.relname, polname, polpermissive, polcmd,
    (select string_agg(case r when 0 then 'public' else r::regrole::text end, ',' order by 1)
     from unnest(polroles) r),
    pg_get_expr(polqual, polrelid), pg_get_expr(polwithcheck, polrelid)) as line
  from ${relations} join pg_policy p on p.polrelid = c.oid`;

const viewLines = `
  select concat_ws(' ', 'view', c.relname, pg_get_viewdef(c.oid)) as line
  from ${relations} where c.relkind in ('v', 'm')`;

/** Comments and white space of a body say nothing to the server; the rest of it is compared by a hash. */
const functionLines = `
  select concat_ws(' ', 'function', p.proname || '(' || pg_get_function_arguments(p.oid) || ')',
    'returns', pg_get_function_result(p.oid), l.lanname, p.prokind, p.provolatile, p.proparallel,
    case when p.prosecdef then 'security definer' end, case when p.proisstrict then 'strict' end,
    case when p.proleakproof then 'leakproof' end, 'cost', p.procost, p.prorows, p.proconfig::text,
    'body', left(md5(btrim(regexp_replace(regexp_replace(
      coalesce(pg_get_function_sqlbody(p.oid), p.prosrc), '--[^\\n]*', '', 'g'),
      '\\s+', ' ', 'g'))), 12)) as line
  from pg_proc p join pg_language l on l.oid = p.prolang
  where p.pronamespace = 'public'::regnamespace
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')`;

const grantLines = `
  select concat_ws(' ', 'grant', a.privilege_type, 'on', o.name, 'to',
    case a.grantee when 0 then 'public' else a.grantee::regrole::text end,
    case when a.is_grantable then 'with grant option' end) as line
  from (
    select c.relname::text as name, coalesce(c.relacl,
      acldefault(case c.relkind when 'S' then 's' else 'r' end::"char", c.relowner)) as acl
    from ${relations} where c.relkind not in ('i', 'I', 'c')
    union all
    select c.relname || '.' || a.attname, a.attacl
    from ${relations} join pg_attribute a on a.attrelid = c.oid
    union all
    select oid::regprocedure::text, coalesce(proacl, acldefault('f', proowner))
    from pg_proc where pronamespace = 'public'::regnamespace
    union all
    select 'schema ' || nspname, nspacl from pg_namespace where nspname = 'public'
    union all
    select 'default ' || defaclobjtype::text, defaclacl from pg_default_acl
  ) o
  cross join lateral aclexplode(o.acl) a`;

const typeLines = `
  select concat_ws(' ', 'type', t.typname, t.typtype, format_type(t.typbasetype, t.typtypmod),
    t.typnotnull, t.typdefault,
    (select string_agg(pg_get_constraintdef(k.oid), ' ' order by k.conname) from pg_constraint k
     where k.contypid = t.oid),
    (select string_agg(e.enumlabel, ',' order by e.enumsortorder) from pg_enum e
     where e.enumtypid = t.oid)) as line
  from pg_type t
  where t.typnamespace = 'public'::regnamespace and t.typtype in ('d', 'e', 'r')`;

const otherLines = `
  select concat_ws(' ', 'extension', extname, extversion) as line from pg_extension
  union all
  select concat_ws(' ', 'schema', nspname) from pg_namespace where nspname !~ '^pg_'
  union all
  select 'statistics ' || pg_get_statisticsobjdef(oid) from pg_statistic_ext
  union all
  select concat_ws(' ', 'sequence', sequencename, data_type, start_value, min_value, max_value,
    increment_by, cycle, cache_size)
  from pg_sequences where schemaname = 'public'
  union all
  select concat_ws(' ', 'rule', tablename, definition) from pg_rules where schemaname = 'public'
  union all
  select concat_ws(' ', 'comment', pg_describe_object(classoid, objoid, objsubid), description)
  from pg_description d
  where objoid >= 16384
    and not exists (select from pg_depend e where e.objid = d.objoid and e.deptype = 'e')`;

const statements = [
  relationLines,
  columnLines,
  constraintLines,
  indexLines,
  triggerLines,
  policyLines,
  viewLines,
  functionLines,
  grantLines,
  typeLines,
  otherLines,
];
