import type { Session } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, one, type RowOf } from '../db/rows.ts';
import { proofMsMax } from './chain.sql.ts';
import { nilAccount } from './chain.ts';

/** The SQL of checkpoints: which heads of chains are to be signed, and what was signed. */

const headColumns = {
  account_id: column.uuid,
  ledger_place: column.text,
  ledger_hash: column.text,
  event_place: column.text,
  event_hash: column.text,
} as const;
export type HeadRow = RowOf<typeof headColumns>;

/** `$1`: the id of the key that has not signed them. */
const selectHeads = (accounts: string): string => `
  select r.account_id, coalesce(l.number, 0)::text as ledger_place,
    coalesce(encode(l.hash, 'hex'), '') as ledger_hash,
    coalesce(e.last_sequence, 0)::text as event_place,
    coalesce(encode(e.hash, 'hex'), '') as event_hash
  from (${accounts}) r
  left join lateral (
    select number, hash from ledger_links where account_id = r.account_id
    order by number desc limit 1
  ) l on true
  left join lateral (
    select last_sequence, hash from event_links where account_id = r.account_id
    order by last_sequence desc limit 1
  ) e on true
  where not exists (
    select from chain_checkpoints c
    where c.account_id = r.account_id and c.ledger_number = coalesce(l.number, 0)
      and c.event_sequence = coalesce(e.last_sequence, 0) and c.key_id = $1)`;

/**
 * Heads that no checkpoint has, of the accounts with links since about the last pass, or since now where
 * the clock was set back. The links of a transaction that began long before become visible late.
 */
const movedHeads = defineQuery({
  name: 'select_moved_heads',
  text: selectHeads(`
    with since as (
      select least(coalesce(heads_signed_at, '-infinity'), environment_now())
        - interval '10 minutes' as at
      from environment
    )
    select account_id from ledger_links, since where created_at >= since.at
    union
    select account_id from event_links, since where created_at >= since.at`),
  columns: headColumns,
});

const passBegin = defineQuery({
  name: 'select_begin_of_checkpoints',
  text: 'select environment_now() as at',
  columns: { at: column.instant },
});

const recordPass = {
  name: 'record_pass_of_checkpoints',
  text: 'update environment set heads_signed_at = $1',
};

const headsOfAccounts = defineQuery({
  name: 'select_heads_of_accounts',
  text: selectHeads('select unnest($2::uuid[]) as account_id'),
  columns: headColumns,
});

const accountsAfter = defineQuery({
  name: 'select_accounts_of_chains',
  text: 'select id from accounts where id > $1 order by id limit $2',
  columns: { id: column.uuid },
});

const insertCheckpoint = defineQuery({
  name: 'insert_checkpoints',
  text: `
    insert into chain_checkpoints (account_id, ledger_number, event_sequence, statement, signature,
      key_id, created_at)
    select h.account_id, h.ledger_number, h.event_sequence, h.statement, h.signature, $6,
      environment_now()
    from unnest($1::uuid[], $2::bigint[], $3::bigint[], $4::text[], $5::bytea[])
      h (account_id, ledger_number, event_sequence, statement, signature)
    on conflict do nothing
    returning account_id`,
  columns: { account_id: column.uuid },
});

const checkpointColumns = {
  statement: column.text,
  signature: column.text,
  key_id: column.text,
} as const;

const selectCheckpoints = `
  select statement, translate(encode(signature, 'base64'), E'\\n', '') as signature, key_id
  from chain_checkpoints`;

const checkpointPage = defineQuery({
  name: 'select_checkpoints',
  answerMsMax: proofMsMax,
  text: `
    select account_id, ledger_number::text as ledger_number, event_sequence::text as event_sequence,
      statement, translate(encode(signature, 'base64'), E'\\n', '') as signature, key_id
    from chain_checkpoints c
    where (c.account_id, c.ledger_number, c.event_sequence, c.key_id) > ($1::uuid, $2::bigint, $3::bigint, $4::text)
    -- Not by the texts.
    order by c.account_id, c.ledger_number, c.event_sequence, c.key_id limit $5`,
  columns: {
    account_id: column.uuid,
    ledger_number: column.text,
    event_sequence: column.text,
    ...checkpointColumns,
  },
});

