import type { Session, Statement } from '../../db/postgres/pool.ts';
import {
  column,
  defineQuery,
  exec,
  many,
  maybeOne,
  nullable,
  one,
  type RowOf,
} from '../../db/rows.ts';

const recordColumns = {
  key: column.text,
  state: column.text,
  revision: column.bigint,
  sealed: column.bytes,
  account_id: nullable(column.uuid),
  user_id: nullable(column.uuid),
  /** Of that user; empty after an erasure. */
  data_key: nullable(column.bytes),
};
const recordText = `
    select r.key, r.state, r.revision, r.sealed, r.account_id, r.user_id, u.data_key
    from rail_records r left join users u on u.account_id = r.account_id and u.id = r.user_id`;
export type RecordRow = RowOf<typeof recordColumns>;

const getQuery = defineQuery({
  name: 'get_rail_record',
  text: `${recordText}
    where r.rail = $1 and r.collection = $2 and r.key = $3`,
  columns: recordColumns,
});

const listQuery = defineQuery({
  name: 'list_rail_records',
  text: `${recordText}
    where r.rail = $1 and r.collection = $2 and r.key > $3
      and length(r.sealed) > 0 and coalesce(length(u.data_key), 1) > 0
    order by r.key limit $4`,
  columns: recordColumns,
});

const listInStateQuery = defineQuery({
  name: 'list_rail_records_in_state',
  text: `${recordText}
    where r.rail = $1 and r.collection = $2 and r.state = $5 and r.key > $3
      and length(r.sealed) > 0 and coalesce(length(u.data_key), 1) > 0
    order by r.key limit $4`,
  columns: recordColumns,
});

const writeQuery = defineQuery({
  name: 'write_rail_records',
  text: 'select write_rail_records($1, $2, $3, $4, $5, $6, $7, $8, $9) as is_written',
  columns: { is_written: column.boolean },
});

const receiveQuery = defineQuery({
  name: 'store_inbound_message',
  text: `
    select store_inbound_message($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14,
      $15) as is_new`,
  columns: { is_new: column.boolean },
});

const countUnresolvedQuery = defineQuery({
  name: 'count_unresolved_inbound',
  text: 'select count_unresolved_inbound($1)::integer as count',
  columns: { count: column.integer },
});

/** By the hour of real time, since counterparties know no other. */
const countRefusedText: Statement = {
  name: 'count_refused_callback',
  text: `
    insert into rail_refusals as r (rail, hour, count)
    values ($1, date_trunc('hour', clock_timestamp(), 'UTC'), 1)
    on conflict (rail, hour) do update set count = r.count + 1`,
};

export async function countRefusedCallback(session: Session, rail: string): Promise<void> {
  await exec(session, countRefusedText, [rail]);
}

const claimPassQuery = defineQuery({
  name: 'claim_rail_pass',
  text: 'select claim_rail_pass($1, $2, $3) as is_claimed',
  columns: { is_claimed: column.boolean },
});

const renewPassText: Statement = {
  name: 'renew_rail_pass',
  text: `
    update rail_passes set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
    where rail = $1 and holder = $2 and not is_rail_stopped($1)`,
};

const releasePassText: Statement = {
  name: 'release_rail_pass',
  text: `
    update rail_passes set holder = null, lease_until = null
    where rail = $1 and holder = $2`,
};

const takeDayAmountQuery = defineQuery({
  name: 'take_rail_day_amount',
  text: 'select take_rail_day_amount($1, $2, $3, $4, $5) as is_taken',
  columns: { is_taken: column.boolean },
});

export async function getRecord(
  session: Session,
  name: { rail: string; collection: string; key: string },
): Promise<RecordRow | undefined> {
  return maybeOne(session, getQuery, [name.rail, name.collection, name.key]);
}

export async function listRecords(
  session: Session,
  query: {
    rail: string;
    collection: string;
    state: string | undefined;
    after: string;
    count: number;
  },
): Promise<RecordRow[]> {
  const { rail, collection, state, after, count } = query;
  const values = [rail, collection, after, count];
  return state === undefined
    ? many(session, listQuery, values)
    : many(session, listInStateQuery, [...values, state]);
}

const ownersQuery = defineQuery({
  name: 'find_record_owners',
  text: 'select ordinal, account_id, user_id, data_key from find_record_owners($1, $2, $3, $4)',
  columns: {
    ordinal: column.integer,
    account_id: column.uuid,
    user_id: column.uuid,
    data_key: column.bytes,
  },
});

const recipientsQuery = defineQuery({
  name: 'find_payment_recipients',
  text: `
    select distinct on (user_id) account_id, user_id, data_key
    from find_payment_recipients($1, $2) order by user_id`,
  columns: { account_id: column.uuid, user_id: column.uuid, data_key: column.bytes },
});

export type Recipient = RowOf<typeof recipientsQuery.columns>;

/** The person of each record, by its place in the list; of a new one by its reference. */
export async function findRecordOwners(
  session: Session,
  rail: string,
  records: readonly Pick<RecordWrite, 'collection' | 'key' | 'reference'>[],
): Promise<ReadonlyMap<number, Recipient>> {
  const rows = await many(session, ownersQuery, [
    rail,
    records.map(({ collection }) => collection),
    records.map(({ key }) => key),
    records.map(({ reference }) => reference),
  ]);
  return new Map(rows.map(({ ordinal, ...owner }) => [ordinal - 1, owner]));
}

