-- A plan serves every account, so it must be made for the largest: with the average of a thousand
-- accounts in mind, the planner reads all payouts of the one that has most of them, and filters.
-- As if there were one account only, it takes the index that finds the row.
do $$
declare
  v_table text;
begin
  for v_table in
    select c.relname from pg_class c
    join pg_attribute a on a.attrelid = c.oid and a.attname = 'account_id' and not a.attisdropped
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
  loop
    execute format('alter table %I alter account_id set (n_distinct = 1, n_distinct_inherited = 1)',
      v_table);
  end loop;
end
$$;

-- Of a table that was never analyzed the planner does not know even that, until autovacuum comes by:
-- in the first minute of a database, and of each new month. Every process looks for such tables
-- whenever it makes its plans anew.
create function analyze_new_tables() returns void
  language plpgsql as $$
declare
  v_table text;
begin
  for v_table in
    select relname from pg_class
    where relnamespace = 'public'::regnamespace and relkind = 'r' and reltuples < 0
      and pg_relation_size(oid) > 0
  loop
    execute format('analyze (skip_locked) %I', v_table);
  end loop;
end
$$;
revoke execute on function analyze_new_tables from public;
