import type { Session, Statement } from '../db/postgres/pool.ts';
import { column, defineQuery, exec, many, maybeOne, nullable, type RowOf } from '../db/rows.ts';

/** The SQL of recipient links; their table is in schema/recipient-links.sql. */

export const linkPurposes = ['payout_details', 'verification', 'payout_status'] as const;
export type LinkPurpose = (typeof linkPurposes)[number];

export const linkStatuses = ['OPEN', 'USED', 'REVOKED', 'EXPIRED'] as const;

const linkColumns = {
  id: column.uuid,
  user_id: column.uuid,
  purpose: column.oneOf(...linkPurposes),
  destination_token: nullable(column.uuid),
  currency: nullable(column.text),
  attr_set_id: nullable(column.uuid),
  payout_id: nullable(column.uuid),
  shows_pickup_code: column.boolean,
  /** Sealed under the key of the user, which is beside it. */
  redirect_url: column.bytes,
  data_key: column.bytes,
  created_at: column.instant,
  expires_at: column.instant,
  ended_at: nullable(column.instant),
  status: column.oneOf(...linkStatuses),
};
export type StoredLink = RowOf<typeof linkColumns>;

const names = `id, user_id, purpose, destination_token, currency, attr_set_id, payout_id,
  shows_pickup_code, redirect_url, created_at, expires_at, ended_at,
  (select u.data_key from users u where u.account_id = recipient_links.account_id
    and u.id = recipient_links.user_id) as data_key,
  case when ended_as <> '' then ended_as when (select environment_now()) >= expires_at then 'EXPIRED'
    else 'OPEN' end as status`;

const insertQuery = defineQuery({
  name: 'insert_recipient_link',
  text: `
    insert into recipient_links (account_id, id, token_hash, user_id, purpose, destination_token,
      currency, attr_set_id, payout_id, shows_pickup_code, redirect_url, credential_id, created_at,
      expires_at)
    select $1, $2, $3, u.id, $5, $6, $7, $8, $9, $10, $11, $12, n.now, n.now + $13 * interval '1 second'
    from users u cross join (select environment_now() as now) n
    where u.account_id = $1 and u.id = $4 and u.erased_at is null
    returning ${names}`,
  columns: linkColumns,
});

const findQuery = defineQuery({
  name: 'find_recipient_link',
  text: `select ${names} from recipient_links where account_id = $1 and token_hash = $2`,
  columns: linkColumns,
});

const listQuery = defineQuery({
  name: 'list_recipient_links',
  text: `
    select ${names} from recipient_links
    where account_id = $1 and user_id = $2 and ($3::uuid is null or id < $3)
    order by id desc limit $4`,
  columns: linkColumns,
});

const revokeQuery = defineQuery({
  name: 'revoke_recipient_link',
  text: `
    update recipient_links set ended_as = 'REVOKED', ended_at = environment_now()
    where account_id = $1 and user_id = $2 and id = $3 and ended_as = ''
    returning ${names}`,
  columns: linkColumns,
});

const findByIdQuery = defineQuery({
  name: 'find_recipient_link_by_id',
  text: `select ${names} from recipient_links where account_id = $1 and user_id = $2 and id = $3`,
  columns: linkColumns,
});

const useStatement: Statement = {
  name: 'use_recipient_link',
  text: `
    update recipient_links set ended_as = 'USED', ended_at = environment_now(), attr_set_id = $3
    where account_id = $1 and id = $2 and ended_as = '' and expires_at > (select environment_now())`,
};

const setQuery = defineQuery({
  name: 'find_set_of_link',
  text: `
    select id from attribute_sets
    where account_id = $1 and user_id = $2 and destination_token = $3 and currency = $4 and id = $5`,
  columns: { id: column.uuid },
});

const userStateQuery = defineQuery({
  name: 'find_linkable_user',
  text: `
    select erased_at is not null as is_erased, data_key from users where account_id = $1 and id = $2`,
  columns: { is_erased: column.boolean, data_key: column.bytes },
});

export type LinkTerms = {
  readonly accountId: string;
  readonly userId: string;
  readonly purpose: LinkPurpose;
  readonly destinationToken: string | undefined;
  readonly currency: string | undefined;
  readonly attrSetId: string | undefined;
  readonly payoutId: string | undefined;
  readonly showsPickupCode: boolean;
  readonly redirectUrl: string;
  /** Undefined for a command. */
  readonly credentialId: string | undefined;
  readonly lifeSeconds: number;
};

/** Undefined where the account has no such user, or the user was erased. */
export async function insertLink(
  session: Session,
  link: LinkTerms & { id: string; tokenHash: Buffer; sealedUrl: Buffer },
): Promise<StoredLink | undefined> {
  return maybeOne(session, insertQuery, [
    link.accountId,
    link.id,
    link.tokenHash,
    link.userId,
    link.purpose,
    link.destinationToken ?? null,
    link.currency ?? null,
    link.attrSetId ?? null,
    link.payoutId ?? null,
    link.showsPickupCode,
    link.sealedUrl,
    link.credentialId ?? null,
    link.lifeSeconds,
  ]);
}

export async function findLinkRow(
  session: Session,
  link: { accountId: string; tokenHash: Buffer },
): Promise<StoredLink | undefined> {
  return maybeOne(session, findQuery, [link.accountId, link.tokenHash]);
}

export type UserPage = {
  accountId: string;
  userId: string;
  before: string | undefined;
  rowsMax: number;
};

export async function listLinkRows(session: Session, page: UserPage): Promise<StoredLink[]> {
  const { accountId, userId, before = null, rowsMax } = page;
  return many(session, listQuery, [accountId, userId, before, rowsMax]);
}

export type LinkId = { readonly accountId: string; readonly userId: string; readonly id: string };

/** The link as it is afterwards; undefined where the user has no such link. */
export async function revokeLinkRow(
  session: Session,
  link: LinkId,
): Promise<StoredLink | undefined> {
  const values = [link.accountId, link.userId, link.id];
  const revoked = await maybeOne(session, revokeQuery, values);
  return revoked ?? maybeOne(session, findByIdQuery, values);
}

/** Ends an open link. False where it is open no longer: another request has used it. */
export async function useLinkRow(
  session: Session,
  link: { accountId: string; id: string; setId: string },
): Promise<boolean> {
  return (await exec(session, useStatement, [link.accountId, link.id, link.setId])) === 1;
}

/** Whether the attribute set that the link is to renew belongs to its user and destination. */
export async function hasSet(session: Session, link: LinkTerms): Promise<boolean> {
  const { accountId, userId, destinationToken, currency, attrSetId } = link;
  const values = [accountId, userId, destinationToken, currency, attrSetId];
  return (await maybeOne(session, setQuery, values)) !== undefined;
}

/** Undefined where the account has no such user. */
export async function findUserState(
  session: Session,
  { accountId, userId }: { accountId: string; userId: string },
): Promise<RowOf<typeof userStateQuery.columns> | undefined> {
  return maybeOne(session, userStateQuery, [accountId, userId]);
}
