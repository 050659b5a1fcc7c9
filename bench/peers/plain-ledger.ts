import { randomUUID } from 'node:crypto';
import pg from 'pg';
import {
  describeOverdraft,
  describeSameKey,
  type RaceResult,
  raceCommands,
  raceCovered,
  type Workload,
} from '../subject.ts';
import { accountCount, createPicker } from '../workload.ts';

/**
 * The ledger that every peer writes: payouts, balances, postings and an outbox, in plain tables with
 * row locks. Less than ours (no events, no attributes, no dispatch records), so that no peer loses
 * for the sake of what it was not asked to do.
 */

const schema = `
  create table balances (
    account integer primary key,
    amount bigint not null check (amount >= 0)
  );
  create table payouts (
    id uuid primary key,
    -- No foreign key: the share lock it takes would deadlock with the lock of the balance.
    account integer not null,
    amount bigint not null check (amount > 0),
    status text not null,
    created_at timestamptz not null default now(),
    completed_at timestamptz
  );
  create table postings (
    id bigint generated always as identity primary key,
    payout_id uuid not null references payouts,
    ledger_account text not null,
    amount bigint not null
  );
  create table outbox (
    id bigint generated always as identity primary key,
    payout_id uuid not null,
    type text not null,
    created_at timestamptz not null default now()
  );
  insert into balances select a, 9000000000000000 from generate_series(0, ${accountCount}) a`;

const amountMinor = 10_100n;
/** Beyond the accounts of the workloads; only the races charge it. */
const raceAccount = accountCount;

export type PlainPayout = { id: string; account: number };

/** A pool that survives the end of the server: an unheard error would end the process. */
export function openPool(url: string, max: number): pg.Pool {
  const pool = new pg.Pool({ connectionString: url, max });
  pool.on('error', () => undefined);
  pool.on('connect', (client) => client.on('error', () => undefined));
  return pool;
}

export async function createPlainTables(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(schema);
  } finally {
    await client.end();
  }
}

/** Runs `work` in one transaction of a pooled client. */
export async function transact<T>(
  pool: pg.Pool,
  work: (client: pg.PoolClient) => Promise<T>,
): Promise<T> {
  const client = await pool.connect();
  try {
    await client.query('begin');
    const result = await work(client);
    await client.query('commit');
    return result;
  } catch (error) {
    await client.query('rollback');
    throw error;
  } finally {
    client.release();
  }
}

export type Sql = {
  query(query: { name: string; text: string; values: unknown[] }): Promise<{ rows: unknown[] }>;
};

/** Payouts that wait to be committed. */
export async function insertPending(pool: pg.Pool, payouts: readonly PlainPayout[]): Promise<void> {
  await pool.query(
    `insert into payouts (id, account, amount, status)
    select id, account, $3, 'PENDING' from unnest($1::uuid[], $2::integer[]) as t (id, account)`,
    [payouts.map(({ id }) => id), payouts.map(({ account }) => account), amountMinor],
  );
}

export function makePlainPayouts(workload: Workload, count: number): PlainPayout[] {
  const pick = createPicker(workload);
  return Array.from({ length: count }, () => ({ id: randomUUID(), account: pick() }));
}

/** A new payout, committed at once: what the classic design does in one transaction. */
export async function insertAndCommit(sql: Sql, payout: PlainPayout): Promise<boolean> {
  await sql.query({
    name: 'insert_payout',
    text: `insert into payouts (id, account, amount, status) values ($1, $2, $3, 'PROCESSING')`,
    values: [payout.id, payout.account, amountMinor],
  });
  return lowerBalance(sql, payout);
}

/**
 * Claims a waiting payout and commits it; false when it was no longer waiting or is not covered.
 * Run again after a crash it does nothing a second time.
 */
export async function claimAndCommit(sql: Sql, id: string): Promise<boolean> {
  const { rows } = await sql.query({
    name: 'claim_payout',
    text: `
      update payouts set status = 'PROCESSING' where id = $1 and status = 'PENDING'
      returning account`,
    values: [id],
  });
  const [row] = rows as { account: number }[];
  if (row === undefined) return false;
  if (await lowerBalance(sql, { id, account: row.account })) return true;
  await sql.query({
    name: 'refuse_payout',
    text: `update payouts set status = 'REFUSED' where id = $1`,
    values: [id],
  });
  return false;
}

