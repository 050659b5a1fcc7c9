import pg from 'pg';
import { migrate } from '../server/src/db/migrate.ts';

/**
 * Runs plpgsql_check on every PL/pgSQL function of the schema, in the empty database whose URL is the
 * argument: types, names and statements that PostgreSQL itself only looks at when they run. Needs
 * the Debian package postgresql-15-plpgsql-check and a superuser.
 */
const [url = ''] = process.argv.slice(2);
await migrate({ url });
const client = new pg.Client({ connectionString: url });
await client.connect();
await client.query('create extension plpgsql_check');
// Transition tables are named as in the trigger's definition.
const { rows } = await client.query<{ name: string; finding: string | null }>(`
  select p.proname || coalesce(' on ' || t.tgrelid::regclass, '') as name,
    case when c.functionid is not null then concat_ws(': ', 'line ' || c.lineno, c.level, c.message,
      c.detail, c.hint, c.query) end as finding
  from pg_proc p
  join pg_language l on l.oid = p.prolang and l.lanname = 'plpgsql'
  left join pg_trigger t on t.tgfoid = p.oid and not t.tgisinternal and t.tgparentid = 0
  left join lateral plpgsql_check_function_tb(p.oid, coalesce(t.tgrelid, 0),
    newtable => t.tgnewtable, oldtable => t.tgoldtable, performance_warnings => false) c on true
  where p.pronamespace = 'public'::regnamespace
    and (t.oid is not null or p.prorettype <> 'trigger'::regtype)
    and not exists (select from pg_depend d where d.objid = p.oid and d.deptype = 'e')
  order by 1, c.lineno`);
await client.end();
const findings = [
  ...new Set(
    rows.flatMap(({ name, finding }) => (finding === null ? [] : [`${name}: ${finding}`])),
  ),
];
const checked = new Set(rows.map(({ name }) => name)).size;
process.stdout.write(`${checked} functions and triggers, ${findings.length} findings\n`);
if (findings.length > 0) {
  process.stderr.write(`${findings.join('\n')}\n`);
  process.exitCode = 1;
}
