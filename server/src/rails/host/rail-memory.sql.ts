import type { Session, Statement } from '../../db/postgres/pool.ts';

const getText: Statement = {
  name: 'get_rail_record',
  text: `
    select key, state, revision, sealed from rail_records
    where rail = $1 and collection = $2 and key = $3`,
};

const listText: Statement = {
  name: 'list_rail_records',
  text: `
    select key, state, revision, sealed from rail_records
    where rail = $1 and collection = $2 and key > $3
    order by key limit $4`,
};

const listInStateText: Statement = {
  name: 'list_rail_records_in_state',
  text: `
    select key, state, revision, sealed from rail_records
    where rail = $1 and collection = $2 and state = $5 and key > $3
    order by key limit $4`,
};

const writeText: Statement = {
  name: 'write_rail_records',
  text: `select write_rail_records($1, $2, $3, $4, $5, $6) as is_written`,
};

const hearText: Statement = {
  name: 'hear_rail_message',
  text: `
    select hear_rail_message($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) as is_new`,
};

const unresolvedText: Statement = {
  name: 'count_unresolved_inbound',
  text: `select count_unresolved_inbound($1)::integer as count`,
};

/** Where nobody is in the rail's pass. The holder keeps it by its lease. */
const takePassText: Statement = {
  name: 'take_rail_pass',
  text: `
    insert into rail_passes (rail, holder, lease_until)
    values ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
    on conflict (rail) do update
      set holder = excluded.holder, lease_until = excluded.lease_until
      where rail_passes.lease_until is null or rail_passes.lease_until < clock_timestamp()
    returning true as is_taken`,
};

const keepPassText: Statement = {
  name: 'keep_rail_pass',
  text: `
    update rail_passes set lease_until = clock_timestamp() + $3 * interval '1 millisecond'
    where rail = $1 and holder = $2
    returning true as is_kept`,
};

const endPassText: Statement = {
  name: 'end_rail_pass',
  text: `
    update rail_passes set holder = null, lease_until = null
    where rail = $1 and holder = $2`,
};

const takeDayAmountText: Statement = {
  name: 'take_rail_day_amount',
  text: `select take_rail_day_amount($1, $2, $3, $4, $5) as is_taken`,
};

export type RecordRow = { key: string; state: string; revision: bigint; sealed: Buffer };

export async function getRecord(
  session: Session,
  name: { rail: string; collection: string; key: string },
): Promise<RecordRow | undefined> {
  const values = [name.rail, name.collection, name.key];
  const [row] = await session.rows<RecordRow>(getText, values);
  return row;
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
    ? session.rows<RecordRow>(listText, values)
    : session.rows<RecordRow>(listInStateText, [...values, state]);
}

export type RecordWrite = {
  collection: string;
  key: string;
  revision: number;
  /** Null removes it. */
  state: string | null;
  sealed: Buffer | null;
};

export async function writeRecords(
  session: Session,
  rail: string,
  writes: readonly RecordWrite[],
): Promise<boolean> {
  const [row] = await session.rows<{ is_written: boolean }>(writeText, [
    rail,
    writes.map(({ collection }) => collection),
    writes.map(({ key }) => key),
    writes.map(({ revision }) => revision),
    writes.map(({ state }) => state),
    writes.map(({ sealed }) => sealed),
  ]);
  return row?.is_written === true;
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
  message: { rail: string; id: string; channel: string; sealed: Buffer; problems: string },
  observations: readonly ObservationWrite[],
): Promise<boolean> {
  const [row] = await session.rows<{ is_new: boolean }>(hearText, [
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
  ]);
  return row?.is_new === true;
}

export async function countUnresolvedInbound(session: Session, rail: string): Promise<number> {
  const [row] = await session.rows<{ count: number }>(unresolvedText, [rail]);
  if (row === undefined) throw new Error('a count answered nothing');
  return row.count;
}

export type PassClaim = { rail: string; holder: string; leaseMs: number };

export async function takePass(session: Session, claim: PassClaim): Promise<boolean> {
  const rows = await session.rows(takePassText, [claim.rail, claim.holder, claim.leaseMs]);
  return rows.length > 0;
}

/** False when somebody else has taken it meanwhile. */
export async function keepPass(session: Session, claim: PassClaim): Promise<boolean> {
  const rows = await session.rows(keepPassText, [claim.rail, claim.holder, claim.leaseMs]);
  return rows.length > 0;
}

export async function endPass(
  session: Session,
  claim: { rail: string; holder: string },
): Promise<void> {
  await session.rows(endPassText, [claim.rail, claim.holder]);
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
  const [row] = await session.rows<{ is_taken: boolean }>(takeDayAmountText, values);
  return row?.is_taken === true;
}
