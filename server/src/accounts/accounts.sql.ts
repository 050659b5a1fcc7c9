import type { Session, Statement } from '../db/postgres/pool.ts';
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
import { cursorValues, microseconds, startOf, type TimePage } from '../db/time-page.ts';

const insertAccountText: Statement = {
  name: 'insert_account',
  text: `insert into accounts (id, name, created_at) values ($1, $2, environment_now())`,
};

const insertCredentialText: Statement = {
  name: 'insert_credential',
  text: `
    insert into credentials (account_id, id, kind, secret_hash, scopes, allowed_addresses, mac,
      created_at, expires_at)
    values ($1, $2, $3, $4, $5, $6, $7, environment_now(),
      environment_now() + $8 * interval '1 day')`,
};

/** Ranges as the database writes them, over which a MAC is computed. */
const formatRangesText = defineQuery({
  name: 'format_ranges',
  text: 'select $1::cidr[]::text[] as ranges',
  columns: { ranges: column.texts },
});

const revokeCredentialText: Statement = {
  name: 'revoke_credential',
  text: `
    update credentials set revoked_at = environment_now(), mac = ''
    where account_id = $1 and id = $2 and revoked_at is null`,
};

export const kinds = ['client', 'api_key'] as const;
export type CredentialKind = (typeof kinds)[number];

const credentialColumns = {
  id: column.uuid,
  kind: column.oneOf(...kinds),
  scopes: column.texts,
  created_at: column.instant,
  expires_at: nullable(column.instant),
  revoked_at: nullable(column.instant),
  /** Whole days until it expires; null where it does not, or has. */
  days_left: nullable(column.integer),
  replaced_by: nullable(column.uuid),
};
export type CredentialRow = RowOf<typeof credentialColumns>;

const listCredentialsText = defineQuery({
  name: 'list_credentials',
  text: `
    select id, kind, scopes, created_at, expires_at, revoked_at,
      case when revoked_at is null and expires_at > (select environment_now())
        then floor(extract(epoch from expires_at - environment_now()) / 86400)::integer
      end as days_left, replaced_by
    from credentials where account_id = $1 order by id`,
  columns: credentialColumns,
});

const accountColumns = { id: column.uuid, name: column.text, created_at: column.instant };
export type AccountRow = RowOf<typeof accountColumns>;

const listedColumns = { ...accountColumns, created_us: column.bigint };
export type ListedAccountRow = RowOf<typeof listedColumns>;

/** The oldest first. */
const defineAccountList = (name: string, where: string) =>
  defineQuery({
    name,
    text: `
      select id, name, created_at, ${microseconds('created_at')} as created_us from accounts
      where (created_at, id) > (${startOf('$1', 'asc')}, $2::uuid) ${where}
      order by created_at, id limit $3`,
    columns: listedColumns,
  });
const accountLists = {
  all: defineAccountList('list_accounts', ''),
  ofName: defineAccountList(
    'list_accounts_of_name',
    // The names that begin so: the greatest character of Unicode ends them.
    `and lower(name) collate "C" >= lower($4) collate "C"
      and lower(name) collate "C" < lower($4) || chr(1114111) collate "C"`,
  ),
  ofIds: defineAccountList('list_accounts_of_ids', 'and id = any ($4::uuid[])'),
};

const findNamedText = defineQuery({
  name: 'find_account_of_name',
  text: `
    select id from accounts where lower(name) collate "C" = lower($1) collate "C" and name = $1
    order by created_at, id limit 1`,
  columns: { id: column.uuid },
});

const settingsColumns = {
  name: column.text,
  accept_both_tokens: column.boolean,
  has_approval_rules: column.boolean,
};
export type AccountSettings = RowOf<typeof settingsColumns>;

const findAccountText = defineQuery({
  name: 'find_account',
  text: `select name, accept_both_tokens, has_approval_rules(id) from accounts where id = $1`,
  columns: settingsColumns,
});

/** What operators set. */
const findControlsText = defineQuery({
  name: 'find_account_controls',
  text: `
    select accept_both_tokens, identity_two_persons, open_quotes_max, open_quotes_usd_max,
      display_name, brand_color, privacy_url
    from accounts where id = $1`,
  columns: {
    accept_both_tokens: column.boolean,
    identity_two_persons: column.boolean,
    open_quotes_max: column.bigint,
    open_quotes_usd_max: column.bigint,
    display_name: column.text,
    brand_color: column.text,
    privacy_url: column.text,
  },
});

const brandColumns = {
  sender_name: column.text,
  brand_color: column.text,
  brand_logo: column.bytes,
  display_name: column.text,
  privacy_url: column.text,
};
export type BrandRow = RowOf<typeof brandColumns>;

