import type { Session } from '../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../db/rows.ts';

/** The SQL of chains. Proofs of whole chains read whole tables. */

const proofMsMax = 24 * 3_600_000;

const microseconds = (name: string): string =>
  `(extract(epoch from ${name}) * 1000000)::bigint::text as created_us`;

const linkColumns = {
  place: column.text,
  row_count: column.integer,
  digest: column.text,
  hash: column.text,
  created_us: column.text,
} as const;

const journalColumns = {
  id: column.uuid,
  kind: column.text,
  payout_id: nullable(column.uuid),
  batch_id: nullable(column.uuid),
  source_currency: column.text,
  source_amount: column.text,
  fee: column.text,
  destination_currency: nullable(column.text),
  destination_amount: nullable(column.text),
  rail: nullable(column.text),
  wallet_balance: nullable(column.text),
  created_us: column.text,
} as const;

const eventColumns = {
  sequence: column.text,
  type: column.text,
  subject_id: column.uuid,
  payload: nullable(column.text),
  detail: column.text,
  created_us: column.text,
} as const;

const accountsQuery = defineQuery({
  name: 'select_chained_accounts',
  answerMsMax: proofMsMax,
  text: `
    select a.id, a.event_sequence::text as event_sequence,
      (select count(*) from ledger_journals j where j.account_id = a.id)::integer as journals
    from accounts a order by a.id`,
  columns: {
    id: column.uuid,
    event_sequence: column.text,
    journals: column.integer,
  },
});

const ledgerLinkColumns = { ...linkColumns, first_id: column.uuid, last_id: column.uuid } as const;

const selectLedgerLinks = (where: string): string => `
  select l.number::text as place, l.row_count, encode(l.digest, 'hex') as digest,
    encode(l.hash, 'hex') as hash, ${microseconds('l.created_at')}, l.first_id, l.last_id
  from ledger_links l where l.account_id = $1 and ${where}`;

const ledgerLinksPage = defineQuery({
  name: 'select_ledger_links',
  answerMsMax: proofMsMax,
  text: `${selectLedgerLinks('l.number > $2')} order by l.number limit $3`,
  columns: ledgerLinkColumns,
});

const selectEventLinks = (where: string): string => `
  select l.last_sequence::text as place, l.row_count, encode(l.digest, 'hex') as digest,
    encode(l.hash, 'hex') as hash, ${microseconds('l.created_at')}
  from event_links l where l.account_id = $1 and ${where}`;

const eventLinksPage = defineQuery({
  name: 'select_event_links',
  answerMsMax: proofMsMax,
  text: `${selectEventLinks('l.last_sequence > $2')} order by l.last_sequence limit $3`,
  columns: linkColumns,
});

const journalsOfRange = defineQuery({
  name: 'select_linked_journals',
  answerMsMax: proofMsMax,
  text: `
    select j.id, j.kind, j.payout_id, j.batch_id, j.source_currency,
      j.source_amount::text as source_amount, j.fee::text as fee, j.destination_currency,
      j.destination_amount::text as destination_amount, j.rail,
      j.wallet_balance::text as wallet_balance, ${microseconds('j.created_at')}
    from (select distinct currency from ledger_accounts where account_id = $1) c
    join ledger_journals j on j.account_id = $1 and j.source_currency = c.currency
      and j.id between $2 and $3
    order by j.id`,
  columns: journalColumns,
});

const eventsOfRange = defineQuery({
  name: 'select_linked_events',
  answerMsMax: proofMsMax,
  text: `
    select e.sequence::text as sequence, e.type, e.subject_id, e.payload, e.detail,
      ${microseconds('e.created_at')}
    from events e
    where e.account_id = $1 and e.sequence between $2 and $3
    order by e.sequence`,
  columns: eventColumns,
});

/** Journals in the range of no link, along both in the order of ids. */
const unlinkedJournals = defineQuery({
  name: 'select_unlinked_journals',
  answerMsMax: proofMsMax,
  text: `
    select id from (
      select id, is_journal,
        max(reach) over (order by id, is_journal rows unbounded preceding) as reach
      from (
        select first_id::text as id, false as is_journal, last_id::text as reach
        from ledger_links where account_id = $1
        union all
        select id::text, true, null from ledger_journals where account_id = $1
      ) both_kinds
    ) reached
    where is_journal and (reach is null or reach < id)
    order by id limit 100`,
  columns: { id: column.text },
});

/** The first month of which events are kept. */
const keptSince = defineQuery({
  name: 'select_events_kept_since',
  text: `
    select min(to_date(right(relname, 7), 'YYYY_MM'))::timestamp at time zone 'UTC' as kept_since
    from pg_class
    where relnamespace = 'public'::regnamespace and relname ~ '^events_[0-9]{4}_[0-9]{2}$'`,
  columns: { kept_since: nullable(column.instant) },
});

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
 * Heads that no checkpoint has, of the accounts with links since about the last one. The links of a
 * transaction that began long before become visible late.
 */
