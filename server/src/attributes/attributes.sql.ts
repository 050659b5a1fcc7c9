import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';

/**
 * Whether a pending payout to the destination needs the user to be verified. The limit makes the
 * planner look up each user alone; for an `exists` it may hash the whole account.
 */
const isVerificationNeeded = (destinationToken: string, currency: string): string => `
  coalesce((
    select true from payouts p
    where p.account_id = u.account_id and p.user_id = u.id and p.status = 'PENDING'
      and p.destination_token = ${destinationToken} and p.destination_currency = ${currency}
      and p.needs_verification
    limit 1), false)`;

/** The newest verification session of user `u` that has begun. */
export const sessionStatus = `
  case when u.kyc_status in ('pending', 'declined') then (
    select s.status from verification_sessions s
    where s.account_id = u.account_id and s.user_id = u.id
    order by s.id desc limit 1) end`;

const recipientColumns = {
  data_key: column.bytes,
  kyc_status: column.text,
  session_status: nullable(column.text),
  is_verification_needed: column.boolean,
};

/** What storing values needs of a user. */
export type RecipientRow = RowOf<typeof recipientColumns>;

const contextColumns = {
  ...recipientColumns,
  set_id: nullable(column.uuid),
  sealed: nullable(column.bytes),
};
export type AttributeContextRow = RowOf<typeof contextColumns>;

/** The user, and the set for a payout that names none, chosen as create_payouts does. */
const findContextText = defineQuery({
  name: 'find_attribute_context',
  text: `
    select u.data_key, u.kyc_status, ${sessionStatus} as session_status, s.id as set_id, s.sealed,
      ${isVerificationNeeded('$3', '$4')} as is_verification_needed
    from users u
    left join lateral (
      select a.id, with_version(v.version, v.sealed) as sealed from attribute_sets a
      left join attribute_set_versions v
        on v.account_id = a.account_id and v.set_id = a.id and v.version = a.latest_version
      where a.account_id = u.account_id and a.user_id = u.id and a.destination_token = $3
        and a.currency = $4
      order by coalesce(v.is_complete, false) desc, a.touched_at desc, a.id desc limit 1
    ) s on true
    where u.account_id = $1 and u.id = $2`,
  columns: contextColumns,
});

const lockAccountText: Statement = {
  name: 'lock_account',
  text: `select 1 from accounts where id = $1 for update`,
};

const versionColumns = { set_id: column.uuid, version: column.integer };
const lockedColumns = { ...versionColumns, sealed: column.bytes, fingerprint: column.bytes };
export type SetVersionRow = RowOf<typeof lockedColumns>;

const lockSetText = defineQuery({
  name: 'lock_attribute_set',
  text: `
    with own as materialized (
      select id, latest_version from attribute_sets
      where account_id = $1 and id = $2 and user_id = $3 and destination_token = $4
        and currency = $5
      for update
    )
    select own.id as set_id, v.version, with_version(v.version, v.sealed) as sealed, v.fingerprint
    from own join attribute_set_versions v
      on v.account_id = $1 and v.set_id = own.id and v.version = own.latest_version`,
  columns: lockedColumns,
});

const findEqualSetText = defineQuery({
  name: 'find_equal_attribute_set',
  text: `
    select s.id as set_id, v.version
    from attribute_sets s
    join attribute_set_versions v
      on v.account_id = s.account_id and v.set_id = s.id and v.version = s.latest_version
    where s.account_id = $1 and s.user_id = $2 and s.destination_token = $3 and s.currency = $4
      and v.fingerprint = $5
    order by s.touched_at desc limit 1`,
  columns: versionColumns,
});

const insertSetText: Statement = {
  name: 'insert_attribute_set',
  text: `
    insert into attribute_sets (account_id, id, user_id, destination_token, currency, touched_at,
      created_at)
    select $1, $2, $3, $4, $5, now.at, now.at from (select environment_now() as at) now`,
};

const insertVersionText: Statement = {
  name: 'insert_attribute_set_version',
  text: `
    with made as (
      insert into attribute_set_versions (account_id, set_id, version, profile_version, fingerprint,
        sealed, is_complete, created_at)
      values ($1, $2, $3, $4, $5, $6, $7, environment_now())
      returning set_id, version, created_at
    ), touched as (
      update attribute_sets s set latest_version = made.version, touched_at = made.created_at
      from made where s.account_id = $1 and s.id = made.set_id
    )
    select write_event($1, 'attributes.stored', set_id,
      json_build_object('version', version)::text, created_at)
    from made`,
};

const listVersionsText = defineQuery({
  name: 'list_attribute_set_versions',
  text: `
    select v.set_id, v.version, s.user_id, s.destination_token, s.currency, v.is_complete,
      v.created_at as stored_at, with_version(v.version, v.sealed) as sealed, u.data_key
    from unnest($2::uuid[], $3::integer[]) r (set_id, version)
    join attribute_set_versions v
      on v.account_id = $1 and v.set_id = r.set_id and v.version = r.version
    join attribute_sets s on s.account_id = v.account_id and s.id = v.set_id
    join users u on u.account_id = s.account_id and u.id = s.user_id`,
  columns: {
    ...versionColumns,
    user_id: column.uuid,
    destination_token: column.uuid,
    currency: column.text,
    is_complete: column.boolean,
    stored_at: column.instant,
    sealed: column.bytes,
    data_key: column.bytes,
  },
});
export type StoredVersionRow = RowOf<typeof listVersionsText.columns>;

