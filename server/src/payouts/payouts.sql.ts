import type { Session, Statement } from '../db/pool.ts';

/** Everything that a quote depends on and the database knows, in one statement. */
const findQuoteContextText: Statement = {
  name: 'find_quote_context',
  text: `
    select u.status as user_status, a.accept_both_tokens, w.token as wallet_token,
      w.currency as wallet_currency, s.destination_token as set_destination,
      s.currency as set_currency, c.id as committed_id, l.destination_token as last_destination
    from users u
    join accounts a on a.id = u.account_id
    left join ledger_accounts w on w.account_id = u.account_id and w.name = 'wallet'
      and case when $3::uuid is null then w.currency = $4 else w.token = $3 end
    left join attribute_sets s on s.account_id = u.account_id and s.id = $5 and s.user_id = u.id
    left join payouts c on c.account_id = u.account_id and c.client_transfer_id = $6
      and c.committed_at is not null
    left join lateral (
      select destination_token from payouts
      where account_id = u.account_id and user_id = u.id and committed_at is not null
      order by id desc limit 1
    ) l on $3::uuid is not null
    where u.account_id = $1 and u.id = $2`,
};

const columns = `p.id, p.user_id, p.status, p.status_reason, p.client_transfer_id, p.source_token,
  p.source_currency, p.source_amount, p.fee, p.destination_token, p.destination_currency,
  p.destination_amount, p.exchange_rate, p.payer_name, p.delivery_type, p.country, p.attr_set_id,
  p.attr_version, p.metadata, p.pickup_code, p.created_at, p.expires_at, p.estimated_availability,
  p.committed_at, p.completed_at`;

const insertText: Statement = {
  name: 'insert_payout',
  text: `
    with pinned as (
      select s.id, s.latest_version from attribute_sets s
      where s.account_id = $1 and s.user_id = $3 and s.destination_token = $9 and s.currency = $10
        and ($17::uuid is null or s.id = $17)
      order by s.touched_at desc, s.id desc limit 1
    ), made as (
      insert into payouts (account_id, id, user_id, client_transfer_id, source_token,
        source_currency, source_amount, fee, destination_token, destination_currency,
        destination_amount, exchange_rate, rounding_nano, rail, payer_key, payer_name,
        attr_set_id, attr_version, delivery_type, country, needs_attributes, needs_verification,
        notify_user, metadata, created_at, expires_at, estimated_availability, updated_at)
      select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
        pinned.id, pinned.latest_version, $18, $19, $20, $21, $22, $23, now.at,
        date_trunc('second', now.at + $24 * interval '1 second'), $25, now.at
      from (select environment_now() as at) now left join pinned on true
      returning *
    ), found as (
      insert into payout_metadata (account_id, entry_hash, payout_id)
      select distinct $1::uuid, hash, $2::uuid from unnest($26::bytea[]) hash
    ), told as (
      select payout_event(made, made.created_at) from made
    )
    select ${columns}, v.sealed, u.data_key, (select count(*) from told) as told
    from made p
    join users u on u.account_id = p.account_id and u.id = p.user_id
    left join attribute_set_versions v
      on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version`,
};

const commitText: Statement = {
  name: 'commit_payout',
  text: `select result, detail, pickup_code from commit_payout($1, $2, $3, $4, $5)`,
};

const viewFrom = `
  from payouts p
  join users u on u.account_id = p.account_id and u.id = p.user_id
  left join attribute_set_versions v
    on v.account_id = p.account_id and v.set_id = p.attr_set_id and v.version = p.attr_version`;

const findText: Statement = {
  name: 'find_payout',
  text: `
    select ${columns}, v.sealed, u.data_key ${viewFrom}
    where p.account_id = $1 and p.user_id = $2 and p.id = $3`,
};

const listText: Statement = {
  name: 'list_payouts',
  text: `
    select ${columns}, v.sealed, u.data_key ${viewFrom}
    where p.account_id = $1 and ($2::uuid is null or p.user_id = $2)
      and ($3::uuid is null or p.id < $3)
    order by p.id desc limit $4`,
};

/** By metadata: driven by the entries of the first hash, each of which must have all the others. */
const searchText: Statement = {
  name: 'search_payouts',
  text: `
    select ${columns}, v.sealed, u.data_key
    ${viewFrom}
    where p.account_id = $1 and ($2::uuid is null or p.user_id = $2)
      and p.id in (
        select m.payout_id from payout_metadata m
        where m.account_id = $1 and m.entry_hash = ($5::bytea[])[1]
          and ($3::uuid is null or m.payout_id < $3)
          and not exists (
            select from unnest($5::bytea[]) other
            where not exists (
              select from payout_metadata o
              where o.account_id = $1 and o.entry_hash = other and o.payout_id = m.payout_id)))
    order by p.id desc limit $4`,
};

export type QuoteContextRow = {
  user_status: string;
  accept_both_tokens: boolean;
  wallet_token: string | null;
  wallet_currency: string | null;
  set_destination: string | null;
  set_currency: string | null;
  committed_id: string | null;
  last_destination: string | null;
};