const movedHeads = defineQuery({
  name: 'select_moved_heads',
  text: selectHeads(`
    with since as (
      select coalesce(max(created_at) - interval '10 minutes', '-infinity') as at
      from chain_checkpoints
    )
    select account_id from ledger_links, since where created_at >= since.at
    union
    select account_id from event_links, since where created_at >= since.at`),
  columns: headColumns,
});

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

const allCheckpoints = defineQuery({
  name: 'select_checkpoints',
  answerMsMax: proofMsMax,
  text: `${selectCheckpoints} order by account_id, created_at`,
  columns: checkpointColumns,
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

/** Of a payout: its events, and the links of the times at which something of it was written. */
const eventsOfPayout = defineQuery({
  name: 'select_payout_event_sequences',
  text: `
    select sequence::text as sequence from events
    where account_id = $1 and subject_id = $2 order by sequence`,
  columns: { sequence: column.text },
});

const ledgerLinksOfPayout = defineQuery({
  name: 'select_payout_ledger_links',
  text: `${selectLedgerLinks(`l.created_at in (
    select e.created_at from events e where e.account_id = $1 and e.subject_id = $2
    union
    select a.answered_at from attempts a
    where a.account_id = $1 and a.payout_id = $2 and a.answered_at is not null)`)}
    and exists (
      select from (select distinct currency from ledger_accounts where account_id = $1) c
      join ledger_journals j on j.account_id = $1 and j.source_currency = c.currency
        and j.id between l.first_id and l.last_id
      where j.payout_id = $2)
    order by l.number`,
  columns: ledgerLinkColumns,
});

const eventLinkOf = defineQuery({
  name: 'select_link_of_event',
  text: `${selectEventLinks('l.last_sequence >= $2')} order by l.last_sequence limit 1`,
  columns: linkColumns,
});

const tryLock = defineQuery({
  name: 'try_lock_checkpoints',
  text: `select pg_try_advisory_xact_lock(hashtext('outlay checkpoints')) as is_locked`,
  columns: { is_locked: column.boolean },
});

export const beginProof = async (session: Session): Promise<void> => {
  for (const text of [
    'set transaction isolation level repeatable read, read only',
    'set local statement_timeout = 0',
  ]) {
    await exec(session, { name: '', text });
  }
};

export type LedgerLinkRow = RowOf<typeof ledgerLinkColumns>;
export type LinkRow = RowOf<typeof linkColumns>;

type Range = { accountId: string; after: string; count: number };

export const listChainedAccounts = (session: Session) => many(session, accountsQuery);

export const listLedgerLinks = (session: Session, { accountId, after, count }: Range) =>
  many(session, ledgerLinksPage, [accountId, after, count]);

export const listEventLinks = (session: Session, { accountId, after, count }: Range) =>
  many(session, eventLinksPage, [accountId, after, count]);

type Bounds<Id> = { accountId: string; first: Id; last: Id };

export const listJournals = (session: Session, { accountId, first, last }: Bounds<string>) =>
  many(session, journalsOfRange, [accountId, first, last]);

export const listEvents = (session: Session, { accountId, first, last }: Bounds<bigint>) =>
  many(session, eventsOfRange, [accountId, first, last]);

export const listUnlinkedJournals = (session: Session, accountId: string) =>
  many(session, unlinkedJournals, [accountId]);

export async function findKeptSince(session: Session): Promise<Date | null> {
  return (await one(session, keptSince)).kept_since;
}

const unsignedQuery = defineQuery({
  name: 'measure_unsigned_links',
  text: `
    with signed as (
      select coalesce(max(created_at), '-infinity') as at from chain_checkpoints
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

/** How long the oldest link that no checkpoint covers has waited, seconds; 0 where none waits. */
export async function measureUnsigned(session: Session): Promise<number> {
  return (await one(session, unsignedQuery)).oldest_seconds;
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

export const listCheckpoints = (session: Session) => many(session, allCheckpoints);

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

type PayoutName = { accountId: string; payoutId: string };

export const listPayoutEvents = (session: Session, { accountId, payoutId }: PayoutName) =>
  many(session, eventsOfPayout, [accountId, payoutId]);

export const listPayoutLedgerLinks = (session: Session, { accountId, payoutId }: PayoutName) =>
  many(session, ledgerLinksOfPayout, [accountId, payoutId]);

export const findLinkOfEvent = (session: Session, accountId: string, sequence: string) =>
  maybeOne(session, eventLinkOf, [accountId, sequence]);