const touchSetText: Statement = {
  name: 'touch_attribute_set',
  text: `
    update attribute_sets set touched_at = environment_now()
    where account_id = $1 and id = $2`,
};

const findRecipientsText = defineQuery({
  name: 'find_attribute_recipients',
  text: `
    select r.ord::integer as ordinal, u.data_key, u.kyc_status,
      ${sessionStatus} as session_status,
      ${isVerificationNeeded('r.destination_token', 'r.currency')} as is_verification_needed
    from unnest($2::uuid[], $3::uuid[], $4::text[]) with ordinality
      r (user_id, destination_token, currency, ord)
    join users u on u.account_id = $1 and u.id = r.user_id`,
  columns: { ...recipientColumns, ordinal: column.integer },
});

const storeSetsText = defineQuery({
  name: 'store_attribute_sets',
  text: `
    select ordinal, set_id
    from store_attribute_sets($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
  columns: { ordinal: column.integer, set_id: nullable(column.uuid) },
});

export type SetOwner = {
  accountId: string;
  userId: string;
  destinationToken: string;
  currency: string;
};

export async function findAttributeContext(
  session: Session,
  owner: SetOwner,
): Promise<AttributeContextRow | undefined> {
  const values = [owner.accountId, owner.userId, owner.destinationToken, owner.currency];
  return maybeOne(session, findContextText, values);
}

/** Every writer locks the account's row first, so that two of them cannot deadlock. */
export async function lockAccount(session: Session, accountId: string): Promise<void> {
  await exec(session, lockAccountText, [accountId]);
}

export async function lockSet(
  session: Session,
  owner: SetOwner & { setId: string },
): Promise<SetVersionRow | undefined> {
  const { accountId, setId, userId, destinationToken, currency } = owner;
  const values = [accountId, setId, userId, destinationToken, currency];
  return maybeOne(session, lockSetText, values);
}

export async function findEqualSet(
  session: Session,
  owner: SetOwner & { fingerprint: Buffer },
): Promise<{ set_id: string; version: number } | undefined> {
  const { accountId, userId, destinationToken, currency, fingerprint } = owner;
  const values = [accountId, userId, destinationToken, currency, fingerprint];
  return maybeOne(session, findEqualSetText, values);
}

export async function insertSet(
  session: Session,
  owner: SetOwner & { setId: string },
): Promise<void> {
  const { accountId, setId, userId, destinationToken, currency } = owner;
  await exec(session, insertSetText, [accountId, setId, userId, destinationToken, currency]);
}

export async function insertSetVersion(
  session: Session,
  version: {
    accountId: string;
    setId: string;
    version: number;
    profileVersion: string;
    fingerprint: Buffer;
    sealed: Buffer;
    isComplete: boolean;
  },
): Promise<void> {
  await exec(session, insertVersionText, [
    version.accountId,
    version.setId,
    version.version,
    version.profileVersion,
    version.fingerprint,
    version.sealed,
    version.isComplete,
  ]);
}

export async function listVersions(
  session: Session,
  accountId: string,
  versions: readonly { setId: string; version: number }[],
): Promise<StoredVersionRow[]> {
  return many(session, listVersionsText, [
    accountId,
    versions.map(({ setId }) => setId),
    versions.map(({ version }) => version),
  ]);
}

export async function touchSet(
  session: Session,
  set: { accountId: string; setId: string },
): Promise<void> {
  await exec(session, touchSetText, [set.accountId, set.setId]);
}

export type RecipientQuery = Omit<SetOwner, 'accountId'>;

/** In the order of the queries; undefined if the account has no such user. */
export async function findRecipients(
  session: Session,
  accountId: string,
  queries: readonly RecipientQuery[],
): Promise<(RecipientRow | undefined)[]> {
  const rows = await many(session, findRecipientsText, [
    accountId,
    queries.map(({ userId }) => userId),
    queries.map(({ destinationToken }) => destinationToken),
    queries.map(({ currency }) => currency),
  ]);
  return placeByOrdinal(queries, rows, (row) => row);
}

export type NewSet = SetOwner & {
  setId: string;
  profileVersion: string;
  fingerprint: Buffer;
  sealed: Buffer;
  isComplete: boolean;
};

/** Stores sets, or finds those with equal values; null if the account is locked. */
export async function storeSets(
  session: Session,
  sets: readonly NewSet[],
  mayWait: boolean,
): Promise<{ ordinal: number; set_id: string | null }[]> {
  const list = <T>(read: (set: NewSet) => T): T[] => sets.map(read);
  return many(session, storeSetsText, [
    list(({ accountId }) => accountId),
    list(({ userId }) => userId),
    list(({ destinationToken }) => destinationToken),
    list(({ currency }) => currency),
    list(({ setId }) => setId),
    list(({ profileVersion }) => profileVersion),
    list(({ fingerprint }) => fingerprint),
    list(({ sealed }) => sealed),
    list(({ isComplete }) => isComplete),
    mayWait,
  ]);
}