/** Of links at their places; "" where there is none. */
const hashesAt = defineQuery({
  name: 'list_hashes_at',
  answerMsMax: proofMsMax,
  text: `
    select coalesce(encode(case h.chain
      when 'ledger' then (
        select hash from ledger_links l where l.account_id = h.account_id and l.number = h.place)
      when 'events' then (
        select hash from event_links l
        where l.account_id = h.account_id and l.last_sequence = h.place)
      else (select hash from audit_entries a where a.sequence = h.place) end, 'hex'), '') as hash
    from unnest($1::uuid[], $2::text[], $3::bigint[]) with ordinality
      as h (account_id, chain, place, ord)
    order by h.ord`,
  columns: { hash: column.text },
});

const checkpointAfter = {
  ledger: defineQuery({
    name: 'select_checkpoint_of_ledger',
    text: `${selectCheckpoints}
      where account_id = $1 and ledger_number >= $2
      order by ledger_number, created_at desc limit 1`,
    columns: checkpointColumns,
  }),
  events: defineQuery({
    name: 'select_checkpoint_of_events',
    text: `${selectCheckpoints}
      where account_id = $1 and event_sequence >= $2
      order by event_sequence, created_at desc limit 1`,
    columns: checkpointColumns,
  }),
};

const tryLock = defineQuery({
  name: 'try_lock_checkpoints',
  text: `select pg_try_advisory_xact_lock(hashtext('outlay checkpoints')) as is_locked`,
  columns: { is_locked: column.boolean },
});

const unsignedQuery = defineQuery({
  name: 'measure_unsigned_links',
  text: `
    with signed as (
      select coalesce(heads_signed_at, '-infinity') as at from environment
    )
    select coalesce(extract(epoch from environment_now() - min(created_at)), 0)::float8
      as oldest_seconds
    from (
      select min(created_at) as created_at from ledger_links, signed where created_at > signed.at
      union all
      select min(created_at) from event_links, signed where created_at > signed.at
    ) unsigned`,
  columns: { oldest_seconds: column.float },
});

/** How long the oldest link since the last pass has waited, seconds; 0 where none waits. */
export async function measureUnsigned(session: Session): Promise<number> {
  return (await one(session, unsignedQuery)).oldest_seconds;
}

/** The environment's time, to be recorded at the end of the pass. */
export async function beginPass(session: Session): Promise<Date> {
  return (await one(session, passBegin)).at;
}

/** The last statement of the pass: the first instruction of each second waits for the row that it locks. */
export async function endPass(session: Session, beganAt: Date): Promise<void> {
  await exec(session, recordPass, [beganAt]);
}

export const listMovedHeads = (session: Session, keyId: string) =>
  many(session, movedHeads, [keyId]);

/** Those that the key has not signed. */
export const listHeadsOf = (session: Session, accountIds: readonly string[], keyId: string) =>
  many(session, headsOfAccounts, [keyId, accountIds]);

export const listAccountsAfter = async (
  session: Session,
  after: string,
  count: number,
): Promise<string[]> => (await many(session, accountsAfter, [after, count])).map(({ id }) => id);

const pageRows = 1000;

export async function* readStoredCheckpoints(session: Session) {
  const before = '-1';
  let after = [nilAccount, before, before, ''];
  for (;;) {
    const rows = await many(session, checkpointPage, [...after, pageRows]);
    for (const { statement, signature, key_id } of rows) yield { statement, signature, key_id };
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return;
    after = [last.account_id, last.ledger_number, last.event_sequence, last.key_id];
  }
}

/** In the order of the places; "" where there is no link. */
export async function listHashesAt(
  session: Session,
  places: readonly { account_id: string; chain: string; place: string }[],
): Promise<string[]> {
  if (places.length === 0) return [];
  const rows = await many(session, hashesAt, [
    places.map(({ account_id: id }) => id),
    places.map(({ chain }) => chain),
    places.map(({ place }) => place),
  ]);
  return rows.map(({ hash }) => hash);
}

export async function lockCheckpoints(session: Session): Promise<boolean> {
  return (await one(session, tryLock)).is_locked;
}

export type NewCheckpoint = HeadRow & { statement: string; signature: Buffer };

export async function storeCheckpoints(
  session: Session,
  rows: readonly NewCheckpoint[],
  keyId: string,
): Promise<void> {
  await many(session, insertCheckpoint, [
    rows.map((row) => row.account_id),
    rows.map((row) => row.ledger_place),
    rows.map((row) => row.event_place),
    rows.map((row) => row.statement),
    rows.map((row) => row.signature),
    keyId,
  ]);
}

export const findCheckpointAfter = (
  session: Session,
  accountId: string,
  { chain, place }: { chain: 'ledger' | 'events'; place: string },
) => maybeOne(session, checkpointAfter[chain], [accountId, place]);