async function lowerBalance(sql: Sql, { id, account }: PlainPayout): Promise<boolean> {
  const { rows } = await sql.query({
    name: 'lock_balance',
    text: 'select amount from balances where account = $1 for update',
    values: [account],
  });
  const [row] = rows as { amount: string }[];
  if (row === undefined || BigInt(row.amount) < amountMinor) return false;
  await sql.query({
    name: 'lower_balance',
    text: 'update balances set amount = amount - $2 where account = $1',
    values: [account, amountMinor],
  });
  await post(sql, id, { from: `wallet:${account}`, to: 'in_transit' });
  await announce(sql, id, 'payout.committed');
  return true;
}

/** The third step; nothing when it was done before. */
export async function settle(sql: Sql, id: string): Promise<void> {
  const { rows } = await sql.query({
    name: 'settle_payout',
    text: `
      update payouts set status = 'COMPLETED', completed_at = now()
      where id = $1 and status = 'PROCESSING' returning id`,
    values: [id],
  });
  if (rows.length === 0) return;
  await post(sql, id, { from: 'in_transit', to: 'settlement' });
  await announce(sql, id, 'payout.completed');
}

async function post(sql: Sql, id: string, { from, to }: { from: string; to: string }) {
  await sql.query({
    name: 'post',
    text: `
      insert into postings (payout_id, ledger_account, amount)
      values ($1, $2, -$4::bigint), ($1, $3, $4::bigint)`,
    values: [id, from, to, amountMinor],
  });
}

async function announce(sql: Sql, id: string, type: string): Promise<void> {
  await sql.query({
    name: 'announce',
    text: 'insert into outbox (payout_id, type) values ($1, $2)',
    values: [id, type],
  });
}

/**
 * Both races through whatever the peer offers. `submit` resolves when the peer is done with the
 * payout, paid or refused; that it throws for a payout it refuses is fine.
 */
export async function racePlain(
  pool: pg.Pool,
  options: { submit: (payout: PlainPayout) => Promise<unknown>; isPending: boolean },
): Promise<RaceResult[]> {
  const setBalance = (amount: bigint) =>
    pool.query('update balances set amount = $2 where account = $1', [raceAccount, amount]);
  const newPayout = (): PlainPayout => ({ id: randomUUID(), account: raceAccount });
  const submitAll = async (payouts: PlainPayout[]): Promise<void> => {
    if (options.isPending) await insertPending(pool, [...new Set(payouts)]);
    await Promise.allSettled(payouts.map((payout) => options.submit(payout)));
  };
  const countEffects = async (ids: string[]): Promise<number> => {
    const { rows } = await pool.query<{ count: number }>(
      `select count(*)::integer as count from postings
      where payout_id = any($1) and ledger_account = $2`,
      [ids, `wallet:${raceAccount}`],
    );
    return rows[0]?.count ?? 0;
  };
  await setBalance(BigInt(raceCovered) * amountMinor);
  const rivals = Array.from({ length: raceCommands }, newPayout);
  await submitAll(rivals);
  const paid = await countEffects(rivals.map(({ id }) => id));
  const { rows } = await pool.query<{ amount: string }>(
    'select amount from balances where account = $1',
    [raceAccount],
  );
  const overdraft = describeOverdraft(paid, BigInt(rows[0]?.amount ?? 0));
  await setBalance(amountMinor * 1000n);
  const same = newPayout();
  await submitAll(Array.from({ length: raceCommands }, () => same));
  return [overdraft, describeSameKey(await countEffects([same.id]))];
}

/** Throws where money was made or lost, or a payout was charged twice. */
export async function checkPlain(pool: pg.Pool): Promise<void> {
  const { rows } = await pool.query<{ total: string | null; twice: number }>(`
    select (select sum(amount) from postings) as total,
      (select count(*)::integer from (
        select from postings where ledger_account like 'wallet:%'
        group by payout_id having count(*) > 1) t) as twice`);
  const [row] = rows;
  if (row === undefined || BigInt(row.total ?? 0) !== 0n || row.twice > 0) {
    throw new Error(`wrong books of a peer: ${JSON.stringify(row)}`);
  }
}