const messageQuery = defineQuery({
  name: 'find_rail_message',
  text: `
    select m.sealed, u.account_id, u.id as user_id, u.data_key
    from rail_messages m left join users u on u.id = any (m.user_ids)
    where m.rail = $1 and m.id = $2 order by u.id`,
  columns: {
    sealed: column.bytes,
    account_id: nullable(column.uuid),
    user_id: nullable(column.uuid),
    data_key: nullable(column.bytes),
  },
});

/** Details of exceptions have the first twelve characters of long ids. The collation is "C". */
const messageIdQuery = defineQuery({
  name: 'find_rail_message_id',
  text: `
    select id from rail_messages
    where rail = $1
      and (id = $2 or length($2) >= 12 and id > $2 and id < $2 || chr(1114111))
    order by id limit 2`,
  columns: { id: column.text },
});

/** The message of this id, else up to two whose ids begin with it. */
export async function findMessageIds(
  session: Session,
  { rail, id }: { rail: string; id: string },
): Promise<string[]> {
  const ids = (await many(session, messageIdQuery, [rail, id])).map((row) => row.id);
  return ids.includes(id) ? [id] : ids;
}

/** A message with the persons under whose keys it is sealed, in the order of their ids. */
export async function findMessage(
  session: Session,
  { rail, id }: { rail: string; id: string },
): Promise<{ sealed: Buffer; users: Recipient[] } | undefined> {
  const rows = await many(session, messageQuery, [rail, id]);
  const [first] = rows;
  if (first === undefined) return undefined;
  const users = rows.flatMap(({ account_id, user_id, data_key }) =>
    account_id === null || user_id === null || data_key === null
      ? []
      : [{ account_id, user_id, data_key }],
  );
  return { sealed: first.sealed, users };
}

/** The persons whom payments go to, each once, in the order of their ids. */
export const findRecipients = (session: Session, rail: string, references: readonly string[]) =>
  many(session, recipientsQuery, [rail, references]);

export type RecordWrite = {
  collection: string;
  key: string;
  revision: number;
  /** Null removes it. */
  state: string | null;
  sealed: Buffer | null;
  /** Of a new record: the payment whose recipient it tells of, or null. */
  reference: string | null;
  /** Under whose key it is sealed. */
  owner: { readonly account_id: string; readonly user_id: string } | undefined;
};

export async function writeRecords(
  session: Session,
  rail: string,
  writes: readonly RecordWrite[],
): Promise<boolean> {
  const row = await one(session, writeQuery, [
    rail,
    writes.map(({ collection }) => collection),
    writes.map(({ key }) => key),
    writes.map(({ revision }) => revision),
    writes.map(({ state }) => state),
    writes.map(({ sealed }) => sealed),
    writes.map(({ reference }) => reference),
    writes.map(({ owner }) => owner?.account_id ?? null),
    writes.map(({ owner }) => owner?.user_id ?? null),
  ]);
  return row.is_written;
}

export type ObservationWrite = {
  id: string;
  reference: string;
  outcome: string;
  reason: string;
  code: string;
  providerReference: string;
  amountMinor: bigint | null;
  charges: string;
  at: Date;
};

/** `problems`: a JSON array with id, kind, detail, currency and amount (text) of each. */
export async function insertMessage(
  session: Session,
  message: {
    rail: string;
    id: string;
    channel: string;
    sealed: Buffer;
    /** Under whose keys it is sealed together; none: under the environment's keys. */
    users: readonly string[];
    problems: string;
  },
  observations: readonly ObservationWrite[],
): Promise<boolean> {
  const row = await one(session, receiveQuery, [
    message.rail,
    message.id,
    message.channel,
    message.sealed,
    observations.map(({ id }) => id),
    observations.map(({ reference }) => reference),
    observations.map(({ outcome }) => outcome),
    observations.map(({ reason }) => reason),
    observations.map(({ code }) => code),
    observations.map(({ providerReference }) => providerReference),
    observations.map(({ amountMinor }) => amountMinor),
    observations.map(({ charges }) => charges),
    observations.map(({ at }) => at),
    message.problems,
    message.users,
  ]);
  return row.is_new;
}

export async function countUnresolvedInbound(session: Session, rail: string): Promise<number> {
  return (await one(session, countUnresolvedQuery, [rail])).count;
}

export type PassClaim = { rail: string; holder: string; leaseMs: number };

/** False while another process holds the pass, or the rail is stopped. */
export async function claimPass(session: Session, claim: PassClaim): Promise<boolean> {
  const values = [claim.rail, claim.holder, claim.leaseMs];
  return (await one(session, claimPassQuery, values)).is_claimed;
}

/** False when another process has claimed it meanwhile, or the rail was stopped. */
export async function renewPass(session: Session, claim: PassClaim): Promise<boolean> {
  return (await exec(session, renewPassText, [claim.rail, claim.holder, claim.leaseMs])) > 0;
}

export async function releasePass(
  session: Session,
  claim: { rail: string; holder: string },
): Promise<void> {
  await exec(session, releasePassText, [claim.rail, claim.holder]);
}

export async function takeDayAmount(
  session: Session,
  take: {
    rail: string;
    currency: string;
    reference: string;
    amountMinor: bigint;
    limitMinor: bigint;
  },
): Promise<boolean> {
  const values = [take.rail, take.currency, take.reference, take.amountMinor, take.limitMinor];
  return (await one(session, takeDayAmountQuery, values)).is_taken;
}
