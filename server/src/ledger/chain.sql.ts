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

export const proofMsMax = 24 * 3_600_000;

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

/**
 * Of a payout: its events, and the links of the times at which something of it was written. Events of
 * early months may be gone, and none has the time of a later part that came back.
 */
const eventsOfPayout = defineQuery({
  name: 'select_payout_event_sequences',
  text: `
    select sequence::text as sequence from events
    where account_id = $1 and subject_id = $2 order by events.sequence`,
  columns: { sequence: column.text },
});

const ledgerLinksOfPayout = defineQuery({
  name: 'select_payout_ledger_links',
  text: `${selectLedgerLinks(`l.created_at in (
    select e.created_at from events e where e.account_id = $1 and e.subject_id = $2
    union
    select o.observed_at from observations o where o.account_id = $1 and o.payout_id = $2
    union
    select d.decided_at from payout_decisions d where d.account_id = $1 and d.payout_id = $2
    union
    select t.at from payout_states s
    join payout_quotes q on q.account_id = s.account_id and q.id = s.payout_id
    cross join lateral (
      values (s.committed_at), (s.completed_at), (s.updated_at), (q.ran_at)) t (at)
    where s.account_id = $1 and s.payout_id = $2)`)}
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

type PayoutName = { accountId: string; payoutId: string };

export const listPayoutEvents = (session: Session, { accountId, payoutId }: PayoutName) =>
  many(session, eventsOfPayout, [accountId, payoutId]);

export const listPayoutLedgerLinks = (session: Session, { accountId, payoutId }: PayoutName) =>
  many(session, ledgerLinksOfPayout, [accountId, payoutId]);

export const findLinkOfEvent = (session: Session, accountId: string, sequence: string) =>
  maybeOne(session, eventLinkOf, [accountId, sequence]);