const findBrandText = defineQuery({
  name: 'find_brand',
  text: `
    select coalesce(nullif(display_name, ''), name) as sender_name, brand_color, brand_logo,
      display_name, privacy_url
    from accounts where id = $1`,
  columns: brandColumns,
});

const setBrandText: Statement = {
  name: 'set_brand',
  text: `select set_brand($1, $2, $3, $4, $5)`,
};

const setAcceptBothTokensText: Statement = {
  name: 'set_accept_both_tokens',
  text: `update accounts set accept_both_tokens = $2 where id = $1`,
};

const setIdentityTwoPersonsText: Statement = {
  name: 'set_identity_two_persons',
  text: `update accounts set identity_two_persons = $2 where id = $1`,
};

export async function insertAccount(
  session: Session,
  account: { id: string; name: string },
): Promise<void> {
  await exec(session, insertAccountText, [account.id, account.name]);
}

export async function insertCredential(
  session: Session,
  credential: {
    accountId: string;
    id: string;
    kind: CredentialKind;
    secretHash: Buffer;
    scopes: readonly string[];
    allowedAddresses: readonly string[];
    mac: Buffer;
    expiresDays: number | undefined;
  },
): Promise<void> {
  const { accountId, id, kind, secretHash, scopes, allowedAddresses, mac, expiresDays } =
    credential;
  await exec(session, insertCredentialText, [
    accountId,
    id,
    kind,
    secretHash,
    scopes,
    allowedAddresses,
    mac,
    expiresDays ?? null,
  ]);
}

/** Of an account that exists. */
export const findAccountControls = (session: Session, accountId: string) =>
  one(session, findControlsText, [accountId]);

export async function formatRanges(session: Session, ranges: readonly string[]): Promise<string[]> {
  return (await one(session, formatRangesText, [ranges])).ranges;
}

/** False if the account has no such credential, or it is revoked already. */
export async function revokeCredentialRow(
  session: Session,
  id: { accountId: string; credentialId: string },
): Promise<boolean> {
  return (await exec(session, revokeCredentialText, [id.accountId, id.credentialId])) === 1;
}

export async function selectCredentials(
  session: Session,
  accountId: string,
): Promise<CredentialRow[]> {
  return many(session, listCredentialsText, [accountId]);
}

export type AccountFilter = {
  /** How the name begins, in whatever case. */
  readonly name?: string | undefined;
  readonly ids?: readonly string[] | undefined;
};

export async function selectAccounts(
  session: Session,
  { name, ids }: AccountFilter,
  { after, count }: TimePage,
): Promise<ListedAccountRow[]> {
  const page = [...cursorValues(after), count];
  if (ids !== undefined) return many(session, accountLists.ofIds, [...page, ids]);
  if (name !== undefined) return many(session, accountLists.ofName, [...page, name]);
  return many(session, accountLists.all, page);
}

/** The oldest account of exactly this name. */
export async function findAccountIdOfName(
  session: Session,
  name: string,
): Promise<string | undefined> {
  return (await maybeOne(session, findNamedText, [name]))?.id;
}

export async function findAccount(
  session: Session,
  accountId: string,
): Promise<AccountSettings | undefined> {
  return maybeOne(session, findAccountText, [accountId]);
}

/** How receipts show the account; `brand_color` and `brand_logo` are empty where they are not set. */
export async function getBrand(session: Session, accountId: string): Promise<BrandRow> {
  return one(session, findBrandText, [accountId]);
}

/** What is undefined stays as it is. */
export async function updateBrand(
  session: Session,
  brand: {
    accountId: string;
    displayName: string | undefined;
    color: string | undefined;
    logo: Buffer | undefined;
    privacyUrl?: string | undefined;
  },
): Promise<void> {
  const { accountId, displayName = null, color = null, logo = null, privacyUrl = null } = brand;
  await exec(session, setBrandText, [accountId, displayName, color, logo, privacyUrl]);
}

/** Whether two people decide about identities. False if there is no such account. */
export async function updateIdentityTwoPersons(
  session: Session,
  setting: { accountId: string; isNeeded: boolean },
): Promise<boolean> {
  const values = [setting.accountId, setting.isNeeded];
  return (await exec(session, setIdentityTwoPersonsText, values)) === 1;
}

/** False if there is no such account. */
export async function updateAcceptBothTokens(
  session: Session,
  setting: { accountId: string; isAccepted: boolean },
): Promise<boolean> {
  const values = [setting.accountId, setting.isAccepted];
  return (await exec(session, setAcceptBothTokensText, values)) === 1;
}