/** Undefined when the account has no such user. */
export async function findQuoteContext(
  session: Session,
  request: {
    accountId: string;
    userId: string;
    sourceToken: string | undefined;
    sourceCurrency: string;
    attrSetId: string | undefined;
    clientTransferId: string | undefined;
  },
): Promise<QuoteContextRow | undefined> {
  const [row] = await session.rows<QuoteContextRow>(findQuoteContextText, [
    request.accountId,
    request.userId,
    request.sourceToken ?? null,
    request.sourceCurrency,
    request.attrSetId ?? null,
    request.clientTransferId ?? null,
  ]);
  return row;
}

/** A payout with what opens its attributes. */
export type PayoutRow = {
  id: string;
  user_id: string;
  status: string;
  status_reason: string;
  client_transfer_id: string;
  source_token: string;
  source_currency: string;
  source_amount: bigint;
  fee: bigint;
  destination_token: string;
  destination_currency: string;
  destination_amount: bigint;
  exchange_rate: string;
  payer_name: string;
  delivery_type: string;
  country: string;
  attr_set_id: string | null;
  attr_version: number | null;
  metadata: string;
  pickup_code: string;
  created_at: Date;
  expires_at: Date;
  estimated_availability: Date;
  committed_at: Date | null;
  completed_at: Date | null;
  sealed: Buffer | null;
  data_key: Buffer;
};

export type NewPayout = {
  accountId: string;
  id: string;
  userId: string;
  clientTransferId: string;
  sourceToken: string;
  sourceCurrency: string;
  sourceMinor: bigint;
  feeMinor: bigint;
  destinationToken: string;
  destinationCurrency: string;
  destinationMinor: bigint;
  exchangeRate: string;
  roundingNano: bigint;
  rail: string;
  payerKey: string;
  payerName: string;
  /** The set to pin; undefined pins the one that was stored last for the destination, if any. */
  attrSetId: string | undefined;
  deliveryType: string;
  countryCode: string;
  needsAttributes: boolean;
  needsVerification: boolean;
  notifyUser: boolean;
  metadata: string;
  lockSeconds: number;
  estimatedAvailability: Date;
  metadataHashes: readonly Buffer[];
};

export async function insertPayout(session: Session, payout: NewPayout): Promise<PayoutRow> {
  const [row] = await session.rows<PayoutRow>(insertText, [
    payout.accountId,
    payout.id,
    payout.userId,
    payout.clientTransferId,
    payout.sourceToken,
    payout.sourceCurrency,
    payout.sourceMinor,
    payout.feeMinor,
    payout.destinationToken,
    payout.destinationCurrency,
    payout.destinationMinor,
    payout.exchangeRate,
    payout.roundingNano,
    payout.rail,
    payout.payerKey,
    payout.payerName,
    payout.attrSetId ?? null,
    payout.deliveryType,
    payout.countryCode,
    payout.needsAttributes,
    payout.needsVerification,
    payout.notifyUser,
    payout.metadata,
    payout.lockSeconds,
    payout.estimatedAvailability,
    payout.metadataHashes,
  ]);
  if (row === undefined) throw new Error('an inserted payout has no row');
  return row;
}

export type CommitRow = {
  result:
    | 'success'
    | 'not_found'
    | 'ended'
    | 'ex_rate_expired'
    | 'duplicate'
    | 'user_not_active'
    | 'addtl_attr_req'
    | 'insufficient_funds';
  detail: string;
  pickup_code: string;
};

type PayoutId = { accountId: string; userId: string; payoutId: string };

/** The journal and the pickup code are used only if this commit is the one that moves the money. */
export async function commitPayoutRow(
  session: Session,
  commit: PayoutId & { journalId: string; pickupCode: string },
): Promise<CommitRow> {
  const { accountId, userId, payoutId, journalId, pickupCode } = commit;
  const values = [accountId, userId, payoutId, journalId, pickupCode];
  const [row] = await session.rows<CommitRow>(commitText, values);
  if (row === undefined) throw new Error('a commit answered nothing');
  return row;
}

export async function findPayoutRow(
  session: Session,
  id: PayoutId,
): Promise<PayoutRow | undefined> {
  const [row] = await session.rows<PayoutRow>(findText, [id.accountId, id.userId, id.payoutId]);
  return row;
}

export type PayoutRange = {
  accountId: string;
  /** Undefined: of all users. */
  userId: string | undefined;
  beforeId: string | undefined;
  count: number;
  /** All of these metadata entries; none: every payout. */
  metadataHashes: readonly Buffer[];
};

export async function listPayoutRows(session: Session, range: PayoutRange): Promise<PayoutRow[]> {
  const { accountId, userId, beforeId, count, metadataHashes } = range;
  const values = [accountId, userId ?? null, beforeId ?? null, count];
  if (metadataHashes.length === 0) return session.rows<PayoutRow>(listText, values);
  return session.rows<PayoutRow>(searchText, [...values, metadataHashes]);
}
