import { placeByOrdinal } from '../db/ordinals.ts';
import type { Session, Statement } from '../db/postgres/pool.ts';

/**
 * Whether a pending payout to the destination asks for the user's verification. With a limit, so
 * that each user is looked up alone: an `exists` may be answered by hashing the whole account.
 */
const isVerificationAsked = (destinationToken: string, currency: string): string => `
  coalesce((
    select true from payouts p
    where p.account_id = u.account_id and p.user_id = u.id and p.status = 'PENDING'
      and p.destination_token = ${destinationToken} and p.destination_currency = ${currency}
      and p.needs_verification
    limit 1), false)`;

/**
 * The user, the set that a payout takes which names none (as create_payouts chooses it), and whether
 * verification is asked for.
 */
const findContextText: Statement = {
  name: 'find_attribute_context',
  text: `
    select u.id, u.data_key, u.kyc_status, s.id as set_id, s.version, s.sealed, s.is_complete,
      ${isVerificationAsked('$3', '$4')} as is_verification_asked
    from users u
    left join lateral (
      select a.id, v.version, v.sealed, v.is_complete from attribute_sets a
      left join attribute_set_versions v
        on v.account_id = a.account_id and v.set_id = a.id and v.version = a.latest_version
      where a.account_id = u.account_id and a.user_id = u.id and a.destination_token = $3
        and a.currency = $4
      order by coalesce(v.is_complete, false) desc, a.touched_at desc, a.id desc limit 1
    ) s on true
    where u.account_id = $1 and u.id = $2`,
};

const lockAccountText: Statement = {
  name: 'lock_account',
  text: `select 1 from accounts where id = $1 for update`,
};

const lockSetText: Statement = {
  name: 'lock_attribute_set',
  text: `
    with own as materialized (
      select id, latest_version from attribute_sets
      where account_id = $1 and id = $2 and user_id = $3 and destination_token = $4
        and currency = $5
      for update
    )
    select own.id as set_id, v.version, v.sealed, v.fingerprint
    from own join attribute_set_versions v
      on v.account_id = $1 and v.set_id = own.id and v.version = own.latest_version`,
};

const findEqualSetText: Statement = {
  name: 'find_equal_attribute_set',
  text: `
    select s.id as set_id, v.version
    from attribute_sets s
    join attribute_set_versions v
      on v.account_id = s.account_id and v.set_id = s.id and v.version = s.latest_version
    where s.account_id = $1 and s.user_id = $2 and s.destination_token = $3 and s.currency = $4
      and v.fingerprint = $5
    order by s.touched_at desc limit 1`,
};

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
    select write_event($1, 'attributes.stored', set_id, json_build_object('attr_set_token',
      'attr_set_' || set_id, 'user_token', 'usr_' || $8::uuid, 'version', version)::text, created_at)
    from made`,
};

const touchSetText: Statement = {
  name: 'touch_attribute_set',
  text: `
    update attribute_sets set touched_at = environment_now()
    where account_id = $1 and id = $2`,
};

const findRecipientsText: Statement = {
  name: 'find_attribute_recipients',
  text: `
    select r.ord::integer as ordinal, u.data_key, u.kyc_status,
      ${isVerificationAsked('r.destination_token', 'r.currency')} as is_verification_asked
    from unnest($2::uuid[], $3::uuid[], $4::text[]) with ordinality
      r (user_id, destination_token, currency, ord)
    join users u on u.account_id = $1 and u.id = r.user_id`,
};

const storeSetsText: Statement = {
  name: 'store_attribute_sets',
  text: `
    select ordinal, set_id, is_held
    from store_attribute_sets($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)`,
};

export type AttributeContextRow = {
  id: string;
  data_key: Buffer;
  kyc_status: string;
  set_id: string | null;
  version: number | null;
  sealed: Buffer | null;
  is_complete: boolean | null;
  is_verification_asked: boolean;
};

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
  const [row] = await session.rows<AttributeContextRow>(findContextText, values);
  return row;
}

/** Whatever writes for an account holds its row first: two writers cannot wait in a circle. */
export async function lockAccount(session: Session, accountId: string): Promise<void> {
  await session.rows(lockAccountText, [accountId]);
}

export type SetVersionRow = {
  set_id: string;
  version: number;
  sealed: Buffer;
  fingerprint: Buffer;
};

export async function lockSet(
  session: Session,
  owner: SetOwner & { setId: string },
): Promise<SetVersionRow | undefined> {
  const { accountId, setId, userId, destinationToken, currency } = owner;
  const values = [accountId, setId, userId, destinationToken, currency];
  const [row] = await session.rows<SetVersionRow>(lockSetText, values);
  return row;
}

export async function findEqualSet(
  session: Session,
  owner: SetOwner & { fingerprint: Buffer },
): Promise<{ set_id: string; version: number } | undefined> {
  const { accountId, userId, destinationToken, currency, fingerprint } = owner;
  const values = [accountId, userId, destinationToken, currency, fingerprint];
  const [row] = await session.rows<{ set_id: string; version: number }>(findEqualSetText, values);
  return row;
}

export async function insertSet(
  session: Session,
  owner: SetOwner & { setId: string },
): Promise<void> {
  const { accountId, setId, userId, destinationToken, currency } = owner;
  await session.rows(insertSetText, [accountId, setId, userId, destinationToken, currency]);
}

export async function insertSetVersion(
  session: Session,
  version: {
    accountId: string;
    setId: string;
    userId: string;
    version: number;
    profileVersion: string;
    fingerprint: Buffer;
    sealed: Buffer;
    isComplete: boolean;
  },
): Promise<void> {
  await session.rows(insertVersionText, [
    version.accountId,
    version.setId,
    version.version,
    version.profileVersion,
    version.fingerprint,
    version.sealed,
    version.isComplete,
    version.userId,
  ]);
}

export async function touchSet(
  session: Session,
  set: { accountId: string; setId: string },
): Promise<void> {
  await session.rows(touchSetText, [set.accountId, set.setId]);
}

/** What storing values needs of a user. */
export type RecipientRow = Pick<
  AttributeContextRow,
  'data_key' | 'kyc_status' | 'is_verification_asked'
>;

export type RecipientQuery = Omit<SetOwner, 'accountId'>;

/** In the order of the queries; undefined where the account has no such user. */
export async function findRecipients(
  session: Session,
  accountId: string,
  queries: readonly RecipientQuery[],
): Promise<(RecipientRow | undefined)[]> {
  const rows = await session.rows<RecipientRow & { ordinal: number }>(findRecipientsText, [
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

/** Stores sets, or finds those with equal values: the id of each, or that its account is held. */
export async function storeSets(
  session: Session,
  sets: readonly NewSet[],
  mayWait: boolean,
): Promise<{ ordinal: number; set_id: string; is_held: boolean }[]> {
  const column = <T>(read: (set: NewSet) => T): T[] => sets.map(read);
  return session.rows(storeSetsText, [
    column(({ accountId }) => accountId),
    column(({ userId }) => userId),
    column(({ destinationToken }) => destinationToken),
    column(({ currency }) => currency),
    column(({ setId }) => setId),
    column(({ profileVersion }) => profileVersion),
    column(({ fingerprint }) => fingerprint),
    column(({ sealed }) => sealed),
    column(({ isComplete }) => isComplete),
    mayWait,
  ]);
}
