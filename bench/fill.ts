import pg from 'pg';

/**
 * Fills a database with completed payouts, fast: one that went the whole way is copied by sets, row
 * by row of every table that knows it, with identifiers, times and users of its own. Triggers and
 * foreign keys are off meanwhile; indexes are kept up.
 */

export type Fill = {
  url: string;
  accountId: string;
  /** The completed payout to copy. */
  payoutId: string;
  count: number;
  /**
   * Users to spread the payouts over. They are copies, and their keys cannot be opened: each is bound
   * to its user. `isReadable` takes users that the account has, for measurements that read names.
   */
  users: number;
  isReadable?: boolean;
  onProgress?: (done: number) => void;
};

const chunkSize = 200_000;
/** Over how much of the past the payouts are spread. */
const spanDays = 90;

export async function fillPayouts(fill: Fill): Promise<void> {
  await withSuperuser(fill.url, async (client) => {
    await client.query(`set session_replication_role = replica`);
    await client.query('set synchronous_commit = off');
    await openPastMonths(client);
    await (fill.isReadable === true ? takeUsers(client, fill) : copyUsers(client, fill));
    const tables = await listTables(client, fill);
    const { rows } = await client.query<{ base: string; each: number }>(
      `select a.event_sequence::text as base,
        (select count(*)::integer from events where account_id = a.id and subject_id = $2) as each
      from accounts a where a.id = $1`,
      [fill.accountId, fill.payoutId],
    );
    const { base = '0', each = 0 } = rows[0] ?? {};
    for (let done = 0; done < fill.count; done += chunkSize) {
      const size = Math.min(chunkSize, fill.count - done);
      await makeIdentities(client, { fill, done, size, firstSequence: BigInt(base) + 1n, each });
      for (const table of tables) await client.query(copyRows(table), [fill.payoutId]);
      await client.query('drop table bench_fresh');
      fill.onProgress?.(done + size);
    }
    await raiseTotals(client, fill, each);
    await client.query('set session_replication_role = origin');
    await client.query('drop table bench_users');
    await client.query('vacuum (analyze)');
    await client.query('checkpoint');
  });
}

/** Bytes of the whole database: tables, indexes, everything. */
export async function measureBytes(url: string): Promise<number> {
  return withSuperuser(url, async (client) => {
    const { rows } = await client.query<{ bytes: string }>(
      'select pg_database_size(current_database())::text as bytes',
    );
    return Number(rows[0]?.bytes);
  });
}

/** Bytes of each table with its indexes, the largest first. */
export async function measureTables(url: string): Promise<{ name: string; bytes: number }[]> {
  return withSuperuser(url, async (client) => {
    const { rows } = await client.query<{ name: string; bytes: string }>(`
      select coalesce(i.inhparent, c.oid)::regclass::text as name,
        sum(pg_total_relation_size(c.oid))::text as bytes
      from pg_class c
      left join pg_inherits i on i.inhrelid = c.oid
      where c.relkind = 'r' and c.relnamespace = 'public'::regnamespace
      group by 1 order by sum(pg_total_relation_size(c.oid)) desc`);
    return rows.map(({ name, bytes }) => ({ name, bytes: Number(bytes) }));
  });
}

export async function withSuperuser<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Accounts that have balances and nothing else, like the given one. */
export async function copyAccounts(url: string, accountId: string, count: number): Promise<void> {
  await withSuperuser(url, async (client) => {
    await client.query('set session_replication_role = replica');
    await client.query(
      `create unlogged table bench_accounts as
      select uuidv7() as id from generate_series(1, ${count})`,
    );
    for (const table of ['accounts', 'ledger_accounts']) {
      const columns = await listColumns(client, table);
      const own: Record<string, string> = { id: 'f.id', account_id: 'f.id', token: 'uuidv7()' };
      const key = table === 'accounts' ? 'id' : 'account_id';
      await client.query(
        `insert into ${table} (${columns.map(({ name }) => name).join(', ')})
        select ${columns.map(({ name }) => own[name] ?? `t.${name}`).join(', ')}
        from ${table} t cross join bench_accounts f where t.${key} = $1`,
        [accountId],
      );
    }
    await client.query('drop table bench_accounts');
    await client.query('vacuum (analyze)');
  });
}

/** Further events of a balance. A payout has a handful, and its view counts them. */
export async function copyEvents(
  url: string,
  { accountId, count }: { accountId: string; count: number },
): Promise<void> {
  await withSuperuser(url, async (client) => {
    const columns = await listColumns(client, 'events');
    const own: Record<string, string> = { sequence: 'a.event_sequence + n' };
    await client.query(
      `insert into events (${columns.map(({ name }) => name).join(', ')})
      select ${columns.map(({ name }) => own[name] ?? `t.${name}`).join(', ')}
      from accounts a
      join lateral (
        select * from events where account_id = a.id and type = 'balance.funded'
        order by sequence desc limit 1
      ) t on true
      cross join generate_series(1, $2::integer) n
      where a.id = $1`,
      [accountId, count],
    );
    await client.query('update accounts set event_sequence = event_sequence + $2 where id = $1', [
      accountId,
      count,
    ]);
    await client.query('vacuum (analyze)');
  });
}

/** Partitions for the months that the copies lie in. */
async function openPastMonths(client: pg.Client): Promise<void> {
  await client.query(`
    do $$
    begin
      if to_regproc('open_months') is not null then
        perform open_months(environment_now() - n * interval '1 month')
        from generate_series(0, ${Math.ceil(spanDays / 28)}) n;
      end if;
    end
    $$`);
}

