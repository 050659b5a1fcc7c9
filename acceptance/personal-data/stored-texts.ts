import { openOwner } from '../../server/testing/setups/owner-session.ts';
import { readRows } from '../../server/testing/setups/read-rows.ts';

/** Looks through everything that the database stores, as its owner. */

type Column = { table_name: string; column_name: string; type: string };

/** How a value of each type is compared as text; bytes as their Latin-1 characters and unpacked Base64. */
const asText: Readonly<Record<string, string>> = {
  text: '%s',
  varchar: '%s',
  json: '%s::text',
  jsonb: '%s::text',
  _text: '%s::text',
  bytea: `encode(%s, 'escape')`,
  _bytea: `%s::text`,
};

/** `table.column: name` for each named text that stands in clear in a column of a table. */
export async function findInTables(
  url: string,
  wanted: Readonly<Record<string, string>>,
): Promise<string[]> {
  const owner = openOwner(url);
  try {
    const columns = await readRows<Column>(owner.session, {
      name: '',
      text: `
        select c.relname as table_name, a.attname as column_name, t.typname as type
        from pg_class c
        join pg_namespace n on n.oid = c.relnamespace and n.nspname = 'public'
        join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
        join pg_type t on t.oid = a.atttypid
        where c.relkind in ('r', 'p') and not c.relispartition
        order by c.relname, a.attnum`,
    });
    const found: string[] = [];
    for (const [table, own] of Map.groupBy(columns, (column) => column.table_name)) {
      const texts = own.flatMap(({ column_name: column, type }, index) => {
        const text = asText[type]?.replace('%s', `"${column}"`);
        return text === undefined ? [] : [`(${index}, '${column}', lower(${text}))`];
      });
      if (texts.length === 0) continue;
      // All columns of a table together: there are many hundreds of them.
      const hits = await readRows<{ column: string; name: string }>(
        owner.session,
        {
          name: '',
          text: `
            select c.name as column, w.name
            from "${table}"
            cross join lateral (values ${texts.join(', ')}) c (place, name, text)
            join unnest($1::text[], $2::text[]) w (name, wanted)
              on position(lower(w.wanted) in c.text) > 0
            group by c.place, c.name, w.name
            order by c.place, w.name`,
        },
        [Object.keys(wanted), Object.values(wanted)],
      );
      found.push(...hits.map(({ column, name }) => `${table}.${column}: ${name}`));
    }
    return found;
  } finally {
    await owner.close();
  }
}