/** Users of the account, as many as are asked for; their number is the position in `bench_users`. */
async function takeUsers(client: pg.Client, { accountId, users }: Fill): Promise<void> {
  const { rowCount } = await client.query(
    `create unlogged table bench_users as
    select (row_number() over (order by id))::integer - 1 as number, id
    from (select id from users where account_id = '${accountId}' order by id limit ${users}) u`,
  );
  if (rowCount !== users) throw new Error(`the account has ${rowCount} users, not ${users}`);
  await client.query('alter table bench_users add primary key (number)');
}

/** Copies of the payout's user; their number is the position in `bench_users`. */
async function copyUsers(client: pg.Client, { payoutId, users }: Fill): Promise<void> {
  await client.query(`
    create unlogged table bench_users as
    select n::integer as number, uuidv7(interval '-${spanDays} days') as id
    from generate_series(0, ${users - 1}) n`);
  await client.query('alter table bench_users add primary key (number)');
  const columns = await listColumns(client, 'users');
  const own: Record<string, string> = {
    id: 'f.id',
    internal_id_index: `sha256(convert_to(f.id::text, 'UTF8'))`,
    email_index: `sha256(convert_to(f.id::text, 'UTF8'))`,
  };
  await client.query(
    `insert into users (${columns.map(({ name }) => name).join(', ')})
    select ${columns.map(({ name }) => own[name] ?? `t.${name}`).join(', ')}
    from users t cross join bench_users f
    where (t.account_id, t.id) =
      (select account_id, user_id from payouts where id = $1)`,
    [payoutId],
  );
}

async function makeIdentities(
  client: pg.Client,
  chunk: { fill: Fill; done: number; size: number; firstSequence: bigint; each: number },
): Promise<void> {
  const { fill, done, size, firstSequence, each } = chunk;
  const shift = `(n - ${fill.count}) * interval '${spanDays} days' / ${fill.count}`;
  await client.query(`
    create unlogged table bench_fresh as
    select n, ${shift} as shift, uuidv7(${shift}) as payout_id, uuidv7(${shift}) as commit_id,
      uuidv7(${shift}) as complete_id, uuidv7(${shift}) as observation_id, u.id as user_id,
      ${firstSequence} + (n - 1) * ${each} as first_sequence
    from generate_series(${done + 1}::bigint, ${done + size}) n
    join bench_users u on u.number = (n * 7919) % ${fill.users}
    order by n`);
  await client.query('analyze bench_fresh');
}

type Column = { name: string; type: string };
type Table = { name: string; key: string; columns: readonly Column[] };

/** Every table with a row of the payout: none is forgotten when the schema grows. */
async function listTables(client: pg.Client, { payoutId }: Fill): Promise<Table[]> {
  const { rows } = await client.query<{ name: string; key: string }>(`
    select c.relname as name, a.attname as key
    from pg_class c join pg_attribute a on a.attrelid = c.oid
    where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p')
      and not c.relispartition
      and (a.attname in ('payout_id', 'subject_id')
        or (a.attname = 'id' and c.relname in ('payouts', 'payout_quotes')))
    order by c.relname`);
  const tables: Table[] = [];
  for (const { name, key } of rows) {
    const found = await client.query(`select from ${name} where ${key} = $1 limit 1`, [payoutId]);
    if (found.rowCount === 0) continue;
    tables.push({ name, key, columns: await listColumns(client, name) });
  }
  return tables;
}

async function listColumns(client: pg.Client, table: string): Promise<Column[]> {
  const { rows } = await client.query<Column>(
    `select column_name as name, data_type as type from information_schema.columns
    where table_schema = 'public' and table_name = $1 order by ordinal_position`,
    [table],
  );
  return rows;
}

/** Copies go in the order of their payouts, as they would have come. */
function copyRows({ name, key, columns }: Table): string {
  const isEvents = columns.some((column) => column.name === 'sequence');
  const values = columns.map((column) => chooseValue(name, key, column));
  const rank = isEvents ? ', row_number() over (order by e.sequence) - 1 as rank' : '';
  return `
    insert into ${name} (${columns.map((column) => column.name).join(', ')})
    select ${values.join(', ')}
    from bench_fresh f cross join (select e.*${rank} from ${name} e where e.${key} = $1) t
    order by f.n`;
}

function chooseValue(table: string, key: string, { name, type }: Column): string {
  if (name === key) return 'f.payout_id';
  if (type === 'timestamp with time zone') return `t.${name} + f.shift`;
  const isJournal = name === 'journal_id' || (table === 'ledger_journals' && name === 'id');
  if (isJournal) return `case t.kind when 'commit' then f.commit_id else f.complete_id end`;
  const own: Record<string, string> = {
    id: 'f.observation_id',
    user_id: 'f.user_id',
    client_transfer_id: 'f.payout_id::text',
    reference: `replace(f.payout_id::text, '-', '')`,
    sequence: 'f.first_sequence + t.rank',
    month: 'month_of(t.created_at + f.shift)',
  };
  return own[name] ?? `t.${name}`;
}

/** What the triggers and functions would have kept: balances and the events' numbers. */
async function raiseTotals(
  client: pg.Client,
  { accountId, payoutId, count }: Fill,
  eventsEach: number,
): Promise<void> {
  await client.query(
    `update ledger_accounts l set balance = l.balance + s.amount * $3
    from (
      select t.currency, side.name, sum(side.amount)::bigint as amount
      from ledger_transfers t
      cross join lateral (values (t.from_name, -t.amount), (t.to_name, t.amount)) side (name, amount)
      where t.account_id = $1 and t.payout_id = $2
      group by t.currency, side.name
    ) s (currency, name, amount)
    where l.account_id = $1 and l.currency = s.currency and l.name = s.name`,
    [accountId, payoutId, count],
  );
  await client.query('update accounts set event_sequence = event_sequence + $2 where id = $1', [
    accountId,
    BigInt(count) * BigInt(eventsEach),
  ]);
}
